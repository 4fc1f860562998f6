//! The language of schedules: what one rank does in a collective, as a small program of steps.
//!
//! A step is posted when the steps it needs are complete, so everything independent is under way at once.
//! Messages carry no names: the k-th message that a schedule sends to a peer is the k-th that the peer's schedule
//! receives from it. [`Progress`](super::progress::Progress) therefore posts the sends to one peer in the schedule's order,
//! and the receives from one peer too.
//!
//! All sizes are in elements. Three buffers are at hand: *input* is only read, *output* is written (and read
//! where an operation works in place: then it holds this rank's contribution at first), *scratch* is the
//! schedule's own, [`Schedule::scratch`] elements long.

use std::fmt;
use std::ops::Range;

use foldhash::HashMap;

use crate::ids::Rank;

/// One of the three buffers a schedule works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Buffer {
    /// What the rank contributes; never written.
    Input,
    /// The result; also the contribution where the operation works in place.
    Output,
    /// Room for what is neither.
    Scratch,
}

/// A range of a buffer, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region {
    /// The buffer.
    pub buffer: Buffer,
    /// The first element.
    pub start: u64,
    /// The number of elements.
    pub count: u64,
}

impl Region {
    /// `count` elements of the input from `start` on.
    pub fn input(start: u64, count: u64) -> Self {
        Region { buffer: Buffer::Input, start, count }
    }

    /// `count` elements of the output from `start` on.
    pub fn output(start: u64, count: u64) -> Self {
        Region { buffer: Buffer::Output, start, count }
    }

    /// The elements `part` of this region, counted from its start.
    pub fn part(self, part: &Range<u64>) -> Self {
        debug_assert!(part.start <= part.end && part.end <= self.count, "{part:?} is a part of {self:?}");
        Region { buffer: self.buffer, start: self.start + part.start, count: part.end - part.start }
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The first element after it.
    pub fn end(self) -> u64 {
        self.start + self.count
    }

    /// Whether some element belongs to both.
    pub fn overlaps(self, other: Region) -> bool {
        let apart = self.end() <= other.start || other.end() <= self.start;
        self.buffer == other.buffer && !apart && !self.is_empty() && !other.is_empty()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}[{}..{}]", self.buffer, self.start, self.end())
    }
}

/// On which side of the operator the incoming operand stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// `into = with op into`: the operand comes from ranks before those already combined.
    Left,
    /// `into = into op with`: from ranks after them.
    Right,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Waits for the next message from `from`, a signal.
    Await {
        /// The peer.
        from: Rank,
    },
    /// Combines two regions of equal length, element by element.
    Combine {
        /// One operand, and the result.
        into: Region,
        /// The other operand.
        with: Region,
        /// Where `with` stands.
        side: Side,
    },
    /// Copies a region to another of equal length.
    Copy {
        /// What is copied.
        from: Region,
        /// Where to.
        into: Region,
    },
    /// Receives the next message from `from`.
    Receive {
        /// The peer.
        from: Rank,
        /// Where to; exactly as long as the message.
        into: Region,
    },
    /// Sends a message. The step is complete when the region may be overwritten.
    Send {
        /// The peer.
        to: Rank,
        /// What is sent.
        from: Region,
    },
    /// Sends an empty message.
    Signal {
        /// The peer.
        to: Rank,
    },
}

impl Action {
    /// What the step reads.
    pub fn reads(&self) -> Vec<Region> {
        match *self {
            Action::Combine { into, with, .. } => vec![into, with],
            Action::Copy { from, .. } | Action::Send { from, .. } => vec![from],
            _ => Vec::new(),
        }
    }

    /// The one or two regions that the step works on.
    pub(super) fn regions(&self) -> [Option<Region>; 2] {
        match *self {
            Action::Combine { into, with: from, .. } | Action::Copy { from, into } => [Some(from), Some(into)],
            Action::Receive { into: region, .. } | Action::Send { from: region, .. } => [Some(region), None],
            Action::Await { .. } | Action::Signal { .. } => [None, None],
        }
    }

    /// What the step writes.
    pub fn writes(&self) -> Option<Region> {
        match *self {
            Action::Combine { into, .. } | Action::Copy { into, .. } | Action::Receive { into, .. } => Some(into),
            _ => None,
        }
    }

    /// The elements of a copy or a combination; 0 for messages.
    pub(super) fn local_count(&self) -> u64 {
        match self {
            Action::Combine { into, .. } | Action::Copy { into, .. } => into.count,
            _ => 0,
        }
    }

    /// A copy or a combination of a part of the elements.
    pub(super) fn local_part(self, part: Range<u64>) -> Self {
        match self {
            Action::Combine { into, with, side } => {
                Action::Combine { into: into.part(&part), with: with.part(&part), side }
            }
            Action::Copy { from, into } => Action::Copy { from: from.part(&part), into: into.part(&part) },
            message => message,
        }
    }

