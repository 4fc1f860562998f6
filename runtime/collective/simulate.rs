//! Runs the schedules of all ranks on a machine of the hyperbolic model and takes the time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::prepared::Prepared;
use super::progress::Progress;
use super::schedule::{Action, Region, StepId};
use crate::cost::{Block, CostModel};

/// The time from the first step to the last when all ranks begin at once, in seconds, of so many `calls`: a rank begins the
/// next one when its own steps of the one before are complete.
pub(super) fn makespan(
    schedules: &[Arc<Prepared>],
    calls: u32,
    element_bytes: f64,
    machine: &CostModel,
) -> Option<f64> {
    let station = |schedule: &Arc<Prepared>| Station::new(schedule.clone(), calls);
    let mut world = World {
        machine,
        element_bytes,
        now: 0.0,
        ranks: schedules.iter().map(station).collect(),
        streams: HashMap::new(),
        transfers: Vec::new(),
        is_stale: false,
        passing: 0,
        outgoing: vec![0; schedules.len()],
        incoming: vec![0; schedules.len()],
        events: BinaryHeap::new(),
        event_count: 0,
    };
    for rank in 0..world.ranks.len() {
        world.post(rank);
    }
    while world.advance() {}
    world.ranks.iter().all(|rank| rank.progress.is_complete() && rank.calls_left == 0).then_some(world.now)
}

struct World<'a> {
    machine: &'a CostModel,
    element_bytes: f64,
    now: f64,
    ranks: Vec<Station>,
    /// Looked up only, so that no order of its own can be seen.
    streams: HashMap<(usize, usize), Stream>,
    /// The messages whose bytes are under way.
    transfers: Vec<Transfer>,
    /// One of them has begun or ended since it was worked out how slow each is.
    is_stale: bool,
    /// How many of them pass ports, and each host's, out and in; those within a host pass none.
    passing: usize,
    outgoing: Vec<usize>,
    incoming: Vec<usize>,
    events: BinaryHeap<Reverse<Event>>,
    event_count: u64,
}

/// One rank: a processor that does one thing at a time, and a port that sends one message at a time.
struct Station {
    schedule: Arc<Prepared>,
    progress: Progress,
    calls_left: u32,
    is_busy: bool,
    is_sending: bool,
    /// Steps that wait for the processor, and since when.
    sends: VecDeque<(f64, StepId)>,
    receives: VecDeque<(f64, StepId)>,
}

/// The messages from one rank to another.
#[derive(Default)]
struct Stream {
    /// Arrived and not met by a read.
    arrived: usize,
    reads: VecDeque<StepId>,
}

struct Transfer {
    from: usize,
    to: usize,
    step: StepId,
    bytes: f64,
    left: f64,
    /// Seconds per byte, while the same transfers are under way.
    slowness: f64,
}

#[derive(Clone, Copy)]
enum What {
    /// A message has come to `to`.
    Arrive { from: usize, to: usize },
    /// A copy or a combination is done.
    Local { rank: usize, step: StepId },
    /// The processor has received a message.
    Receive { rank: usize, step: StepId },
    /// The processor has sent a message; its bytes follow.
    Send { rank: usize, step: StepId },
}

/// Something that happens; what was known of first comes first among those of one time.
struct Event {
    at: f64,
    number: u64,
    what: What,
}

