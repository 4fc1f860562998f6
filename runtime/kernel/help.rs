//! Whoever waits, drives: a waiting thread moves the bytes itself instead of sleeping until the task has.
//!
//! One thread at a time *helps*: it owns progress, disarms the task's set so that the task is not woken for packets
//! it handles itself, and sleeps in the poller, never with the core locked. Other waiting threads park until
//! their operation is complete or progress is passed to them. Whoever gives progress up passes it on to a
//! parked thread or, if there is none, arms the task's set for the task.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};
use std::time::Duration;

use super::Kernel;
use super::completion::Completion;
use super::core::Core;
use super::deadlock::LongWait;
use super::helper::Condition;
use super::panics::Locked;
use super::poller::Ready;
use super::sync::Instant;
use super::sync::thread::{self, Thread};
use super::tuning::spin::Look;
use crate::engine::OpId;
use crate::ids::Rank;
use crate::observe::event::What;
use crate::operation::Operation;

/// How often a thread that waits long looks whether the job stands still.
const TICK: Duration = Duration::from_secs(1);
/// Links that are polled one by one; more are left to the poller.
const POLLED_MAX: usize = 4;
/// Operations that are looked at before a wait: one for many must not cost as much as they are.
const LOOKED_AT_MAX: usize = 16;
/// So much at a time is part of a long message.
const LONG_BYTES: usize = 4 << 10;
/// Messages of so many bytes take long enough to be looked for at leisure.
const RESTED_BYTES: u64 = 32 << 10;

impl Kernel {
    /// Waits until `condition` is met or `deadline` has passed, and helps meanwhile. Returns whether it is met.
    pub(crate) fn wait(&self, condition: &dyn Condition, deadline: Option<Instant>) -> bool {
        let entered = self.clock.now();
        self.ownership.program_enters(entered);
        self.observer.enters(entered);
        self.wait_since(entered, condition, deadline)
    }

    /// The same, by one who has been in a call since `entered`, just now.
    pub(super) fn wait_since(&self, entered: Duration, condition: &dyn Condition, deadline: Option<Instant>) -> bool {
        self.observer.begins_wait(entered, operations(condition));
        if condition.is_met_outside() {
            // Computation has hidden it whole. Short messages end so by the million: the clock is read once.
            self.ownership.program_leaves(entered);
            self.observer.leaves_at_once(entered);
            return true;
        }
        let is_met = self.ends_forked(condition) || self.wait_long(condition, deadline, LongWait::new(entered));
        if !is_met {
            self.asks_in_vain();
        }
        let left = self.clock.now();
        self.ownership.program_leaves(left);
        self.observer.leaves_wait(entered, left, operations(condition).take(LOOKED_AT_MAX));
        is_met
    }

    /// Takes what `peer` has sent, unless a thread helps and does so anyway: it may say what has arrived there. It
    /// says nothing of whether the program computes, and leaves the links to whoever has them.
    pub(crate) fn look_at(&self, peer: Rank) {
        if self.help.is_held() {
            return;
        }
        self.ownership.program_looks();
        let mut core = self.lock();
        if core.read_lanes(peer) > 0 {
            core.flush();
            core = self.carry_on(core);
        }
        self.unlock(core);
    }

    fn wait_long(&self, condition: &dyn Condition, deadline: Option<Instant>, mut wait: LongWait) -> bool {
        let _arrived = Arrived::new(self);
        let mut now = Some(wait.began);
        loop {
            if self.help.try_take() {
                let _owning = Owning(self);
                self.observer.tell(|| self.clock.now(), || What::Help);
                return self.help_until(condition, deadline, &mut wait, now);
            }
            now = None;
            self.observer.tell(|| self.clock.now(), || What::HandOver);
            self.park(condition, deadline);
            if condition.is_met_outside() {
                return true;
            }
            if is_over(deadline) {
                return false;
            }
            wait.tick(self, condition, deadline.is_some());
        }
    }