    /// Who is on the other side of a message.
    pub fn peer(&self) -> Option<Rank> {
        self.stream().map(|(peer, _)| peer)
    }

    /// The stream of messages the step belongs to, if it is one of messages.
    fn stream(&self) -> Option<(Rank, bool)> {
        match *self {
            Action::Await { from } | Action::Receive { from, .. } => Some((from, true)),
            Action::Send { to, .. } | Action::Signal { to } => Some((to, false)),
            Action::Combine { .. } | Action::Copy { .. } => None,
        }
    }
}

/// The number of a step within its schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepId(pub(super) u32);

impl StepId {
    /// The step as an index into per-step tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something to wait for; `None` if nothing was to be done.
pub(super) type After = Option<StepId>;

/// One rank's part in a collective. Made by the algorithms' `schedule` functions, run by
/// [`Progress`](super::progress::Progress).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    actions: Vec<Action>,
    /// All steps' needs, one step's after the other's; `need_ends` says where each one's end.
    needs: Vec<StepId>,
    need_ends: Vec<u32>,
    /// The step before in the same stream of messages.
    stream_before: Vec<After>,
    scratch: u64,
}

impl Schedule {
    /// The number of steps.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The length of the scratch buffer, in elements.
    pub fn scratch(&self) -> u64 {
        self.scratch
    }

    /// What step `step` does.
    pub fn action(&self, step: StepId) -> Action {
        self.actions[step.index()]
    }

    /// The steps that must be complete before `step` is posted. All of them come before it in the schedule.
    pub fn needs(&self, step: StepId) -> &[StepId] {
        let end_of = |index: usize| self.need_ends[index] as usize;
        let start = step.index().checked_sub(1).map_or(0, end_of);
        &self.needs[start..end_of(step.index())]
    }

    /// The step that must be posted, not complete, before `step`: its stream's message before.
    pub fn stream_before(&self, step: StepId) -> Option<StepId> {
        self.stream_before[step.index()]
    }

    /// All steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = StepId> + use<> {
        (0..self.actions.len() as u32).map(StepId)
    }
}

/// Writes a schedule down, step by step. Steps on empty regions are left out: both sides know the sizes.
#[derive(Default)]
pub(super) struct Builder {
    schedule: Schedule,
    last_in_stream: HashMap<(Rank, bool), StepId>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Builder::default()
    }

    /// Room for `count` elements more.
    pub(super) fn scratch(&mut self, count: u64) -> Region {
        let start = self.schedule.scratch;
        self.schedule.scratch += count;
        Region { buffer: Buffer::Scratch, start, count }
    }

    pub(super) fn send(&mut self, to: Rank, from: Region, after: &[After]) -> After {
        self.step_on(from, Action::Send { to, from }, after)
    }

    pub(super) fn receive(&mut self, from: Rank, into: Region, after: &[After]) -> After {
        self.step_on(into, Action::Receive { from, into }, after)
    }

    pub(super) fn copy(&mut self, from: Region, into: Region, after: &[After]) -> After {
        debug_assert_eq!(from.count, into.count);
        self.step_on(into, Action::Copy { from, into }, after)
    }

    pub(super) fn combine(&mut self, into: Region, with: Region, side: Side, after: &[After]) -> After {
        debug_assert_eq!(into.count, with.count);
        self.step_on(into, Action::Combine { into, with, side }, after)
    }

    pub(super) fn signal(&mut self, to: Rank, after: &[After]) -> After {
        Some(self.step(Action::Signal { to }, after))
    }

    pub(super) fn await_signal(&mut self, from: Rank, after: &[After]) -> After {
        Some(self.step(Action::Await { from }, after))
    }

    pub(super) fn finish(self) -> Schedule {
        self.schedule
    }

    fn step_on(&mut self, region: Region, action: Action, after: &[After]) -> After {
        if region.is_empty() { None } else { Some(self.step(action, after)) }
    }

    fn step(&mut self, action: Action, after: &[After]) -> StepId {
        let Schedule { actions, needs, need_ends, stream_before, .. } = &mut self.schedule;
        let step = StepId(actions.len() as u32);
        actions.push(action);
        for need in after.iter().flatten() {
            debug_assert!(*need < step, "what a step needs comes before it");
            // Needs are few, and the ones named twice stand side by side in practice.
            if needs[need_ends.last().map_or(0, |&end| end as usize)..].iter().all(|known| known != need) {
                needs.push(*need);
            }
        }
        need_ends.push(needs.len() as u32);
        let stream = action.stream();
        stream_before.push(stream.and_then(|stream| self.last_in_stream.insert(stream, step)));
        step
    }
}