impl World<'_> {
    /// Goes on to what happens next. `false`: nothing does. Each time something ends, so all of it does.
    fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.is_stale) {
            for index in 0..self.transfers.len() {
                self.transfers[index].slowness = self.slowness(&self.transfers[index]);
            }
        }
        let event_at = self.events.peek().map(|Reverse(event)| event.at);
        let left_s = self.transfers.iter().map(|transfer| transfer.left * transfer.slowness).enumerate();
        match (event_at, left_s.min_by(|left, right| left.1.total_cmp(&right.1))) {
            (None, None) => return false,
            (Some(event_at), first) if first.is_none_or(|(_, left_s)| event_at < self.now + left_s) => {
                self.carry(event_at - self.now);
                self.now = event_at;
                if let Some(Reverse(event)) = self.events.pop() {
                    self.happen(event.what);
                }
            }
            (_, Some((first, left_s))) => {
                self.carry(left_s);
                self.now += left_s;
                self.end_transfers(first);
            }
            (_, None) => return false,
        }
        true
    }

    /// Seconds per byte of a transfer, now: it has its share of the network and of both hosts' ports (rule 3).
    fn slowness(&self, transfer: &Transfer) -> f64 {
        if let Some(local) = self.local(transfer.from, transfer.to) {
            return local.per_byte;
        }
        let [from, to] = [transfer.from, transfer.to].map(|rank| self.host(rank));
        let network = self.machine.transfer(self.passing);
        network.max(self.machine.node.per_byte * self.outgoing[from].max(self.incoming[to]) as f64)
    }

    /// The host of a rank, or the rank itself if each has a host.
    fn host(&self, rank: usize) -> usize {
        self.machine.hosts.map_or(rank, |hosts| hosts.host(rank as u32) as usize)
    }

    /// What a message costs on its way if both ranks are on one host.
    fn local(&self, from: usize, to: usize) -> Option<Block> {
        self.machine.hosts.filter(|_| self.host(from) == self.host(to)).map(|hosts| hosts.local)
    }

    /// A transfer begins to pass the ports of its hosts, or ends.
    fn count(&mut self, from: usize, to: usize, begins: bool) {
        self.is_stale = true;
        if self.local(from, to).is_some() {
            return;
        }
        let [from, to] = [from, to].map(|rank| self.host(rank));
        for count in [&mut self.passing, &mut self.outgoing[from], &mut self.incoming[to]] {
            *count = if begins { *count + 1 } else { *count - 1 };
        }
    }

    /// Moves bytes for so many seconds.
    fn carry(&mut self, seconds: f64) {
        for transfer in &mut self.transfers {
            transfer.left -= seconds / transfer.slowness;
        }
    }

    /// Ends the transfer at `first`, whatever rounding has left of it: where bytes cost as good as nothing, the clock does not
    /// move by what is left. And those with it that have no bytes left but for rounding.
    fn end_transfers(&mut self, first: usize) {
        self.transfers[first].left = 0.0;
        let mut index = 0;
        while index < self.transfers.len() {
            if self.transfers[index].left <= self.transfers[index].bytes * 1e-9 {
                let Transfer { from, to, step, .. } = self.transfers.remove(index);
                self.count(from, to, false);
                self.leave(from, to, step);
            } else {
                index += 1;
            }
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Arrive { from, to } => {
                let stream = self.streams.entry((from, to)).or_default();
                match stream.reads.pop_front() {
                    Some(read) => self.ranks[to].receives.push_back((self.now, read)),
                    None => stream.arrived += 1,
                }
                self.work(to);
            }
            What::Local { rank, step } => self.done(rank, step),
            What::Receive { rank, step } => {
                self.ranks[rank].is_busy = false;
                self.done(rank, step);
            }
            What::Send { rank, step } => {
                self.ranks[rank].is_busy = false;
                let (to, bytes) = match self.ranks[rank].progress.action(step) {
                    Action::Send { to, from } => (to.index(), self.bytes(from)),
                    Action::Signal { to } => (to.index(), 0.0),
                    _ => return,
                };
                let per_byte = self.local(rank, to).map_or(self.machine.transfer(1), |local| local.per_byte);
                if bytes > 0.0 && per_byte > 0.0 {
                    self.transfers.push(Transfer { from: rank, to, step, bytes, left: bytes, slowness: per_byte });
                    self.count(rank, to, true);
                    self.work(rank);
                } else {
                    self.leave(rank, to, step);
                }
            }
        }
    }

    /// A message has left its sender's port.
    fn leave(&mut self, rank: usize, to: usize, step: StepId) {
        self.ranks[rank].is_sending = false;
        let flight = self.local(rank, to).map_or(self.machine.flight(), |local| local.fixed);
        self.schedule(flight, What::Arrive { from: rank, to });
        self.done(rank, step);
    }

    fn done(&mut self, rank: usize, step: StepId) {
        let station = &mut self.ranks[rank];
        station.progress.done(step);
        if station.progress.is_complete() && station.calls_left > 0 {
            station.calls_left -= 1;
            station.progress = Progress::new(station.schedule.clone());
        }
        self.post(rank);
    }

    /// Posts all that may be posted.
    fn post(&mut self, rank: usize) {
        while let Some(step) = self.ranks[rank].progress.ready() {
            match self.ranks[rank].progress.action(step) {
                Action::Send { .. } | Action::Signal { .. } => self.ranks[rank].sends.push_back((self.now, step)),
                Action::Receive { from, .. } | Action::Await { from } => {
                    let stream = self.streams.entry((from.index(), rank)).or_default();
                    if stream.arrived > 0 {
                        stream.arrived -= 1;
                        self.ranks[rank].receives.push_back((self.now, step));
                    } else {
                        stream.reads.push_back(step);
                    }
                }
                Action::Combine { into, .. } => {
                    self.schedule(self.bytes(into) * self.machine.combine, What::Local { rank, step });
                }
                Action::Copy { .. } => self.schedule(0.0, What::Local { rank, step }),
            }
        }
        self.work(rank);
    }

    /// Gives the processor, if it is free, what has waited longest for it.
    fn work(&mut self, rank: usize) {
        let station = &mut self.ranks[rank];
        if station.is_busy {
            return;
        }
        let send = station.sends.front().filter(|_| !station.is_sending).copied();
        let receive = station.receives.front().copied();
        let what = match (send, receive) {
            (Some((sent, _)), Some((arrived, step))) if arrived <= sent => What::Receive { rank, step },
            (None, Some((_, step))) => What::Receive { rank, step },
            (Some((_, step)), _) => What::Send { rank, step },
            (None, None) => return,
        };
        station.is_busy = true;
        if let What::Send { .. } = what {
            station.is_sending = true;
            station.sends.pop_front();
        } else {
            station.receives.pop_front();
        }
        self.schedule(self.machine.node.fixed, what);
    }

    fn schedule(&mut self, after: f64, what: What) {
        self.event_count += 1;
        self.events.push(Reverse(Event { at: self.now + after, number: self.event_count, what }));
    }

    fn bytes(&self, region: Region) -> f64 {
        region.count as f64 * self.element_bytes
    }
}

impl Station {
    fn new(schedule: Arc<Prepared>, calls: u32) -> Self {
        Station {
            progress: Progress::new(schedule.clone()),
            // Who has nothing to do has no calls.
            calls_left: if schedule.is_empty() { 0 } else { calls - 1 },
            schedule,
            is_busy: false,
            is_sending: false,
            sends: VecDeque::new(),
            receives: VecDeque::new(),
        }
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}
