//! `lathide study` and `lathide predict program` from outside: a program with regions, its inventory, its complaints. Times are
//! checked for sense, not for speed.

use std::path::PathBuf;
use std::process::Command;

use lathide::{Node, Result};
use serde_json::{Value, json};

use crate::process::{Finished, run};
use crate::spmd::{ARGUMENTS, this};

/// Iterations of the program.
const ITERATIONS: u64 = 5;

/// The program: an exchange in each iteration with the next rank and the one before. Its last argument is its version, the one
/// before `words=N`, how long a message is.
pub(crate) fn program() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (version, words) = (arguments.last().map(String::as_str), &arguments[arguments.len() - 2]);
    let words: usize = words.strip_prefix("words=").and_then(|words| words.parse().ok()).unwrap_or(100);
    let node = lathide::init()?;
    if words == 13 {
        println!("thirteen is too few");
        std::process::exit(3);
    }
    let set_up = node.region("setup");
    node.barrier()?;
    drop(set_up);
    for _ in 0..ITERATIONS {
        let _iteration = node.region("iteration");
        if version == Some("synchronised") {
            let _barrier = node.region("barrier");
            node.barrier()?;
        }
        exchange(&node, words)?;
    }
    node.finalize()
}

fn exchange(node: &Node, words: usize) -> Result<()> {
    let _halo = node.region("halo");
    let (right, left) = (node.rank().on_ring(1, node.size()), node.rank().on_ring(-1, node.size()));
    let read = node.initread(left, 1, vec![0.0_f64; words])?;
    node.initwrite(right, 1, vec![1.0_f64; words])?.wait()?;
    read.wait().map(drop)
}

/// A file that is gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        File(std::env::temp_dir().join(format!("lathide-study-{}-{name}.json", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// What `lathide link --pairs 1,2 --json` saves, as far as it matters here.
fn link(name: &str) -> File {
    let file = File::new(name);
    let content = json!({
        "schema": "lathide-link-2", "link": {"spec": "hosts a,b,c,d"},
        "contention": {
            "pairs": [{"pairs": 1}, {"pairs": 2}], "medium": "shared", "workstation_a_s": 15e-6, "slower_s_per_byte": 1e-9,
            "network_a_s": 10e-6, "network_b_s_per_byte": 1e-9, "network_b_error_s_per_byte": 1e-11,
        },
        "sending": {"a_s": 12e-6, "b_s_per_byte": 1.5e-9},
    });
    std::fs::write(&file.0, content.to_string()).expect("a writable temporary folder");
    file
}

/// `lathide` with these options, and the program behind them.
fn lathide(options: &str, arguments: &str) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(options.split_whitespace()).arg(this()).args(ARGUMENTS).args(arguments.split_whitespace());
    run(command.env("LATHIDE_TEST_PROGRAM", "studied"))
}

fn parsed(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("not one JSON object: {error}: {finished:?}"))
}

fn number(object: &Value, member: &str) -> f64 {
    object[member].as_f64().unwrap_or_else(|| panic!("{member} is no number in {object}"))
}

