//! Multigrid in space and time for the flow in a cavity: the sequential flow and the published one, on any number of ranks.

use std::process::Command;

use crate::examples::example;
use crate::process::{Finished, run};

const VERSIONS: [&str; 3] = ["native", "synchronised", "hidden"];

fn job(px: usize, pt: usize, arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", &(px * pt).to_string()])
        .arg(example("cavity"))
        .args(format!("--px {px} --pt {pt} {arguments}").split_whitespace()))
}

/// The word after `fields` in what rank 0 prints: it depends on every bit of the last planes.
fn fields(finished: &Finished) -> &str {
    let mut words = finished.stdout.split_whitespace();
    words.find(|word| *word == "fields").expect("rank 0 prints it");
    words.next().expect("a number")
}

#[test]
fn strips_and_planes_give_the_sequential_flow_in_every_version() {
    for (px, pt) in [(1, 1), (2, 1), (1, 2), (1, 4), (2, 2), (4, 2)] {
        let finished = VERSIONS.map(|version| {
            let arguments = format!("--n 16 --planes 4 --check sequential --version {version}");
            let finished = job(px, pt, &arguments).succeeded();
            assert!(
                finished.stdout.contains("from the sequential ones: correct"),
                "{px} x {pt} {arguments}: {finished:?}"
            );
            finished
        });
        let [native, synchronised, hidden] = finished.each_ref().map(fields);
        assert_eq!((native, native), (synchronised, hidden), "{px} x {pt}");
    }
}

/// Strips of a number that is no power of two, more strips than the coarsest grid needs, and a steady lid.
#[test]
fn strips_of_any_number() {
    for (px, pt, arguments) in [
        (3, 1, "--n 24 --planes 2"),
        (5, 1, "--n 10 --planes 1 --lid steady"),
        (3, 2, "--n 12 --planes 2 --reynolds 400"),
    ] {
        let finished = job(px, pt, &format!("{arguments} --check sequential --tolerance 1e-8")).succeeded();
        assert!(finished.stdout.contains(": correct"), "{px} x {pt} {arguments}: {finished:?}");
    }
}

/// Iterates that are some cycles older lead to the same flow, in the same way in every version.
#[test]
fn older_iterates_give_the_sequential_flow() {
    for lag in [1, 3] {
        let finished = VERSIONS.map(|version| {
            let arguments = format!("--n 16 --planes 6 --dt 0.5 --lag {lag} --check sequential --version {version}");
            let finished = job(1, 3, &arguments).succeeded();
            assert!(finished.stdout.contains("from the sequential ones: correct"), "{arguments}: {finished:?}");
            finished
        });
        let [native, synchronised, hidden] = finished.each_ref().map(fields);
        assert_eq!((native, native), (synchronised, hidden), "lag {lag}");
    }
}

#[test]
fn the_steady_flow_is_the_published_one() {
    for (px, pt, arguments) in
        [(1, 1, "--n 64 --dt inf"), (2, 1, "--n 32 --dt inf"), (1, 2, "--n 32 --dt 5 --planes 10")]
    {
        let finished = job(px, pt, &format!("{arguments} --lid steady --check ghia")).succeeded();
        assert!(finished.stdout.contains("from the published centre lines: correct"), "{arguments}: {finished:?}");
    }
    let early = job(1, 2, "--n 32 --lid steady --dt 0.5 --check ghia").failed(1);
    assert!(early.stderr.contains("from the published centre lines, more than 0.02"), "{early:?}");
}

/// Messages and bytes that a rank has sent in a region of the program, and how often it has entered it.
fn sent(report: &serde_json::Value, region: &str) -> (u64, u64, u64) {
    let regions = report["regions"].as_array().expect("regions");
    let Some(region) = regions.iter().find(|found| found["name"] == region) else { return (0, 0, 0) };
    let (mut messages, mut bytes) = (0, 0);
    for sizes in region["sent"].as_array().expect("sizes") {
        let number = sizes["messages"].as_u64().expect("a number");
        messages += number;
        bytes += number * sizes["bytes"].as_u64().expect("a number");
    }
    (messages, bytes, region["entered"].as_u64().expect("a number"))
}

