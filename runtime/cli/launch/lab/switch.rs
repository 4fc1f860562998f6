//! The virtual network's arithmetic: when each packet leaves, arrives, or is lost. Pure; times are nanoseconds of one
//! clock, and every method's time is at least that of the call before.
//!
//! Each host has a cable to the switch, full duplex. A packet passes its sender's cable, then its receiver's, in front
//! of each of which it may wait. The switch begins to pass a packet on when its head arrives, so that between two idle
//! cables of one rate a packet takes the delay and one passing time. If the medium is shared, there is one for all,
//! one packet at a time, and the hosts take turns; receivers take what comes.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::address::Addresses;
use super::cable::{Cable, Count, Traffic};

/// The switch, its hosts, and all packets on their way. `T` is what a packet carries.
pub(super) struct Switch<T> {
    pub(super) hosts: Vec<Host<T>>,
    pub(super) addresses: Addresses,
    /// If there is one medium for all: when it is free, and who had it last.
    shared: Option<(u64, usize)>,
    random: fastrand::Rng,
    /// Arrived, with their receivers, in the order of arrival.
    arrived: VecDeque<(usize, T)>,
}

pub(super) struct Host<T> {
    pub(super) cable: Cable,
    /// All packets on the cable are lost, and all that come.
    pub(super) is_cut: bool,
    /// From the host.
    pub(super) up: Line<T>,
    /// To the host.
    pub(super) down: Line<T>,
}

/// One direction of a cable: what waits before it, and what is on it, both in order.
#[derive(Default)]
pub(super) struct Line<T> {
    waiting: VecDeque<Packet<T>>,
    waiting_bytes: u64,
    /// When the last packet that was begun has left.
    free_ns: u64,
    flying: VecDeque<Packet<T>>,
    flying_bytes: u64,
    pub(super) traffic: Traffic,
}

struct Packet<T> {
    to: usize,
    count: Count,
    /// When its head and its tail come to where it goes or waits.
    head_ns: u64,
    tail_ns: u64,
    load: T,
}

/// What can happen next at a host; what happens at the same time happens in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// A packet has come to its receiver.
    Deliver,
    /// The cable to this host takes the next packet.
    BeginDown,
    /// The cable from this host takes the next packet.
    BeginUp,
    /// A packet from this host comes to the switch.
    Forward,
}