    /// Drives until `condition` is met, while it owns progress. It is `now`, if the wait begins with this.
    fn help_until(
        &self,
        condition: &dyn Condition,
        deadline: Option<Instant>,
        wait: &mut LongWait,
        now: Option<Duration>,
    ) -> bool {
        let mut ready = Vec::new();
        let mut polled = Polled::by(condition);
        let is_long =
            condition.completions().take(LOOKED_AT_MAX).any(|completion| completion.operation().bytes >= RESTED_BYTES);
        let mut has_begun = false;
        let mut core = self.lock_to_help();
        core.waits += 1;
        // In deferred mode the task tells nobody what has come.
        if self.help.takes_telling() || !self.task_may_move() {
            core.acknowledge();
        } else {
            core.flush();
        }
        // What is here already ends the wait before anything is prepared for a long one.
        let is_answer = self.help.spin.is_shared() && core.has_just_sent(wait.began);
        polled.follow(&core);
        if !polled.now.is_empty() && !is_answer && !condition.is_met(&mut core) {
            (core, _) = self.read_from(&polled, core, now);
        }
        loop {
            core = self.carry_on(core);
            let (is_met, is_due) = (condition.is_met(&mut core), core.has_due());
            if is_met || is_over(deadline) {
                self.unlock(core);
                return is_met;
            }
            polled.follow(&core);
            self.release(core);
            self.ownership.helper_takes(&self.poller);
            let polls = !is_due && !polled.now.is_empty();
            // A long message may come in without a pause; the deadline holds all the same.
            let look = || if is_over(deadline) { Look::Met } else { self.look(&mut polled, condition) };
            let polled_since = if polls { self.help.spin.poll(is_long, has_begun, look) } else { None };
            if polls && polled_since.is_none() {
                return condition.is_met_outside();
            }
            // A collective that can go on does so when the links have been looked at.
            let timeout = if is_due { Duration::ZERO } else { until(deadline) };
            if let Err(error) = self.sleep(condition, &mut ready, timeout) {
                self.fail_here(&format!("waiting for sockets failed: {error}"));
            }
            wait.tick(self, condition, deadline.is_some());
            core = self.lock_to_help();
            let count = core.drive(&ready, &|| false);
            if let Some(since) = polled_since.filter(|_| count > 0) {
                let after = Instant::now().saturating_duration_since(since);
                self.help.spin.slept(is_long, has_begun, after);
            }
            has_begun = count >= LONG_BYTES;
        }
    }

    pub(super) fn lock_to_help(&self) -> Locked<'_> {
        let mut core = self.lock();
        core.is_helped = true;
        core
    }

    /// Looks once whether a message has come from those that are `polled`, or can go on to them.
    fn look(&self, polled: &mut Polled, condition: &dyn Condition) -> Look {
        let (mut core, count) = self.read_from(polled, self.lock_to_help(), None);
        if count > 0 {
            polled.follow(&core);
        }
        let is_met = condition.is_met(&mut core);
        self.unlock(core);
        match count {
            _ if is_met => Look::Met,
            0 => Look::Nothing,
            1..LONG_BYTES => Look::Step,
            _ => Look::Part,
        }
    }

    /// Moves what can be moved from and to those that are `polled`; it is `now`, if that is known. Returns how many bytes it was.
    fn read_from<'a>(
        &'a self,
        polled: &Polled,
        mut core: Locked<'a>,
        mut now: Option<Duration>,
    ) -> (Locked<'a>, usize) {
        if self.help.takes_telling() {
            core.acknowledge();
        }
        let peers = &polled.now;
        let mut count: usize = peers.iter().map(|&peer| core.read_at(peer, now.take()) + core.write_on(peer)).sum();
        if polled.has_long {
            count += peers.iter().map(|&peer| core.move_lanes(peer)).sum::<usize>();
        }
        if core.is_time_for_others(peers.len()) {
            count += self.drive_others(&mut core);
        }
        if count > 0 {
            core.flush();
            core = self.carry_on(core);
        }
        (core, count)
    }

    /// Moves what can be moved on all links and lanes: who is answered at once, again and again, never sleeps, and what
    /// others send must not wait for that.
    pub(super) fn drive_others(&self, core: &mut Core) -> usize {
        let mut ready = Vec::new();
        match self.poller.wait(&mut ready, Duration::ZERO) {
            Ok(_) => core.drive(&ready, &|| false),
            // Who sleeps next is told.
            Err(_) => 0,
        }
    }

    /// Sleeps in the poller until a link is ready, the operation is complete, or `timeout` is over.
    fn sleep(&self, condition: &dyn Condition, ready: &mut Vec<Ready>, timeout: Duration) -> std::io::Result<()> {
        let waker = Waker::from(self.help.nudge.clone());
        ready.clear();
        self.help.nudge.is_asleep.store(true, Ordering::SeqCst);
        condition.register(&waker);
        // What was completed before the waker was there is seen here; what comes after nudges.
        let slept = if condition.is_met_outside() { Ok(false) } else { self.poller.wait(ready, timeout) };
        self.help.nudge.is_asleep.store(false, Ordering::SeqCst);
        condition.unregister(&waker);
        if slept? {
            self.poller.heed_nudge();
        }
        Ok(())
    }

    /// Sleeps until the operation is complete or nobody may own progress.
    fn park(&self, condition: &dyn Condition, deadline: Option<Instant>) {
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        self.help.parked.lock().push_back(waker.clone());
        condition.register(&waker);
        // Progress may have been given up just before this thread was seen to be parked.
        if self.help.is_held.load(Ordering::SeqCst) && !condition.is_met_outside() {
            thread::park_timeout(until(deadline));
        }
        condition.unregister(&waker);
        self.help.parked.lock().retain(|parked| !parked.will_wake(&waker));
    }

    /// Nobody owns progress: wakes one who waits for it, or leaves the links to the task. `is_alone`: nobody has waited beside
    /// the one who leaves, so nobody is parked.
    fn pass_on(&self, is_alone: bool) {
        if self.help.is_held.load(Ordering::SeqCst) {
            return;
        }
        let next = if is_alone { None } else { self.help.parked.lock().pop_front() };
        match next {
            Some(parked) => parked.wake(),
            None => self.leave_to_task(),
        }
    }
}

