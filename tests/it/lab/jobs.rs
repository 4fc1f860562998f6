//! Jobs over the hosts of a lab: as on real machines, and when a cable is cut.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::ends::ended_within;
use super::{is_possible, lathide};
use crate::examples::example;

const LATHIDE: &str = env!("CARGO_BIN_EXE_lathide");

/// Runs a shell script on host0 of a lab; `$1` is lathide, then come `args`.
pub(super) fn in_lab(options: &[&str], script: &str, args: &[&str]) -> (Option<i32>, String, Duration) {
    in_lab_within(Duration::from_secs(60), options, script, args)
}

/// The same, of a script that has so long.
pub(super) fn in_lab_within(
    limit: Duration,
    options: &[&str],
    script: &str,
    args: &[&str],
) -> (Option<i32>, String, Duration) {
    let begin = Instant::now();
    let script = format!("exec 2>&1\n{script}");
    let all = [&["--quiet"], options, &["--", "sh", "-c", &script, "sh", LATHIDE], args].concat();
    let mut lab = lathide(&all);
    let mut child = lab.stdout(Stdio::piped()).spawn().expect("lathide");
    let output = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || std::io::read_to_string(output).expect("text"));
    let status = ended_within(&mut child, limit);
    (status.code(), reader.join().expect("the reader"), begin.elapsed())
}

pub(super) fn path(name: &str) -> String {
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

/// The report of a rank takes longer on its way than the rank's process and the launcher would stay for its goodbye.
#[test]
fn reports_arrive_over_a_slow_network() {
    if !is_possible() {
        return;
    }
    let file = std::env::temp_dir().join(format!("lathide-slow-{}.json", std::process::id()));
    let hosts = "host0,host1,host2,host3";
    let script = "$1 run -q --report=$4 --hosts $2 $3";
    let place = file.display().to_string();
    let options = ["--hosts", "4", "--delay", "20ms", "--rate", "64kbit"];
    let (status, text, _) = in_lab(&options, script, &[hosts, &path("ring"), &place]);
    let reports = std::fs::read_to_string(&file).expect("the reports");
    _ = std::fs::remove_file(&file);
    let reports: serde_json::Value = serde_json::from_str(&reports).expect("JSON");
    assert_eq!((status, reports.as_array().map(Vec::len)), (Some(0), Some(4)), "{text}");
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
    // Between the hosts, and from each to the launcher, which is on host0.
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(4), "{json}");
    for pair in json["pairs"].as_array().into_iter().flatten() {
        assert_eq!(pair["reachable"], true, "{pair}");
        if (&pair["from"], &pair["to"]) == (&"host0".into(), &"this machine".into()) {
            continue;
        }
        // Whatever else the machine does: a switch that looks late takes packets for sent since it looked before, so the delay
        // can be a little less than two times 2 ms. Both hosts have one clock.
        assert!(pair["round_trip_s"].as_f64() >= Some(0.003), "{pair}");
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

/// For scripts with the launcher in `$l` and the job in `$job`: `running HOST` waits until the job's ranks are past their start.
/// Those that say much show it by what HOST has received, far more than a start takes; those that say little by the file `$ready`.
pub(super) const RUNNING: &str = r#"
    received() { $l lab status | sed -n "s/^$1 .*received [0-9]* packets, \([0-9]*\) bytes.*/\1/p"; }
    running() {
        until [ -e "$ready" ] || [ "$(received $1)" -gt 100000 ]; do
            kill -0 $job 2>/dev/null || { echo "it ended before it ran"; exit 9; }
            sleep 0.05
        done
    }
"#;

/// A file that is not there yet, for `$ready`.
pub(super) fn fresh_file() -> std::path::PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("lathide-ready-{}-{number}", std::process::id()))
}

/// How a job over two hosts ended whose second was cut off.
#[derive(Debug)]
struct Ended {
    status: i32,
    /// After it was begun to cut the cable.
    after_s: f64,
    /// How long the cable was cut, mending it included; 0 if for good.
    cut_s: f64,
    text: String,
}

