//! A write that is over before its message is refused: both sides have the error, and no other call pays for it.

use std::time::Duration;

use lathide::{Config, Error, Mismatch, Node, Operator, Overlap, Result};

use super::refused;
use crate::support::{job, job_within};

/// Rank 0 writes a message that rank 1's read refuses when that write is over, and has been told when this returns.
fn refuse_late(node: &Node) {
    if node.rank() == 0 {
        let reply = node.initread(1, 8, vec![0u8]).unwrap();
        node.initwrite(1, 7, vec![1.0f64]).unwrap().wait().unwrap();
        node.initwrite(1, 6, vec![0u8]).unwrap().wait().unwrap();
        reply.wait().unwrap();
    } else {
        node.initread(0, 6, vec![0u8]).unwrap().wait().unwrap();
        refused(node.initread(0, 7, vec![1u64]).unwrap().wait(), &WORDS);
        node.initwrite(0, 8, vec![1u8]).unwrap().wait().unwrap();
    }
}

const WORDS: [&str; 3] = ["rank 0's initwrite to rank 1 (tag 7)", "8 bytes of f64", "use one element type"];

#[test]
fn a_late_mismatch_spares_the_calls_that_follow() {
    for overlap in [Overlap::On, Overlap::Off] {
        let configure = move |config: &mut Config| config.overlap = overlap;
        job_within(Duration::from_secs(60), 2, configure, |node| {
            let peer = 1 - node.rank().0;
            type Call = fn(&Node, u32);
            let calls: [Call; 4] = [
                |node, _| node.barrier().unwrap(),
                |node, peer| {
                    let read = node.initread(peer, 9, vec![0u8]).unwrap();
                    node.initwrite(peer, 9, vec![5u8]).unwrap().wait().unwrap();
                    assert_eq!(read.wait().unwrap(), [5]);
                },
                |node, peer| {
                    node.initwrite(peer, 9, vec![6u8]).unwrap().wait().unwrap();
                    assert_eq!(node.initread(peer, 9, vec![0u8]).unwrap().wait().unwrap(), [6]);
                },
                |node, _| assert_eq!(node.allreduce(&Operator::sum(), vec![1u8]).unwrap(), [2]),
            ];
            for call in calls {
                refuse_late(&node);
                call(&node, peer);
                node.barrier().unwrap();
            }
            let last = node.finalize();
            if peer == 1 { drop(refused(last, &WORDS)) } else { last.unwrap() }
        });
    }
}

/// Far more messages than a node remembers its writes.
const MANY: u32 = 1000;

#[test]
fn check_returns_each_late_mismatch_once_in_order() {
    for overlap in [Overlap::On, Overlap::Off] {
        let configure = move |config: &mut Config| config.overlap = overlap;
        job_within(Duration::from_secs(60), 2, configure, |node| {
            node.check().unwrap();
            if node.rank() == 0 {
                for tag in [2, 1] {
                    drop(node.initwrite(1, tag, vec![0.5f64; tag as usize]).unwrap().wait().unwrap());
                }
                for _ in 0..MANY {
                    node.initwrite(1, 3, vec![0u8]).unwrap().wait().unwrap();
                }
                node.initread(1, 8, vec![0u8]).unwrap().wait().unwrap();
                for tag in [1, 2] {
                    let error = refused(node.check(), &[&format!("(tag {tag})"), &format!("{} bytes of f64", 8 * tag)]);
                    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
                }
                node.check().unwrap();
                node.barrier().unwrap();
            } else {
                for _ in 0..MANY {
                    node.initread(0, 3, vec![0u8]).unwrap().wait().unwrap();
                }
                for tag in [1, 2] {
                    refused(node.initread(0, tag, vec![0u8; 100]).unwrap().wait(), &["f64", "u8"]);
                }
                node.initwrite(0, 8, vec![1u8]).unwrap().wait().unwrap();
                node.barrier().unwrap();
            }
            node.check().unwrap();
            node.finalize().unwrap();
        });
    }
}

