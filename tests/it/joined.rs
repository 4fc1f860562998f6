//! A process joins its job once, by itself, and leaves it by `finalize`: whoever does otherwise is told what is wrong.

use std::time::Duration;

use lathide::{Error, Handle, Misuse, Node, Result, Test};

use crate::spmd::programs::{join, say};
use crate::spmd::{Job, STARTS, Start};

/// The program: joins, and then calls `init` again.
pub(crate) fn twice() -> Result<()> {
    let node = join()?;
    let again = |says: &str| {
        let error = lathide::init().expect_err("it has joined before");
        assert!(matches!(error, Error::Misuse(Misuse::Joined { .. })), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    };
    again("its node is still there");
    node.barrier()?;
    node.finalize()?;
    again("has left the job");
    say("done", "");
    Ok(())
}

#[test]
fn a_second_init_says_that_there_was_a_first() {
    for &start in STARTS {
        let ended = Job::start(start, 2, "twice", &[]).end();
        assert_eq!(ended.all("done").len(), 2, "{ended}");
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    }
}

/// The program: two calls of `init` that find nobody. The first one is no reason for the second to fail.
pub(crate) fn fails() -> Result<()> {
    for _ in 0..2 {
        let error = lathide::init().expect_err("nobody is there");
        assert!(matches!(error, Error::Join { .. }), "{error}");
    }
    say("done", "");
    Ok(())
}

#[test]
fn an_init_that_failed_may_be_repeated() {
    let ended = Job::start(Start::ByHand, 1, "fails", &[("LATHIDE_SIZE", "2"), ("LATHIDE_JOIN", "0.2")]).end();
    assert_eq!(ended.all("done").len(), 1, "{ended}");
}

/// The tag of the messages that a child must not take.
const TAG: u32 = 3;

/// Every call that a child makes of its parent's node fails, and says what is wrong.
fn child(node: &Node, pending: &mut [Option<Handle<Vec<u64>>>; 3]) -> u8 {
    let peer = 1 - node.rank().0;
    let refused = |error: Error| {
        assert!(matches!(error, Error::Misuse(Misuse::Forked { .. })), "{error}");
        let said = error.to_string();
        assert!(
            said.contains(&format!("rank {}: process ", node.rank())) && said.contains("was forked from it"),
            "{said}"
        );
    };
    refused(node.initwrite(peer, TAG, vec![9u64; 4]).expect_err("a write"));
    refused(node.initread(peer, TAG, vec![9u64; 4]).expect_err("a read"));
    refused(node.barrier().expect_err("a collective"));
    refused(node.check().expect_err("a look"));
    refused(lathide::init().expect_err("a node of its own"));
    let [waited, tested, timed] = pending.each_mut().map(|handle| handle.take().expect("it is pending"));
    refused(waited.wait().expect_err("a wait"));
    match tested.test() {
        Err(error) => refused(error),
        Ok(Test::Ready(_) | Test::Pending(_)) => panic!("nothing comes to a child"),
    }
    refused(timed.wait_timeout(Duration::from_secs(60)).expect_err("a wait").0);
    refused(node.clone().finalize().expect_err("an end"));
    42
}

/// The program: both ranks fork while reads are pending, and go on after their children have tried everything.
pub(crate) fn forks() -> Result<()> {
    let node = join()?;
    let (rank, peer) = (node.rank().0, 1 - node.rank().0);
    let mut pending = [0; 3].map(|_| node.initread(peer, TAG, vec![0u64; 4]).ok());
    node.barrier()?;
    let ended = lathide_sys::fork::in_child(|| child(&node, &mut pending)).expect("a child that ends by itself");
    say("child", ended);
    node.barrier()?;
    for number in 0..3u64 {
        node.initwrite(peer, TAG, vec![u64::from(rank) * 10 + number; 4])?.wait()?;
    }
    for (number, read) in (0..).zip(pending) {
        assert_eq!(read.expect("it was posted").wait()?, [u64::from(peer) * 10 + number; 4]);
    }
    node.finalize()?;
    say("done", "");
    Ok(())
}

#[test]
fn a_child_that_uses_its_parents_node_is_told_and_does_no_harm() {
    for &start in STARTS {
        for (overlap, encrypt) in [("on", "off"), ("off", "off"), ("on", "on")] {
            let ended =
                Job::start(start, 2, "forks", &[("LATHIDE_OVERLAP", overlap), ("LATHIDE_ENCRYPT", encrypt)]).end();
            let children: Vec<&str> = ended.all("child").iter().map(|line| line.rest.trim()).collect();
            assert_eq!(children, ["42", "42"], "{start:?}, overlap {overlap}: {ended}");
            assert_eq!(ended.all("done").len(), 2, "{start:?}, overlap {overlap}: {ended}");
        }
    }
}

/// The program: rank 1 ends its process with a node that it has not finalized, and rank 0 waits for it.
pub(crate) fn exits() -> Result<()> {
    let node = join()?;
    node.barrier()?;
    if node.rank() == 1 {
        std::process::exit(0);
    }
    let error = node.initread(1, TAG, vec![0u8]).and_then(Handle::wait).expect_err("nobody writes");
    say("lost", &error);
    Err(error)
}

#[test]
fn an_exit_without_finalize_is_called_so() {
    for &start in STARTS {
        for overlap in ["on", "off"] {
            let ended = Job::start(start, 2, "exits", &[("LATHIDE_OVERLAP", overlap)]).end();
            let said = &ended.of(0, "lost").rest;
            assert!(said.contains("rank 1 is lost") && said.contains("without finalize"), "{start:?}: {said}");
        }
    }
}
