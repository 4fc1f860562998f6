//! Who may drive the engine: the thread that helps, those that wait beside it, and what they wait for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};

use super::completion::Completion;
use super::core::Core;
use super::poller::Poller;
use super::sync::{AtomicBool, AtomicUsize, Mutex};
use super::tuning::spin::Spin;

/// Who may help, and who would.
pub(crate) struct Help {
    /// A thread owns progress.
    pub(super) is_held: AtomicBool,
    /// Waiting threads: the task gives way to them.
    pub(super) waiting: AtomicUsize,
    pub(super) parked: Mutex<VecDeque<Waker>>,
    pub(super) nudge: Arc<Nudge>,
    /// How long the one that owns progress polls before it sleeps.
    pub(super) spin: Spin,
    /// Futures that wait. In deferred mode the task moves bytes for them, and only for them.
    pub(super) awaiting: AtomicUsize,
    /// The task has stopped early for a waiter, and links may still be ready.
    pub(super) gave_way: AtomicBool,
    /// Whoever helps is to tell peers what has come from them.
    is_to_tell: AtomicBool,
}

/// What a thread waits for.
pub(crate) trait Condition {
    /// Whether the wait is over; `core` is locked by the caller.
    fn is_met(&self, core: &mut Core) -> bool;
    /// Whether the wait is over, as far as can be told without the lock.
    fn is_met_outside(&self) -> bool;
    /// Has `waker` woken when the condition may be met.
    fn register(&self, waker: &Waker);
    /// Takes that back.
    fn unregister(&self, waker: &Waker);
    /// One of the operations waited for, any one of which ends the wait: each, and then `None`.
    fn completion(&self, index: usize) -> Option<&Completion>;
}

impl dyn Condition + '_ {
    /// The operations waited for.
    pub(crate) fn completions(&self) -> impl Iterator<Item = &Completion> {
        (0..).map_while(|index| self.completion(index))
    }
}

impl Help {
    pub(crate) fn new(poller: Arc<Poller>, spin: Spin) -> Self {
        let nudge = Nudge { poller, is_asleep: AtomicBool::new(false) };
        Help {
            is_held: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            parked: Mutex::default(),
            nudge: Arc::new(nudge),
            spin,
            awaiting: AtomicUsize::new(0),
            gave_way: AtomicBool::new(false),
            is_to_tell: AtomicBool::new(false),
        }
    }

    /// Whether a thread owns progress.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    /// Whether a thread waits, and so helps or would.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Whether the one that owns progress sleeps, so that a nudge is for it.
    pub(crate) fn is_asleep(&self) -> bool {
        self.nudge.is_asleep.load(Ordering::SeqCst)
    }

    /// Leaves it to whoever helps to tell peers what has come from them. Returns whether it was left before, and nobody has.
    pub(super) fn leaves_telling(&self) -> bool {
        self.is_to_tell.swap(true, Ordering::Relaxed)
    }

    /// The one that helps tells them, if that was left to it.
    pub(super) fn takes_telling(&self) -> bool {
        self.is_to_tell.load(Ordering::Relaxed) && self.is_to_tell.swap(false, Ordering::Relaxed)
    }

    pub(super) fn try_take(&self) -> bool {
        self.is_held.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Wakes the helper that sleeps in the poller.
pub(super) struct Nudge {
    poller: Arc<Poller>,
    /// Whether a helper sleeps, so that nobody nudges for nothing.
    pub(super) is_asleep: AtomicBool,
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_asleep.load(Ordering::SeqCst) {
            self.poller.nudge();
        }
    }
}

/// What knows its operation: a completion, or the handle that has it.
pub(crate) trait HasCompletion {
    /// Where its outcome will be.
    fn completion(&self) -> &Completion;
}
