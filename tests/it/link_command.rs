//! `lathide link` from outside: its JSON, its exit status, its complaints, and that nothing is left running. Numbers
//! are checked for sense, not for speed.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::process::{Finished, run};

/// Sizes small enough for a machine that is busy and code that is not optimised.
const QUICK: &str = "--bytes 8,4KiB,64KiB --repeats 1 --seconds 2";

fn command(arguments: &str) -> Command {
    let mut command = crate::support::lathide();
    command.arg("link").args(arguments.split_whitespace());
    command
}

fn link(arguments: &str) -> Finished {
    run(&mut command(arguments))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("not one JSON object: {error}: {finished:?}"))
}

fn number(object: &Value, member: &str) -> f64 {
    object[member].as_f64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

fn rows<'a>(result: &'a Value, member: &str) -> &'a Vec<Value> {
    result[member].as_array().unwrap_or_else(|| panic!("{member} is no list in {result}"))
}

/// Every number is finite and above 0.
fn positive(row: &Value, members: &[&str]) {
    for member in members {
        let value = number(row, member);
        assert!(value.is_finite() && value > 0.0, "{member} is {value}: {row}");
    }
}

/// `name_min <= name <= name_max`.
fn ranged(row: &Value, name: &str) {
    let [min, median, max] = ["_min", "", "_max"].map(|end| number(row, &format!("{name}{end}")));
    assert!(min <= median && median <= max, "{name}: {row}");
}

#[test]
fn everything_on_loopback() {
    let finished = link(&format!("{QUICK} --json --quiet")).succeeded();
    assert!(finished.stderr.is_empty(), "{finished:?}");
    let result = json(&finished);
    assert_eq!(result["schema"], "lathide-link-2");
    assert_eq!(result["link"]["emulated"], false);
    assert_eq!(result["raw"]["congestion_control"], "reno");
    positive(&result["machine"], &["cores"]);
    let sizes = |member| rows(&result, member).iter().map(|row| number(row, "bytes")).collect::<Vec<_>>();
    assert_eq!(sizes("latency"), [8.0, 4096.0, 65536.0]);
    for (member, numbers) in [
        ("bandwidth", &["raw_bytes_per_s", "raw_polled_bytes_per_s", "lathide_bytes_per_s", "ratio"][..]),
        ("exchange", &["pingpong_s", "simultaneous_s", "speedup", "raw_simultaneous_s", "penalty"]),
        ("overlap", &["t_calc_s", "t_com_s", "t_total_s", "availability", "availability_spare"]),
        ("exchange_overlap", &["t_calc_s", "t_com_s", "t_total_s", "availability", "availability_spare"]),
    ] {
        assert_eq!(sizes(member), [4096.0, 65536.0], "{member}");
        rows(&result, member).iter().for_each(|row| positive(row, numbers));
    }
    for row in rows(&result, "latency") {
        positive(row, &["raw_s", "raw_polled_s", "lathide_s", "penalty", "penalty_polled"]);
        // Of a single repetition, the ratio is that of the times.
        let ratio = number(row, "lathide_s") / number(row, "raw_s");
        assert!((number(row, "penalty") / ratio - 1.0).abs() < 1e-9, "{row}");
        let [p50, p99, most] = ["p50", "p99", "greatest"].map(|of| number(row, &format!("lathide_{of}_s")));
        assert!(0.0 < p50 && p50 <= p99 && p99 <= most, "{row}");
    }
    for row in ["overlap", "exchange_overlap"].iter().flat_map(|member| rows(&result, member)) {
        let [calc, com, total] = ["t_calc_s", "t_com_s", "t_total_s"].map(|member| number(row, member));
        assert!((number(row, "overlap") - (1.0 - (total - calc) / com)).abs() < 1e-6, "{row}");
        assert!(number(row, "effective_overlap") <= number(row, "overlap") + 1e-9, "{row}");
        let imb = ((com + calc - total) / com.max(calc)).clamp(0.0, 1.0);
        assert!((number(row, "overlap_imb") - imb).abs() < 1e-6, "{row}");
        assert!((number(row, "overlap_osu") - number(row, "overlap").max(0.0)).abs() < 1e-6, "{row}");
    }
    assert!(result["comparisons"][0]["what"].as_str().is_some_and(|what| what.contains("(A/A)")), "{result}");
    let verdict = &result["verdict"];
    assert!(verdict["kind"] == "disturbed" && verdict["reasons"].to_string().contains("there were 1."), "{verdict}");
    assert!(rows(&result, "rounds").len() > 10 && rows(&result, "hosts").len() == 1, "{result}");
    positive(&result["message_rate"], &["raw_per_s", "lathide_per_s", "ratio"]);
    positive(&result["under_load"], &["idle_p50_s", "p50_s", "p99_s", "p50_ratio", "p99_ratio", "samples"]);
    positive(&result["processor"]["message"], &["raw_s", "lathide_s", "ratio"]);
    assert!(result["hyperbolic"].is_null(), "three sizes leave none to hold out: {}", result["hyperbolic"]);
    let fragments = rows(&result, "fragments");
    assert!(fragments.len() >= 3, "{fragments:?}");
    assert!(fragments.iter().any(|row| row["fragment_bytes"] == 4096), "the default is among them: {fragments:?}");
    fragments.iter().for_each(|row| positive(row, &["s", "bytes"]));
    let cluster = &result["cluster"];
    positive(cluster, &["packet_bytes", "buffer_packets", "repeats"]);
    assert_eq!(cluster["processors"], 3);
    for cost in ["o_s", "g_s", "g_r", "u_r", "m_ctc", "m_ctm", "m_mtm"] {
        let [startup_s, s_per_byte] = ["startup_s", "s_per_byte"].map(|part| number(&cluster[cost], part));
        assert!(startup_s >= 0.0 && s_per_byte >= 0.0 && startup_s + s_per_byte > 0.0, "{cost}: {cluster}");
    }
}

