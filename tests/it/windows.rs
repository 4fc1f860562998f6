//! Windows: what one rank reads and writes of another's memory, while that computes, and what goes wrong with them.

use std::thread;
use std::time::{Duration, Instant};

use lathide::{Config, Error, Node, Overlap, Result, Update, Window, WindowFault, wait_all};

use crate::spmd::programs::{join, say};
use crate::spmd::{Job, STARTS};
use crate::support::{job, job_within};

const LIMIT: Duration = Duration::from_secs(60);
/// So long a rank computes. What others ask of it meanwhile needs some milliseconds.
const COMPUTING: Duration = Duration::from_secs(1);

fn compute(length: Duration) {
    let (began, mut sum) = (Instant::now(), 0u64);
    while began.elapsed() < length {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
    }
}

/// The refusal that an error is.
fn refusal(error: &Error) -> (u32, u32, WindowFault) {
    match error {
        Error::Window(refusal) => (refusal.from.0, refusal.to.0, refusal.fault),
        other => panic!("no refusal: {other}"),
    }
}

/// Every rank writes to all, reads from all, adds to all and counts at rank 0.
fn everybody_uses_everybody(size: u32, configure: impl Fn(&mut Config)) {
    job_within(LIMIT, size, configure, |node| {
        let (rank, size) = (node.rank().0, node.size());
        // Longer than a chunk, and not a multiple of it.
        let each = 40_001;
        let window = node.window(vec![0u64; each * size as usize + 3]).unwrap();
        assert_eq!((window.len(0), window.len(size)), (each * size as usize + 3, 0));
        for round in 0..3u64 {
            let mine = each * rank as usize;
            let value = |to: u32| round * 1000 + u64::from(rank * 10 + to);
            for to in 0..size {
                let long = window.put(to, mine, vec![value(to); each]).unwrap();
                let short = window.put(to, mine + 7, vec![1u64, 2, 3]).unwrap();
                window
                    .accumulate(to, each * size as usize, vec![u64::from(rank) + 1, 5], Update::Sum)
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(short.wait().unwrap(), [1, 2, 3]);
                assert_eq!(long.wait().unwrap(), vec![value(to); each]);
                // In the order of the calls.
                let back = window.get(to, mine + 6..mine + 11).unwrap().wait().unwrap();
                assert_eq!(back, [value(to), 1, 2, 3, value(to)]);
            }
            window.fence().unwrap();
            let all = window.read(|own| own.to_vec());
            for from in 0..size {
                let there = &all[each * from as usize..][..each];
                assert_eq!(there[7..10], [1, 2, 3]);
                assert!(there[10..].iter().all(|&is| is == round * 1000 + u64::from(from * 10 + rank)));
            }
            let sums = [u64::from(size * (size + 1) / 2), 5 * u64::from(size)];
            assert_eq!(all[each * size as usize..][..2], sums.map(|sum| sum * (round + 1)));
            let whole = wait_all((0..size).map(|from| window.get(from, 0..window.len(from)).unwrap())).unwrap();
            assert_eq!(whole[rank as usize], all);
            window.fence().unwrap();
        }
        let tickets = (0..100).map(|_| window.fetch_update(0, 0, 1, Update::Sum).unwrap());
        let tickets = wait_all(tickets).unwrap();
        assert!(tickets.is_sorted(), "in the order of the calls");
        let before = window.compare_exchange(rank, 3, u64::MAX, 1).unwrap().wait().unwrap();
        assert_eq!(window.compare_exchange(rank, 3, before, 77).unwrap().wait().unwrap(), before);
        let elements = window.into_inner().unwrap();
        assert_eq!(elements[3], 77);
        node.finalize().unwrap();
    });
}

#[test]
fn everybody_uses_everybodys_memory() {
    for size in [1, 2, 3, 5] {
        everybody_uses_everybody(size, |_| {});
    }
}

#[test]
fn everybody_uses_everybodys_memory_in_deferred_mode() {
    for size in [1, 2, 5] {
        everybody_uses_everybody(size, |config| config.overlap = Overlap::Off);
    }
}

#[test]
fn everybody_uses_everybodys_memory_over_encrypted_links() {
    everybody_uses_everybody(3, |config| config.encrypt = true);
}

