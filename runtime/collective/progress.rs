//! How far a schedule has come: which steps may be posted, and which that allows when they are complete.
//!
//! Pure: whoever executes the schedule asks [`Progress::ready`] for steps, posts them, and says
//! [`Progress::done`] when they are complete, in any order. The kernel does so for a node, so that a non-blocking
//! collective advances while the program computes; the simulators do so for all ranks.

use std::sync::Arc;

use super::prepared::Prepared;
use super::schedule::{Action, StepId};

/// A schedule under way.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    schedule: Arc<Prepared>,
    slots: Vec<Slot>,
    /// Receives are posted first: a message that finds its place is not copied.
    ready_receives: Queue,
    ready_others: Queue,
    incomplete: usize,
}

/// One per step.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// What the step of this number still waits for: needs that are not complete, and its stream's step before if that is
    /// not posted. Or [`POSTED`], or [`DONE`].
    missing: u32,
    /// A place of one of the queues: receives have the first ones, since each step is queued once.
    queued: StepId,
}

const POSTED: u32 = u32::MAX - 1;
const DONE: u32 = u32::MAX;

/// A part of the slots' places: those from `first` to `end` are taken.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    end: u32,
}

impl Progress {
    /// A schedule of which nothing is done yet.
    pub(super) fn new(schedule: impl Into<Arc<Prepared>>) -> Self {
        let none = Queue { first: 0, end: 0 };
        let mut progress = Progress {
            schedule: schedule.into(),
            slots: Vec::new(),
            ready_receives: none,
            ready_others: none,
            incomplete: 0,
        };
        progress.begin();
        progress
    }

    /// [`Progress::new`] in the memory of one that is over.
    pub(super) fn renew(&mut self, schedule: Arc<Prepared>) {
        self.schedule = schedule;
        self.begin();
    }

    fn begin(&mut self) {
        let others = self.schedule.receive_count() as u32;
        self.slots.clear();
        self.slots.extend(self.schedule.missing().iter().map(|&missing| Slot { missing, queued: StepId(0) }));
        (self.ready_receives, self.ready_others) = (Queue { first: 0, end: 0 }, Queue { first: others, end: others });
        self.incomplete = self.schedule.len();
        for step in self.schedule.steps() {
            if self.slots[step.index()].missing == 0 {
                self.enqueue(step);
            }
        }
    }

    /// The next step that may be posted now; the caller posts it before it asks again. Receives come first,
    /// else the order is that in which steps became ready.
    pub(super) fn ready(&mut self) -> Option<StepId> {
        let place = self.ready_receives.pop().or_else(|| self.ready_others.pop())?;
        let step = self.slots[place as usize].queued;
        self.slots[step.index()].missing = POSTED;
        if let Some(next) = self.schedule.stream_after(step) {
            self.supply(next);
        }
        Some(step)
    }

    /// Marks a posted step complete.
    ///
    /// # Panics
    /// If the step is not under way: a step is posted once, by [`Progress::ready`], and completes once.
    pub(super) fn done(&mut self, step: StepId) {
        let state = std::mem::replace(&mut self.slots[step.index()].missing, DONE);
        assert_eq!(state, POSTED, "step {} completes once, after it was posted", step.index());
        self.incomplete -= 1;
        for index in 0..self.schedule.dependents(step).len() {
            self.supply(self.schedule.dependents(step)[index]);
        }
    }

    /// Whether some step may be posted now.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready_receives.is_empty() || !self.ready_others.is_empty()
    }

    /// Whether every step is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.incomplete == 0
    }

    /// What `step` does.
    pub(super) fn action(&self, step: StepId) -> Action {
        self.schedule.action(step)
    }

    /// The steps that are posted and not complete, in order: what an executor still waits for.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> impl Iterator<Item = StepId> + '_ {
        self.schedule.steps().filter(|step| self.slots[step.index()].missing == POSTED)
    }

    /// One thing less that `step` waits for.
    fn supply(&mut self, step: StepId) {
        let missing = &mut self.slots[step.index()].missing;
        *missing -= 1;
        if *missing == 0 {
            self.enqueue(step);
        }
    }

    fn enqueue(&mut self, step: StepId) {
        let is_receive = self.schedule.action(step).is_receive();
        let queue = if is_receive { &mut self.ready_receives } else { &mut self.ready_others };
        self.slots[queue.push() as usize].queued = step;
    }
}

impl Queue {
    fn is_empty(self) -> bool {
        self.first == self.end
    }

    /// The next free place.
    fn push(&mut self) -> u32 {
        self.end += 1;
        self.end - 1
    }

    /// The place that was taken first.
    fn pop(&mut self) -> Option<u32> {
        let first = self.first;
        (!self.is_empty()).then(|| {
            self.first += 1;
            first
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Builder, Region};
    use super::*;
    use crate::ids::Rank;

    /// Receives come first, what needs them later; a stream's second message waits until the first is posted.
    #[test]
    fn steps_come_when_what_they_need_is_complete() {
        let mut builder = Builder::new();
        let first = builder.receive(Rank(1), Region::output(0, 1), &[]);
        let forward = builder.send(Rank(2), Region::output(0, 1), &[first]);
        let early = builder.send(Rank(2), Region::input(0, 1), &[]);
        let last = builder.receive(Rank(1), Region::output(1, 1), &[]);
        assert_eq!(builder.send(Rank(3), Region::input(0, 0), &[]), None, "nothing to send is no step");
        let mut progress = Progress::new(builder.finish());
        assert_eq!(progress.ready(), first);
        assert_eq!(progress.ready(), last);
        assert_eq!(progress.ready(), None, "the stream to rank 2 begins with what came from rank 1");
        progress.done(first.unwrap());
        assert_eq!(progress.ready(), forward);
        assert_eq!(progress.ready(), early);
        assert_eq!(progress.under_way().count(), 3);
        for step in [early, last, forward].into_iter().flatten() {
            assert!(!progress.is_complete());
            progress.done(step);
        }
        assert!(progress.is_complete());
        assert_eq!(progress.ready(), None);
    }

    #[test]
    #[should_panic(expected = "completes once")]
    fn nothing_completes_twice() {
        let mut builder = Builder::new();
        builder.signal(Rank(1), &[]);
        let mut progress = Progress::new(builder.finish());
        let step = progress.ready().unwrap();
        progress.done(step);
        progress.done(step);
    }
}
