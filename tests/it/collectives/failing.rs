//! What ranks are told when they disagree, when an operator panics, and when one of them is gone.

use std::time::Duration;

use lathide::Overrides;
use lathide::{Error, Misuse, Node, Operator, Result, Tag};
use rustix::process::Signal;

use crate::spmd::{Job, STARTS, now_ms};
use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);

/// A call of a collective; whether its result is right does not matter here.
type CallOf = fn(&Node) -> Result<()>;

/// What most ranks call, what one calls, and what the error says of both.
const DISAGREEMENTS: [(CallOf, CallOf, &str, &str); 12] = [
    (
        |node| node.barrier(),
        |node| node.broadcast(0, vec![0u8; 3]).map(drop),
        "called barrier",
        "broadcast(3 elements of u8",
    ),
    (
        |node| node.allgather(vec![0u32; 5]).map(drop),
        |node| node.alltoall(vec![0u32; 20]).map(drop),
        "allgather(5 elements of u32)",
        "alltoall(5 elements of u32)",
    ),
    (
        |node| node.broadcast(0, vec![0u8; 100]).map(drop),
        |node| node.broadcast(1, vec![0u8; 100]).map(drop),
        "broadcast(100 elements of u8, root 0)",
        "broadcast(100 elements of u8, root 1)",
    ),
    (
        // Both wait for the other.
        |node| node.broadcast(2, vec![0u8; 100]).map(drop),
        |node| node.broadcast(0, vec![0u8; 100]).map(drop),
        "root 2",
        "root 0",
    ),
    (
        |node| node.gather(1, vec![0f32; 9]).map(drop),
        |node| node.gather(3, vec![0f32; 9]).map(drop),
        "gather(9 elements of f32, root 1)",
        "gather(9 elements of f32, root 3)",
    ),
    (
        |node| node.allreduce(&Operator::sum(), vec![0u64; 100]).map(drop),
        |node| node.allreduce(&Operator::sum(), vec![0u64; 101]).map(drop),
        "allreduce(100 elements of u64, operator sum)",
        "allreduce(101 elements of u64, operator sum)",
    ),
    (
        // Beyond the window: nothing of it can arrive.
        |node| node.broadcast(0, vec![0u8; 200_000]).map(drop),
        |node| node.broadcast(2, vec![0u8; 200_001]).map(drop),
        "broadcast(200000 elements of u8, root 0)",
        "broadcast(200001 elements of u8, root 2)",
    ),
    (
        |node| node.allreduce(&Operator::sum(), vec![0u64; 100]).map(drop),
        |node| node.allreduce(&Operator::sum(), vec![0i64; 100]).map(drop),
        "elements of u64",
        "elements of i64",
    ),
    (
        |node| node.allreduce(&Operator::max(), vec![0u64; 100]).map(drop),
        |node| node.allreduce(&Operator::min(), vec![0u64; 100]).map(drop),
        "operator max",
        "operator min",
    ),
    (
        |node| node.reduce(0, &Operator::new("mine", true, u64::max), vec![0u64; 9]).map(drop),
        |node| node.reduce(0, &Operator::new("yours", true, u64::max), vec![0u64; 9]).map(drop),
        "operator mine",
        "operator yours",
    ),
    (
        |node| node.gather_counts(0, &[1, 2, 3, 4], vec![0u8; node.rank().index() + 1]).map(drop),
        |node| node.gather_counts(0, &[2, 1, 3, 4], vec![0u8; 3]).map(drop),
        "4 elements of u8 at most, 10 in all",
        "lengths #",
    ),
    (
        |node| node.scatter(0, 5, vec![0u8; if node.rank() == 0 { 20 } else { 0 }]).map(drop),
        |node| node.scatter(0, 6, vec![0u8; 0]).map(drop),
        "scatter(5 elements of u8, root 0)",
        "scatter(6 elements of u8, root 0)",
    ),
];

/// The first error among calls that all must fail in the end.
fn first_error(node: &Node, call: CallOf) -> Error {
    let mut result = call(node);
    // Who had nothing to wait for learns it from its next call.
    for _ in 0..20 {
        if let Err(error) = result {
            return error;
        }
        result = node.barrier();
    }
    panic!("rank {} is not told", node.rank());
}

#[test]
fn disagreements_are_told_on_every_rank_with_both_sides() {
    for (row, (most, odd, words, odd_words)) in DISAGREEMENTS.into_iter().enumerate() {
        let configure = |config: &mut lathide::Config| config.window_bytes = 64 << 10;
        job_within(LIMIT, 4, configure, move |node| {
            let rank = node.rank();
            node.barrier().unwrap();
            let error = first_error(&node, if rank == 2 { odd } else { most });
            let Error::Disagreement { number: 2, ranks: (one, other), .. } = &error else {
                panic!("row {row}, {rank}: {error:?}")
            };
            assert!([one.0, other.0].contains(&2), "row {row}: {error}");
            for words in [words, odd_words, "rank 2", "all ranks must call the same"] {
                assert!(error.to_string().contains(words), "row {row}, rank {rank}: {words:?} is not in {error}");
            }
            // All after it fail too, and messages go on.
            let again = node.allgather(vec![0u8]).unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
            let (left, right) = (rank.on_ring(-1, 4), rank.on_ring(1, 4));
            let read = node.initread(left, Tag(3), vec![0u32]).unwrap();
            node.initwrite(right, Tag(3), vec![rank.0]).unwrap().wait().unwrap();
            assert_eq!(read.wait().unwrap(), [left.0]);
            node.finalize().expect("the program was told");
        });
    }
}