/// Rank 1 computes; returns by how many seconds rank 0 was done before that ended.
fn lead(overlap: Overlap) -> f64 {
    let ends = job_within(
        LIMIT,
        2,
        move |config| config.overlap = overlap,
        |node| {
            let window = node.window(vec![7u8; 3 << 20]).unwrap();
            if node.rank() == 1 {
                // The other hears that this one is about to compute.
                node.initwrite(0, 1, vec![0u8]).unwrap().wait().unwrap();
                compute(COMPUTING);
                let end = Instant::now();
                window.fence().unwrap();
                return end;
            }
            node.initread(1, 1, vec![0u8]).unwrap().wait().unwrap();
            assert_eq!(window.get(1, 0..8).unwrap().wait().unwrap(), [7; 8]);
            window.put(1, 5, vec![8u8; 2 << 20]).unwrap().wait().unwrap();
            window.initflush(1).unwrap().wait().unwrap();
            assert!(window.get(1, 5..5 + (2 << 20)).unwrap().wait().unwrap().iter().all(|&byte| byte == 8));
            assert_eq!(window.fetch_update(1, 5, 3, Update::Sum).unwrap().wait().unwrap(), 8);
            let end = Instant::now();
            window.fence().unwrap();
            end
        },
    );
    ends[1].saturating_duration_since(ends[0]).as_secs_f64()
}

#[test]
fn a_rank_that_computes_is_read_and_written() {
    let half = COMPUTING.as_secs_f64() / 2.0;
    // A busy machine may hold everything up now and then.
    let leads: Vec<f64> = (0..3).map(|_| lead(Overlap::On)).collect();
    assert!(leads.iter().any(|&lead| lead > half), "rank 0 waits for the rank that computes: ahead by {leads:.3?} s");
}

/// The same without overlap shows what would be missing.
#[test]
fn in_deferred_mode_a_rank_that_computes_is_waited_for() {
    assert_eq!(lead(Overlap::Off), 0.0);
}

#[test]
fn what_does_not_fit_fails_on_both_sides() {
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            LIMIT,
            2,
            move |config| config.overlap = overlap,
            |node| {
                let window = node.window(vec![1.0f64; 10 + node.rank().0 as usize]).unwrap();
                if node.rank() == 0 {
                    let error = window.get(1, 5..12).unwrap().wait().unwrap_err();
                    assert_eq!(refusal(&error), (0, 1, WindowFault::Bounds { length: 11 }));
                    for part in ["rank 0's get on rank 1 (window 0, elements 5..12 of f64)", "has 11 elements"] {
                        assert!(error.to_string().contains(part), "{part:?} is not in {error}");
                    }
                    let error = window.get(1, usize::MAX - 1..usize::MAX).unwrap().wait().unwrap_err();
                    assert_eq!(refusal(&error).2, WindowFault::Bounds { length: 11 });
                    assert!(matches!(window.get(1, std::ops::Range { start: 3, end: 2 }), Err(Error::Misuse(_))));
                    // Complete here before it is refused there; a long one, and one whose type is another.
                    drop(window.put(1, 11, vec![1.0]).unwrap());
                    assert_eq!(refusal(&window.flush(1).unwrap_err()).2, WindowFault::Bounds { length: 11 });
                    drop(window.put(1, 0, vec![1.0; 1 << 20]).unwrap());
                    assert_eq!(refusal(&window.flush(1).unwrap_err()).2, WindowFault::Bounds { length: 11 });
                    let put = window.put(1, 0, vec![1i32; 2]).unwrap();
                    // The handle returns it if it comes before the handle was asked; else the flush does.
                    let flushed = window.flush(1);
                    let error = put.wait().map(drop).and(flushed).unwrap_err();
                    assert!(matches!(refusal(&error).2, WindowFault::Element { .. }), "{error}");
                    assert!(error.to_string().contains("of i32") && error.to_string().contains("of f64"), "{error}");
                    window.flush(1).unwrap();
                    window.put(1, 10, vec![2.0]).unwrap().wait().unwrap();
                }
                window.fence().unwrap();
                if node.rank() == 1 {
                    assert_eq!(
                        window.read(|own| (own[0], own[10])),
                        (1.0, 2.0),
                        "what was refused has changed nothing"
                    );
                    for _ in 0..5 {
                        assert_eq!(refusal(&node.check().unwrap_err()).1, 1);
                    }
                }
                node.check().unwrap();
                drop(window);
                node.finalize().unwrap();
            },
        );
    }
}

/// Refusals that no call has returned are told in the end.
#[test]
fn finalize_returns_a_refusal_that_nobody_has_heard() {
    let errors = job(2, |node| {
        let window = node.window(vec![0u16; 4]).unwrap();
        if node.rank() == 0 {
            drop(window.put(1, 4, vec![1u16]).unwrap());
        }
        node.barrier().unwrap();
        // What is asked of a rank comes back before what it asks later.
        window.get(1 - node.rank().0, 0..1).unwrap().wait().unwrap();
        node.finalize().unwrap_err()
    });
    for error in errors {
        assert_eq!(refusal(&error), (0, 1, WindowFault::Bounds { length: 4 }));
    }
}