/// Cuts a host's cable for so many seconds, or for good, when the job runs.
fn cut_for(seconds: Option<f64>, environment: &str, role: &str, program: &[&str]) -> Ended {
    // `lathide lab mend` takes its time on a busy machine, which would be part of the cut.
    let mend = seconds.map_or(String::new(), |seconds| {
        format!("sleep {seconds}; $l lab mend host1; echo \"mended $(($(date +%s%N) - cut))\";")
    });
    let ready = fresh_file();
    let script = format!(
        "{RUNNING} l=$1; shift; ready={}; export {environment} LATHIDE_LAB_TEST_ROLE={role} LATHIDE_LAB_TEST_READY=$ready; \
         $l run --hosts host0,host1 \"$@\" & job=$!; running host1; begin=$(date +%s%N); $l lab cut host1; cut=$(date +%s%N); \
         kill -0 $job || echo 'over before the cut'; {mend} \
         wait $job; status=$?; end=$(date +%s%N); echo \"ended $status $((end - begin))\"",
        ready.display()
    );
    let (_, text, _) = in_lab(&["--hosts", "2", "--delay", "10ms"], &script, program);
    let _ = std::fs::remove_file(ready);
    assert!(!text.contains("over before the cut"), "{text}");
    let ended = text.lines().rev().find_map(|line| line.strip_prefix("ended ")).unwrap_or_else(|| panic!("{text}"));
    let (status, nanoseconds) = ended.split_once(' ').expect("two numbers");
    let seconds = |nanoseconds: &str| nanoseconds.parse::<f64>().expect("a number") / 1e9;
    let cut_s = text.lines().find_map(|line| line.strip_prefix("mended ")).map_or(0.0, seconds);
    Ended { status: status.parse().expect("a status"), after_s: seconds(nanoseconds), cut_s, text }
}

/// The same; on a busy machine mending may take so long that the cut was another one, and is tried again.
fn cut_for_no_longer(seconds: f64, environment: &str, role: &str, program: &[&str]) -> Ended {
    let mut ended = cut_for(Some(seconds), environment, role, program);
    for _ in 0..3 {
        if ended.status == 0 || ended.cut_s <= seconds + 0.05 {
            break;
        }
        println!("{seconds} s became {:.2}: once more", ended.cut_s);
        ended = cut_for(Some(seconds), environment, role, program);
    }
    ended
}

/// Whether the system can send again every second; else a mended cable may be found late, as the manual says.
fn finds_mended_cables() -> bool {
    let is_there = std::path::Path::new("/proc/sys/net/ipv4/tcp_rto_max_ms").exists();
    if !is_there {
        eprintln!("skipped: Linux before 6.15");
    }
    is_there
}

#[test]
fn cuts_of_up_to_nine_and_a_half_seconds_are_delays() {
    if !is_possible() || !finds_mended_cables() {
        return;
    }
    let (stencil, own) = (path("stencil"), super::program::own_command());
    // As many steps as take some seconds at least: the cut is in the middle of them.
    let traffic = [&stencil[..], "--steps", "400"];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let cases: [(f64, &str, &str, &[&str]); 9] = [
        (7.0, "LATHIDE_OVERLAP=on", "none", &traffic),
        (8.0, "LATHIDE_OVERLAP=on", "none", &traffic),
        (9.0, "LATHIDE_OVERLAP=on", "none", &traffic),
        (9.5, "LATHIDE_OVERLAP=on", "none", &traffic),
        (9.5, "LATHIDE_OVERLAP=off", "none", &traffic),
        (9.5, "LATHIDE_OVERLAP=on", "quiet", &own),
        (9.5, "LATHIDE_OVERLAP=off", "full", &own),
        // Without suspicion, and for longer than TCP goes on if it tries again every second.
        (16.0, "LATHIDE_KEEPALIVE=30", "none", &traffic),
        (16.0, "LATHIDE_KEEPALIVE=off", "none", &traffic),
    ];
    std::thread::scope(|scope| {
        let labs: Vec<_> =
            cases.map(|case| (case, scope.spawn(move || cut_for_no_longer(case.0, case.1, case.2, case.3)))).into();
        for (case, lab) in labs {
            let ended = lab.join().expect("a lab");
            println!("{} s, {}, {}: ended {} after {:.1} s", case.0, case.1, case.2, ended.status, ended.after_s);
            assert_eq!(ended.status, 0, "{case:?}: {ended:?}");
            assert!(ended.after_s >= case.0, "{case:?}: it was over before the cable was mended: {ended:?}");
            let done = if case.2 == "none" { "correct to the bit" } else { "exchanged" };
            assert!(ended.text.contains(done), "{case:?}: {ended:?}");
        }
    });
}