/// What the writer does before it finalizes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Writer {
    Drops,
    Waits,
}

/// The read is posted before the message comes: then the refusal is on its way before the reader confirms the
/// writer's goodbye.
#[test]
fn a_writer_that_finalizes_at_once_is_told_what_its_reader_is() {
    let mut missed = Vec::new();
    for run in 0..48usize {
        let writer = [Writer::Drops, Writer::Waits][run % 2];
        let overlap = [Overlap::On, Overlap::Off][run / 2 % 2];
        let elements = [1, 500, 100_000][run % 3];
        let (encrypt, reader_goes_on) = (run % 5 == 4, run % 7 < 5);
        let configure = move |config: &mut Config| (config.overlap, config.encrypt) = (overlap, encrypt);
        let ends = job_within(Duration::from_secs(60), 2, configure, move |node| {
            if node.rank() == 0 { write_and_go(node, elements, writer) } else { read_and_go(node, reader_goes_on) }
        });
        let what = format!("{writer:?}, {elements} elements, overlap {overlap:?}, encrypted: {encrypt}");
        println!("run {run}: {what}: {ends:?}");
        let mismatch = |end: &Result<()>| match end {
            Err(Error::Mismatch(mismatch)) => Some(Mismatch::clone(mismatch)),
            _ => None,
        };
        if mismatch(&ends[0]).is_none() || mismatch(&ends[0]) != mismatch(&ends[1]) {
            missed.push(what);
        }
    }
    assert!(missed.is_empty(), "{} of 48 writers or readers were not told: {missed:#?}", missed.len());
}

fn write_and_go(node: Node, elements: usize, writer: Writer) -> Result<()> {
    node.initread(1, 1, vec![0u8])?.wait()?;
    let write = node.initwrite(1, 7, vec![1.0f64; elements])?;
    match writer {
        Writer::Drops => drop(write),
        Writer::Waits => drop(write.wait()?),
    }
    node.finalize()
}

fn read_and_go(node: Node, goes_on: bool) -> Result<()> {
    let read = node.initread(0, 7, vec![0u8; 4])?;
    node.initwrite(0, 1, vec![0u8])?.wait()?;
    let error = read.wait().unwrap_err();
    if goes_on {
        // The writer may have failed meanwhile, for this error.
        let _ = node.finalize();
    }
    Err(error)
}

#[test]
fn a_mismatch_nobody_was_told_of_is_told_by_finalize() {
    job(2, |node| {
        if node.rank() == 0 {
            let reply = node.initread(1, 8, vec![0u8]).unwrap();
            drop(node.initwrite(1, 7, vec![1.0f64]).unwrap());
            reply.wait().unwrap();
            refused(node.finalize(), &WORDS);
        } else {
            refused(node.initread(0, 7, vec![1u64]).unwrap().wait(), &["use one element type"]);
            node.initwrite(0, 8, vec![1u8]).unwrap().wait().unwrap();
            node.finalize().unwrap();
        }
    });
}

/// Whether a write under way or one that is over is refused, and whether its handle goes before or after: an error that
/// no handle has returned is kept.
#[test]
fn a_mismatch_outlives_the_handle_that_did_not_return_it() {
    for (elements, early) in [(1usize, true), (1, false), (100_000, true), (100_000, false)] {
        let configure = |config: &mut Config| config.window_bytes = 64 << 10;
        job_within(Duration::from_secs(60), 2, configure, move |node| {
            if node.rank() == 0 {
                let write = node.initwrite(1, 7, vec![1.0f64; elements]).unwrap();
                let kept = (!early).then_some(write);
                node.barrier().unwrap();
                node.initread(1, 8, vec![0u8]).unwrap().wait().unwrap();
                drop(kept);
                refused(node.finalize(), &WORDS[..1]);
            } else {
                node.barrier().unwrap();
                refused(node.initread(0, 7, vec![1u64]).unwrap().wait(), &WORDS[..1]);
                node.initwrite(0, 8, vec![1u8]).unwrap().wait().unwrap();
                node.finalize().unwrap();
            }
        });
    }
}
