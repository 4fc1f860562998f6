//! Runs the schedules of all ranks in memory, in an order that chance decides, and watches.
//!
//! Messages of a pair of ranks are in order, as the engine keeps them; everything else is not. A send is either a
//! rendezvous, complete at some moment after its receive is posted, or is taken at once, as the engine takes what
//! the window has room for. Completions come late, in any order.

use std::collections::{BTreeMap, VecDeque};

use lathide_sys::pieces::{Exclusive, Shared};

use super::operator::Operator;
use super::prepared::Prepared;
use super::progress::Progress;
use super::schedule::{Action, Region, Schedule, StepId};
use super::workspace::Workspace;
pub(super) use crate::chance::Chance;
use crate::ids::Rank;

/// Which sends wait for their receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sends {
    Rendezvous,
    Taken,
    Mixed,
}

/// One rank's schedule, input and output.
pub(super) struct Part<T> {
    pub(super) schedule: Schedule,
    pub(super) input: Vec<T>,
    pub(super) output: Vec<T>,
}

/// What may happen next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The rank posts a step.
    Post(usize),
    /// The first message of the stream meets the first read.
    Deliver(usize, usize),
    Complete(usize, StepId),
}

/// A message's elements where they are until it is over; a signal has none. The loan proves that no other step touches them.
type Sent<T> = Option<Shared<T>>;
type Read<T> = Option<Exclusive<T>>;

struct Stream<T> {
    sends: VecDeque<Message<T>>,
    reads: VecDeque<(StepId, Read<T>)>,
    /// Whether a delivery is among the events.
    is_due: bool,
}

enum Message<T> {
    Waiting(StepId, Sent<T>),
    Taken(Vec<T>),
}

struct Trial<'a, T> {
    progress: Vec<Progress>,
    work: Vec<Workspace<T>>,
    streams: BTreeMap<(usize, usize), Stream<T>>,
    events: Vec<Event>,
    operator: &'a Operator<T>,
    sends: Sends,
    chance: Chance,
}

/// Runs all `parts` to their end and returns the outputs.
///
/// # Panics
/// If they do not end, or a message meets a read of another length.
pub(super) fn run<T: Copy + Send + 'static>(
    parts: Vec<Part<T>>,
    operator: &Operator<T>,
    blank: T,
    sends: Sends,
    seed: u64,
) -> Vec<Vec<T>> {
    let mut trial = Trial {
        progress: Vec::new(),
        work: Vec::new(),
        streams: BTreeMap::new(),
        events: (0..parts.len()).map(Event::Post).collect(),
        operator,
        sends,
        chance: Chance(seed),
    };
    for Part { schedule, input, output } in parts {
        let schedule: Prepared = schedule.into();
        trial.work.push(Workspace::new(&schedule, input, output, blank));
        trial.progress.push(Progress::new(schedule));
    }
    while !trial.events.is_empty() {
        let next = trial.chance.below(trial.events.len());
        match trial.events.swap_remove(next) {
            Event::Post(rank) => trial.post(rank),
            Event::Deliver(from, to) => trial.deliver(from, to),
            Event::Complete(rank, step) => {
                trial.progress[rank].done(step);
                trial.events.push(Event::Post(rank));
            }
        }
    }
    trial.check_is_over();
    trial.work.into_iter().map(|work| work.into_buffers()).map(|[_, output]| output).collect()
}

impl<T: Copy + Send + 'static> Trial<'_, T> {
    fn post(&mut self, rank: usize) {
        let Some(step) = self.progress[rank].ready() else { return };
        self.events.push(Event::Post(rank));
        let action = self.progress[rank].action(step);
        match action {
            Action::Send { to, from } => self.send(rank, to, step, Some(from)),
            Action::Signal { to } => self.send(rank, to, step, None),
            Action::Receive { from, into } => self.receive(rank, from, step, Some(into)),
            Action::Await { from } => self.receive(rank, from, step, None),
            Action::Combine { .. } | Action::Copy { .. } => {
                assert!(self.work[rank].apply(&action, Some(self.operator)));
                self.events.push(Event::Complete(rank, step));
            }
        }
    }

