//! The selection of algorithms follows what ranks observe, and results do not depend on it.

use std::thread::sleep;
use std::time::Duration;

use lathide::{Bytes, Config, Node, Operator, Overlap};

use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);

/// A small program of every kind of collective, many times: what a rank gets.
fn program(node: &Node, calls: u32) -> Vec<u64> {
    let (rank, ranks) = (u64::from(node.rank().0), node.size());
    let mut seen = Vec::new();
    for call in 0..calls {
        let root = call % ranks;
        let value = vec![rank + 10 * u64::from(call); 1 + (call as usize % 3) * 700];
        seen.extend(node.allreduce(&Operator::sum(), value.clone()).unwrap());
        seen.extend(node.broadcast(root, value.clone()).unwrap());
        seen.extend(node.gather(root, value.clone()).unwrap().unwrap_or_default());
        seen.extend(node.allgather(value).unwrap());
        if call % 4 == 0 {
            node.barrier().unwrap();
        }
    }
    seen
}

#[test]
fn results_are_those_without_calibration() {
    let results = |calibrate: bool| {
        let set = move |config: &mut Config| config.calibrate = calibrate;
        job_within(LIMIT, 5, set, |node| {
            let seen = program(&node, 40);
            let changes = node.report().changes.len();
            node.finalize().unwrap();
            (seen, changes)
        })
    };
    let (with, without) = (results(true), results(false));
    for (rank, (one, other)) in with.iter().zip(&without).enumerate() {
        assert!(one.0 == other.0, "rank {rank}: what it has seen differs");
        assert_eq!(other.1, 0, "nothing changes when it is off");
        assert_eq!(one.1, with[0].1, "every rank has made the same changes");
    }
}

/// Calls that no rank waits for run ahead of the exchange that decides on their algorithms, and are carried out later.
#[test]
fn calls_that_run_ahead_wait_for_the_slowest_rank() {
    for overlap in [Overlap::On, Overlap::Off] {
        let set = move |config: &mut Config| config.overlap = overlap;
        let ends = job_within(LIMIT, 4, set, |node| {
            if node.rank() == 2 {
                sleep(Duration::from_millis(300));
            }
            let sums: Vec<_> = (0..60u64)
                .map(|call| node.initallreduce(&Operator::sum(), vec![call + u64::from(node.rank().0)]).unwrap())
                .collect();
            let root = node.initbroadcast(1, vec![node.rank().0; 3]).unwrap();
            let neighbour = node.rank().on_ring(1, node.size());
            let message = node.initwrite(neighbour, 5, Bytes::from_static(b"beside")).unwrap();
            let read = node.initread(node.rank().on_ring(-1, node.size()), 5, vec![0u8; 6]).unwrap();
            for (call, sum) in sums.into_iter().enumerate() {
                assert_eq!(sum.wait().unwrap(), [4 * call as u64 + 6]);
            }
            assert_eq!(root.wait().unwrap(), [1; 3]);
            assert_eq!(read.wait().unwrap(), b"beside");
            message.wait().unwrap();
            node.finalize().unwrap();
        });
        assert_eq!(ends.len(), 4);
    }
}

/// What the program decides itself while calls are still to begin holds for those after it, on every rank.
#[test]
fn settings_take_their_place_among_calls_that_wait() {
    let ends = job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            if node.rank() == 0 {
                sleep(Duration::from_millis(200));
            }
            let sum = || node.initallreduce(&Operator::sum(), vec![1u64; 5000]).unwrap();
            let mut sums: Vec<_> = (0..10).map(|_| sum()).collect();
            node.override_algorithms(lathide::Overrides::parse("allreduce:chain").unwrap());
            sums.extend((0..10).map(|_| sum()));
            node.override_algorithms(lathide::Overrides::none());
            sums.extend((0..10).map(|_| sum()));
            let mut names = Vec::new();
            for sum in sums {
                while !sum.is_complete() {
                    std::thread::yield_now();
                }
                names.push(sum.choice().expect("it has begun").best().algorithm.name());
                assert_eq!(sum.wait().unwrap(), [3; 5000]);
            }
            node.finalize().unwrap();
            names
        },
    );
    for names in &ends {
        assert_eq!(names, &ends[0]);
        assert!(names[10..20].iter().all(|name| *name == "chain"), "{names:?}");
    }
}

/// Who leaves early is not waited for by exchanges of later calls.
#[test]
fn a_rank_that_has_called_all_leaves_while_others_compute() {
    for calls in 1..8 {
        let ends = job_within(
            LIMIT,
            3,
            |_| {},
            move |node| {
                for _ in 0..calls {
                    drop(node.initbroadcast(0, vec![node.rank().0; 10]).unwrap());
                    if node.rank() != 0 {
                        sleep(Duration::from_millis(20));
                    }
                }
                node.finalize().unwrap();
            },
        );
        assert_eq!(ends.len(), 3);
    }
}