/// A thread waits, until this is dropped, also by a panic. Declared before the ownership, and so dropped after it.
pub(super) struct Arrived<'a>(&'a Kernel);

impl<'a> Arrived<'a> {
    pub(super) fn new(kernel: &'a Kernel) -> Self {
        kernel.help.waiting.fetch_add(1, Ordering::SeqCst);
        Arrived(kernel)
    }
}

impl Drop for Arrived<'_> {
    fn drop(&mut self) {
        // In this order: the task gives way as long as somebody waits, and must be told when nobody does.
        let is_alone = self.0.help.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
        self.0.pass_on(is_alone);
    }
}

/// Progress is owned, until this is dropped.
pub(super) struct Owning<'a>(pub(super) &'a Kernel);

impl Drop for Owning<'_> {
    fn drop(&mut self) {
        self.0.help.is_held.store(false, Ordering::SeqCst);
    }
}

/// What is waited for.
fn operations(condition: &dyn Condition) -> impl Iterator<Item = (OpId, Operation)> {
    condition.completions().map(|completion| (completion.op, completion.operation()))
}

/// A few ranks, without memory of their own: every wait has them.
#[derive(Clone, Copy)]
struct Peers {
    ranks: [Rank; POLLED_MAX],
    count: usize,
}

impl Peers {
    fn none() -> Self {
        Peers { ranks: [Rank(0); POLLED_MAX], count: 0 }
    }

    fn one(rank: Rank) -> Self {
        Peers { ranks: [rank; POLLED_MAX], count: 1 }
    }
}

impl Deref for Peers {
    type Target = [Rank];

    fn deref(&self) -> &[Rank] {
        &self.ranks[..self.count]
    }
}

/// Whose sockets a wait polls.
struct Polled {
    /// The ranks whose bytes would end the wait, if they are few enough to be polled one by one.
    few: Peers,
    /// The one short collective that is waited for. Of its messages only the next is worth a look: the others are taken when it is
    /// their turn, and their senders need no answer before.
    collective: Option<OpId>,
    /// Those to look at now.
    now: Peers,
    /// Messages that are waited for may come by lanes beside the first.
    has_long: bool,
}

impl Polled {
    /// By who waits for `condition`.
    fn by(condition: &dyn Condition) -> Self {
        let few = few_peers(condition);
        let mut completions = condition.completions().take(LOOKED_AT_MAX);
        let has_long = completions.any(|completion| completion.operation().bytes >= LONG_BYTES as u64);
        Polled { few, collective: short_collective(condition), now: few, has_long }
    }

    /// Something may have come.
    fn follow(&mut self, core: &Core) {
        if let Some(whole) = self.collective {
            self.now = core.next_sender(whole).map_or(self.few, Peers::one);
        }
    }
}

fn few_peers(condition: &dyn Condition) -> Peers {
    let mut peers = Peers::none();
    for &peer in condition.completions().take(LOOKED_AT_MAX).flat_map(Completion::peers) {
        if !peers.contains(&peer) {
            let Some(place) = peers.ranks.get_mut(peers.count) else { return Peers::none() };
            *place = peer;
            peers.count += 1;
        }
    }
    peers
}

fn short_collective(condition: &dyn Condition) -> Option<OpId> {
    let mut all = condition.completions();
    let (first, second) = (all.next()?, all.next());
    let is_short = first.is_collective() && first.operation().bytes < RESTED_BYTES;
    (is_short && second.is_none()).then_some(first.op)
}

/// Wakes a parked thread.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| deadline <= Instant::now())
}

/// How long to sleep at a time.
fn until(deadline: Option<Instant>) -> Duration {
    deadline.map_or(TICK, |deadline| TICK.min(deadline.saturating_duration_since(Instant::now())))
}