impl<T: Default> Switch<T> {
    pub(super) fn new(hosts: usize, cable: Cable, shared: bool, seed: u64) -> Self {
        let host = |_| Host { cable, is_cut: false, up: Line::default(), down: Line::default() };
        Switch {
            hosts: (0..hosts).map(host).collect(),
            addresses: Addresses::new(hosts),
            shared: shared.then_some((0, 0)),
            random: fastrand::Rng::with_seed(seed),
            arrived: VecDeque::new(),
        }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// A host, to be changed now. Packets that have begun to pass its cable take no notice of another one.
    pub(super) fn host(&mut self, now_ns: u64, host: usize) -> &mut Host<T> {
        self.advance(now_ns);
        &mut self.hosts[host]
    }

    /// The shortest delay of all cables.
    pub(super) fn least_delay_ns(&self) -> u64 {
        self.hosts.iter().map(|host| host.cable.half_delay_ns() * 2).min().unwrap_or(0)
    }

    /// A host has sent a packet at some time of `between`, which ends now; `to` is `None` if no host has its address.
    ///
    /// If the cable was busy until a moment in between, that moment it was: a host that sends without a pause sends at
    /// the rate. Else it was at the beginning.
    pub(super) fn send(&mut self, between: RangeInclusive<u64>, from: usize, to: Option<usize>, count: Count, load: T) {
        let (since_ns, now_ns) = between.into_inner();
        self.advance(now_ns);
        let Host { cable, is_cut, up, .. } = &mut self.hosts[from];
        let head_ns = self.shared.map_or(up.free_ns, |(free_ns, _)| free_ns).clamp(since_ns, now_ns);
        match to.filter(|&to| to != from) {
            None => up.traffic.stray += count,
            Some(_) if *is_cut => up.traffic.cut += count,
            Some(to) => up.queue(Packet { to, count, head_ns, tail_ns: head_ns, load }, cable.queue_bytes()),
        }
    }

    /// The next packet that has arrived, and its receiver.
    pub(super) fn receive(&mut self, now_ns: u64) -> Option<(usize, T)> {
        self.advance(now_ns);
        self.arrived.pop_front()
    }

    /// When `receive` must be called next for nothing to arrive late. It is earlier than the next arrival if that is not
    /// known yet.
    pub(super) fn wakes_ns(&self) -> Option<u64> {
        let half_ns = |host: usize| self.hosts[host].cable.half_delay_ns();
        let wakes = |host: usize| {
            self.steps(host).map(move |(at_ns, step)| match step {
                Step::Deliver => at_ns,
                Step::BeginDown => at_ns + half_ns(host),
                Step::Forward => at_ns + self.hosts[host].up.flying.front().map_or(0, |packet| half_ns(packet.to)),
                Step::BeginUp => {
                    at_ns + half_ns(host) + self.hosts[host].up.waiting.front().map_or(0, |packet| half_ns(packet.to))
                }
            })
        };
        let earliest = (0..self.hosts.len()).flat_map(wakes).min();
        if self.arrived.is_empty() { earliest } else { Some(0) }
    }

    /// The last arrival up to this time that is known already.
    pub(super) fn last_arrival_ns(&self, until_ns: u64) -> Option<u64> {
        let due = |host: &Host<T>| {
            host.down.flying.iter().map(|packet| packet.tail_ns).take_while(|&at| at <= until_ns).last()
        };
        self.hosts.iter().filter_map(due).max()
    }

    /// All that happens until now.
    fn advance(&mut self, now_ns: u64) {
        while let Some((at_ns, step, host)) = self.next()
            && at_ns <= now_ns
        {
            match step {
                Step::Deliver => {
                    let packet = self.hosts[host].down.land();
                    self.arrived.extend(packet.map(|packet| (host, packet.load)));
                }
                Step::BeginDown => {
                    let Host { cable, down, .. } = &mut self.hosts[host];
                    down.begin(at_ns, cable, &mut self.random);
                }
                Step::BeginUp => {
                    let Host { cable, up, .. } = &mut self.hosts[host];
                    up.begin(at_ns, cable, &mut self.random);
                    if let Some(shared) = &mut self.shared {
                        *shared = (up.free_ns, host);
                    }
                }
                Step::Forward => self.forward(host),
            }
        }
    }

    fn next(&self) -> Option<(u64, Step, usize)> {
        let hosts = self.hosts.len();
        // On a shared medium, who comes after the last one is first. Elsewhere the order among hosts is arbitrary.
        let first = self.shared.map_or(0, |(_, last)| (last + 1) % hosts);
        let in_turn = (first..hosts).chain(0..first);
        let steps = in_turn.flat_map(|host| self.steps(host).map(move |(at_ns, step)| (at_ns, step, host)));
        // The first of equals.
        steps.min_by_key(|&(at_ns, step, _)| (at_ns, step))
    }

    fn steps(&self, host: usize) -> impl Iterator<Item = (u64, Step)> {
        let Host { up, down, .. } = &self.hosts[host];
        let up_free_ns = self.shared.map_or(up.free_ns, |(free_ns, _)| free_ns);
        let deliver = down.flying.front().map(|packet| (packet.tail_ns, Step::Deliver));
        let begin_down = down.waiting.front().map(|packet| (packet.head_ns.max(down.free_ns), Step::BeginDown));
        let begin_up = up.waiting.front().map(|packet| (packet.head_ns.max(up_free_ns), Step::BeginUp));
        let forward = up.flying.front().map(|packet| (packet.head_ns, Step::Forward));
        [deliver, begin_down, begin_up, forward].into_iter().flatten()
    }

    fn forward(&mut self, from: usize) {
        let Some(packet) = self.hosts[from].up.land() else { return };
        let Host { cable, is_cut, down, .. } = &mut self.hosts[packet.to];
        if *is_cut {
            down.traffic.cut += packet.count;
        } else if self.shared.is_some() {
            // It is still the same transmission that goes on to the receiver.
            down.lose_or_fly(packet, cable, &mut self.random);
        } else {
            down.queue(packet, cable.queue_bytes());
        }
    }
}

impl<T> Host<T> {
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
        for line in [&mut self.up, &mut self.down] {
            (line.waiting_bytes, line.flying_bytes) = (0, 0);
            for packet in line.waiting.drain(..).chain(line.flying.drain(..)) {
                line.traffic.cut += packet.count;
            }
        }
    }
}

impl<T> Line<T> {
    /// A packet waits for its turn, if there is room. There is always room for one.
    fn queue(&mut self, packet: Packet<T>, queue_bytes: u64) {
        let has_room = self.waiting.is_empty() || self.waiting_bytes + packet.count.bytes <= queue_bytes;
        if !has_room || self.flying_bytes > FLYING_BYTES_MAX {
            self.traffic.dropped += packet.count;
            return;
        }
        self.waiting_bytes += packet.count.bytes;
        self.waiting.push_back(packet);
    }

    /// The next packet that waits begins to pass.
    fn begin(&mut self, at_ns: u64, cable: &Cable, random: &mut fastrand::Rng) {
        let Some(mut packet) = self.waiting.pop_front() else { return };
        self.waiting_bytes -= packet.count.bytes;
        // From a slower cable, its end may be still to come.
        packet.tail_ns = packet.tail_ns.max(at_ns + cable.passing_ns(packet.count.bytes));
        packet.head_ns = at_ns;
        self.free_ns = packet.tail_ns;
        self.lose_or_fly(packet, cable, random);
    }

    /// A packet is on its way, unless it gets lost there.
    fn lose_or_fly(&mut self, mut packet: Packet<T>, cable: &Cable, random: &mut fastrand::Rng) {
        if random.f64() < cable.half_loss() {
            self.traffic.lost += packet.count;
            return;
        }
        packet.head_ns += cable.half_delay_ns();
        packet.tail_ns += cable.half_delay_ns();
        // If the delay has become shorter, the order is still kept.
        if let Some(last) = self.flying.back() {
            packet.head_ns = packet.head_ns.max(last.head_ns);
            packet.tail_ns = packet.tail_ns.max(last.tail_ns);
        }
        self.flying_bytes += packet.count.bytes;
        self.flying.push_back(packet);
    }

    /// The first packet that is on its way has come to its end.
    fn land(&mut self) -> Option<Packet<T>> {
        let packet = self.flying.pop_front()?;
        self.flying_bytes -= packet.count.bytes;
        self.traffic.passed += packet.count;
        Some(packet)
    }
}

/// What a cable holds at most each way, since it is memory: beyond that, packets are dropped. TCP does not get there.
const FLYING_BYTES_MAX: u64 = 256 << 20;

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
