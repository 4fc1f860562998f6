//! The reasons to wake the task, under every schedule: none is lost, and the task is not woken without one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shuttle::sync::atomic::AtomicU32;
use shuttle::thread::spawn;

use super::explore::{explore, is_found};
use super::machine::{self, Fault};
use super::program::reasons;
use super::wake::{Reason, TaskWake};

/// What the threads do before they wake the task, and the task because of them.
#[derive(Default)]
struct Work([AtomicU32; Reason::ALL.len()]);

/// Each thread of the program does work of some kinds and wakes the task for each, twice; the task takes what is there of
/// the kinds that it is told of.
fn run(fault: Fault) {
    machine::start(0, 0, fault);
    let shared = Arc::new((TaskWake::new(), Work::default()));
    let thread = |kinds: &'static [Reason]| {
        let shared = shared.clone();
        spawn(move || {
            let (wake, work) = &*shared;
            for &reason in kinds.iter().chain(kinds) {
                work.0[reason as usize].fetch_add(1, Ordering::SeqCst);
                wake.because(reason);
            }
        })
    };
    use Reason::*;
    let threads = [thread(&[Gathered, WaitsFollow]), thread(&[LossSuspected]), thread(&[Gathered, CollectiveDue])];
    let task = {
        let shared = shared.clone();
        spawn(move || {
            let (wake, work) = &*shared;
            let is_woken =
                |state: &mut machine::State| (state.is_notified || state.is_over).then_some(state.is_notified);
            while machine::sleep_until(is_woken) {
                for reason in reasons(wake) {
                    work.0[reason as usize].store(0, Ordering::SeqCst);
                }
            }
            let left: Vec<u32> = work.0.iter().map(|work| work.load(Ordering::SeqCst)).collect();
            assert!(left.iter().all(|left| *left == 0), "the task sleeps, and has not been told of {left:?}");
        })
    };
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    machine::with(|state| state.is_over = true);
    task.join().expect("the task does not panic");
}

#[test]
fn no_reason_is_lost() {
    explore(|| run(Fault::None));
}

#[test]
fn what_is_broken_is_found() {
    assert!(is_found(|| run(Fault::ReasonIsTorn)), "a reason that is added in two steps");
    assert!(is_found(|| run(Fault::ReasonIsLost(Reason::LossSuspected))), "a reason that is lost");
    assert!(is_found(|| run(Fault::WakeUpIsLost)), "a wake-up that is lost");
}