#[test]
fn ranks_that_make_different_windows_are_told() {
    let errors = job(2, |node| match node.rank().0 {
        0 => node.window(vec![0u8; 8]).map(drop).unwrap_err(),
        _ => node.window(vec![0f32; 2]).map(drop).unwrap_err(),
    });
    for error in errors {
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
        assert!(
            error.to_string().contains("elements of u8") && error.to_string().contains("elements of f32"),
            "{error}"
        );
    }
}

#[test]
fn a_part_that_was_dropped_refuses() {
    job(2, |node| {
        let window = node.window(vec![0u8; 1 << 20]).unwrap();
        let other = node.window(vec![5u8; 2]).unwrap();
        if node.rank() == 1 {
            drop(window);
            node.barrier().unwrap();
            other.fence().unwrap();
            assert_eq!(refusal(&node.check().unwrap_err()).2, WindowFault::Dropped);
        } else {
            node.barrier().unwrap();
            assert_eq!(refusal(&window.get(1, 0..1 << 20).unwrap().wait().unwrap_err()), (0, 1, WindowFault::Dropped));
            drop(window.put(1, 0, vec![0u8; 900_000]).unwrap());
            assert_eq!(refusal(&window.flush(1).unwrap_err()).2, WindowFault::Dropped);
            assert_eq!(other.get(1, 0..2).unwrap().wait().unwrap(), [5, 5], "the others go on");
            other.fence().unwrap();
        }
        let _ = node.finalize();
    });
}

#[test]
fn a_rank_that_has_finalized_is_named() {
    job(2, |node| {
        let window = node.window(vec![0u8; 1 << 20]).unwrap();
        if node.rank() == 1 {
            return node.finalize().unwrap();
        }
        let error = loop {
            // Some are answered before it leaves.
            match window.get(1, 0..100_000).and_then(|handle| handle.wait()) {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::PeerLost { .. }), "{error}");
        assert!(error.to_string().contains("rank 1 has finished"), "{error}");
        assert!(matches!(window.flush(1), Err(Error::PeerLost { .. })));
        node.finalize().unwrap();
    });
}

/// Neither does anything else before its own put is complete.
#[test]
fn both_ranks_put_60_mib_to_each_other() {
    const BYTES: usize = 60 << 20;
    for overlap in [Overlap::On, Overlap::Off] {
        job_within(
            LIMIT,
            2,
            move |config| config.overlap = overlap,
            |node| {
                let (rank, peer) = (node.rank().0 as u8, 1 - node.rank().0);
                let window = node.window(vec![9u8; BYTES]).unwrap();
                window.put(peer, 0, vec![rank; BYTES]).unwrap().wait().unwrap();
                window.fence().unwrap();
                assert!(window.read(|own| own.iter().all(|&byte| u32::from(byte) == peer)));
                let got = window.get(peer, 0..BYTES).unwrap().wait().unwrap();
                assert!(got.iter().all(|&byte| byte == rank));
                window.into_inner().unwrap();
                node.finalize().unwrap();
            },
        );
    }
}

/// Far more at a time than a target reads, from all sides, of all lengths.
#[test]
fn a_flood_of_operations_is_carried_out() {
    job(3, |node| {
        let (rank, size) = (node.rank().0, node.size());
        let window = node.window(vec![0u64; 40_000]).unwrap();
        let mut handles = Vec::new();
        for turn in 0..6000u32 {
            let to = turn % size;
            drop(window.accumulate(to, 0, vec![1u64], Update::Sum).unwrap());
            if turn % 200 == 0 {
                drop(window.accumulate(to, 1, vec![1u64; 39_999], Update::Sum).unwrap());
                handles.push(window.get(to, 0..40_000).unwrap());
            }
        }
        for got in wait_all(handles).unwrap() {
            assert_eq!(got.len(), 40_000);
        }
        window.fence().unwrap();
        let elements = window.into_inner().unwrap();
        assert_eq!(elements[0], 6000, "rank {rank}");
        assert!(elements[1..].iter().all(|&sum| sum == u64::from(size) * 10));
        node.finalize().unwrap();
    });
}

