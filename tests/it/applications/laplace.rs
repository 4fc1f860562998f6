//! Jacobi's iteration: each job compares itself with a sequential one, bit for bit, so its exit status is the test.

use std::process::Command;

use super::messages;
use crate::examples::example;
use crate::process::{Finished, run};

const VERSIONS: [&str; 3] = ["native", "synchronised", "hidden"];

fn job(ranks: u32, arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", &ranks.to_string()])
        .arg(example("laplace"))
        .args(arguments.split_whitespace()))
}

/// Strips and blocks, as square as possible; the hidden version knows one iteration later that it is done.
#[test]
fn all_versions_are_correct_to_the_bit() {
    for (ranks, blocks) in [(1, "1 x 1"), (2, "2 x 1"), (5, "5 x 1"), (6, "3 x 2"), (9, "3 x 3")] {
        for version in VERSIONS {
            for (decomposition, dims) in [("strips", format!("{ranks} x 1")), ("blocks", blocks.to_owned())] {
                let arguments = format!("--decomposition {decomposition} --version {version} --n 13 --epsilon 1e-4");
                let job = job(ranks, &arguments).succeeded();
                let iterations = if version == "hidden" { 185 } else { 184 };
                let words =
                    format!("{decomposition} {version}: 13 x 13 points on {dims} ranks, {iterations} iterations of ");
                assert!(job.stdout.contains(&words), "{ranks} ranks, {arguments}: {job:?}");
                assert!(job.stdout.contains(": correct to the bit"), "{job:?}");
            }
        }
    }
}

/// Blocks of one point, strips of one row, and so many iterations.
#[test]
fn as_many_ranks_as_there_is_room_for() {
    for version in VERSIONS {
        for (ranks, arguments) in
            [(4, "--decomposition blocks --n 2"), (6, "--decomposition blocks --n 3"), (5, "--n 5"), (1, "--n 1")]
        {
            let job = job(ranks, &format!("{arguments} --version {version} --iterations 7")).succeeded();
            assert!(job.stdout.contains(" 7 iterations of "), "{arguments}: {job:?}");
        }
    }
}

/// The measured shares are whatever they are, but all rows are there, and the result is right.
#[test]
fn shares_are_in_proportion_to_measured_speed() {
    let job = job(3, "--shares speed --n 61 --iterations 20").succeeded();
    let rows = job.stdout.split_once("ranks with [").expect("the rows").1.split_once("] rows").expect("the rows").0;
    let rows: Vec<usize> = rows.split(", ").map(|rows| rows.parse().expect("a number")).collect();
    assert!(rows.len() == 3 && rows.iter().sum::<usize>() == 61 && rows.iter().all(|rows| *rows > 0), "{job:?}");
}

/// A job of nine, and what its rank 4 says of its regions.
fn job_and_regions_of_rank_4(arguments: &str) -> (Finished, Vec<serde_json::Value>) {
    let path = std::env::temp_dir().join(format!("lathide-laplace-{}.json", std::process::id()));
    let job = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", "9", &format!("--report={}", path.display())])
        .arg(example("laplace"))
        .args(arguments.split(' ')))
    .succeeded();
    let text = std::fs::read_to_string(&path).expect("the report");
    _ = std::fs::remove_file(&path);
    let reports: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    (job, reports[4]["regions"].as_array().expect("regions of rank 4").clone())
}

/// The inventory of messages, of the block in the middle: four edges in each iteration, of a third of the points each.
#[test]
fn regions_say_what_messages_are_for() {
    for version in VERSIONS {
        for (decomposition, bytes, edges) in [("strips", 240, 2), ("blocks", 80, 4)] {
            let arguments = format!("--decomposition {decomposition} --version {version} --n 30 --epsilon 0.1");
            let (job, regions) = job_and_regions_of_rank_4(&arguments);
            let region = |name: &str| regions.iter().find(|region| region["name"] == name).cloned().unwrap_or_default();
            let iterations = region("iteration")["entered"].as_u64().expect("a number");
            assert!(job.stdout.contains(&format!(" {iterations} iterations of ")), "{job:?}");
            assert_eq!(region("change")["entered"], iterations, "{arguments}: {regions:?}");
            for direction in ["sent", "received"] {
                let edge = messages(&region("halo"), direction);
                assert_eq!(edge, [(bytes, edges * iterations)], "{arguments}, {direction}: {regions:?}");
            }
            let barriers = if version == "synchronised" { 2 * iterations } else { 0 };
            assert_eq!(region("barrier")["entered"].as_u64().unwrap_or(0), barriers, "{arguments}: {regions:?}");
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let cases = [
        (4, "--n 3", "4 ranks, but only 3 rows: every strip needs one"),
        (6, "--n 2 --decomposition blocks", "6 ranks are 3 x 2 blocks, but there are only 2 x 2 points"),
        (2, "--epsilon 1 --iterations 3", "two ways to stop: give one"),
        (2, "--shares speed --decomposition blocks", "--shares speed goes with --decomposition strips"),
        (2, "--decomposition rows", "--decomposition rows: it is one of strips, blocks"),
    ];
    for (ranks, arguments, message) in cases {
        let refused = job(ranks, arguments).failed(1);
        assert!(refused.stderr.contains(message), "{arguments}: {refused:?}");
    }
}
