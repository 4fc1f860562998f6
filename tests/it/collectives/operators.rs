//! Operators of the program's own: slow ones, and such that panic, while threads wait and while nobody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lathide::{Error, Operator, Overlap, Tag};

use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);
/// A busy machine may hold everything up now and then.
const TRIES: usize = 4;

/// While a rank combines slowly, messages between two ranks go on.
fn answered_while_it_combines(overlap: Overlap, computes: bool) -> bool {
    const ELEMENTS: usize = 4000;
    let answers = job_within(
        LIMIT,
        2,
        |config| config.overlap = overlap,
        move |node| {
            let peer = node.rank().on_ring(1, 2);
            let echo = node.initread(peer, Tag(1), vec![0u64; 1]).unwrap();
            let slow = Operator::new("slow", true, |left: u64, right: u64| {
                thread::sleep(Duration::from_micros(500));
                left + right
            });
            let sum = node.initreduce(0, &slow, vec![1; ELEMENTS]).unwrap();
            if node.rank() == 1 {
                // It has nothing to combine, and asks rank 0, which combines for two seconds.
                let asked = Instant::now();
                node.initwrite(0, Tag(1), vec![1u64]).unwrap().wait().unwrap();
                let answer = node.initread(0, Tag(2), vec![0u64]).unwrap();
                echo.wait().unwrap();
                answer.wait().unwrap();
                assert_eq!(sum.wait().unwrap(), None);
                node.finalize().unwrap();
                return asked.elapsed() < Duration::from_millis(1500);
            }
            node.initwrite(1, Tag(1), vec![1u64]).unwrap().wait().unwrap();
            let other = node.clone();
            let answerer = thread::spawn(move || {
                echo.wait().unwrap();
                other.initwrite(1, Tag(2), vec![2u64]).unwrap().wait().unwrap();
            });
            if computes {
                // Nobody waits for the sum: the operator runs on the kernel's thread, or on the answerer's, which waits.
                while !sum.is_complete() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            assert_eq!(sum.wait().unwrap().unwrap(), [2; ELEMENTS]);
            answerer.join().unwrap();
            node.finalize().unwrap();
            true
        },
    );
    answers[1]
}

#[test]
fn messages_go_on_while_a_slow_operator_runs() {
    for (overlap, computes) in [(Overlap::On, true), (Overlap::On, false), (Overlap::Off, false)] {
        let is_answered = (0..TRIES).any(|_| answered_while_it_combines(overlap, computes));
        assert!(is_answered, "{overlap:?}, computes: {computes}: nothing is read while the operator runs");
    }
}

/// A thread that waits for a collective whose operator takes long is not stuck, whoever runs it.
#[test]
fn a_slow_operator_is_no_deadlock() {
    for overlap in [Overlap::On, Overlap::Off] {
        let configure = |config: &mut lathide::Config| {
            config.overlap = overlap;
            config.deadlock_timeout = Some(Duration::from_millis(300));
        };
        job_within(LIMIT, 3, configure, |node| {
            let slow = Operator::new("slow", true, |left: u64, right: u64| {
                thread::sleep(Duration::from_millis(1500));
                left + right
            });
            assert_eq!(node.allreduce(&slow, vec![1u64; 2]).unwrap(), [3; 2]);
            node.finalize().unwrap();
        });
    }
}

/// An operator that panics while the program computes does so on the kernel's thread: that goes on, and every rank is told.
#[test]
fn an_operator_that_panics_on_the_kernels_thread_is_told_on_every_rank() {
    job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            let is_combined = Arc::new(AtomicBool::new(false));
            let seen = is_combined.clone();
            let faulty = Operator::new("faulty", true, move |_: u64, _: u64| {
                seen.store(true, Ordering::SeqCst);
                let thread = thread::current().name().unwrap_or("no name").to_owned();
                std::panic::resume_unwind(Box::new(format!("on the thread {thread}")))
            });
            node.barrier().unwrap();
            let by = Instant::now() + Duration::from_secs(20);
            let error = match node.initallreduce(&faulty, vec![1u64; 5]) {
                // Nobody waits until it has run; then the kernel's thread has run it, or this one within the call.
                Ok(sum) => {
                    while !sum.is_complete() && Instant::now() < by {
                        thread::sleep(Duration::from_millis(1));
                    }
                    sum.wait().unwrap_err()
                }
                // The others were faster: their failure is known already.
                Err(error) => error,
            };
            let Error::Collective { number: 2, cause, .. } = &error else { panic!("{error:?}") };
            assert!(cause.contains("its operator panicked: on the thread"), "{error}");
            // The kernel's thread still moves what nobody waits for.
            let peer = node.rank().on_ring(1, 3);
            let read = node.initread(node.rank().on_ring(-1, 3), Tag(1), vec![0u64; 1 << 17]).unwrap();
            let write = node.initwrite(peer, Tag(1), vec![1u64; 1 << 17]).unwrap();
            while !read.is_complete() {
                assert!(Instant::now() < by, "the kernel's thread is gone");
                thread::sleep(Duration::from_millis(1));
            }
            drop((read, write));
            let again = node.barrier().unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
            node.finalize().unwrap();
        },
    );
}