/// While the program has its part, operations on it wait, and other messages do not.
#[test]
fn the_program_and_others_take_turns() {
    job(2, |node| {
        let window = node.window(vec![0u32; 1000]).unwrap();
        if node.rank() == 1 {
            window.write(|own| {
                node.initwrite(0, 1, vec![0u8]).unwrap().wait().unwrap();
                // The other has begun its operation by now.
                node.initread(0, 2, vec![0u8]).unwrap().wait().unwrap();
                compute(Duration::from_millis(50));
                own.fill(5);
            });
            // Readers do not exclude each other.
            window.read(|own| {
                assert_eq!(own[999], 5);
                assert_eq!(window.read(|same| same[0]), own[0]);
            });
        } else {
            node.initread(1, 1, vec![0u8]).unwrap().wait().unwrap();
            let got = window.get(1, 0..1000).unwrap();
            node.initwrite(1, 2, vec![0u8]).unwrap().wait().unwrap();
            assert!(got.wait().unwrap().iter().all(|&element| element == 5));
        }
        window.fence().unwrap();
        node.finalize().unwrap();
    });
}

#[test]
fn threads_of_a_rank_use_a_window_at_once() {
    job(2, |node| {
        let window = node.window(vec![0i64; 64]).unwrap();
        let peer = 1 - node.rank().0;
        thread::scope(|scope| {
            for number in 0..4usize {
                let window = &window;
                scope.spawn(move || {
                    for turn in 0..200 {
                        window.accumulate(peer, number, vec![1i64; 8], Update::Sum).unwrap().wait().unwrap();
                        if turn % 20 == 0 {
                            window.flush(peer).unwrap();
                            window.write(|own| own[60] += 1);
                        }
                    }
                });
            }
        });
        window.fence().unwrap();
        let elements = window.into_inner().unwrap();
        assert_eq!((elements[3], elements[10], elements[60]), (800, 200, 40));
        node.finalize().unwrap();
    });
}

/// What a rank does; see the tests below.
pub(crate) fn program(kind: &str) -> Result<()> {
    let node = join()?;
    let window = node.window(vec![0u8; 100])?;
    window.get(1 - node.rank().0, 0..1)?.wait()?;
    node.barrier()?;
    let result = act(&node, &window, kind);
    match &result {
        Ok(()) => say("went-on", kind),
        Err(Error::Deadlock { report }) => say("deadlock", report),
        Err(error) => say("failed", error),
    }
    result?;
    node.finalize()
}

fn act(node: &Node, window: &Window<u8>, kind: &str) -> Result<()> {
    let (is_first, peer) = (node.rank() == 0, 1 - node.rank().0);
    match (kind, is_first) {
        // Requests are read whenever they come: that hides no deadlock.
        ("reads", _) => node.initread(peer, 4, vec![0u8])?.wait().map(drop),
        ("has-the-memory", true) => window.write(|_| {
            node.initwrite(peer, 5, vec![0u8])?.wait()?;
            node.initread(peer, 4, vec![0u8])?.wait().map(drop)
        }),
        ("has-the-memory", false) => {
            node.initread(peer, 5, vec![0u8])?.wait()?;
            window.get(peer, 0..50)?.wait().map(drop)
        }
        ("own-memory", false) => node.barrier(),
        ("own-memory", true) => window.write(|_| window.get(node.rank(), 0..50)?.wait().map(drop)),
        ("computes-with-it", true) => {
            window.write(|_| compute(Duration::from_secs(4)));
            node.barrier()
        }
        ("computes-with-it", false) => {
            window.get(peer, 0..50)?.wait()?;
            window.flush(peer)?;
            node.barrier()
        }
        _ => panic!("no program is called {kind:?}"),
    }
}

/// Ranks look twice a second and take half a second for a standstill.
const SOON: (&str, &str) = ("LATHIDE_DEADLOCK", "0.5");

#[test]
fn a_deadlock_with_windows_is_told_and_a_computation_is_none() {
    let kinds = ["reads", "has-the-memory", "own-memory", "computes-with-it"];
    let jobs = kinds.into_iter().flat_map(|kind| STARTS.iter().map(move |&start| (kind, start)));
    let run = |(kind, start)| {
        thread::spawn(move || {
            let ended = Job::start(start, 2, &format!("windows {kind}"), &[SOON]).end();
            for rank in 0..2 {
                let word = if kind == "computes-with-it" { "went-on" } else { "deadlock" };
                let report = format!("{}\n{}", ended.of(rank, word).rest, ended.errors.join("\n"));
                let part = match kind {
                    "reads" => "rank 0 waits for rank 1: initread from rank 1, tag 4",
                    "has-the-memory" => "rank 1 waits for rank 0: get on its window, 50 bytes",
                    "own-memory" => "rank 0 waits for rank 0: get on its window, 50 bytes",
                    _ => "computes-with-it",
                };
                assert!(report.contains(part), "{kind}: {part:?} is not in {report:?}");
            }
        })
    };
    let threads: Vec<_> = jobs.map(run).collect();
    let failed = threads.into_iter().map(thread::JoinHandle::join).filter(std::result::Result::is_err).count();
    assert_eq!(failed, 0, "see above");
}
