//! Why the kernel's task is woken, beside the links, its timers, and what the program and the rendezvous tell it in words: one
//! closed set of reasons.
//!
//! A wake-up of the task costs a core that computes some microseconds. So a reason that is pending already wakes nobody,
//! nor does another beside it; and the task is not woken without one.

use std::sync::atomic::Ordering;

use super::sync::{AtomicU32, Notify};

/// Why the task is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Small messages wait for others to leave with. The task sends them, if nobody has done so before.
    Gathered,
    /// A collective can go on, and who has left it so does not carry on with it. The task does.
    CollectiveDue,
    /// The program waits while collectives are under way. The task looks now and then whether they wait in vain.
    CollectiveAwaited,
    /// The links go to the task when no more waits follow each other. The task ticks, and compares.
    WaitsFollow,
    /// A connection has ended without goodbye. If the rendezvous does not say soon which rank was lost first, the task
    /// does.
    LossSuspected,
    /// A connection has ended, and another is to be made.
    LinkDown,
    /// Something has come that peers are to be told of soon, and no timer runs for it.
    Untold,
}

impl Reason {
    pub(super) const ALL: [Reason; 7] = [
        Reason::Gathered,
        Reason::CollectiveDue,
        Reason::CollectiveAwaited,
        Reason::WaitsFollow,
        Reason::LossSuspected,
        Reason::LinkDown,
        Reason::Untold,
    ];

    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Wakes the task, and tells it why.
pub(crate) struct TaskWake {
    /// The reasons since the task has last taken them, a bit each.
    pending: AtomicU32,
    notify: Notify,
}

impl TaskWake {
    pub(super) fn new() -> Self {
        TaskWake { pending: AtomicU32::new(0), notify: Notify::new() }
    }

    /// Wakes the task because of `reason`, unless a wake-up is on its way already. What the caller did before is seen by
    /// the task when it acts on the reason.
    pub(super) fn because(&self, reason: Reason) {
        // Who adds the first reason notifies for all that come until the task has taken them.
        if self.pending.fetch_or(reason.bit(), Ordering::SeqCst) == 0 {
            self.notify.notify_one();
        }
    }

    /// Waits until there is a reason, and takes all that there are: at least one. Each is to be acted on: only who comes
    /// after this wakes the task again. For the task alone.
    pub(super) async fn reasons(&self) -> impl Iterator<Item = Reason> + use<> {
        self.notify.notified().await;
        // One notification for each change from none to some, and the reasons are taken once for each: so some are there.
        let pending = self.pending.swap(0, Ordering::SeqCst);
        Reason::ALL.into_iter().filter(move |reason| pending & reason.bit() != 0)
    }
}
