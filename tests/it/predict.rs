//! `lathide predict` from outside: its tables and JSON, its numbers against the papers', its complaints.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{Finished, run};

mod forms;
mod golden;

fn predict(arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide")).arg("predict").args(arguments.split_whitespace()))
}

/// The JSON object that the model answers with.
fn answer(arguments: &str) -> Value {
    let finished = predict(&format!("{arguments} --json --quiet")).succeeded();
    assert!(finished.stderr.is_empty(), "{arguments}: {finished:?}");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("not one JSON object: {error}: {finished:?}"))
}

fn number(object: &Value, member: &str) -> f64 {
    object[member].as_f64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

/// One member of all points.
fn numbers(answer: &Value, member: &str) -> Vec<f64> {
    let points = answer["points"].as_array().unwrap_or_else(|| panic!("no points in {answer}"));
    points.iter().map(|point| number(point, member)).collect()
}

/// A file for one test, which is gone when the test is over.
struct Saved(PathBuf);

impl Saved {
    fn new(name: &str, content: &Value) -> Self {
        Self::text(name, &content.to_string())
    }

    fn text(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-predict-{}-{name}.json", std::process::id()));
        std::fs::write(&path, content).expect("a writable temporary folder");
        Saved(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn link() -> Value {
    let line = |startup_s: f64| json!({"startup_s": startup_s, "s_per_byte": 1e-10});
    json!({
        "schema": "lathide-link-2",
        "link": {"spec": "delay=1ms,rate=1gbit", "emulated": true, "how": "emulated"},
        "message_rate": {"bytes": 8, "lathide_per_s": 200e3},
        "hyperbolic": {"a_s": 1.1e-3, "b_s_per_byte": 8e-9, "median_error": 0.02, "p90_error": 0.05},
        "cluster": {
            "o_s": line(2e-6), "g_s": line(3e-6), "l": line(1e-3), "g_r": line(3e-6), "o_r": line(1e-6),
            "u_r": line(1e-6), "buffer_packets": 1000, "packet_bytes": 4096,
        },
    })
}

/// One call of every model, with a word of what its table must say.
const CALLS: [(&str, &str); 18] = [
    ("gain", "eq. 4"),
    ("gain --gamma-h 10 --gamma-s 2..40 --omega 0.2", "gamma_s"),
    ("gain --lambda 144 --q sqrt(p) --procs 1..64*2", "eq. 6"),
    ("hyperbolic", "eq. 3"),
    ("hyperbolic --neighbours 2,4 --procs 8..64*2 --bytes 1KiB", "rule 3"),
    ("broadcast --procs 2..64*2", "serial"),
    ("broadcast --model cluster", "Postal"),
    ("gather", "Ga_u"),
    ("collectives", "7.2.2"),
    ("logp", "eq. 19"),
    ("gain --cg", "parCG"),
    ("gain --tasks 10ms:10ms,20ms:10ms,30ms:5ms --omega 0.1", "The job gains"),
    ("decomposition --n 256..4096*2 --t-c 1us", "blocks"),
    ("decomposition --speeds 1,1,2 --t-c 1us", "256, 256, 512"),
    ("hops", "torus"),
    ("hops --hops 1..16*2", "store and forward"),
    ("isoefficiency --efficiency 0.5,0.9 --procs 4..64*2", "strips, E = 0.5"),
    ("multigrid --dims 3 --network single-stage", "Single Stage"),
];

#[test]
fn every_model_answers_people_and_programs() {
    for (call, word) in CALLS {
        let text = predict(call).succeeded().stdout;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(word), "{call}: {word} is missing:\n{text}");
        assert!(text.contains('─') && text.contains('┤'), "{call}: a table and a curve:\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{call}: too wide:\n{text}");
        assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains('\x1b'), "{call}:\n{text}");
        let answer = answer(call);
        assert_eq!(answer["schema"], "lathide-predict-2", "{call}");
        assert_eq!(answer["model"], call.split(' ').next().unwrap_or_default(), "{call}");
        for (member, what) in [("equation", "which formula"), ("conclusion", "what it means")] {
            assert!(answer[member].as_str().is_some_and(|text| text.len() > 20), "{call}: {member} says {what}");
        }
        assert!(words.contains(answer["conclusion"].as_str().unwrap_or("?")), "{call}: the conclusion is shown");
        assert!(answer["parameters"].is_object() && answer["from"].is_null(), "{call}");
        assert!(answer["points"].as_array().is_some_and(|points| points.len() > 2), "{call}: {answer}");
        assert!(
            predict(&format!("{} --help", call.split(' ').next().unwrap_or_default()))
                .succeeded()
                .stdout
                .contains("Examples")
        );
    }
}

#[test]
fn a_measured_link_is_every_model_s_machine() {
    let file = Saved::new("link", &link());
    for call in [
        "hyperbolic",
        "broadcast",
        "broadcast --model cluster",
        "gather",
        "collectives",
        "logp",
        "decomposition",
        "decomposition --speeds 1,2",
        "hops",
        "isoefficiency",
        "gain --cg --unknowns 10000 --t-fl 1ns",
    ] {
        let answer = answer(&format!("{call} --from {}", file.path()));
        assert_eq!(answer["from"]["schema"], "lathide-link-2", "{call}");
        assert_eq!(answer["from"]["link"]["spec"], "delay=1ms,rate=1gbit", "{call}");
    }
    let from = |arguments: &str| answer(&format!("{arguments} --from {}", file.path()));
    let hyperbolic = from("hyperbolic --bytes 0,1GiB");
    assert_eq!(hyperbolic["one_way"], json!({"a_s": 1.1e-3, "b_s_per_byte": 8e-9}));
    assert_eq!(numbers(&hyperbolic, "time_s")[0], 1.1e-3);
    // A short message in a stream takes 5 us: the rest of a is nobody's work.
    assert!((number(&hyperbolic["parameters"], "a_w_s") - 5e-6).abs() < 1e-15);
    assert_eq!(number(&from("decomposition")["parameters"], "t_w_s"), 64e-9);
    assert_eq!(number(&from("decomposition --t-w 1us")["parameters"], "t_w_s"), 1e-6, "an option goes before the file");
    let multigrid = from("multigrid --clock 1e9 --long-messages --procs 4");
    assert!((numbers(&multigrid, "fixed_cycles")[0] - 1.1e6).abs() < 1e-6);
    assert!((number(&multigrid["parameters"], "spool_cycles") - 64.0).abs() < 1e-9);
    assert_eq!(number(&from("gather")["parameters"], "packet_bytes"), 4096.0);
    // What had to be assumed is said, but not among the results.
    let noted = predict(&format!("broadcast --from {}", file.path())).succeeded();
    assert!(noted.stderr.contains("assumed") && !noted.stdout.contains("assumed"), "{noted:?}");
}

#[test]
fn a_measured_gain_is_shown_beside_the_model() {
    let points = json!([{"gamma": 2.0, "gain": 1.4}, {"gamma": 0.5, "gain": 1.45}, {"gamma": 1.0, "gain": 1.8}]);
    let file = Saved::new("gain", &json!({"schema": "lathide-gain-2", "f": 0.9, "omega": -0.01, "points": points}));
    let measured = answer(&format!("gain --from {}", file.path()));
    assert_eq!(numbers(&measured, "gamma"), [0.5, 1.0, 2.0]);
    assert_eq!(numbers(&measured, "gain_measured"), [1.45, 1.8, 1.4]);
    assert_eq!((number(&measured["parameters"], "f"), number(&measured["parameters"], "omega")), (0.9, 0.0));
    assert!((number(&measured, "maximum_gain") - 1.9).abs() < 1e-12);
    assert!(measured["notes"][0].as_str().is_some_and(|note| note.contains("Omega")), "{measured}");
    let other = answer(&format!("gain --gamma 3 --f 0.5 --omega 0.1 --from {}", file.path()));
    assert_eq!((number(&other["parameters"], "f"), number(&other["parameters"], "omega")), (0.5, 0.1));
    assert!(other["points"][0]["gain_measured"].is_null());
}

#[test]
fn a_bad_parameter_is_named() {
    let cases = [
        ("gain --f 2", "f is 2"),
        ("gain --f nan", "f is NaN"),
        ("gain --omega -0.1", "Omega is -0.1"),
        ("gain --gamma 0", "gamma is 0"),
        ("gain --gamma 1,-1", "gamma is -1"),
        ("gain --gamma-h 10 --gamma-s 0..2", "gamma_s is 0"),
        ("gain --gamma-h -3 --gamma-s 1", "gamma_h is -3"),
        ("gain --lambda 0", "lambda is 0"),
        ("gain --lambda 1 --procs 0", "p is 0"),
        ("gain --lambda 1 --q -1", "q is -1"),
        ("gain --target 1", "G is 1"),
        ("gain --gamma inf", "gamma is inf"),
        ("hyperbolic --bytes -8", "x is -8"),
        ("hyperbolic --pairs 0", "n is 0"),
        ("hyperbolic --a -1us --b 1ns", "a is -0.000001"),
        ("hyperbolic --b-w nan", "b_W is NaN"),
        ("hyperbolic --neighbours 16 --procs 16", "K is 16"),
        ("hyperbolic --neighbours 1 --procs 0", "N is 0"),
        ("broadcast --procs 0", "p is 0"),
        ("broadcast --a-c -3us", "a_C is -0.000003"),
        ("broadcast --model cluster --procs 0", "p is 0"),
        ("broadcast --model cluster --packet-bytes 0", "packet size is 0"),
        ("gather --procs 1", "p is 1"),
        ("gather --g-r 0", "g_r is 0"),
        ("gather --buffer -1", "B is -1"),
        ("gather --o-s 1us+-1us", "O_s is -0.000001"),
        ("collectives --procs 0", "p is 0"),
        ("collectives --word-bytes 0", "--word-bytes is 0"),
        ("collectives --t-s -1", "t_s is -1"),
        ("logp --messages 0", "n is 0"),
        ("logp --l -1us", "L is -0.000001"),
        ("decomposition --procs 4", "p is 4"),
        ("decomposition --n 0", "n is 0"),
        ("decomposition --t-w nan", "t_w is NaN"),
        ("decomposition --t-c -1", "t_c is -1"),
        ("decomposition --speeds 1,0", "speed is 0"),
        ("decomposition --speeds 1,-2 --t-c 1us", "speed is -2"),
        ("decomposition --speeds 1,nan", "speed is NaN"),
        ("decomposition --speeds 1,2 --t-c 0", "t_c is 0"),
        ("decomposition --speeds 1,2 --n 0", "n is 0"),
        ("decomposition --speeds 1,2 --tiles 4", "--tiles is 4"),
        ("hops --procs 12", "p is 12"),
        ("hops --topology ring --procs 0", "p is 0"),
        ("hops --t-h -1us", "t_h is -0.000001"),
        ("hops --t-w nan", "t_w is NaN"),
        ("isoefficiency --efficiency 1", "E is 1"),
        ("isoefficiency --efficiency nan", "E is NaN"),
        ("isoefficiency --procs 0", "p is 0"),
        ("isoefficiency --t-c 0", "t_c is 0"),
        ("isoefficiency --t-syn -1ms", "T_syn is -0.001"),
        ("gain --cg --ratio 0", "a/b is 0"),
        ("gain --cg --procs 0", "p is 0"),
        ("gain --cg --omega -1", "Omega is -1"),
        ("gain --cg --unknowns 0 --t-fl 1ns", "N is 0"),
        ("gain --tasks 10ms:-5ms", "t_com is -0.005"),
        ("gain --tasks 0:0", "t_calc + t_com is 0"),
        ("gain --tasks 1:1 --f 2", "f is 2"),
        ("multigrid --procs 0", "P is 0"),
        ("multigrid --n 0.5", "N is 0.5"),
        ("multigrid --fixed -1", "fixed cost is -1"),
        ("multigrid --long-messages --words-max 0", "words per message is 0"),
    ];
    for (arguments, message) in cases {
        refused(arguments, &[message, "must be"]);
    }
}

/// Status 2, nothing on stdout, and on stderr all of `parts`.
#[track_caller]
fn refused(arguments: &str, parts: &[&str]) {
    let failed = predict(arguments).failed(2);
    assert!(failed.stdout.is_empty(), "{arguments}: {failed:?}");
    for part in parts {
        assert!(failed.stderr.contains(part), "{arguments}: {part} is missing: {failed:?}");
    }
}

#[test]
fn wrong_use_is_explained() {
    let cases = [
        ("", "Usage"),
        ("weather", "weather"),
        ("gain --procs 4", "--lambda"),
        ("gain --gamma-h 10", "--gamma-s"),
        ("gain --gamma 1 --gamma-h 2 --gamma-s 3", "cannot be used with"),
        ("gain --gamma-h 1,2 --omega 1,2,3 --gamma-s 1", "one --omega for all"),
        ("gain --gamma 1 --omega 1,2", "several --omega"),
        ("gain --gamma 4..2", "--gamma"),
        ("gain --gamma 0..0.5", "write a step"),
        ("gain --gamma --json", "--gamma"),
        ("hyperbolic --bytes 5T", "KiB"),
        ("hyperbolic --pairs 1.5", "a whole number from 0 to 4294967295"),
        ("hyperbolic --a 5d --b 0", "us, ms, s, min or h"),
        ("hyperbolic --a 5us", "--a needs --b"),
        ("hyperbolic --medium shared", "--medium"),
        ("multigrid --dims 4", "--dims"),
        ("multigrid --variable 5", "--fixed"),
        ("multigrid --clock 5", "--from"),
        ("broadcast --model postal", "--model"),
        ("decomposition --speeds 1,2 --procs 16", "cannot be used with"),
        ("decomposition --speeds 1,2 --n 1..4", "one --n"),
        ("decomposition --tiles 16", "--speeds"),
        ("hops --topology star", "none of bus, crossbar"),
        ("hops --hops 1,2 --procs 16", "cannot be used with"),
        ("gain --cg --lambda 3", "cannot be used with"),
        ("gain --cg --f 0.5", "cannot be used with"),
        ("gain --cg --omega 0,1", "several --omega"),
        ("gain --cg --unknowns 5", "--t-fl"),
        ("gain --ratio 5", "--cg"),
        ("gain --tasks 1:1 --gamma 2", "cannot be used with"),
        ("gain --tasks tasks.txt", "@FILE"),
        ("gain --tasks 1:1,2", "task 2"),
        ("gain --tasks @/does/not/exist", "cannot be read"),
        ("graph", "FILE"),
        ("graph /does/not/exist", "cannot be read"),
    ];
    for (arguments, message) in cases {
        refused(arguments, &[message]);
    }
}

#[test]
fn a_file_that_does_not_help_is_named() {
    refused("gain --from /does/not/exist.json", &["--from /does/not/exist.json", "cannot be read"]);
    let mut poor = link();
    poor.as_object_mut().expect("an object").retain(|member, _| member == "link");
    let poor = Saved::new("poor", &poor);
    let cases = [
        ("gain", "no f in it", "lathide gain --json"),
        ("hyperbolic", "no hyperbolic.a_s in it", "lathide link --json"),
        ("broadcast", "no hyperbolic.a_s in it", "give --a"),
        ("gather", "no cluster.o_s in it", "give --o-s"),
        ("logp", "no hyperbolic.a_s in it", "give --l"),
        ("decomposition", "no hyperbolic.a_s in it", "give --t-s"),
        ("multigrid", "no hyperbolic.a_s in it", "give --fixed"),
    ];
    for (model, missing, instead) in cases {
        refused(&format!("{model} --from {}", poor.path()), &[poor.path(), missing, instead]);
    }
    let negative = Saved::new("negative", &json!({"hyperbolic": {"a_s": -1, "b_s_per_byte": 0}}));
    refused(&format!("decomposition --from {}", negative.path()), &["t_s is -1", negative.path()]);
    let word = Saved::new("word", &json!({"f": "much", "omega": 0}));
    refused(&format!("gain --from {}", word.path()), &["f is \"much\", no number"]);
    let list = Saved::new("list", &json!([1, 2]));
    refused(&format!("gain --from {}", list.path()), &["no JSON object"]);
    let link = Saved::new("logp", &json!({"hyperbolic": {"a_s": 1e-3, "b_s_per_byte": 1e-9}}));
    refused(&format!("logp --from {}", link.path()), &["give --o"]);
    refused(&format!("multigrid --from {}", link.path()), &["--clock"]);
}
