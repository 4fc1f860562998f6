//! Whole jobs of nodes under `lathide run`: joining, the emulated link, failures, standstill.
//!
//! The ranks are this test program itself: [`node`] is the program, chosen by a variable.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lathide::{Error, Node, Rank, Tag};

/// Names the program that [`node`] runs.
const PROGRAM: &str = "LATHIDE_TEST_PROGRAM";
const TAG: Tag = Tag(5);
/// What a victim exits with, so that it is not taken for a panic.
const VICTIM: i32 = 31;

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
    took: Duration,
}

/// Runs one of [`node`]'s programs as a job; `coreutils`' `timeout` is the watchdog.
fn job(ranks: u32, program: &str, options: &[&str]) -> Ran {
    let start = Instant::now();
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_lathide"), "run", "-n", &ranks.to_string()]);
    command.args(["-x", &format!("{PROGRAM}={program}"), "-x", "LATHIDE_DEADLOCK=0.5"]).args(options);
    command.arg(own).args(["--exact", "jobs::node", "--nocapture", "--quiet", "--test-threads=1"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        status: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        took: start.elapsed(),
    }
}

/// A rank's program. Without the variable it is a test that has nothing to do.
#[test]
fn node() {
    let Ok(program) = std::env::var(PROGRAM) else { return };
    let rank: u32 = std::env::var("LATHIDE_RANK").unwrap().parse().unwrap();
    match (program.as_str(), rank) {
        ("absent", 1) => return,
        ("dies-early", 1) => std::process::exit(6),
        _ => {}
    }
    let node = match lathide::init() {
        Ok(node) => node,
        Err(error) => {
            println!("init: {error}");
            std::process::exit(VICTIM);
        }
    };
    match program.as_str() {
        "ring" => ring(&node, 3),
        "reads-first" => fails(read(&node, other(&node)).map(drop)),
        "dies" if rank == 2 => {
            before_the_end(&node);
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        "exits" if rank == 2 => {
            before_the_end(&node);
            std::process::exit(3);
        }
        "exits-well" if rank == 2 => {
            before_the_end(&node);
            std::process::exit(0);
        }
        "leaks" if rank == 2 || node.size() == 1 => {
            if node.size() > 1 {
                before_the_end(&node);
            }
            return std::mem::forget(node);
        }
        "panics" if rank == 2 => {
            before_the_end(&node);
            panic!("of its own");
        }
        "dies" | "exits" | "exits-well" | "leaks" | "panics" => {
            ring(&node, 1);
            write(&node, Rank(2)).unwrap();
            // Whoever waits for the failing rank is no more affected than who waits for another one.
            fails(read(&node, Rank((rank + 1) % node.size())).map(drop));
        }
        "finishes" if rank == 1 => {}
        "finishes" => fails(read(&node, Rank(1)).map(drop)),
        "computes" if rank == 1 => {
            thread::sleep(Duration::from_secs(3));
            write(&node, Rank(0)).unwrap();
        }
        "computes" => println!("came: {:?}", read(&node, Rank(1)).unwrap()),
        "returns-error" => {
            // As a `main` that returns its error.
            let error = read(&node, rank_after(&node)).unwrap_err();
            drop(node);
            eprintln!("Error: {error:?}");
            std::process::exit(1);
        }
        "absent" | "dies-early" => panic!("it joined"),
        other => panic!("no program {other}"),
    }
    node.finalize().unwrap();
}

fn other(node: &Node) -> Rank {
    Rank(1 - node.rank().0)
}

fn rank_after(node: &Node) -> Rank {
    node.rank().on_ring(1, node.size())
}

fn read(node: &Node, from: Rank) -> lathide::Result<Vec<u64>> {
    node.initread(from, TAG, vec![0u64; 1])?.wait()
}

fn write(node: &Node, to: Rank) -> lathide::Result<()> {
    node.initwrite(to, TAG, vec![u64::from(node.rank().0)])?.wait().map(drop)
}

/// A token goes round: every link of the ring carries it, every rank adds one.
fn ring(node: &Node, rounds: u64) {
    let (rank, size) = (node.rank(), node.size());
    let (left, right) = (rank.on_ring(-1, size), rank.on_ring(1, size));
    for round in 0..rounds {
        let pass = |token: u64| drop(node.initwrite(right, TAG, vec![token]).unwrap().wait().unwrap());
        let take = || node.initread(left, TAG, vec![0u64; 1]).unwrap().wait().unwrap()[0];
        if rank == 0 {
            pass(round);
            assert_eq!(take(), round + u64::from(size) - 1);
        } else {
            pass(take() + 1);
        }
    }
}

/// Until nobody needs anything of this rank any more: what it has written may be lost with it.
fn before_the_end(node: &Node) {
    ring(node, 1);
    for from in (0..node.size()).map(Rank).filter(|&from| from != node.rank()) {
        read(node, from).unwrap();
    }
}

/// A call that must fail: shows why, and ends the rank.
fn fails(result: lathide::Result<()>) {
    let error: Error = result.expect_err("it worked");
    println!("failed: {error}");
    std::process::exit(VICTIM);
}

#[test]
fn a_job_joins_and_leaves_in_order() {
    for ranks in [1, 2, 5] {
        let ran = job(ranks, "ring", &["--json"]);
        assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(json["joined_s"].as_f64().is_some_and(|joined| joined <= json["ended_s"].as_f64().unwrap()), "{json}");
        for rank in 0..ranks as usize {
            assert!(json["ranks"][rank]["left_s"].as_f64().is_some(), "rank {rank} said no goodbye: {json}");
        }
    }
}

#[test]
fn messages_take_the_emulated_link() {
    let ran = job(3, "ring", &["--link", "delay=40ms"]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("emulated: delay=40ms"), "{}", ran.stderr);
    // Nine messages one after the other.
    assert!(ran.took >= Duration::from_millis(9 * 40), "{:?}", ran.took);
}

#[test]
fn a_failing_rank_is_named_by_the_launcher_and_to_every_rank() {
    for (program, status, word, cause) in [
        ("dies", 137, "rank 2 was killed by signal 9 (SIGKILL)", "SIGKILL"),
        ("exits", 3, "rank 2 failed first: it ended with status 3", "status 3"),
        ("panics", 101, "rank 2 failed first: it ended with status 101", "panic"),
    ] {
        let ran = job(4, program, &[]);
        assert_eq!(ran.status, status, "{program}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(word), "{program}: {}", ran.stderr);
        for victim in [0, 1, 3] {
            let line = ran.stdout.lines().find(|line| line.starts_with(&format!("[{victim}] failed: ")));
            let line = line.unwrap_or_else(|| panic!("{program}: rank {victim} heard nothing: {}", ran.stdout));
            assert!(line.contains("rank 2 is lost"), "{program}: {line}");
            println!("{program}: {line} ({cause})");
        }
        assert!(ran.took < Duration::from_secs(15), "{program}: {:?}", ran.took);
    }
}

/// It is the culprit, not the survivor that noticed.
#[test]
fn a_rank_that_ends_well_but_without_finalize_has_failed_the_job() {
    for program in ["exits-well", "leaks"] {
        let ran = job(4, program, &[]);
        println!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.status, 1, "{program}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout.matches("rank 2 is lost").count(), 3, "{program}: {}", ran.stdout);
        let said = "lathide: rank 2 failed first: it ended with status 0 without finalize: call finalize() on its node";
        assert!(ran.stderr.contains(said), "{program}: {}", ran.stderr);
    }
    let ran = job(1, "leaks", &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "nobody misses it");
}

#[test]
fn a_rank_that_never_joins_is_named() {
    let ran = job(3, "absent", &[]);
    assert_eq!(ran.status, VICTIM, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("rank 1") && ran.stderr.contains("status 0"), "{}", ran.stderr);
    assert!(ran.stdout.contains("init: rank 0 could not join"), "{}", ran.stdout);
    let ran = job(3, "dies-early", &[]);
    assert_eq!(ran.status, 6, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("rank 1 failed first: it ended with status 6"), "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(15), "{:?}", ran.took);
}

#[test]
fn a_deadlock_is_reported_with_the_way_out() {
    let ran = job(2, "reads-first", &[]);
    assert_eq!(ran.status, VICTIM, "{}{}", ran.stdout, ran.stderr);
    for part in ["deadlock:", "rank 0 waits for rank 1: initread from rank 1, tag 5", "what to change: "] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(ran.stdout.matches("failed: deadlock").count(), 2, "{}", ran.stdout);
    assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
}

/// By the launcher, and not once more by each rank whose `main` returns the error, nor among its last lines.
#[test]
fn a_deadlock_is_reported_once() {
    let ran = job(4, "returns-error", &[]);
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    println!("{all}");
    assert_eq!(ran.stderr.matches("] Error: deadlock: ").count(), 1, "{all}");
    for rank in 0..4 {
        let waits = format!("rank {rank} waits for rank {}: ", (rank + 1) % 4);
        assert_eq!(all.matches(&waits).count(), 1, "{waits:?}: {all}");
    }
}

#[test]
fn waiting_for_a_rank_that_has_finished_ends() {
    let ran = job(2, "finishes", &[]);
    assert_eq!(ran.status, VICTIM, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("[0] failed: "), "{}", ran.stdout);
    assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
}

#[test]
fn waiting_for_a_rank_that_computes_is_no_deadlock() {
    let ran = job(2, "computes", &[]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("[0] came: [1]"), "{}", ran.stdout);
}
