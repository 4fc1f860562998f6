//! Domain decomposition: every version and every number of ranks have the same result, and each class of messages its region.

use std::process::Command;

use serde_json::Value;

use super::messages;
use crate::examples::example;
use crate::process::{Finished, run};

const VERSIONS: [&str; 3] = ["native", "synchronised", "hidden"];

fn job(ranks: usize, options: &str, arguments: &str) -> Finished {
    run(Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", &ranks.to_string()])
        .args(options.split_whitespace())
        .arg(example("decomposition"))
        .args(arguments.split_whitespace()))
}

/// What the line of a result says of the solve: how it converged, the error and the checksum.
fn result(finished: &Finished) -> &str {
    let words = finished.stdout.split_once("converged in ").map(|(_, result)| result.trim());
    words.filter(|result| result.ends_with(": correct")).unwrap_or_else(|| panic!("{finished:?}"))
}

#[test]
fn every_version_has_the_same_result_on_every_number_of_ranks() {
    for (subdomains, n, ranks) in [(1, 8, &[1][..]), (4, 32, &[1, 3, 4]), (9, 4, &[2, 9]), (16, 16, &[5, 16])] {
        let arguments = format!("--subdomains {subdomains} --n {n}");
        let alone = run(Command::new(example("decomposition")).args(arguments.split_whitespace())).succeeded();
        for ranks in ranks {
            for version in VERSIONS {
                let finished = job(*ranks, "", &format!("{arguments} --version {version}")).succeeded();
                let words =
                    format!("decomposition, {version}: {subdomains} subdomains of {n} x {n} cells on {ranks} ranks");
                assert!(finished.stdout.contains(&words), "{finished:?}");
                assert_eq!(result(&finished), result(&alone), "{words}");
            }
        }
    }
}

#[test]
fn a_number_of_iterations_is_made() {
    for (iterations, words) in [(3, "3 iterations of"), (40, "40 iterations of")] {
        let finished = job(2, "", &format!("--n 8 --iterations {iterations}")).succeeded();
        assert!(finished.stdout.contains(words) && finished.stdout.contains("correct"), "{finished:?}");
    }
}

#[test]
fn bad_input_is_explained() {
    let cases = [
        (2, "--n 48", "--n 48: a subdomain has a power of two of cells per side"),
        (2, "--n 0", "--n 0: a subdomain has a power of two of cells per side"),
        (2, "--subdomains 8", "--subdomains 8: a square is cut into 1, 4, 9, 16 ... 256"),
        (1, "--n 8192", "--n 8192: with 4 subdomains at most 2048"),
        (1, "--tolerance 0", "--tolerance 0: at least 1e-12 and less than 1"),
        (1, "--version fast", "--version fast: there are native, synchronised and hidden"),
        (1, "--grid 8", "--grid: there are --version, --subdomains"),
        (5, "--subdomains 4 --n 8", "5 ranks, but only 4 subdomains: every rank needs one"),
    ];
    for (ranks, arguments, message) in cases {
        let failed = job(ranks, "", arguments).failed(1);
        assert!(failed.stderr.contains(message), "{ranks} ranks, {arguments}: {failed:?}");
    }
}

/// A rank with one subdomain that has neighbours on all sides: the pattern of Stoica, Sultan and Keyes (1994), Fig. 15.
#[test]
fn an_inner_subdomain_has_the_messages_of_the_paper() {
    const ITERATIONS: u64 = 4;
    let n = 16;
    for version in VERSIONS {
        let path = std::env::temp_dir().join(format!("decomposition-{}-{version}.json", std::process::id()));
        let arguments = format!("--subdomains 16 --n {n} --iterations {ITERATIONS} --version {version}");
        job(16, &format!("--report={}", path.display()), &arguments).succeeded();
        let text = std::fs::read_to_string(&path).expect("a report");
        _ = std::fs::remove_file(&path);
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let regions = report[5]["regions"].as_array().expect("regions of rank 5");
        let region = |name: &str| regions.iter().find(|region| region["name"] == *name);
        // The sides that send, and the words of a message.
        for (name, number, words) in [("edge A", 4, n), ("edge B", 2, n - 1), ("edge C", 2, n - 1), ("arms", 2, 1)] {
            let region = region(name).unwrap_or_else(|| panic!("no {name}: {regions:?}"));
            assert_eq!(region["entered"], ITERATIONS, "{version}, {name}");
            for direction in ["sent", "received"] {
                let expected = [(8 * words, ITERATIONS * number)];
                assert_eq!(messages(region, direction), expected, "{version}, {name}, {direction}");
            }
        }
        let entered = |name: &str| region(name).map_or(0, |region| region["entered"].as_u64().expect("a number"));
        assert_eq!(entered("iteration"), ITERATIONS, "{version}");
        assert_eq!(entered("sums"), 2 * ITERATIONS, "{version}");
        assert_eq!(entered("barrier"), if version == "synchronised" { 3 * ITERATIONS } else { 0 }, "{version}");
        // One word for each of nine crosspoints, of which all but its own come from others.
        let crosspoints = region("crosspoints").expect("crosspoints");
        assert_eq!(messages(crosspoints, "received"), [(8, 8 * ITERATIONS)], "{version}");
    }
}