#[test]
fn a_host_that_stays_cut_off_is_named_in_time_whatever_its_ranks_do() {
    if !is_possible() {
        return;
    }
    let (stencil, own) = (path("stencil"), super::program::own_command());
    let traffic = [&stencil[..], "--steps", "1000000"];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    // Silence begins suspicion, and the link may be down for as long as LATHIDE_RESUME says.
    let cases: [(f64, &str, &str, &[&str]); 6] = [
        (10.0, "LATHIDE_KEEPALIVE=6 LATHIDE_RESUME=4 LATHIDE_OVERLAP=on", "none", &traffic),
        (10.0, "LATHIDE_KEEPALIVE=6 LATHIDE_RESUME=4 LATHIDE_OVERLAP=off", "none", &traffic),
        (10.0, "LATHIDE_RESUME=7 LATHIDE_OVERLAP=on", "quiet", &own),
        (10.0, "LATHIDE_RESUME=7 LATHIDE_OVERLAP=off", "full", &own),
        (5.0, "LATHIDE_RESUME=2", "none", &traffic),
        (3.0, "LATHIDE_RESUME=off", "none", &traffic),
    ];
    std::thread::scope(|scope| {
        let labs: Vec<_> = cases.map(|case| (case, scope.spawn(move || cut_for(None, case.1, case.2, case.3)))).into();
        for (case, lab) in labs {
            let ended = lab.join().expect("a lab");
            println!("{}, {}: ended {} after {:.1} s", case.1, case.2, ended.status, ended.after_s);
            assert_ne!(ended.status, 0, "{case:?}: {ended:?}");
            assert!(ended.text.contains("rank 1"), "{case:?}: {ended:?}");
            // One more attempt, and whatever a busy machine adds; far less than TCP's quarter of an hour.
            assert!((case.0 - 0.5..case.0 + 12.0).contains(&ended.after_s), "{case:?}: {ended:?}");
        }
    });
}

#[test]
fn a_cut_of_two_seconds_is_a_delay() {
    if !is_possible() {
        return;
    }
    let script = format!(
        "{RUNNING} l=$1; $l run --hosts host0,host1 $2 --steps 400 & job=$!; running host1; $l lab cut host1; \
         kill -0 $job && echo during; sleep 2; $l lab mend host1; wait $job"
    );
    let stencil = path("stencil");
    // As many steps as take some seconds at least: the cut is in the middle of them.
    let (status, text, _) = in_lab(&["--hosts", "2", "--delay", "10ms"], &script, &[&stencil]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("correct to the bit") && text.contains("during"), "{text}");
}

#[test]
fn a_host_that_stays_cut_off_is_named() {
    if !is_possible() {
        return;
    }
    // Far more steps than there is time for; the cable is cut meanwhile.
    let script = format!(
        "{RUNNING} export LATHIDE_RESUME=7; l=$1; $l run --hosts host0,host1 $2 --steps 1000000 & job=$!; running host1; \
         $l lab cut host1; begin=$(date +%s%N); wait $job; echo status $?; echo \"after $(($(date +%s%N) - begin))\""
    );
    let stencil = path("stencil");
    let (_, text, _) = in_lab(&["--hosts", "2", "--delay", "1ms"], &script, &[&stencil]);
    assert!(text.contains("status ") && !text.contains("status 0"), "{text}");
    assert!(text.contains("host1") && text.contains("rank 1"), "who it was is not said: {text}");
    // Ten seconds of silence, seven of attempts, the end of the others, and whatever a busy machine adds.
    let after = text.lines().find_map(|line| line.strip_prefix("after ")).expect("it has ended");
    assert!(after.parse::<f64>().expect("a number") < 40e9, "{text}");
}