/// Each V-cycle has one iterate for the next plane, as many edges as levels and sweeps need, and a sum.
///
/// There are levels of 16 x 16, 8 x 8 and 4 x 4 cells. A sweep has 3 exchanges, and each strip of two sends in 2 of them. The two
/// finer levels have 4 sweeps and 2 other exchanges both ways, and one to the right; the coarsest one has 16 sweeps.
#[test]
fn messages_of_a_cycle() {
    for version in VERSIONS {
        let saved = std::env::temp_dir().join(format!("lathide-cavity-{}-{version}.json", std::process::id()));
        let report = format!("--report={}", saved.display());
        let finished = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
            .args(["run", "-n", "4", &report])
            .arg(example("cavity"))
            .args("--px 2 --pt 2 --n 16 --cycles 3 --planes 4 --version".split_whitespace())
            .arg(version))
        .succeeded();
        assert!(finished.stdout.contains("6 V-cycles") && finished.stdout.contains("not checked"), "{finished:?}");
        let text = std::fs::read_to_string(&saved).expect("the report");
        std::fs::remove_file(&saved).expect("it is ours");
        let reports: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(reports.len(), 4);
        for (rank, report) in reports.iter().enumerate() {
            let (is_left, is_first_plane) = (rank % 2 == 0, rank < 2);
            assert_eq!(sent(report, "cycle"), (0, 0, 6), "{version}, rank {rank}");
            let edges = 2 * (4 * 2 + 2 + u64::from(is_left)) + 16 * 2;
            assert_eq!(sent(report, "edge").0, 6 * edges, "{version}, rank {rank}");
            let iterates = if is_first_plane { 6 } else { 0 };
            let (messages, bytes, _) = sent(report, "grid");
            assert_eq!((messages, bytes), (iterates, iterates * 3 * 16 * 8 * 8), "{version}, rank {rank}");
            let (messages, _, entered) = sent(report, "sums");
            assert!(messages >= 6 && entered == 6, "{version}, rank {rank}: {messages} in {entered} sums");
            let barriers = if version == "synchronised" { 6 } else { 0 };
            assert_eq!(sent(report, "barrier").2, barriers, "{version}, rank {rank}");
        }
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let cases = [
        ("--n 12", "--n 12 --px 1: every strip needs a power of two of columns"),
        ("--n 4", "at least 2, and the cavity 8 to 2048"),
        ("--n 16 --px 16", "--n 16 --px 16: every strip needs"),
        ("--n 8.5", "--n 8.5: invalid digit"),
        ("--px 0", "--px must be at least 1"),
        ("--pt 2", "1 ranks, but --px 1 and --pt 2: there must be px times pt"),
        ("--px 2 --pt 9223372036854775808 --planes 9223372036854775808", "there must be px times pt"),
        ("--planes 3 --pt 2", "--planes 3 --pt 2: the planes must be a multiple of pt"),
        ("--reynolds -1", "--reynolds -1: it must be greater than 0"),
        ("--reynolds inf", "--reynolds inf: it must be greater than 0, and finite"),
        ("--dt NaN", "--dt NaN: it must be greater than 0"),
        ("--dt inf", "only --lid steady has a steady flow"),
        ("--lid sideways", "--lid sideways: there are steady, oscillating"),
        ("--lag 21", "--lag 21: it must be at most 20"),
        ("--version fast", "--version fast: there are native, synchronised, hidden"),
        ("--check all", "--check all: there are none, ghia, sequential"),
        ("--cycles 3 --tolerance 1e-3", "--cycles and --tolerance: give one of them"),
        ("--cycles 3 --check sequential", "--check needs --tolerance"),
        ("--check ghia", "--check ghia needs --lid steady and --reynolds 100"),
        ("--cycles", "--cycles needs a value"),
        ("--depth 3", "--depth: there are --px, --pt, --n,"),
        ("--n 8 --tolerance 1e-300", "after 200 V-cycles"),
    ];
    for (arguments, message) in cases {
        let failed = run(Command::new(example("cavity")).args(arguments.split_whitespace())).failed(1);
        assert!(failed.stderr.contains(message), "{arguments}: {failed:?}");
    }
    let failed = job(2, 1, "--px 1").failed(1);
    assert!(failed.stderr.contains("2 ranks, but --px 1 and --pt 1"), "{failed:?}");
}
