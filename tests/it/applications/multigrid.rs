//! The example `multigrid`: every rank's points must be the sequential ones to the bit, and their error O(h²); it checks both.

use std::process::Command;

use crate::examples::example;
use crate::process::{Finished, run};

const VERSIONS: [&str; 3] = ["native", "synchronised", "hidden"];

fn job(ranks: u32, arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", &ranks.to_string(), "--report"])
        .arg(example("multigrid"))
        .args(arguments.split_whitespace()))
}

#[track_caller]
fn is_correct(ranks: u32, arguments: &str) -> Finished {
    let finished = job(ranks, arguments).succeeded();
    assert!(finished.stdout.contains("correct to the bit"), "{ranks} ranks, {arguments}: {finished:?}");
    assert!(finished.stdout.contains("predicted, every message alone: a cycle"), "{finished:?}");
    finished
}

#[test]
fn squares_of_ranks() {
    for version in VERSIONS {
        for (ranks, arguments) in [(1, "--n 32"), (4, "--n 32"), (4, "--n 64 --cycle f"), (16, "--n 16 --cycles 5")] {
            is_correct(ranks, &format!("{arguments} --version {version}"));
        }
    }
}

#[test]
fn cubes_of_ranks() {
    for version in VERSIONS {
        is_correct(8, &format!("--dims 3 --n 8 --cycle f --cycles 4 --version {version}"));
    }
    is_correct(1, "--dims 3 --n 16");
    is_correct(8, "--dims 3 --n 16 --cycles 3");
}

/// One point per rank on the finest level already, and none for some on all others.
#[test]
fn as_many_ranks_as_points() {
    is_correct(16, "--n 4 --cycles 3");
    is_correct(8, "--dims 3 --n 4 --cycles 3 --version native");
}

/// Edges cut into messages of any length give the same, and more messages.
#[test]
fn messages_of_any_length() {
    let messages = |words: &str| -> f64 {
        let finished = is_correct(4, &format!("--n 32 --cycles 3 --message-words {words} --version native"));
        let line = finished.stdout.lines().find(|line| line.contains(" 32        16 ")).expect("the finest level");
        line.split_whitespace().nth(4).and_then(|number| number.parse().ok()).expect("a number of messages")
    };
    // Two neighbours, 16 points each but 15 at the boundary: four times before sweeps and residual; corners.
    let [one, seven, all] = ["1", "7", "1000"].map(messages);
    assert!(one > 4.0 * 30.0 && seven > 4.0 * 5.0 && seven < one, "{one} {seven}");
    assert_eq!(all, 11.0, "four times two edges, and three with corners");
}

#[test]
fn until_a_tolerance_is_met() {
    for version in VERSIONS {
        let finished = is_correct(4, &format!("--n 32 --tolerance 1e-5 --version {version}"));
        assert!(!finished.stdout.contains("10 cycles"), "it ends by itself: {finished:?}");
    }
}

/// The report has the messages by what they are for, and the cycles in which they were sent.
#[test]
fn regions_of_the_report() {
    let file = std::env::temp_dir().join(format!("lathide-multigrid-{}.json", std::process::id()));
    let finished = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", "16", &format!("--report={}", file.display())])
        .arg(example("multigrid"))
        .args("--n 16 --cycles 4 --version synchronised".split_whitespace()));
    finished.succeeded();
    let text = std::fs::read_to_string(&file).expect("the report");
    std::fs::remove_file(&file).expect("the file is ours");
    let saved: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let reports = saved.as_array().or(saved["reports"].as_array()).expect("a report of each rank");
    assert_eq!(reports.len(), 16);
    for report in reports {
        let region = |name: &str| -> (u64, u64) {
            let regions = report["regions"].as_array().expect("regions");
            let region =
                regions.iter().find(|region| region["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
            let sent =
                region["sent"].as_array().expect("messages").iter().map(|sent| sent["messages"].as_u64().unwrap_or(0));
            (region["entered"].as_u64().expect("a count"), sent.sum())
        };
        assert_eq!(region("cycle"), (4, 0));
        // Levels of 16 and 8 points, of 4 and 2: six exchanges on the finest one, five on others, and none for a single point.
        let (fine, messages) = region("fine edges");
        assert!(fine == 4 * 11 && messages > 0, "{fine} {messages}");
        assert_eq!(region("coarse edges").0, 4 * 5);
        assert_eq!(region("barrier").0, 4 * 16);
    }
}

#[test]
fn given_costs_are_taken() {
    let finished = is_correct(4, "--n 16 --cycles 2 --fixed 0.5 --further 0.25 --per-word 0");
    assert!(finished.stdout.contains("a message 500000.00 us, each further one 250000.00 us"), "{finished:?}");
    assert!(finished.stdout.contains("speed-up 0.0000, efficiency 0.00 %"), "{finished:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (ranks, arguments, why) in [
        (1, "--n 12", "it must be a power of two"),
        (1, "--dims 4", "there are 2 and 3"),
        (1, "--version fast", "there are native, synchronised and hidden"),
        (1, "--message-words 1001", "from 1 to 1000"),
        (1, "--cycles 2 --tolerance 0.1", "only one of them"),
        (1, "--depth 3", "there are --dims, --n"),
        (2, "--n 16", "2 ranks are no square"),
        (4, "--dims 3 --n 16", "4 ranks are no cube"),
        (9, "--n 16", "9 ranks are no square with a power of two"),
        (64, "--n 4", "8 ranks per side, but only 4 points"),
    ] {
        let failed = job(ranks, arguments).failed(1);
        assert!(failed.stderr.contains(why), "{ranks} ranks, {arguments}: {failed:?}");
    }
}