/// The program's last collective is the one that ranks disagree on: nobody leaves as if all were well, though some wait for
/// nothing, and whoever leaves first.
#[test]
fn disagreements_are_told_without_a_later_call() {
    for (row, (most, odd, words, odd_words)) in DISAGREEMENTS.into_iter().enumerate() {
        for late in [None, Some(2), Some(0), Some(1)] {
            job_within(
                LIMIT,
                4,
                |_| {},
                move |node| {
                    let rank = node.rank();
                    // So that all have joined: their `init` would return the first failure.
                    let met = || {
                        for peer in (0..node.size()).filter(|&peer| peer != rank.0) {
                            node.initwrite(peer, Tag(3), vec![1u8])?.wait()?;
                        }
                        (0..node.size())
                            .filter(|&peer| peer != rank.0)
                            .try_for_each(|peer| node.initread(peer, Tag(3), vec![0u8])?.wait().map(drop))
                    };
                    let met = met();
                    if late == Some(rank.0) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    let call = if rank == 2 { odd } else { most };
                    let error = met.and_then(|()| call(&node)).and_then(|()| node.finalize());
                    let error = error.expect_err(&format!("row {row}, {rank}"));
                    // Others end with the error, which fails the job: then that quotes it.
                    let is_told = matches!(error, Error::Disagreement { number: 1, .. } | Error::PeerLost { .. });
                    assert!(is_told, "row {row}, rank {rank}, {late:?} late: {error:?}");
                    for words in [words, odd_words] {
                        assert!(
                            error.to_string().contains(words),
                            "row {row}, rank {rank}: {words:?} is not in {error}"
                        );
                    }
                },
            );
        }
    }
}

/// Only roots of two ranks: nobody waits for anything. The first of many calls differs.
#[test]
fn roots_that_all_send_are_told() {
    for (turn, later) in [0, 1, 5, 1500].into_iter().enumerate() {
        job_within(
            LIMIT,
            2,
            |_| {},
            move |node| {
                let rank = node.rank().0;
                if turn % 2 == rank as usize {
                    std::thread::sleep(Duration::from_millis(20));
                }
                let calls = (0..=later).try_for_each(|_| node.broadcast(rank, vec![1u8]).map(drop));
                let error = calls.and_then(|()| node.finalize()).expect_err(&format!("rank {rank}"));
                assert!(matches!(error, Error::Disagreement { .. }), "rank {rank}, {later} more: {error:?}");
            },
        );
    }
}

#[test]
fn ranks_that_force_different_algorithms_are_told() {
    let root = crate::support::free_root();
    let ranks: Vec<_> = (0..2u32)
        .map(|rank| {
            let mut config = lathide::Config::new(rank, 2, Some(root.clone()));
            config.key = lathide::Key::from_bytes(crate::support::KEY);
            config.overrides = Overrides::parse(["allreduce:ring", "allreduce:doubling"][rank as usize]).unwrap();
            std::thread::spawn(move || {
                let node = lathide::init_with(config).unwrap();
                let error = node.allreduce(&Operator::sum(), vec![1u8; 8]).unwrap_err().to_string();
                for words in ["rank 0 carries out allreduce", "by ring", "by doubling", "the same algorithm"] {
                    assert!(error.contains(words), "{words:?} is not in {error}");
                }
                node.finalize().unwrap();
            })
        })
        .collect();
    ranks.into_iter().for_each(|rank| rank.join().unwrap());
}

/// One rank calls once less; the next call of the others is another one than its own.
#[test]
fn a_call_that_one_rank_leaves_out_is_told() {
    job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            let call: CallOf = |node| {
                if node.rank() != 1 {
                    node.broadcast(0, vec![1.0f64; 10])?;
                }
                node.barrier()
            };
            let error = first_error(&node, call).to_string();
            assert!(error.contains("rank 1 called barrier") && error.contains("called broadcast"), "{error}");
            node.finalize().unwrap();
        },
    );
}

