//! Waiting for many reads, reading from any rank, cancelling.

use std::time::Instant;

use lathide::{Cancelled, Node, ReadHandle, Test, WaitSet, wait_any};

use crate::{Effort, row};

/// How many reads are completed.
#[derive(Clone, Copy)]
enum Way {
    Test,
    Set,
    Any,
}

const WAYS: [(Way, &str); 3] = [(Way::Test, "test"), (Way::Set, "WaitSet::wait"), (Way::Any, "wait_any")];

/// Measures on rank 0; rank 1 writes what is read.
pub(crate) fn measure(node: &Node, effort: &Effort) {
    many(node, effort, true);
    many(node, effort, false);
    any(node, effort);
    if node.rank() == 0 {
        println!("{} reads of 8 B, posted and cancelled", effort.reads);
        let cancelled = (0..effort.repeats).map(|_| cancels(node, effort.reads)).collect();
        row("initread and cancel", "ns", cancelled);
    }
    // Reads can be posted as long as the other rank is there.
    node.barrier().expect("two ranks");
}

/// Reads that are here already, or that come while they are waited for.
fn many(node: &Node, effort: &Effort, are_here: bool) {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..effort.repeats {
        for (at, (way, _)) in WAYS.into_iter().enumerate() {
            let took = complete(node, effort.reads, way, are_here);
            times[at].push(took / f64::from(effort.reads) * 1e9);
        }
    }
    if node.rank() == 0 {
        println!("{} reads of 8 B, {}", effort.reads, if are_here { "complete before" } else { "waited for" });
        for ((_, name), times) in WAYS.into_iter().zip(times) {
            row(name, "ns each", times);
        }
    }
}

/// Seconds for all.
fn complete(node: &Node, reads: u32, way: Way, are_here: bool) -> f64 {
    let peer = 1 - node.rank().0;
    if node.rank() == 1 {
        node.initread(peer, 2, vec![0u8; 1]).expect("two ranks").wait().expect("the other rank writes");
        for at in 0..reads {
            // In an order that is not that of the reads.
            let tag = 10 + (u64::from(at) * 7919 % u64::from(reads)) as u32;
            drop(node.initwrite(peer, tag, vec![1u64; 1]).expect("two ranks").wait().expect("the other rank reads"));
        }
        node.initwrite(peer, 3, vec![1u8; 1]).expect("two ranks").wait().expect("the other rank reads");
        return 0.0;
    }
    let read = |at: u32| node.initread(peer, 10 + at, vec![0u64; 1]).expect("two ranks");
    let mut handles: Vec<ReadHandle<u64>> = (0..reads).map(read).collect();
    let last = node.initread(peer, 3, vec![0u8; 1]).expect("two ranks");
    node.initwrite(peer, 2, vec![1u8; 1]).expect("two ranks").wait().expect("the other rank reads");
    if are_here {
        last.wait().expect("the other rank writes");
        wait(&mut handles, way)
    } else {
        let took = wait(&mut handles, way);
        last.wait().expect("the other rank writes");
        took
    }
}

fn wait(handles: &mut Vec<ReadHandle<u64>>, way: Way) -> f64 {
    let began = Instant::now();
    match way {
        Way::Test => {
            for mut handle in handles.drain(..) {
                while let Test::Pending(same) = handle.test().expect("the other rank writes") {
                    handle = same;
                }
            }
        }
        Way::Set => {
            let mut set = WaitSet::new();
            handles.drain(..).enumerate().for_each(|(at, handle)| set.insert(at, handle));
            while let Some((_, done)) = set.wait() {
                drop(done.into::<Vec<u64>>().expect("the other rank writes"));
            }
        }
        Way::Any => {
            while !handles.is_empty() {
                drop(wait_any(handles).expect("the other rank writes"));
            }
        }
    }
    began.elapsed().as_secs_f64()
}

/// Half a round trip of 8 bytes, by reads of the other rank and of any.
fn any(node: &Node, effort: &Effort) {
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..effort.repeats {
        for (at, of_any) in [false, true].into_iter().enumerate() {
            let began = Instant::now();
            for turn in 0..2 * effort.round_trips {
                let peer = 1 - node.rank().0;
                if (turn % 2 == 0) == (node.rank() == 0) {
                    node.initwrite(peer, 1, vec![1u64; 1]).expect("two ranks").wait().expect("the other rank reads");
                } else if of_any {
                    node.initread_any(1, vec![0u64; 1]).expect("two ranks").wait().expect("the other rank writes");
                } else {
                    node.initread(peer, 1, vec![0u64; 1]).expect("two ranks").wait().expect("the other rank writes");
                }
            }
            times[at].push(began.elapsed().as_secs_f64() / (2 * effort.round_trips) as f64 * 1e6);
        }
    }
    if node.rank() == 0 {
        println!("8 B, half the round trip");
        for (name, times) in ["initread", "initread_any"].into_iter().zip(times) {
            row(name, "us", times);
        }
    }
}

/// Nanoseconds for a read that is posted and cancelled, in the order of posting and backwards.
fn cancels(node: &Node, reads: u32) -> f64 {
    let began = Instant::now();
    let post = |_| node.initread(1, 4, vec![0u64; 1]).expect("two ranks");
    let handles: Vec<ReadHandle<u64>> = (0..reads).map(post).collect();
    for handle in handles.into_iter().rev() {
        assert!(matches!(handle.cancel(), Cancelled::Withdrawn(_)), "nobody writes");
    }
    began.elapsed().as_secs_f64() / f64::from(reads) * 1e9
}
