//! What `lathide link --pairs` says of networks that are known. Ratios only: the machine may be busy.

use std::process::Command;

use serde_json::Value;

use super::super::process::run;
use super::{is_possible, lathide};

const PAIRS: &str = "--pairs 1,2 --repeats 3 --seconds 12 --quiet --json";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not one JSON object: {error}: {text}"))
}

fn number(object: &Value, member: &str) -> f64 {
    object[member].as_f64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

/// What a command prints, once it is clear what the pairs share: on a busy machine it may not be at first.
fn clear(command: impl Fn() -> Command) -> String {
    let tried = (0..8).map(|_| run(&mut command()).succeeded().stdout);
    let clear = |text: &String| json(text)["contention"]["medium"] != "unclear";
    tried.into_iter().find(clear).expect("clear in one of eight times")
}

/// `lathide link --pairs` in a lab of 20 Mbit/s with these options.
fn measured(lab: &[&str], hosts: &str) -> String {
    let lab = [&["--rate", "20mbit", "--delay", "1ms", "--quiet"], lab, &["--"]].concat();
    clear(|| {
        let mut command = lathide(&lab);
        command.args([env!("CARGO_BIN_EXE_lathide"), "link", "--hosts", hosts]).args(PAIRS.split(' '));
        command
    })
}

/// What a byte costs of TCP at 20 Mbit/s, where a packet of 1500 bytes carries 1448.
const BYTE_S: f64 = 8.0 / 20e6 * 1500.0 / 1448.0;

#[test]
fn a_shared_medium_is_found_and_predicted_with() {
    if !is_possible() {
        return;
    }
    let text = measured(&["--hosts", "4", "--shared"], "host0,host1,host2,host3");
    let found = &json(&text)["contention"];
    assert_eq!(found["medium"], "shared", "{found}");
    let b_c = number(found, "network_b_s_per_byte");
    assert!((b_c / BYTE_S - 1.0).abs() < 0.25, "{b_c} is not {BYTE_S}: {found}");
    let file = std::env::temp_dir().join(format!("lathide-pairs-{}.json", std::process::id()));
    std::fs::write(&file, &text).expect("a temporary file");
    let with = |arguments: &str| {
        let mut command = crate::support::lathide();
        run(command.args(arguments.split(' ')).arg(&file)).succeeded().stdout
    };
    let answer = json(&with("predict hyperbolic --pairs 1,3 --bytes 1MiB --json --from"));
    let [one, three] = [0, 1].map(|point| number(&answer["points"][point], "line_s"));
    assert!((three / one - 3.0).abs() < 0.75, "three share what one has: {answer}");
    assert!(answer["notes"].to_string().contains("measured with up to 2 pairs"), "{answer}");
    assert!(with("report -o -").contains("The medium is shared"), "a page shows it");
    std::fs::remove_file(&file).expect("it is ours");
}

#[test]
fn a_switched_network_is_a_result() {
    if !is_possible() {
        return;
    }
    let text = measured(&["--hosts", "4"], "host0,host1,host2,host3");
    let found = &json(&text)["contention"];
    assert_eq!((&found["medium"], &found["network_b_s_per_byte"]), (&"switched".into(), &0.0.into()), "{found}");
    assert!(found["floods"].as_array().is_some_and(|floods| !floods.is_empty()), "three senders meet: {found}");
    assert!(number(found, "queue_bytes") > 0.0, "{found}");
}

#[test]
fn ranks_of_a_host_share_its_port() {
    if !is_possible() {
        return;
    }
    let text = measured(&["--hosts", "2"], "host0:2,host1:2");
    let result = json(&text);
    // Two nodes alone are on both hosts, too, whatever their slots.
    assert!(number(&result["probe"], "byte_s") > BYTE_S / 2.0, "{}", result["probe"]);
    let found = &result["contention"];
    assert_eq!(found["medium"], "port", "{found}");
    let b_p = number(found, "port_b_s_per_byte");
    assert!((b_p / BYTE_S - 1.0).abs() < 0.25, "{b_p} is not {BYTE_S}: {found}");
}

/// The same over the relay, which has no packets: no lab needed.
#[test]
fn an_emulated_medium_is_shared() {
    let text = clear(|| {
        let mut command = crate::support::lathide();
        command.args(["link", "--link", "delay=1ms,rate=20mbit,shared"]).args(PAIRS.split(' '));
        command
    });
    let found = &json(&text)["contention"];
    assert_eq!(found["medium"], "shared", "{found}");
    let b_c = number(found, "network_b_s_per_byte");
    assert!((b_c / (8.0 / 20e6) - 1.0).abs() < 0.25, "{b_c}: {found}");
    assert!(found["queue_bytes"].is_null(), "a relay loses nothing: {found}");
}