#[test]
fn an_operator_that_panics_is_told_on_every_rank() {
    for (name, call) in [
        (
            "allreduce",
            (|node, operator| node.allreduce(operator, vec![5u32; 4000]).map(drop))
                as fn(&Node, &Operator<u32>) -> Result<()>,
        ),
        ("reduce", |node, operator| node.reduce(0, operator, vec![5u32; 4000]).map(drop)),
    ] {
        job_within(
            LIMIT,
            4,
            |_| {},
            move |node| {
                let rank = node.rank();
                node.barrier().unwrap();
                // Only where it runs, which depends on the algorithm.
                let operator = Operator::new("faulty", true, |left: u32, right: u32| {
                    if left >= 5 {
                        std::panic::resume_unwind(Box::new(format!("no sum of {left} and {right}")));
                    }
                    left
                });
                let mut result = call(&node, &operator);
                while result.is_ok() {
                    result = node.barrier();
                }
                let error = result.unwrap_err();
                let Error::Collective { number: 2, .. } = error else { panic!("{name}, rank {rank}: {error:?}") };
                let words = error.to_string();
                assert!(words.contains("its operator panicked: no sum of 5 and 5"), "{name}, rank {rank}: {words}");
                node.initwrite(rank, Tag(1), vec![0u8]).unwrap().wait().unwrap();
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn calls_that_cannot_be_right_are_refused_at_once() {
    job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            let rank = node.rank();
            let refused = |error: Error, words: &str| {
                assert!(matches!(error, Error::Misuse(_)), "{error:?}");
                let text = error.to_string();
                assert!(text.contains(words) && text.contains(&format!("rank {rank}: ")), "{words:?} is not in {text}");
            };
            let missing = "rank 3 does not exist; this job has ranks 0 to 2";
            refused(node.initbroadcast(3, vec![0u8]).unwrap_err(), missing);
            refused(node.initreduce(3, &Operator::sum(), vec![0u8]).unwrap_err(), missing);
            refused(
                node.initalltoall(vec![0u8; 7]).unwrap_err(),
                "alltoall cannot take 7 elements: it needs as many for each",
            );
            let blocks = vec![0u8; if rank == 1 { 8 } else { 9 }];
            refused(node.initscatter(1, 3, blocks).unwrap_err(), "the root (rank 1) gives 3 for each of the 3 ranks");
            refused(node.initgather_counts(0, &[1, 2], vec![0u8]).unwrap_err(), "there are 2 counts");
            refused(node.initgather_counts(0, &[9, 9, 9], vec![0u8]).unwrap_err(), "9 elements for this rank");
            let shift = lathide::Shift { to: Some((rank, 2)), from: None };
            refused(
                node.initexchange(&[shift], vec![0u8]).unwrap_err(),
                "exchange cannot take 1 elements: its shifts send 2",
            );
            // Nothing has begun by that.
            node.barrier().unwrap();
            node.finalize().unwrap();
        },
    );
    assert!(matches!(
        Overrides::parse("broadcast:ring").map_err(|why| Misuse::Config {
            name: String::new(),
            value: String::new(),
            why
        }),
        Err(Misuse::Config { .. })
    ));
}

#[test]
fn neighbours_that_expect_other_lengths_are_told() {
    use lathide::Shift;
    job_within(
        LIMIT,
        2,
        |_| {},
        |node| {
            let (rank, peer) = (node.rank().0, node.rank().on_ring(1, 2));
            // Rank 0 sends 3 where 2 are expected.
            let count = if rank == 0 { 3 } else { 2 };
            let shift = Shift { to: Some((peer, count)), from: Some((peer, 2)) };
            let result = node.exchange(&[shift], vec![0u16; count]);
            let error = if rank == 1 {
                node.initwrite(0, Tag(9), vec![0u8]).unwrap().wait().unwrap();
                result.unwrap_err()
            } else {
                // If it was over before it was refused, that is asked for.
                node.initread(1, Tag(9), vec![0u8]).unwrap().wait().unwrap();
                result.err().unwrap_or_else(|| node.check().unwrap_err())
            };
            assert!(error.to_string().contains("6 bytes of u16 met a read of 4 bytes of u16"), "{error}");
            node.exchange(&[Shift { to: Some((peer, 1)), from: Some((peer, 1)) }], vec![1u8]).unwrap();
            node.finalize().unwrap();
        },
    );
}

#[test]
fn a_rank_killed_in_a_collective_is_named_by_all_others() {
    for (turn, &start) in STARTS.iter().enumerate() {
        for overlap in ["on", "off"] {
            let mut job = Job::start(start, 4, "collectives", &[("LATHIDE_OVERLAP", overlap)]);
            job.until(4, "up");
            std::thread::sleep(Duration::from_millis(20 + 37 * turn as u64));
            let (victim, killed_ms) = (1 + turn as u32, now_ms());
            job.signal(victim, Signal::KILL);
            let ended = job.end();
            for rank in (0..4).filter(|&rank| rank != victim) {
                let line = ended.of(rank, "lost");
                assert!(line.rest.starts_with(&format!("{victim} rank {victim} is lost")), "{ended}");
                assert!(line.at_ms - killed_ms < 10_000.0, "{ended}");
            }
            assert!(ended.alive().is_empty() && ended.all("failed").is_empty(), "{ended}");
        }
    }
}