#[test]
fn what_was_measured_is_what_is_predicted_with() {
    let words = "--link delay=2ms,rate=100mbit --bytes 8,64,512,4KiB --repeats 1 --seconds 4 --json";
    // On a busy machine a parameter may drown in noise.
    let is_whole = |measured: &Finished| {
        json(measured)["cluster"].as_object().is_some_and(|all| all.values().all(|one| !one.is_null()))
    };
    let measured = (0..5).map(|_| link(words).succeeded()).find(is_whole).expect("one of five does not drown");
    let cluster = &json(&measured)["cluster"];
    let cost = |key: &str, bytes: f64| number(&cluster[key], "startup_s") + bytes * number(&cluster[key], "s_per_byte");
    let packet = number(cluster, "packet_bytes");
    let one_way_s: f64 = ["o_s", "l", "o_r", "u_r"].iter().map(|key| cost(key, packet)).sum();
    assert!(one_way_s >= 0.002, "a packet takes no less than the delay: {cluster}");
    let file = std::env::temp_dir().join(format!("lathide-link-{}.json", std::process::id()));
    std::fs::write(&file, &measured.stdout).unwrap();
    let predict = |model: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        command.args(["predict"]).args(model.split_whitespace()).arg("--from").arg(&file).arg("--json");
        let answer = json(&run(&mut command).succeeded());
        assert_eq!(answer["from"]["link"]["spec"], "delay=2ms,rate=100mbit", "{answer}");
        answer
    };
    let bytes = format!("--procs 4 --bytes {packet}");
    let gather = predict(&format!("gather {bytes}"));
    // Eq. (8): C1 + 3 g_r + C2, with C1 + C2 a packet's way and a copy.
    let expected_s = one_way_s + cost("m_mtm", packet) + 3.0 * cost("g_r", packet);
    let bound_s = number(&gather["points"][0], "bound_s");
    assert!((bound_s / expected_s - 1.0).abs() < 1e-9, "{bound_s} is not {expected_s}: {gather} {cluster}");
    let broadcast = predict(&format!("broadcast --model cluster {bytes}"));
    // Eq. (2) with k = 1: log2 4 ways.
    let time_s = number(&broadcast["points"][0], "time_s");
    assert!((time_s / (2.0 * one_way_s) - 1.0).abs() < 1e-9, "{time_s} is not twice {one_way_s}: {broadcast}");
    let tree = predict(&format!("broadcast {bytes}"));
    assert!(number(&tree["points"][0], "tree_s") >= 0.004, "two ways, by the hyperbolic model: {tree}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_delay_is_in_every_time() {
    let finished = link("--link delay=5ms --bytes 8,64,512,4KiB --repeats 2 --seconds 4 --json").succeeded();
    assert!(finished.stderr.contains("lathide link: measuring over delay=5ms"), "{finished:?}");
    let result = json(&finished);
    assert_eq!((&result["link"]["emulated"], &result["link"]["spec"]), (&true.into(), &"delay=5ms".into()));
    assert_eq!(rows(&result, "latency").len(), 4);
    for row in rows(&result, "latency") {
        for way in ["raw_s", "raw_polled_s", "lathide_s"] {
            ranged(row, way);
            assert!(number(row, &format!("{way}_min")) >= 0.005, "{way}: {row}");
        }
    }
    for row in rows(&result, "exchange") {
        assert!(number(row, "pingpong_s_min") >= 0.01, "{row}");
        // If one side begins later than the other, by as much less it waits, and the other by as much more.
        assert!(number(row, "simultaneous_s_min") >= 0.0049, "{row}");
    }
    for row in rows(&result, "fragments") {
        assert!(number(row, "s_min") >= 0.005, "{row}");
    }
    let hyperbolic = &result["hyperbolic"];
    positive(hyperbolic, &["a_s"]);
    assert!(number(hyperbolic, "b_s_per_byte") >= 0.0, "{hyperbolic}");
    assert!(number(hyperbolic, "a_s") >= 0.004, "{hyperbolic}");
    // Every size is predicted once, by a fit to the others.
    assert_eq!(rows(hyperbolic, "held_out_bytes").len(), 4, "{hyperbolic}");
    positive(&result["segmented"], &["start_s"]);
}