#[test]
fn versions_are_run_at_every_point() {
    let link = link("versions");
    let options =
        format!("study --from {} --repeats 2 --sweep ranks=2,3 --sweep words=100,1000 --json --", link.path());
    let result = parsed(&lathide(&options, "words={words} {version}").succeeded());
    assert_eq!((&result["schema"], &result["per"]), (&json!("lathide-study-1"), &json!("iteration")));
    assert_eq!(result["versions"], json!(["native", "synchronised", "hidden"]));
    let points = result["sending"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for (point, ranks, bytes) in [(&points[0], 2.0, 800.0), (&points[1], 3.0, 8000.0)] {
        assert_eq!((number(point, "ranks"), number(point, "senders"), number(point, "bytes")), (ranks, ranks, bytes));
        // One message in an iteration; T(x; a_s, b_s) with the measured b_s, and with that of all senders, if that is more.
        let hyperbola = |b: f64| 12e-6 * 12e-6 / (12e-6 + b * bytes) + b * bytes;
        assert!((number(point, "alone_s") / hyperbola(1.5e-9) - 1.0).abs() < 1e-9, "{point}");
        assert!((number(point, "full_s") / hyperbola(ranks * 1e-9) - 1.0).abs() < 1e-9, "{point}");
        assert!(number(point, "native_s") > 0.0 && number(point, "synchronised_s") > 0.0, "{point}");
        let error = number(point, "full_s") / number(point, "synchronised_s") - 1.0;
        assert!((number(point, "synchronised_error") - error).abs() < 1e-9, "{point}");
    }
    for row in result["gain"].as_array().expect("gain") {
        assert!(
            number(row, "hidden_s") > 0.0 && number(row, "gain") > 0.0 && number(row, "gain_ideal") >= 1.0,
            "{row}"
        );
    }
    let classes = result["by_class"].as_array().expect("classes");
    assert!(classes.iter().all(|it| it["class"] == "halo"), "neither barriers nor what is before: {classes:?}");
}

#[test]
fn the_link_is_measured_first_unless_it_was_saved() {
    let options = "study --versions native --repeats 1 --seconds 2 --link delay=0.1ms,rate=200mbit --json --";
    // On a busy machine what a byte takes may drown in noise: it is 0 then.
    let is_seen = |finished: &Finished| number(&parsed(finished)["parameters"], "b_w_s_per_byte") > 0.0;
    let measured = || lathide(options, "words=1000 native").succeeded();
    let finished = (0..5).map(|_| measured()).find(is_seen).expect("one of five does not drown");
    let result = parsed(&finished);
    assert_eq!(result["from"]["schema"], "lathide-link-2");
    assert!(finished.stderr.contains("each has a path of its own"), "{finished:?}");
    assert!(result["synchronised_s"].is_null() && result["receiving"] == json!([]), "{result}");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let link = link("fails");
    let options = format!("study --from {} --repeats 1 --sweep words=10,13 --quiet --", link.path());
    let failed = lathide(&options, "words={words} {version}").failed(3);
    for part in ["native at words = 13", "ended with status 3", "thirteen is too few"] {
        assert!(failed.stderr.contains(part), "{part} is missing: {failed:?}");
    }
    let absent =
        lathide(&format!("study --from {} --classes grid --quiet --", link.path()), "words=1 {version}").failed(1);
    assert!(absent.stderr.contains("no messages in a region grid"), "{absent:?}");
    let silent = lathide(&format!("study --from {} --quiet --", link.path()), "words=1").failed(2);
    assert!(silent.stderr.contains("{version}"), "{silent:?}");
}

#[test]
fn an_inventory_is_priced() {
    let (link, reports) = (link("priced"), File::new("reports"));
    let options = format!("run -n 3 -q -x LATHIDE_OBSERVE=sends --report={}", reports.path());
    lathide(&options, "words=1000 native").succeeded();
    let predict = |options: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        run(command.args(["predict", "program", "--inventory", reports.path()]).args(options.split_whitespace()))
    };
    let answer = parsed(&predict(&format!("--from {} --json", link.path())).succeeded());
    let halo = answer["points"].as_array().and_then(|rows| rows.iter().find(|row| row["class"] == "halo"));
    let halo = halo.unwrap_or_else(|| panic!("no halo in {answer}"));
    assert_eq!((number(halo, "messages"), number(halo, "bytes"), number(halo, "ranks")), (1.0, 8000.0, 3.0));
    assert_eq!((&answer["units"], &answer["per"]), (&json!(ITERATIONS), &json!("iteration")));
    assert!(number(halo, "measured_s") > 0.0 && number(halo, "senders_observed") >= 1.0, "{halo}");
    assert!(number(halo, "full_s") > number(halo, "alone_s"), "{halo}");
    assert_eq!(answer["parameters"]["sending_a_s"], 12e-6);
    let said = predict(&format!("--from {} --per halo --senders 9", link.path())).succeeded();
    assert!(said.stdout.contains("A rank's messages of one halo take"), "{said:?}");
    for (options, part) in [
        (String::new(), "--from link.json"),
        (format!("--from {} --per cycle", link.path()), "no region cycle"),
        (format!("--from {} --inventory {}", link.path(), link.path()), "cannot be used multiple times"),
    ] {
        let refused = predict(&options).failed(2);
        assert!(refused.stderr.contains(part), "{options}: {refused:?}");
    }
}
