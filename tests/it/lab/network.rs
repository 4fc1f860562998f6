//! What a lab's network does to TCP.

use super::super::process::run;
use super::program::{STREAM_BYTES, as_role, own_command, printed};
use super::{is_possible, lathide};

fn in_lab(role: &str, options: &[&str]) -> super::super::process::Finished {
    let own = own_command();
    let mut args = options.to_vec();
    args.push("--");
    args.extend(own.iter().map(String::as_str));
    run(as_role(&mut lathide(&args), role)).succeeded()
}

#[test]
fn a_packet_takes_the_delay_and_its_time_at_the_rate() {
    if !is_possible() {
        return;
    }
    let done = in_lab("measure", &["--hosts", "2", "--delay", "20ms", "--rate", "4mbit", "--json"]);
    let (round_trip, stream) = (printed(&done.stderr, "round_trip"), printed(&done.stderr, "stream"));
    assert!(round_trip >= 0.040, "{round_trip}");
    // Nothing but the headers, which are less than a tenth, comes on top of this.
    let least = STREAM_BYTES as f64 * 8.0 / 4e6 + 0.040;
    assert!(stream >= least, "{stream} s, not {least} s");
    assert_eq!(printed(&done.stderr, "name"), 1.0, "the names of hosts resolve");
    let result: serde_json::Value = serde_json::from_str(&done.stdout).expect("one JSON object");
    assert_eq!((&result["schema"], &result["exit_status"]), (&"lathide-lab-1".into(), &0.into()), "{result}");
    let bytes = |host: usize, way: &str| result["hosts"][host][way]["passed"]["bytes"].as_u64().expect("a count");
    for host in 0..2 {
        assert!(bytes(host, "sent") > STREAM_BYTES as u64 && bytes(host, "received") > STREAM_BYTES as u64);
    }
}

#[test]
fn a_shared_medium_carries_both_ways_in_turn() {
    if !is_possible() {
        return;
    }
    let done = in_lab("measure", &["--hosts", "3", "--rate", "8mbit", "--shared", "--quiet"]);
    let (stream, least) = (printed(&done.stdout, "stream"), 2.0 * STREAM_BYTES as f64 * 8.0 / 8e6);
    assert!(stream >= least, "{stream} s, not {least} s");
}

/// Each host's card sends less than its cable carries; another rate counts from then on.
#[test]
fn a_network_card_has_a_rate_of_its_own() {
    if !is_possible() {
        return;
    }
    let done = in_lab("measure", &["--hosts", "2", "--rate", "80mbit", "--host-rate", "4mbit", "--json"]);
    let (stream, least) = (printed(&done.stderr, "stream"), STREAM_BYTES as f64 * 8.0 / 4e6);
    assert!(stream >= least, "{stream} s, not {least} s");
    let result: serde_json::Value = serde_json::from_str(&done.stdout).expect("one JSON object");
    assert_eq!(result["hosts"][1]["host_rate_bits_per_s"], 4_000_000, "{result}");
    let script = "\"$1\" lab change --host-rate 2mbit && \"$1\" lab change --host-rate 1mbit && \"$1\" lab status";
    let mut command = lathide(&["--hosts", "2", "--host-rate", "4mbit", "--quiet", "--", "sh", "-c", script, "sh"]);
    let status = run(command.arg(env!("CARGO_BIN_EXE_lathide"))).succeeded();
    assert!(status.stdout.contains("host-rate=1mbit"), "{}", status.stdout);
}

#[test]
fn a_cut_cable_is_mended() {
    if !is_possible() {
        return;
    }
    let done = in_lab("cut", &["--hosts", "2", "--delay", "1ms"]);
    assert_eq!(printed(&done.stdout, "mended"), 1.0);
    assert!(done.stderr.contains("cut off"), "{}", done.stderr);
}

#[test]
fn losses_are_made_good_by_tcp_and_counted() {
    if !is_possible() {
        return;
    }
    let done = in_lab("measure", &["--hosts", "2", "--delay", "1ms", "--loss", "5%", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).expect("one JSON object");
    let lost = |host: usize, way: &str| result["hosts"][host][way]["lost"]["packets"].as_u64().expect("a count");
    // Of more than five hundred packets, none gets lost once in 10^11 times.
    assert!((0..2).map(|host| lost(host, "sent") + lost(host, "received")).sum::<u64>() > 0, "{result}");
}

#[test]
fn fast_links_carry_trains() {
    if !is_possible() {
        return;
    }
    let done = in_lab("measure", &["--hosts", "2", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).expect("one JSON object");
    for host in 0..2 {
        let passed = &result["hosts"][host]["received"]["passed"];
        let bytes_each = passed["bytes"].as_f64().expect("a count") / passed["packets"].as_f64().expect("a count");
        // A train counts as its packets, none of which is longer than the interface allows.
        assert!(bytes_each <= 1500.0, "{passed}");
    }
}

#[test]
fn many_senders_overflow_one_receivers_queue() {
    if !is_possible() {
        return;
    }
    let done = in_lab("incast", &["--hosts", "4", "--rate", "100mbit", "--delay", "200us", "--json"]);
    assert_eq!(printed(&done.stderr, "received"), 3.0);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).expect("one JSON object");
    let dropped = &result["hosts"][0]["received"]["dropped"]["packets"];
    // What TCP sends at first is already more than the queue holds.
    assert!(dropped.as_u64().expect("a count") > 0, "{result}");
}