#[test]
fn tables_and_a_sentence_for_people() {
    let finished = link(&format!("{QUICK} --link delay=200us,rate=100mbit --quiet")).succeeded();
    assert!(finished.stderr.is_empty(), "{finished:?}");
    for part in ["delay=200us,rate=100mbit", "penalty", "Overlap:", "fragment", "one way with lathide"] {
        let words = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{part} is missing: {}", finished.stdout);
    }
    assert!(!finished.stdout.contains('\x1b'), "no colour where no terminal is: {}", finished.stdout);
}

#[test]
fn nothing_is_left_of_a_run_that_is_interrupted() {
    let mark = "delay=3333us";
    let child = command(&format!("--link {mark} --quiet --json"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let launcher = child.id();
    wait_until("the nodes run", || descendants(launcher).len() >= 2);
    let nodes = descendants(launcher);
    let pid = i32::try_from(launcher).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(pid, Signal::INT).expect("the command runs");
    let output = child.wait_with_output().expect("a child of ours");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    // On a busy machine something may have been measured before.
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(result) => assert_eq!(result["verdict"]["kind"], "partial"),
        Err(_) => assert!(output.stdout.is_empty() && stderr.contains("interrupted by signal 2"), "{stderr}"),
    }
    wait_until("the nodes have ended", || nodes.iter().all(|node| !is_running(*node)));
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The `lathide` node processes whose parent is `launcher`.
fn descendants(launcher: u32) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").expect("a process list").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_node = |number: &u32| {
        let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        parent(*number) == Some(launcher) && arguments.split(|byte| *byte == 0).any(|word| word == b"__node")
    };
    numbers.filter(is_node).collect()
}

fn parent(number: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn is_running(number: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|word| word == b"__node")
}

#[test]
fn wrong_use_is_explained() {
    let cases = [
        ("--bytes 0", "such as 8, 64KiB or 1MiB"),
        ("--bytes 8,x", "such as 8, 64KiB or 1MiB"),
        ("--bytes 1GiB", "from 1B to 256MiB"),
        ("--bytes ,", "such as 8"),
        ("--bytes 99999999999999999999", "from 1B to 256MiB"),
        ("--repeats 0", "--repeats"),
        ("--seconds 0", "from 0.1s to 24h"),
        ("--seconds nan", "from 0.1s to 24h"),
        ("--seconds soon", "from 0.1s to 24h"),
        ("--link dsl", "loopback, ethernet, lan or wan"),
        ("--pairs 0", "from 1 to 32"),
        ("--pairs 33", "from 1 to 32"),
        ("--pairs 1,2", "name hosts (--hosts a,b,c,d), or a medium for all"),
        ("--pairs 2 --link rate=50mbit", "each has a path of its own"),
        ("--pairs 1 --hosts a,b,c", "an even number of ranks, one for each slot, and a,b,c has 3"),
        ("--pairs 1,4 --hosts a,b,c,d", "4 pairs at once take 8 ranks, and a,b,c,d has 4 slots"),
        ("--pairs 1 --hosts a:2", "pairs would not leave it"),
        ("--pairs 1 --hosts a", "an even number of ranks"),
        ("--pairs 2 --link ethernet --bytes 8,64,512", "at least 4 message sizes, and --bytes has 3"),
        ("--frobnicate", "--frobnicate"),
        ("8", "'8'"),
    ];
    for (arguments, message) in cases {
        let failed = link(arguments).failed(2);
        assert!(failed.stderr.contains(message), "link {arguments}: {failed:?}");
        assert!(failed.stdout.is_empty(), "link {arguments}: {failed:?}");
    }
    let help = link("--help").succeeded();
    assert!(help.stdout.contains("lathide link --link wan"), "an example: {}", help.stdout);
}
