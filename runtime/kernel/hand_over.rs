//! The links go from the program's threads to the kernel's task and back: what both sides do for that, beside
//! [`super::help`]. Every schedule of it that chance finds is tried by `schedules`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Kernel;
use super::completion::Completion;
use super::core::Core;
use super::panics::{Locked, wake};
use super::wake::Reason;
use crate::config::Overlap;
use crate::engine::OpId;

/// When a part's short messages leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Before the part is put back.
    AtOnce,
    /// With those of the calls that follow: they are copied, so that their steps have ended.
    Together,
    /// When somebody waits.
    Later,
}

/// What the task has found when it looked.
#[derive(Default)]
pub(super) struct Turn {
    /// The bytes that came or went.
    pub(super) moved: usize,
    /// The most that is still to come of one message.
    pub(super) to_come: u64,
}

impl Kernel {
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked::new(self.core.lock())
    }

    /// [`Kernel::release`], for one who does not come back at once: the task carries on with collectives that can go on.
    pub(crate) fn unlock(&self, core: Locked<'_>) {
        let is_due = core.has_due();
        self.release(core);
        if is_due {
            self.wake.because(Reason::CollectiveDue);
        }
    }

    /// Unlocks, then wakes those whose operations were completed meanwhile.
    pub(super) fn release(&self, mut core: Locked<'_>) {
        if core.is_to_tell(|| self.task_may_move() || self.help.is_held()) {
            self.wake.because(Reason::Untold);
        }
        // A waiter in line gets the lock, not the thread that comes back for it at once.
        let is_fair = self.help.is_wanted();
        if !core.has_left_over() {
            core.unlock(is_fair);
            return;
        }
        let (wakers, spent) = (core.take_wakers(), core.take_spent());
        core.unlock(is_fair);
        wake(wakers);
        drop(spent);
    }

    /// Unlocks after a collective has begun. Whoever `waits` for it in the same call carries on itself: the task would only take its core
    /// away, or a peer's.
    pub(super) fn leave_begun(&self, core: Locked<'_>, completion: &Completion, waits: bool) {
        // Who is done does not wait, and who helps already may sleep. Who helps from now on begins with what can go on.
        let carries_on = waits && !completion.is_done() && !self.help.is_held();
        if carries_on { self.release(core) } else { self.unlock(core) }
    }

    /// Carries on with the collectives that can go on, until none can or one has taken long: then the links have
    /// their turn. Their parts run while the core is not locked, but for those that are over sooner than that is done.
    #[inline]
    pub(super) fn carry_on<'a>(&'a self, core: Locked<'a>) -> Locked<'a> {
        if core.has_due() { self.run_due(core, Leaves::AtOnce) } else { core }
    }

    fn run_due<'a>(&'a self, mut core: Locked<'a>, leaves: Leaves) -> Locked<'a> {
        while let Some(mut job) = core.take_due() {
            let is_long;
            if job.is_quick() {
                is_long = job.run(|| self.clock.now(), &mut |_, _| ());
            } else {
                self.release(core);
                is_long = job.run(|| self.clock.now(), &mut |peer, written| {
                    // The program computes where nobody helps.
                    if self.help.is_held() {
                        self.listen(peer, written);
                    }
                });
                core = self.lock();
            }
            core.put_back(job, leaves);
            match leaves {
                Leaves::AtOnce => core.flush(),
                Leaves::Together | Leaves::Later => core.hand_on(),
            }
            if is_long {
                break;
            }
        }
        core
    }

    /// A collective has begun. What it sends may wait for what others after it send, if it `gathers`: then the task is to be woken
    /// ([`Reason::Gathered`]). In deferred mode its first steps are posted, so that what comes finds its place, and all else waits for
    /// a wait.
    pub(super) fn begin_collective<'a>(&'a self, mut core: Locked<'a>, op: OpId, gathers: bool) -> Locked<'a> {
        // Who begins one goes on to compute, as far as can be known; a wait says otherwise.
        core.is_helped = self.help.is_held();
        if gathers {
            return self.run_due(core, Leaves::Together);
        }
        if self.task_may_move() {
            // All leaves together with what its first steps send.
            if !core.has_due() {
                core.flush();
            }
            return self.carry_on(core);
        }
        // Its own part only: what the parts of others post must leave, since somebody may wait for it.
        if let Some(mut job) = core.take_due_of(op) {
            self.release(core);
            job.run(|| self.clock.now(), &mut |_, _| ());
            core = self.lock();
            core.put_back(job, Leaves::Later);
        }
        core.hand_on();
        core
    }

    /// A thread that does not move bytes itself has left a collective that can go on. In deferred mode that waits for
    /// one that does.
    pub(super) fn turn_for_collectives(&self) {
        if self.task_may_move() || self.help.is_wanted() {
            self.turn();
        }
    }

    /// Sends the small messages that wait for others.
    pub(super) fn send_gathered(&self) {
        let mut core = self.lock();
        core.flush();
        self.unlock(core);
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

    /// Moves all that can be moved, unless a waiter wants to do that itself. Returns what that was.
    pub(super) fn turn(&self) -> Turn {
        let (mut ready, mut turn) = (Vec::new(), Turn::default());
        let mut is_due = None;
        loop {
            // the task's set is level-triggered towards the links, but its own readers hear of a change only: so the
            // links must be asked until none is ready.
            match self.poller.wait(&mut ready, Duration::ZERO) {
                Err(error) => {
                    self.fail_here(&format!("waiting for sockets failed: {error}"));
                    return turn;
                }
                Ok(true) if !self.help.is_asleep() => {
                    self.poller.heed_nudge();
                    // One that has gone to sleep meanwhile may have been meant.
                    if self.help.is_asleep() {
                        self.poller.nudge();
                    }
                }
                Ok(_) => {}
            }
            if ready.is_empty() && !is_due.unwrap_or_else(|| self.lock().has_due()) {
                return turn;
            }
            let mut core = self.lock();
            core.is_helped = false;
            turn.moved += core.drive(&ready, &|| self.help.is_wanted());
            core = self.carry_on(core);
            if !ready.is_empty() {
                turn.to_come = core.to_come(&ready);
            }
            let goes_on = core.has_due();
            is_due = Some(goes_on);
            self.release(core);
            if self.help.is_wanted() {
                // It may be asleep already, and does not know.
                if goes_on {
                    self.poller.nudge();
                }
                self.help.gave_way.store(true, Ordering::SeqCst);
                // The waiter may have left before it could see that; then there is nobody to give way to.
                if self.help.is_wanted() || !self.help.gave_way.swap(false, Ordering::SeqCst) {
                    return turn;
                }
            }
        }
    }

    /// The task lets bytes gather before it looks again, if it `may`. Returns whether it does. Not while a future waits:
    /// nobody but the task takes what comes for it.
    pub(super) fn rest(&self, may: bool) -> bool {
        self.ownership.rest(&self.poller, || may && self.help.awaiting.load(Ordering::SeqCst) == 0)
    }

    /// No thread helps any more: leaves the links to the task, if it may have them.
    pub(super) fn leave_to_task(&self) {
        // Mostly it has not, and then nothing need be changed.
        let gave_way = self.help.gave_way.load(Ordering::SeqCst) && self.help.gave_way.swap(false, Ordering::SeqCst);
        if self.ownership.helper_leaves(&self.poller, || self.task_may_move()) {
            self.wake.because(Reason::WaitsFollow);
        }
        // A task that gave way has left links ready; with its set armed it would not hear of them again.
        if gave_way {
            self.poller.nudge();
        }
    }

    /// Whether bytes may move while no thread waits.
    pub(super) fn task_may_move(&self) -> bool {
        self.settings.overlap == Overlap::On || self.help.awaiting.load(Ordering::SeqCst) > 0
    }

    /// A future begins to wait: in deferred mode too, its bytes move while it does.
    pub(crate) fn begin_await(&self) {
        if self.help.awaiting.fetch_add(1, Ordering::SeqCst) == 0 && self.settings.overlap == Overlap::Off {
            let mut core = self.lock();
            core.flush();
            self.unlock(core);
        }
        self.settle_watch();
    }

    /// A future has what it waited for, or is gone.
    pub(crate) fn end_await(&self) {
        if self.help.awaiting.fetch_sub(1, Ordering::SeqCst) == 1 && self.settings.overlap == Overlap::Off {
            self.settle_watch();
        }
    }

    /// Has the task watch the links, if bytes may move while no thread waits.
    pub(super) fn settle_watch(&self) {
        self.ownership.settle(&self.poller, || self.task_may_move());
    }

    /// Moves what is there, if the program may and nobody else does: so that testing in a loop makes progress.
    pub(crate) fn poke(&self) {
        if self.settings.overlap == Overlap::Off
            && self.forked().is_none()
            && let Some(mut core) = self.core.try_lock().map(Locked::new)
        {
            let mut ready = Vec::new();
            if self.poller.wait(&mut ready, Duration::ZERO).is_ok() {
                core.drive(&ready, &|| false);
                core = self.carry_on(core);
            }
            self.unlock(core);
        }
    }
}
