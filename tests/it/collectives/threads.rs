//! Collectives that several threads of a rank call: errors where nothing orders the calls, results where something does.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use lathide::{Config, Error, Misuse, Node, Operator, Overlap, Result};

use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);
/// Jobs of each kind: by chance threads meet in many ways.
const TRIES: usize = 10;
const CALLS: u64 = 50;

/// The sum over ranks of `value`, and whether it is right.
fn sum(node: &Node, value: u64) -> Result<bool> {
    Ok(node.allreduce(&Operator::sum(), vec![value; 3])? == [value * u64::from(node.size()); 3])
}

/// What ended the calls of a thread, and whether all results before were right.
type Ended = (Option<Error>, bool);

fn call(node: &Node, value: u64, calls: u64) -> Ended {
    let mut is_right = true;
    let error = (0..calls).find_map(|_| sum(node, value).map(|right| is_right &= right).err());
    (error, is_right)
}

fn is_told(error: &Error) -> bool {
    match error {
        Error::Misuse(Misuse::Threads { .. }) => true,
        Error::Collective { cause, .. } => cause.contains("has called a collective"),
        _ => false,
    }
}

/// Two threads call the same collectives with values of their own: every rank is told, unless the threads have happened to
/// call one after the other on every rank, with right results.
fn concurrent(size: u32, overlap: Overlap, calls: fn(&Node) -> [Ended; 2]) {
    let mut count = 0;
    for attempt in 0..TRIES {
        let told = job_within(
            LIMIT,
            size,
            |config| config.overlap = overlap,
            move |node| {
                let ended = calls(&node);
                let is_right = ended.iter().all(|(_, is_right)| *is_right);
                let errors: Vec<String> = ended
                    .into_iter()
                    .filter_map(|(error, _)| error)
                    .map(|error| {
                        assert!(is_told(&error), "attempt {attempt}: {error:?}");
                        error.to_string()
                    })
                    .collect();
                let last = node.finalize();
                (errors, last.err().map(|error| error.to_string()), is_right)
            },
        );
        let is_told = |(errors, last, _): &(Vec<String>, Option<String>, bool)| !errors.is_empty() || last.is_some();
        let all_right = told.iter().all(|(.., is_right)| *is_right);
        assert!(told.iter().all(is_told) || (all_right && !told.iter().any(is_told)), "attempt {attempt}: {told:?}");
        count += usize::from(told.iter().all(is_told));
    }
    assert!(count > 0, "the threads never met in {TRIES} attempts");
}

fn two_threads(node: &Node) -> [Ended; 2] {
    let meet = &Barrier::new(2);
    thread::scope(|scope| {
        let start = |value| {
            scope.spawn(move || {
                meet.wait();
                call(node, value, CALLS)
            })
        };
        [1, 1000].map(start).map(|call| call.join().unwrap())
    })
}

fn beside_the_first(node: &Node) -> [Ended; 2] {
    let meet = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            meet.wait();
            call(node, 1000, CALLS)
        });
        meet.wait();
        let own = call(node, 1, CALLS);
        [own, other.join().unwrap()]
    })
}

#[test]
fn two_threads_that_call_at_a_time_are_told_on_every_rank() {
    concurrent(2, Overlap::On, two_threads);
    concurrent(3, Overlap::Off, two_threads);
    concurrent(4, Overlap::On, beside_the_first);
}

/// Each waits for its result before the other calls on this rank, in another order than on the other.
#[test]
fn calls_in_turn_that_nothing_declares_are_told() {
    for attempt in 0..TRIES {
        let errors = job_within(
            LIMIT,
            2,
            |_| {},
            |node| {
                let (to_other, turn) = mpsc::channel();
                let (back, returned) = mpsc::channel();
                thread::scope(|scope| {
                    let (one, other) = (&node, &node);
                    let first = scope.spawn(move || {
                        let result = sum(one, 1);
                        to_other.send(()).unwrap();
                        // It goes on while the other calls.
                        returned.recv().unwrap();
                        result
                    });
                    let second = scope.spawn(move || {
                        turn.recv().unwrap();
                        let result = sum(other, 1);
                        back.send(()).unwrap();
                        result
                    });
                    assert!(first.join().unwrap().unwrap());
                    second.join().unwrap().unwrap_err()
                })
            },
        );
        for error in errors {
            let text = error.to_string();
            assert!(is_told(&error) && text.contains("which goes on"), "attempt {attempt}: {text}");
        }
    }
}

