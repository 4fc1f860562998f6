//! Conjugate gradients: each job compares itself with a sequential one, so its exit status is the test.

use std::process::Command;

use super::messages;
use crate::examples::example;
use crate::process::{Finished, run};

const ALGORITHMS: [&str; 3] = ["cg", "parcg", "pipelined"];
const VERSIONS: [&str; 3] = ["native", "synchronised", "hidden"];

fn job(ranks: u32, arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", &ranks.to_string()])
        .arg(example("krylov"))
        .args(arguments.split_whitespace())
        // Sums are added up in the same order in every run.
        .env("LATHIDE_CALIBRATE", "off"))
}

/// What rank 0 says from the word on, up to the next comma.
fn said(job: &Finished, word: &str) -> String {
    let line = job.stdout.lines().find(|line| line.contains("krylov: ")).expect("rank 0 says what it has done");
    let from = line.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {line}")).1;
    from.split([',', ':']).next().expect("there is one").trim().to_owned()
}

#[test]
fn all_versions_of_all_algorithms_have_the_same_bits() {
    for algorithm in ALGORITHMS {
        for preconditioner in ["none", "ilu"] {
            for ranks in [1, 3, 4] {
                let results = VERSIONS.map(|version| {
                    let job = job(
                        ranks,
                        &format!(
                            "--algorithm {algorithm} --version {version} --preconditioner {preconditioner} --n 20"
                        ),
                    )
                    .succeeded();
                    assert!(job.stdout.contains(": correct"), "{job:?}");
                    assert!(job.stdout.contains(&format!("{algorithm} {version}, preconditioner {preconditioner}")));
                    [said(&job, "residual "), said(&job, "error ")]
                });
                let [native, rest @ ..] = &results;
                assert!(rest.iter().all(|other| other == native), "{algorithm}, {ranks} ranks: {results:?}");
            }
        }
    }
}

/// A rank has one row, or two.
#[test]
fn as_many_ranks_as_rows() {
    for algorithm in ALGORITHMS {
        for (ranks, n) in [(5, 5), (5, 6), (2, 2)] {
            let arguments = format!("--algorithm {algorithm} --preconditioner ilu --n {n}");
            let job = job(ranks, &arguments).succeeded();
            assert!(job.stdout.contains(&format!("{n} x {n} points, {ranks} ranks")), "{job:?}");
        }
    }
}

#[test]
fn it_stops_after_so_many_iterations_and_replaces_residuals_when_told_to() {
    for arguments in ["--algorithm cg", "--algorithm pipelined --replace 4", "--algorithm pipelined --replace 0"] {
        let job = job(3, &format!("{arguments} --n 30 --iterations 17")).succeeded();
        assert!(job.stdout.contains("3 ranks, 17 iterations of "), "{arguments}: {job:?}");
    }
}

/// What rank 1 of three says of its regions.
fn regions_of_rank_1(arguments: &str) -> Vec<serde_json::Value> {
    let path = std::env::temp_dir().join(format!("lathide-krylov-{}.json", std::process::id()));
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", "3", &format!("--report={}", path.display())])
        .arg(example("krylov"))
        .args(arguments.split(' ')))
    .succeeded();
    let text = std::fs::read_to_string(&path).expect("the report");
    _ = std::fs::remove_file(&path);
    let reports: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    reports[1]["regions"].as_array().expect("regions of rank 1").clone()
}

/// The inventory of messages: sums per iteration, and two rows for each product with the matrix.
#[test]
fn regions_say_what_messages_are_for() {
    for (algorithm, passes, sums) in [("cg", 8, 2), ("parcg", 8, 3), ("pipelined", 9, 1)] {
        for version in VERSIONS {
            let arguments = format!("--algorithm {algorithm} --version {version} --n 30 --iterations 8");
            let regions = regions_of_rank_1(&arguments);
            let region = |name: &str| regions.iter().find(|region| region["name"] == name).cloned().unwrap_or_default();
            assert_eq!(region("iteration")["entered"], passes, "{arguments}: {regions:?}");
            assert_eq!(region("sums")["entered"], sums * passes, "{arguments}: {regions:?}");
            for direction in ["sent", "received"] {
                let rows = messages(&region("halo"), direction);
                assert_eq!(rows, [(240, 2 * passes)], "{arguments}, {direction}: {regions:?}");
            }
            let barriers = if version == "synchronised" { (sums + 1) * passes } else { 0 };
            assert_eq!(region("barrier")["entered"].as_u64().unwrap_or(0), barriers, "{arguments}: {regions:?}");
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let refused = job(4, "--n 3").failed(1);
    assert!(refused.stderr.contains("4 ranks, but only 3 rows of points: every rank needs one"), "{refused:?}");
    let cases = [
        ("--algorithm gmres", "--algorithm gmres: it is one of cg, parcg, pipelined"),
        ("--tolerance 1e-20", "--tolerance 0.00000000000000000001: it is at least 1e-11"),
        ("--iterations 0", "--iterations must be at least 1"),
    ];
    for (arguments, message) in cases {
        let refused = job(2, arguments).failed(1);
        assert!(refused.stderr.contains(message), "{arguments}: {refused:?}");
    }
}
