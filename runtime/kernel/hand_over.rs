//! The links go from the program's threads to the kernel's task and back: what both sides do for that, beside
//! [`super::help`]. Every schedule of it that chance finds is tried by `schedules`.

use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use super::Kernel;
use super::core::Core;
use super::sync::MutexGuard;
use crate::config::Overlap;

impl Kernel {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock()
    }

    /// Unlocks, then wakes those whose operations were completed meanwhile.
    pub(crate) fn unlock(&self, mut core: MutexGuard<'_, Core>) {
        let wakers = core.take_wakers();
        // A waiter in line gets the lock, not the thread that comes back for it at once.
        if self.help.is_wanted() {
            MutexGuard::unlock_fair(core)
        } else {
            drop(core)
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// This node cannot go on.
    pub(super) fn fail_here(&self, cause: &str) {
        self.intervene(|core| core.engine.fail_lost(self.rank, cause));
    }

    /// Changes the core for another reason than bytes, and wakes those whose waits that ends.
    pub(super) fn intervene(&self, change: impl FnOnce(&mut Core)) {
        let mut core = self.lock();
        change(&mut core);
        core.hand_on();
        self.unlock(core);
    }

    /// Moves all that can be moved, unless a waiter wants to do that itself.
    pub(super) fn turn(&self) {
        let mut ready = Vec::new();
        loop {
            // The gate is level-triggered towards the links, but its own readers hear of a change only: so the
            // links must be asked until none is ready.
            match self.poller.wait(&mut ready, Duration::ZERO) {
                Err(error) => return self.fail_here(&format!("waiting for sockets failed: {error}")),
                Ok(true) if !self.help.is_asleep() => {
                    self.poller.heed_nudge();
                    // One that has gone to sleep meanwhile may have been meant.
                    if self.help.is_asleep() {
                        self.poller.nudge();
                    }
                }
                Ok(_) => {}
            }
            if ready.is_empty() {
                return;
            }
            let mut core = self.lock();
            core.drive(&ready, &|| self.help.is_wanted());
            self.unlock(core);
            if self.help.is_wanted() {
                self.gave_way.store(true, Ordering::SeqCst);
                // The waiter may have left before it could see that; then there is nobody to give way to.
                if self.help.is_wanted() || !self.gave_way.swap(false, Ordering::SeqCst) {
                    return;
                }
            }
        }
    }

    /// No thread helps any more: leaves the links to the task, if it may have them.
    pub(super) fn leave_to_task(&self) {
        let gave_way = self.gave_way.swap(false, Ordering::SeqCst);
        self.watch.helper_leaves(&self.poller, || self.task_may_move());
        // A task that gave way has left links ready; at an open gate it would not hear of them again.
        if gave_way {
            self.poller.nudge();
        }
    }

    /// Whether bytes may move while no thread waits.
    pub(super) fn task_may_move(&self) -> bool {
        self.overlap == Overlap::On || self.awaiting.load(Ordering::SeqCst) > 0
    }

    /// A future begins to wait: in deferred mode too, its bytes move while it does.
    pub(crate) fn begin_await(&self) {
        if self.awaiting.fetch_add(1, Ordering::SeqCst) == 0 && self.overlap == Overlap::Off {
            let mut core = self.lock();
            core.flush();
            self.unlock(core);
        }
        self.settle_watch();
    }

    /// A future has what it waited for, or is gone.
    pub(crate) fn end_await(&self) {
        if self.awaiting.fetch_sub(1, Ordering::SeqCst) == 1 && self.overlap == Overlap::Off {
            self.settle_watch();
        }
    }

    /// Has the task watch the links, if bytes may move while no thread waits.
    pub(super) fn settle_watch(&self) {
        self.watch.settle(&self.poller, || self.task_may_move());
    }

    /// Moves what is there, if the program may and nobody else does: so that testing in a loop makes progress.
    pub(crate) fn poke(&self) {
        if self.overlap == Overlap::Off
            && let Some(mut core) = self.core.try_lock()
        {
            let mut ready = Vec::new();
            if self.poller.wait(&mut ready, Duration::ZERO).is_ok() {
                core.drive(&ready, &|| false);
            }
            self.unlock(core);
        }
    }
}
