//! Limits of the system: too few descriptors are raised or named, at once; the key goes no further than the rank's process.

use std::process::Command;

use super::says;
use crate::process::run;
use crate::spmd::{ARGUMENTS, Job, STARTS, key_file, this};
use crate::support::{KEY, free_root};

/// This test binary as a rank's program, behind a shell's `ulimit`.
fn limited(limit: &str, command: &[&str], program: &str) -> Command {
    let mut all = Command::new("sh");
    all.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"]).args(command).arg(this()).args(ARGUMENTS);
    all.env("LATHIDE_TEST_PROGRAM", program);
    all
}

#[test]
fn a_launcher_with_too_few_descriptors_says_so_before_it_starts_a_rank() {
    let lathide = env!("CARGO_BIN_EXE_lathide");
    let ended = run(&mut limited("-n 64", &[lathide, "run", "-n", "16"], "init")).failed(125);
    says(&ended.stderr, &["16 ranks", "descriptors", "may have 64", "ulimit -n"]);
    assert!(!ended.stdout.contains("up"), "nobody has started: {ended:?}");
    // The limit that everybody may raise is raised.
    let ended = run(&mut limited("-Sn 64", &[lathide, "run", "-n", "16"], "init")).succeeded();
    assert_eq!(ended.stdout.matches(" up ").count(), 16, "{ended:?}");
}

#[test]
fn a_rank_with_too_few_descriptors_says_so_at_once() {
    let (key, root) = (key_file(&KEY), free_root());
    for (rank, limit) in [("0", "-n 40"), ("1", "-n 30")] {
        let mut command = limited(limit, &[], "init");
        command.env("LATHIDE_RANK", rank).env("LATHIDE_SIZE", "16").env("LATHIDE_ROOT", &root);
        // Longer than a program of a test may take: it does not wait for the others.
        let ended = run(command.env("LATHIDE_KEY_FILE", &key).env("LATHIDE_JOIN", "600")).failed(1);
        let may = format!("may have {}", &limit[3..]);
        says(&ended.stderr, &[&format!("rank {rank} could not join"), "descriptors", &may, "ulimit -n"]);
    }
    std::fs::remove_file(key).unwrap();
}

#[test]
fn what_a_rank_starts_has_neither_the_key_nor_its_descriptor() {
    for &start in STARTS {
        let ended = Job::start(start, 2, "children", &[]).end();
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
        for rank in 0..2 {
            let child = &ended.of(rank, "child").rest;
            assert!(child.contains("/proc/") && !child.contains("lathide-key"), "{child}");
            // The rank itself can read it again.
            assert_eq!(ended.of(rank, "again").rest, "true", "{ended}");
        }
    }
}
