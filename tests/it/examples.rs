//! The examples, alone and as jobs: each checks its own result, so their exit status is the test.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{Finished, run};

/// Cargo builds the examples next to the tests: with `cargo test`, or with `cargo build --examples`.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path of this test");
    let target = test.parent().and_then(|deps| deps.parent()).expect("the tests are in target/<profile>/deps");
    let path = target.join("examples").join(name);
    assert!(path.exists(), "{} is missing; run cargo build --examples first", path.display());
    path
}

fn alone(name: &str, arguments: &str) -> Finished {
    run(Command::new(example(name)).args(arguments.split_whitespace()))
}

#[test]
fn ring_alone() {
    let ring = alone("ring", "").succeeded();
    assert!(ring.stdout.contains("from 1 ranks"), "{ring:?}");
}

#[test]
fn stencil_alone() {
    for version in ["i1", "i2", "i3"] {
        for size in ["--rows 40 --columns 7", "--rows 1 --columns 1", "--rows 3 --columns 2"] {
            let stencil = alone("stencil", &format!("--version {version} --steps 9 {size}")).succeeded();
            assert!(stencil.stdout.contains("correct to the bit"), "{stencil:?}");
        }
    }
}

#[test]
fn pi_alone() {
    for strips in ["7", "100000"] {
        let pi = alone("pi", strips).succeeded();
        assert!(pi.stdout.contains("1 ranks: pi = 3.1"), "{pi:?}");
    }
    let pi = alone("pi", "many");
    assert_eq!(pi.status, Some(1), "{pi:?}");
}

#[test]
fn gather_alone() {
    for algorithm in ["simple", "windowed"] {
        let gather = alone("gather", &format!("--algorithm {algorithm} --bytes 1000")).succeeded();
        assert!(gather.stdout.contains("correct"), "{gather:?}");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let cases = [
        ("stencil", "--version i4", "there are i1, i2 and i3"),
        ("stencil", "--rows", "--rows needs a value"),
        ("stencil", "--rows -1", "--rows -1: invalid digit"),
        ("stencil", "--rows 0", "must be at least 1"),
        ("stencil", "--depth 3", "there are --version, --halo, --rows, --columns and --steps"),
        ("stencil", "--halo 0", "--halo must be at least 1"),
        ("stencil", "--halo 65", "--halo is wider than the narrowest strip, 64 columns"),
        ("stencil", "--halo 2 --version i2", "--halo goes with --version i1"),
        ("gather", "--algorithm fast", "there are simple and windowed"),
        ("gather", "--window 0", "at least 1"),
        ("gather", "--bytes x", "--bytes x: invalid digit"),
    ];
    for (name, arguments, message) in cases {
        let failed = alone(name, arguments).failed(1);
        assert!(failed.stderr.contains(message), "{name} {arguments}: {failed:?}");
    }
}

/// On several ranks, by the launcher.
mod jobs {
    use super::*;

    fn job(ranks: u32, name: &str, arguments: &str) -> Finished {
        run(Command::new(env!("CARGO_BIN_EXE_lathide"))
            .args(["run", "-n", &ranks.to_string()])
            .arg(example(name))
            .args(arguments.split_whitespace()))
    }

    #[test]
    fn ring_on_any_number_of_ranks() {
        for ranks in [2, 3, 5] {
            let ring = job(ranks, "ring", "").succeeded();
            let sum: u32 = (0..ranks).sum();
            assert!(ring.stdout.contains(&format!("came back with {sum} from {ranks} ranks")), "{ring:?}");
        }
    }

    #[test]
    fn pi_on_any_number_of_ranks() {
        for ranks in [2, 5] {
            let pi = job(ranks, "pi", "100000").succeeded();
            assert!(pi.stdout.contains(&format!("{ranks} ranks: pi = 3.14159265")), "{pi:?}");
            assert!(pi.stdout.contains("allreduce by "), "{pi:?}");
        }
    }

    #[test]
    fn stencil_on_any_number_of_ranks() {
        for version in ["i1", "i2", "i3"] {
            for (ranks, columns) in [(2, 9), (3, 7), (4, 4), (4, 6), (5, 23)] {
                let arguments = format!("--version {version} --rows 33 --columns {columns} --steps 12");
                let stencil = job(ranks, "stencil", &arguments).succeeded();
                assert!(stencil.stdout.contains("correct to the bit"), "{ranks} ranks, {arguments}: {stencil:?}");
            }
        }
    }

    /// As wide as the narrowest strip, with steps left over, and one step less than there are ghost columns.
    #[test]
    fn stencil_with_deep_halos_on_any_number_of_ranks() {
        for version in ["i1", "i3"] {
            for (ranks, columns, halo) in
                [(1, 9, 9), (2, 9, 4), (2, 9, 1), (3, 10, 2), (3, 23, 7), (5, 23, 3), (4, 64, 13)]
            {
                let arguments = format!("--version {version} --halo {halo} --rows 33 --columns {columns} --steps 12");
                let stencil = job(ranks, "stencil", &arguments).succeeded();
                let words = format!("with {halo} ghost columns: 33 x {columns} points, 12 steps on {ranks} ranks");
                assert!(stencil.stdout.contains(&words), "{ranks} ranks, {arguments}: {stencil:?}");
                assert!(stencil.stdout.contains("correct to the bit"), "{ranks} ranks, {arguments}: {stencil:?}");
            }
        }
        job(3, "stencil", "--halo 4 --columns 11 --rows 5 --steps 1").failed(1);
    }

    #[test]
    fn stencil_with_long_halos_and_without_overlap() {
        for version in ["i1", "i3"] {
            let arguments = format!("--version {version} --rows 100000 --columns 4 --steps 3");
            let stencil = run(Command::new(env!("CARGO_BIN_EXE_lathide"))
                .env("LATHIDE_OVERLAP", "off")
                .args(["run", "-n", "2"])
                .arg(example("stencil"))
                .args(arguments.split_whitespace()))
            .succeeded();
            assert!(stencil.stdout.contains("correct to the bit"), "{arguments}: {stencil:?}");
        }
    }

    #[test]
    fn stencil_refuses_ranks_without_columns() {
        let stencil = job(3, "stencil", "--columns 2 --rows 5 --steps 1").failed(1);
        assert!(stencil.stderr.contains("3 ranks, but only 2 columns"), "{stencil:?}");
    }

    #[test]
    fn gather_in_every_window() {
        for arguments in
            ["--algorithm simple", "--window 1", "--window 2", "--window 3", "--window 99", "--window 4294967295"]
        {
            for bytes in [0, 1, 300_000] {
                let gather = job(5, "gather", &format!("{arguments} --bytes {bytes}")).succeeded();
                assert!(gather.stdout.contains("correct"), "{arguments}, {bytes} bytes: {gather:?}");
            }
        }
    }
}
