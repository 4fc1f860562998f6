//! `lathide gain` from outside: its JSON, its exit status, its complaints. Numbers are checked for sense, not for speed.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::examples::example;
use crate::process::{Finished, run};
use crate::support::lathide;

fn gain(arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide")).arg("gain").args(arguments.split_whitespace()))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("not one JSON object: {error}: {finished:?}"))
}

fn number(object: &Value, member: &str) -> f64 {
    object[member].as_f64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

#[test]
fn the_stencil_on_an_emulated_link() {
    let finished = gain("--rows 4000 --gamma 0.5,2 --repeats 1 --link delay=1ms,rate=100mbit --json").succeeded();
    let result = json(&finished);
    assert_eq!(result["schema"], "lathide-gain-2");
    assert_eq!(result["link"]["emulated"], true);
    assert_eq!(result["link"]["spec"], "delay=1ms,rate=100mbit");
    assert_eq!(result["message_bytes"], 32_000);
    // One repetition is no result to cite, and says so.
    let verdict = &result["verdict"];
    assert!(verdict["kind"] != "valid" && verdict["reasons"].to_string().contains("6 calm repetitions"), "{verdict}");
    assert!(result["gain_at_1"]["gain"].is_f64() && result["gain_at_1"]["interval"].is_null(), "{result}");
    let sequence: Vec<f64> =
        result["rounds"].as_array().expect("rounds").iter().map(|it| number(it, "sequence")).collect();
    // What was disturbed is measured again.
    assert!(sequence.len() >= 2 && sequence.iter().zip(0..).all(|(at, turn)| *at == f64::from(turn)), "{sequence:?}");
    // I.1 is measured twice at the granularity nearest to 1.
    assert_eq!(result["comparisons"].as_array().map(Vec::len), Some(4), "{result}");
    let hosts = result["hosts"].as_array().expect("hosts");
    assert_eq!(hosts.len(), 1);
    assert!(hosts[0]["ranks"].as_array().is_some_and(|ranks| ranks.len() == 2), "{hosts:?}");
    assert!(number(&hosts[0], "round_trip_s") >= 0.002, "there and back over the link: {hosts:?}");
    assert!(result["run"]["command_line"].to_string().contains("--rows"), "{result}");
    let points = result["points"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for point in points {
        let [calc, com] = ["t_calc_s", "t_com_s"].map(|member| number(point, member));
        // 32 000 bytes at 100 Mbit/s and 1 ms: nothing can be faster.
        assert!(com >= 0.0033, "{point}");
        // Of a single repetition, the medians are its values.
        assert!((number(point, "gamma") - calc / com).abs() < 1e-9, "{point}");
        for (gain, version) in [("gain", "t_i3_s"), ("gain_blocking", "t_i2_s")] {
            let ratio = number(point, "t_i1_s") / number(point, version);
            assert!((number(point, gain) - ratio).abs() < 1e-9, "{gain}: {point}");
        }
        // Beside raw TCP, in the same repetition.
        for (gain, raw) in
            [("gain_over_raw_pingpong", "t_raw_pingpong_s"), ("gain_over_raw_exchange", "t_raw_exchange_s")]
        {
            let ratio = number(point, raw) / number(point, "t_i3_s");
            assert!((number(point, gain) - ratio).abs() < 1e-9, "{gain}: {point}");
        }
        let base = number(point, "t_i1_s") / number(point, "t_raw_exchange_s");
        assert!((number(point, "i1_over_raw_exchange") - base).abs() < 1e-9, "{point}");
        // One direction after the other takes at least two transfers, however busy the machine.
        assert!(number(point, "t_raw_pingpong_s") >= 0.0066, "{point}");
        assert!(number(point, "t_i1_s") >= number(point, "t_i1_s_min"), "{point}");
        assert!((0.0..=1.0).contains(&number(point, "f")), "{point}");
        assert!(number(point, "gain_ideal") <= 2.0 && number(point, "gain_model") > 0.0, "{point}");
    }
}

#[test]
fn what_is_not_valid_fails_where_that_is_asked_for() {
    let strict = gain("--rows 500 --gamma 1 --repeats 1 --steps 1 --link loopback --strict --json").failed(3);
    assert!(json(&strict)["verdict"]["kind"] != "valid", "the result is shown all the same: {strict:?}");
    let text = gain("--rows 500 --gamma 1 --repeats 1 --steps 1 --link loopback").succeeded().stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let verdict = words.find("Verdict: ").expect("a verdict");
    assert!(words[verdict..].to_lowercase().contains("overlap"), "before the conclusion: {text}");
    assert!(words.contains("Host ") && words.contains("(A/A)"), "{text}");
}

#[test]
fn a_firm_time_has_the_point_that_counts_most() {
    let line = "--seconds 1 --gamma 0.5,1,3 --rows 2000 --link delay=1ms,rate=100mbit --json";
    let result = json(&gain(line).succeeded());
    let points = result["points"].as_array().expect("points");
    assert!(points.iter().any(|point| point["gamma_wanted"] == 1.0), "{result}");
    let repeats = points.iter().map(|point| number(point, "repeats")).fold(f64::MAX, f64::min);
    if points.len() < 3 || repeats < 6.0 {
        assert!(result["warnings"].to_string().contains("There was"), "less is said to be less: {result}");
        assert!(result["verdict"]["kind"] != "valid", "{result}");
    }
}

#[test]
fn what_was_measured_before_an_interruption_is_shown() {
    for seconds in [3, 10, 30] {
        let mut command = lathide();
        command
            .args("gain --rows 100 --steps 200 --gamma 1,2 --repeats 1000 --link loopback --json --quiet".split(' '));
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        thread::sleep(Duration::from_secs(seconds));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process number");
        kill_process(pid, Signal::INT).expect("it runs: a thousand repetitions take minutes");
        let output = child.wait_with_output().expect("a child of ours");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        if output.stdout.is_empty() {
            assert!(stderr.contains("interrupted by signal 2 before anything was measured"), "{stderr}");
            continue;
        }
        let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let kind = &result["verdict"]["kind"];
        assert!(kind == "partial" || kind == "impossible", "{result}");
        assert!(result["verdict"]["reasons"].to_string().contains("Signal 2 ended it early"), "{result}");
        assert!(result["rounds"].as_array().is_some_and(|rounds| !rounds.is_empty()), "{result}");
        return;
    }
    panic!("nothing was measured in half a minute");
}

#[test]
fn several_messages_and_buffers() {
    let link = "--link delay=1ms,rate=100mbit --gamma 1 --repeats 1 --steps 2";
    let result = json(&gain(&format!("--rows 500,1000 --socket-buffer 4KiB,default {link} --json")).succeeded());
    assert_eq!(result["schema"], "lathide-gain-cases-1");
    let cases = result["cases"].as_array().expect("cases");
    let asked: Vec<_> = cases.iter().map(|case| (&case["message_bytes"], &case["socket_buffer_bytes"])).collect();
    let (whole, part, size) = (Value::from(4000), Value::from(8000), Value::from(4096));
    assert_eq!(asked, [(&whole, &size), (&whole, &Value::Null), (&part, &size), (&part, &Value::Null)]);
    let points = result["points"].as_array().expect("points");
    assert!(points.len() == 4 && points.iter().all(|point| point["steps"] == 2), "{result}");
    assert!(points.iter().all(|point| number(point, "gain") > 0.0 && number(point, "t_com_s") >= 1e-3), "{result}");
}

/// Several ghost columns beside the model: each number follows from others, and what was measured is no less than the link allows.
#[test]
fn deep_halos_beside_the_model() {
    let link = "--link delay=2ms,rate=100mbit";
    let result = json(&gain(&format!("--halo 1,4,9 --rows 60 --gamma 0.2 --repeats 2 {link} --json")).succeeded());
    assert_eq!(result["schema"], "lathide-gain-halo-1");
    let [calc, a, b] = ["t_calc_s", "a_s", "b_s_per_byte"].map(|member| number(&result, member));
    assert!(calc > 0.0 && a > 0.0, "{result}");
    let exchanges = result["exchanges"].as_array().expect("exchanges");
    assert!(
        exchanges.len() == 4 && exchanges.iter().all(|each| number(each, "time_s") >= 2e-3),
        "2 ms one way: {result}"
    );
    let column = a + b * number(&result, "message_bytes");
    let close =
        |found: f64, right: f64| assert!((found / right - 1.0).abs() < 1e-9, "{found} is not {right}: {result}");
    close(number(&result, "gamma"), calc / column);
    close(number(&result, "bound"), 1.0 + column / calc);
    close(number(&result, "t_i1_predicted_s"), calc + column);
    let halos = result["halos"].as_array().expect("halos");
    assert_eq!(halos.iter().map(|point| number(point, "halo")).collect::<Vec<_>>(), [1.0, 4.0, 9.0]);
    for point in halos {
        let (k, hidden, plain) = (number(point, "halo"), number(point, "t_i3_s"), number(point, "t_i1_s"));
        // One exchange in k steps, which nothing makes shorter.
        assert!(hidden >= 2e-3 / k && plain >= 2e-3 / k, "{point}");
        close(number(point, "gain"), number(&result, "t_i1_s") / hidden);
        close(number(point, "gain"), number(point, "gain_of_halo") * number(point, "gain_of_hiding"));
        close(1.0 + number(point, "error"), number(point, "t_i3_predicted_s") / hidden);
        let exchange = a + k * b * number(&result, "message_bytes");
        close(number(point, "t_i1_predicted_s"), calc * (1.0 + (k - 1.0) / 128.0) + exchange / k);
    }
    let best = |member: &str, of: &str| {
        let most = halos.iter().max_by(|one, other| number(one, of).total_cmp(&number(other, of)));
        assert_eq!(result[member], most.expect("points")["halo"], "{member}: {result}");
    };
    best("best_measured", "gain");
    best("best_predicted", "gain_predicted");
}

#[test]
fn halos_that_cannot_be_are_refused() {
    for (arguments, why) in [
        ("--halo 65", "--halo 65 is wider than the strip, 64 columns: a neighbour has no more"),
        ("--halo 0", "--halo"),
        ("--halo 2 --gamma 0.1,0.2", "--gamma takes one value with --halo"),
        ("--halo 2 --rows 10,20", "--rows takes one value with --halo"),
        ("--halo 2 --steps 3", "--steps"),
        ("--halo 2 -- ./program", "--halo"),
    ] {
        let failed = gain(arguments).failed(2);
        assert!(failed.stderr.contains(why), "{arguments}: {failed:?}");
    }
}

#[test]
fn a_buffer_that_the_system_does_not_allow_is_named() {
    let failed = gain("--rows 500 --gamma 1 --repeats 1 --socket-buffer 1GiB --link loopback").failed(1);
    assert!(failed.stderr.contains("no socket buffer") && failed.stderr.contains("mem_max"), "{failed:?}");
}

#[test]
fn without_a_link_and_quiet() {
    let finished = gain("--rows 1000 --gamma 1 --repeats 1 --link loopback --quiet").succeeded();
    assert!(finished.stdout.contains("loopback") && finished.stdout.contains("eq. 4"), "{finished:?}");
    assert!(finished.stderr.is_empty(), "{finished:?}");
}

#[test]
fn an_unchanged_program() {
    let stencil = example("stencil");
    let stencil = stencil.to_str().expect("a path in UTF-8");
    let program = format!("-n 2 --repeats 1 --json -- {stencil} --rows 1000 --columns 4 --steps 3");
    let result = json(&gain(&program).succeeded());
    assert_eq!(result["schema"], "lathide-gain-program-2");
    assert_eq!((&result["ranks"], &result["repeats"]), (&2.into(), &1.into()));
    assert!(result["verdict"]["reasons"].to_string().contains("6 repetitions; there were 1"), "{result}");
    assert_eq!(result["rounds"].as_array().map(Vec::len), Some(1), "{result}");
    // It marks its region, and that is what is compared.
    assert_eq!((&result["clock"], &result["region"]), (&"region".into(), &"solve".into()), "{result}");
    let ratio = number(&result, "t_off_s") / number(&result, "t_on_s");
    assert!((number(&result, "gain") - ratio).abs() < 1e-9, "{result}");
    // What the ranks observed stands beside it.
    let reports = result["reports"].as_array().expect("reports");
    assert_eq!(reports.len(), 2, "{result}");
    assert!(reports.iter().all(|report| report["gain_measured"] == result["gain"]), "{result}");
    let closing: Vec<&str> = result["closing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(closing[0].contains("measured (off/on)") && closing.len() == 2, "{closing:?}");
}

#[test]
fn a_region_that_the_program_does_not_have_is_named() {
    let stencil = example("stencil");
    let program = format!("{} --rows 100 --columns 4 --steps 3", stencil.display());
    let failed = gain(&format!("-n 2 --repeats 1 --region slove -- {program}")).failed(2);
    assert!(failed.stderr.contains("only the regions solve; did you mean \"solve\"?"), "{failed:?}");
    let failed = gain("-n 2 --repeats 1 --region solve -- true").failed(2);
    assert!(failed.stderr.contains("has marked no region"), "{failed:?}");
}

#[test]
fn a_program_that_never_joins_is_timed_by_the_wall() {
    let result = json(&gain("-n 2 --repeats 1 --json -- true").succeeded());
    assert_eq!(result["clock"], "process");
    assert_eq!((&result["reports"], &result["closing"]), (&Value::Array(vec![]), &Value::Array(vec![])));
}

#[test]
fn a_program_that_fails_gives_its_status_and_its_last_words() {
    let stencil = example("stencil");
    let stencil = stencil.to_str().expect("a path in UTF-8");
    let failed = gain(&format!("-n 3 -- {stencil} --columns 2")).failed(1);
    assert!(failed.stderr.contains("3 ranks, but only 2 columns"), "{failed:?}");
    assert!(failed.stdout.is_empty(), "{failed:?}");
    assert_eq!(gain("-n 2 -- /does/not/exist").status, Some(127));
}

#[test]
fn wrong_use_is_explained() {
    let cases = [
        ("--gamma 0", "a number from 0.01 to 100"),
        ("--gamma 1,x", "is no number"),
        ("--gamma nan", "a number from 0.01 to 100"),
        ("--gamma 1e9", "to 100"),
        ("--gamma ,", "value"),
        ("--rows 0", "--rows"),
        ("--rows 1.5", "--rows"),
        ("--rows 500,1", "--rows"),
        ("--steps 0", "--steps"),
        ("--socket-buffer 0", "a size from 2KiB to 1GiB"),
        ("--socket-buffer 4KiB,8TB", "from 2KiB to 1GiB"),
        ("--socket-buffer default,,", "or default"),
        ("--socket-buffer 4KiB -- true", "--socket-buffer"),
        ("--repeats 0", "--repeats"),
        ("--seconds 0", "from 0.1s to 24h"),
        ("--link dsl", "loopback, ethernet, lan or wan"),
        ("-n 2", "PROGRAM"),
        ("-n 0 -- true", "-n"),
        ("-n 2 --gamma 1 -- true", "--gamma"),
        ("--frobnicate", "--frobnicate"),
    ];
    for (arguments, message) in cases {
        let failed = gain(arguments).failed(2);
        assert!(failed.stderr.contains(message), "gain {arguments}: {failed:?}");
        assert!(failed.stdout.is_empty(), "gain {arguments}: {failed:?}");
    }
}
