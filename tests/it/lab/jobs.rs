//! Jobs over the hosts of a lab: as on real machines, and when a cable is cut.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::ends::ended;
use super::{is_possible, lathide};
use crate::examples::example;

const LATHIDE: &str = env!("CARGO_BIN_EXE_lathide");

/// Runs a shell script on host0 of a lab; `$1` is lathide, then come `args`.
fn in_lab(options: &[&str], script: &str, args: &[&str]) -> (Option<i32>, String, Duration) {
    let begin = Instant::now();
    let script = format!("exec 2>&1\n{script}");
    let all = [&["--quiet"], options, &["--", "sh", "-c", &script, "sh", LATHIDE], args].concat();
    let mut lab = lathide(&all);
    let mut child = lab.stdout(Stdio::piped()).spawn().expect("lathide");
    let output = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || std::io::read_to_string(output).expect("text"));
    let status = ended(&mut child);
    (status.code(), reader.join().expect("the reader"), begin.elapsed())
}

fn path(name: &str) -> String {
    example(name).display().to_string()
}

#[test]
fn eight_hosts_run_the_stencil_and_the_gather() {
    if !is_possible() {
        return;
    }
    let hosts = "host0,host1,host2,host3,host4,host5,host6,host7";
    let script = "set -e; $1 run --hosts $2 $3; $1 run --hosts $2 $4";
    let (stencil, gather) = (path("stencil"), path("gather"));
    let (status, text, _) =
        in_lab(&["--hosts", "8", "--delay", "1ms", "--rate", "100mbit"], script, &[hosts, &stencil, &gather]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("on 8 ranks") && text.contains("correct to the bit"), "{text}");
}

#[test]
fn the_doctor_finds_who_is_cut_off() {
    if !is_possible() {
        return;
    }
    let script = "$1 doctor --hosts host0,host1 --json --quiet; echo status $?; $1 lab cut host1; \
                  $1 doctor --hosts host0,host1 --quiet; echo status $?";
    let (status, text, _) = in_lab(&["--hosts", "2", "--delay", "2ms"], script, &[]);
    assert_eq!(status, Some(0), "{text}");
    let (whole, broken) = text.split_once("status 0").unwrap_or_else(|| panic!("not well: {text}"));
    let json: serde_json::Value = serde_json::from_str(whole.trim()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(2), "{json}");
    for pair in json["pairs"].as_array().into_iter().flatten() {
        assert_eq!(pair["reachable"], true, "{pair}");
        // The delay holds whatever else the machine does; both hosts have one clock.
        assert!(pair["round_trip_s"].as_f64() >= Some(0.004), "{pair}");
        assert!(pair["clock_ahead_s"].as_f64().is_some_and(|ahead| ahead.abs() < 0.1), "{pair}");
    }
    assert!(broken.contains("host0 does not reach host1") && broken.contains("status 1"), "{text}");
}

#[test]
fn the_doctor_looks_for_the_program_and_keeps_to_the_addresses_it_is_told() {
    if !is_possible() {
        return;
    }
    let script = "d=\"$1 doctor --hosts host0,host1 --json --quiet\"; \
                  $d $2; echo =$?; $d ./no-such-program; echo =$?; $d --net 'fd76::/16' --ports 7100-7101; echo =$?; \
                  $d --net 192.0.2.0/24; echo =$?";
    let stencil = path("stencil");
    let (status, text, _) = in_lab(&["--hosts", "2"], script, &[&stencil]);
    assert_eq!(status, Some(0), "{text}");
    let mut parts = text.split_inclusive('\n').collect::<Vec<_>>().into_iter();
    let mut next = || {
        let lines: Vec<&str> = parts.by_ref().take_while(|line| !line.starts_with('=')).collect();
        serde_json::from_str::<serde_json::Value>(&lines.concat()).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (found, missing, told, nowhere) = (next(), next(), next(), next());
    assert_eq!(found["troubles"], serde_json::json!([]), "{found}");
    assert!(found["hosts"][0]["user_program_hash"].is_string(), "{found}");
    assert_eq!(found["hosts"][0]["user_program_hash"], found["hosts"][1]["user_program_hash"]);
    let troubles = |json: &serde_json::Value| json["troubles"].to_string();
    assert!(troubles(&missing).contains("host1 lacks the program"), "{missing}");
    assert_eq!(told["troubles"], serde_json::json!([]), "{told}");
    for pair in told["pairs"].as_array().into_iter().flatten() {
        assert!(pair["to_address"].as_str().is_some_and(|address| address.contains("fd76")), "{pair}");
    }
    assert!(troubles(&nowhere).contains("host0"), "{nowhere}");
    let statuses: Vec<&str> = text.lines().filter(|line| line.starts_with('=')).collect();
    assert_eq!(statuses, ["=0", "=1", "=0", "=1"], "{text}");
}

/// Far more steps than there is time for; the cable is cut meanwhile.
const EXCHANGES: &str = "$1 run --hosts host0,host1 $2 --steps 1000000 & job=$!; sleep 1.5; $1 lab cut host1; ";

#[test]
fn a_cut_of_two_seconds_is_a_delay() {
    if !is_possible() {
        return;
    }
    let script = "$1 run --hosts host0,host1 $2 --steps 200 & job=$!; sleep 0.7; $1 lab cut host1; sleep 2; \
                  $1 lab mend host1; wait $job";
    let stencil = path("stencil");
    // 200 steps of two round trips at least: the cut is in the middle of them.
    let (status, text, took) = in_lab(&["--hosts", "2", "--delay", "10ms"], script, &[&stencil]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("correct to the bit"), "{text}");
    assert!(took >= Duration::from_millis(2700), "it was over before the cut: {took:?}");
}

#[test]
fn a_host_that_stays_cut_off_is_named() {
    if !is_possible() {
        return;
    }
    let script = format!("{EXCHANGES} wait $job; echo status $?");
    let stencil = path("stencil");
    let (_, text, took) = in_lab(&["--hosts", "2", "--delay", "1ms"], &script, &[&stencil]);
    assert!(!text.contains("status 0"), "{text}");
    assert!(text.contains("host1") && text.contains("rank 1"), "who it was is not said: {text}");
    // Ten seconds of silence, the end of the others, and whatever a busy machine adds.
    assert!(took < Duration::from_secs(40), "{took:?}: {text}");
}
