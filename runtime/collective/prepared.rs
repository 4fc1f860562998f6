//! A schedule with all that its execution would otherwise work out at every call: programs call the same again and again.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use lathide_sys::pieces::Cuts;

use super::schedule::{Action, After, Buffer, Region, Schedule, StepId};
use super::single::Single;
use crate::ids::Rank;

/// A schedule, ready to be executed any number of times.
#[derive(Debug)]
pub(crate) struct Prepared {
    schedule: Schedule,
    /// What each step waits for at first: its needs, and its stream's step before.
    missing: Vec<u32>,
    /// The steps that need a step, one step's after the other's; `dependent_starts` says where each one's begin.
    dependents: Vec<StepId>,
    dependent_starts: Vec<u32>,
    /// Each step's next in its stream.
    stream_after: Vec<After>,
    receive_count: usize,
    /// The schedule as a sequence, if it is one.
    single: Option<Single>,
    /// With whom messages are exchanged, each once, in order.
    peers: Arc<[Rank]>,
    /// Where the three buffers are cut; simulations need none.
    cuts: OnceLock<[Cuts; 3]>,
}

impl Prepared {
    fn new(schedule: Schedule) -> Self {
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
        let receive_count = schedule.steps().filter(|step| schedule.action(*step).is_receive()).count();
        let mut peers: Vec<Rank> = schedule.steps().filter_map(|step| schedule.action(step).peer()).collect();
        peers.sort_unstable();
        peers.dedup();
        Prepared {
            missing,
            dependents,
            dependent_starts: starts,
            stream_after,
            receive_count,
            single: Single::of(&schedule),
            peers: peers.into(),
            cuts: OnceLock::new(),
            schedule,
        }
    }

    /// How many things each step waits for at first, in the order of steps.
    pub(super) fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// The steps that need `step`.
    pub(super) fn dependents(&self, step: StepId) -> &[StepId] {
        let [start, end] = [0, 1].map(|more| self.dependent_starts[step.index() + more] as usize);
        &self.dependents[start..end]
    }

    /// The next step of the stream of messages of `step`.
    pub(super) fn stream_after(&self, step: StepId) -> After {
        self.stream_after[step.index()]
    }

    /// The number of steps that receive.
    pub(super) fn receive_count(&self) -> usize {
        self.receive_count
    }

    /// The schedule as a sequence, if it is one.
    pub(crate) fn single(&self) -> Option<&Single> {
        self.single.as_ref()
    }

    /// With whom messages are exchanged, each once, in order.
    pub(crate) fn peers(&self) -> &Arc<[Rank]> {
        &self.peers
    }

    /// Where the input, the output and the scratch buffer are cut, so that steps lend whole pieces.
    pub(super) fn cuts(&self) -> &[Cuts; 3] {
        self.cuts.get_or_init(|| {
            [Buffer::Input, Buffer::Output, Buffer::Scratch].map(|buffer| {
                let regions = self.steps().flat_map(|step| self.action(step).regions()).flatten();
                let spans = regions.filter(|region| region.buffer == buffer).map(span);
                Cuts::before(spans.flat_map(|Range { start, end }| [start, end]))
            })
        })
    }
}

/// The elements of a region within its buffer.
pub(super) fn span(region: Region) -> Range<usize> {
    region.start as usize..region.end() as usize
}

impl Deref for Prepared {
    type Target = Schedule;

    fn deref(&self) -> &Schedule {
        &self.schedule
    }
}

impl From<Schedule> for Prepared {
    fn from(schedule: Schedule) -> Self {
        Prepared::new(schedule)
    }
}

impl From<Schedule> for Arc<Prepared> {
    fn from(schedule: Schedule) -> Self {
        Arc::new(Prepared::new(schedule))
    }
}

impl Action {
    /// Whether it takes a message.
    pub(super) fn is_receive(&self) -> bool {
        matches!(self, Action::Await { .. } | Action::Receive { .. })
    }
}