    fn send(&mut self, rank: usize, to: Rank, step: StepId, region: Option<Region>) {
        assert_ne!(rank, to.index(), "nobody writes to itself");
        let is_taken = match self.sends {
            Sends::Rendezvous => false,
            Sends::Taken => true,
            Sends::Mixed => self.chance.below(2) == 0,
        };
        let message = if is_taken {
            self.events.push(Event::Complete(rank, step));
            Message::Taken(region.map(|region| self.work[rank].share(region).to_vec()).unwrap_or_default())
        } else {
            Message::Waiting(step, region.map(|region| self.work[rank].share(region)))
        };
        let stream = self.streams.entry((rank, to.index())).or_insert_with(Stream::new);
        stream.sends.push_back(message);
        self.match_up(rank, to.index());
    }

    fn receive(&mut self, rank: usize, from: Rank, step: StepId, region: Option<Region>) {
        let stream = self.streams.entry((from.index(), rank)).or_insert_with(Stream::new);
        stream.reads.push_back((step, region.map(|region| self.work[rank].lend(region))));
        self.match_up(from.index(), rank);
    }

    fn match_up(&mut self, from: usize, to: usize) {
        let stream = self.streams.get_mut(&(from, to)).unwrap();
        if !stream.is_due && !stream.sends.is_empty() && !stream.reads.is_empty() {
            stream.is_due = true;
            self.events.push(Event::Deliver(from, to));
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let stream = self.streams.get_mut(&(from, to)).unwrap();
        stream.is_due = false;
        let (message, (read, into)) = (stream.sends.pop_front().unwrap(), stream.reads.pop_front().unwrap());
        let data = match message {
            Message::Taken(data) => data,
            Message::Waiting(send, elements) => {
                self.events.push(Event::Complete(from, send));
                elements.map(|elements| elements.to_vec()).unwrap_or_default()
            }
        };
        let count = into.as_ref().map_or(0, |into| into.len());
        assert_eq!(data.len(), count, "message and read of rank {from} to rank {to} are as long");
        if let Some(mut into) = into {
            into.copy_from_slice(&data);
        }
        self.events.push(Event::Complete(to, read));
        self.match_up(from, to);
    }

    fn check_is_over(&self) {
        for (rank, progress) in self.progress.iter().enumerate() {
            let waits: Vec<Action> = progress.under_way().map(|step| progress.action(step)).collect();
            assert!(progress.is_complete(), "rank {rank} waits for ever: {waits:?}");
        }
        let left = self.streams.values().map(|stream| stream.sends.len()).sum::<usize>();
        assert_eq!(left, 0, "every message is received");
    }
}

impl<T> Stream<T> {
    fn new() -> Self {
        Stream { sends: VecDeque::new(), reads: VecDeque::new(), is_due: false }
    }
}

/// Checks that steps that may be under way at once do not touch the same elements, unless both only read.
pub(super) fn check_hazards(schedule: &Schedule) {
    let words = schedule.len().div_ceil(64);
    let mut before: Vec<Vec<u64>> = Vec::new();
    for step in schedule.steps() {
        let mut set = vec![0u64; words];
        for need in schedule.needs(step) {
            set[need.index() / 64] |= 1 << (need.index() % 64);
            set.iter_mut().zip(&before[need.index()]).for_each(|(set, more)| *set |= more);
        }
        let action = schedule.action(step);
        for other in schedule.steps().take(step.index()) {
            if set[other.index() / 64] >> (other.index() % 64) & 1 == 0 {
                let theirs = schedule.action(other);
                let clashes = |writes: &Action, other: &Action| {
                    let Some(written) = writes.writes() else { return false };
                    other.reads().into_iter().chain(other.writes()).any(|region| region.overlaps(written))
                };
                assert!(
                    !clashes(&action, &theirs) && !clashes(&theirs, &action),
                    "steps {} and {} may be under way at once: {theirs:?}, {action:?}",
                    other.index(),
                    step.index()
                );
            }
        }
        before.push(set);
    }
}