/// A job whose threads call in an order that the program determines.
fn in_order(size: u32, configure: impl Fn(&mut Config), program: fn(&Node)) {
    job_within(LIMIT, size, configure, move |node| {
        program(&node);
        assert!(sum(&node, 7).unwrap(), "the node goes on");
        node.finalize().unwrap();
    });
}

/// Threads that are waited for before the next calls, however they are.
#[test]
fn threads_that_follow_one_another_may_call() {
    for overlap in [Overlap::On, Overlap::Off] {
        in_order(
            3,
            |config| config.overlap = overlap,
            |node| {
                for step in 0..CALLS {
                    assert!(sum(node, step).unwrap());
                    // Of this kind the scope does not wait for the thread's end, only for that of its closure.
                    thread::scope(|scope| _ = scope.spawn(|| assert!(sum(node, 2).unwrap())));
                    let other = node.clone();
                    thread::spawn(move || assert!(sum(&other, 3).unwrap())).join().unwrap();
                    let other = node.clone();
                    thread::spawn(move || assert!(sum(&other, 4).unwrap())).join().unwrap();
                }
            },
        );
    }
}

/// One thread begins them, others wait for what they are handed.
#[test]
fn handles_are_waited_for_anywhere() {
    in_order(
        3,
        |_| {},
        |node| {
            let begun: Vec<_> =
                (0..CALLS).map(|value| (value, node.initallreduce(&Operator::sum(), vec![value]).unwrap())).collect();
            thread::scope(|scope| {
                for (value, handle) in begun {
                    scope.spawn(move || assert_eq!(handle.wait().unwrap(), [3 * value]));
                }
                assert!(sum(node, 5).unwrap());
            });
        },
    );
}

/// Threads that go on and take turns, as those of a pool do.
#[test]
fn threads_that_take_declared_turns_may_call() {
    in_order(
        3,
        |_| {},
        |node| {
            node.declare_serialized();
            let turns: Vec<(mpsc::Sender<u64>, mpsc::Receiver<u64>)> = (0..3).map(|_| mpsc::channel()).collect();
            let (senders, receivers): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
            thread::scope(|scope| {
                for (at, turn) in receivers.into_iter().enumerate() {
                    let next = senders[(at + 1) % 3].clone();
                    scope.spawn(move || {
                        while let Ok(step) = turn.recv() {
                            if step < CALLS {
                                assert!(sum(node, step).unwrap());
                            }
                            if step < CALLS + 3 {
                                let _ = next.send(step + 1);
                            }
                            if step >= CALLS {
                                break;
                            }
                        }
                    });
                }
                senders[node.rank().index()].send(0).unwrap();
            });
        },
    );
}

/// A task moves from thread to thread while it awaits.
#[test]
fn a_task_may_call_on_whatever_thread_it_runs() {
    in_order(
        2,
        |_| {},
        |node| {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
            let (clone, node) = (node.clone(), node.clone());
            let task = runtime.spawn(async move {
                let mut threads = std::collections::HashSet::new();
                for step in 0..20 * CALLS {
                    threads.insert(thread::current().id());
                    let sum = node.initallreduce(&Operator::sum(), vec![step]).unwrap();
                    // Another task beside it, so that threads have something to steal.
                    let beside = tokio::spawn(tokio::task::yield_now());
                    assert_eq!(sum.await.unwrap(), [2 * step]);
                    beside.await.unwrap();
                }
                threads.len()
            });
            runtime.block_on(task).unwrap();
            // Nobody can tell that a task has ended.
            clone.declare_serialized();
        },
    );
}
