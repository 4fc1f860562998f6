//! How far a schedule has come: which steps may be posted, and which that allows when they are complete.
//!
//! Pure: whoever executes the schedule asks [`Progress::ready`] for steps, posts them, and says
//! [`Progress::done`] when they are complete, in any order. The kernel does so for a node, so that a non-blocking
//! collective advances while the program computes; the simulators do so for all ranks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::schedule::{Action, Schedule, StepId};

/// A schedule under way.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    schedule: Arc<Schedule>,
    /// What each step still waits for: needs that are not complete, and its stream's step before if that is not
    /// posted.
    missing: Vec<u32>,
    /// The steps that need a step, one step's after the other's; `dependent_starts` says where each one's begin.
    dependents: Vec<StepId>,
    dependent_starts: Vec<u32>,
    /// Each step's next in its stream.
    stream_after: Vec<Option<StepId>>,
    /// Receives are posted first: a message that finds its place is not copied.
    ready_receives: VecDeque<StepId>,
    ready_others: VecDeque<StepId>,
    state: Vec<State>,
    incomplete: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Posted,
    Done,
}

impl Progress {
    /// A schedule of which nothing is done yet. Costs one pass over its steps.
    pub(super) fn new(schedule: impl Into<Arc<Schedule>>) -> Self {
        let schedule = schedule.into();
        let len = schedule.len();
        let mut starts = vec![0u32; len + 1];
        let mut missing = Vec::with_capacity(len);
        let mut stream_after = vec![None; len];
        for step in schedule.steps() {
            for need in schedule.needs(step) {
                starts[need.index() + 1] += 1;
            }
            let before = schedule.stream_before(step);
            if let Some(before) = before {
                stream_after[before.index()] = Some(step);
            }
            missing.push(schedule.needs(step).len() as u32 + u32::from(before.is_some()));
        }
        for index in 0..len {
            starts[index + 1] += starts[index];
        }
        let (mut fill, mut dependents) = (starts.clone(), vec![StepId(0); starts[len] as usize]);
        for step in schedule.steps() {
            for need in schedule.needs(step) {
                dependents[fill[need.index()] as usize] = step;
                fill[need.index()] += 1;
            }
        }
        let mut progress = Progress {
            missing,
            dependents,
            dependent_starts: starts,
            stream_after,
            ready_receives: VecDeque::new(),
            ready_others: VecDeque::new(),
            state: vec![State::Waiting; len],
            incomplete: len,
            schedule,
        };
        for step in progress.schedule.steps() {
            if progress.missing[step.index()] == 0 {
                progress.enqueue(step);
            }
        }
        progress
    }

    /// The next step that may be posted now; the caller posts it before it asks again. Receives come first,
    /// else the order is that in which steps became ready.
    pub(super) fn ready(&mut self) -> Option<StepId> {
        let step = self.ready_receives.pop_front().or_else(|| self.ready_others.pop_front())?;
        self.state[step.index()] = State::Posted;
        if let Some(next) = self.stream_after[step.index()] {
            self.supply(next);
        }
        Some(step)
    }

    /// Marks a posted step complete.
    ///
    /// # Panics
    /// If the step is not under way: a step is posted once, by [`Progress::ready`], and completes once.
    pub(super) fn done(&mut self, step: StepId) {
        let state = std::mem::replace(&mut self.state[step.index()], State::Done);
        assert_eq!(state, State::Posted, "step {} completes once, after it was posted", step.index());
        self.incomplete -= 1;
        let [start, end] = [0, 1].map(|more| self.dependent_starts[step.index() + more] as usize);
        for index in start..end {
            self.supply(self.dependents[index]);
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
        self.schedule.steps().filter(|step| self.state[step.index()] == State::Posted)
    }

    /// One thing less that `step` waits for.
    fn supply(&mut self, step: StepId) {
        self.missing[step.index()] -= 1;
        if self.missing[step.index()] == 0 {
            self.enqueue(step);
        }
    }

    fn enqueue(&mut self, step: StepId) {
        match self.schedule.action(step) {
            Action::Await { .. } | Action::Receive { .. } => self.ready_receives.push_back(step),
            _ => self.ready_others.push_back(step),
        }
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
