//! Random programs that must complete, and what their messages carry.
//!
//! A program is a random order of all its actions, in which every wait comes after the posts that it needs.
//! Each rank runs its own actions in that order; so whatever the ranks' relative speed is, the first action of
//! the order that is not done yet can be done.

use std::sync::Arc;

use bytes::Bytes;

use super::order::Order;
use crate::buffer::{Element, ElementType, ReceiveBuffer, SendBuffer};
use crate::chance::Chance;
use crate::engine::Limits;
use crate::engine::outgoing::MESSAGE_COST;
use crate::ids::Tag;
use crate::wire::frame::{Context, GROUP_BITS, MatchKey};

/// Which programs to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// Every wait comes after both posts of its message; windows may be of no use at all.
    Rendezvous,
    /// Waits on writes may come before the reads are posted, since the window has room for the messages.
    Windowed,
    /// As `Rendezvous`, with reads that do not fit their messages, and with withdrawn reads.
    Misfitting,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elements {
    Bytes,
    Words,
    Floats,
}

impl Elements {
    pub(super) fn code(self) -> ElementType {
        match self {
            Elements::Bytes => u8::TYPE,
            Elements::Words => u32::TYPE,
            Elements::Floats => f64::TYPE,
        }
    }

    fn size(self) -> usize {
        match self {
            Elements::Bytes => 1,
            Elements::Words => 4,
            Elements::Floats => 8,
        }
    }
}

/// Messages of one key from one rank to one other: they are matched in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) key: MatchKey,
    /// Reads of this stream may be withdrawn and posted anew, so each must fit every message.
    withdraws: bool,
}

/// A message and the read that is meant for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) stream: usize,
    pub(super) elements: Elements,
    pub(super) bytes: usize,
    pub(super) read_elements: Elements,
    pub(super) capacity: usize,
    /// What its bytes are made from.
    stamp: u64,
}

impl Message {
    /// Whether the read fits.
    pub(super) fn fits(&self) -> bool {
        self.bytes <= self.capacity && self.elements == self.read_elements
    }

    pub(super) fn payload(&self) -> Vec<u8> {
        let mut rng = Chance(self.stamp);
        let mut bytes = Vec::with_capacity(self.bytes + 8);
        while bytes.len() < self.bytes {
            bytes.extend_from_slice(&rng.next().to_le_bytes());
        }
        bytes.truncate(self.bytes);
        bytes
    }

    pub(super) fn source(&self) -> Box<dyn SendBuffer> {
        let (bytes, shared) = (self.payload(), self.stamp & 1 == 0);
        match self.elements {
            Elements::Bytes if shared => Box::new(Bytes::from(bytes)),
            Elements::Bytes => Box::new(bytes),
            Elements::Words if shared => Box::new(Arc::<[u32]>::from(elements_of::<u32>(&bytes))),
            Elements::Words => Box::new(elements_of::<u32>(&bytes)),
            Elements::Floats => Box::new(elements_of::<f64>(&bytes)),
        }
    }

    /// A buffer full of what must not remain in it.
    pub(super) fn place(&self) -> Box<dyn ReceiveBuffer> {
        let bytes = vec![0xa5; self.capacity];
        match self.read_elements {
            Elements::Bytes => Box::new(bytes),
            Elements::Words => Box::new(elements_of::<u32>(&bytes)),
            Elements::Floats => Box::new(elements_of::<f64>(&bytes)),
        }
    }
}

fn elements_of<T: Element>(bytes: &[u8]) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

/// A step of a rank's program; the number names a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Read(usize),
    WaitRead(usize),
    WaitWrite(usize),
    /// Withdraws the read, and posts another one if that comes in time.
    Withdraw(usize),
    Write(usize),
}

#[derive(Debug)]
pub(super) struct Program {
    pub(super) limits: Vec<Limits>,
    pub(super) streams: Vec<Stream>,
    pub(super) messages: Vec<Message>,
    pub(super) actions: Vec<Vec<Action>>,
    /// The most bytes that move at a time.
    pub(super) piece_bytes: usize,
}

impl Program {
    pub(super) fn size(&self) -> usize {
        self.limits.len()
    }

    pub(super) fn random(family: Family, rng: &mut Chance) -> Self {
        let size = rng.pick(&[2, 2, 2, 2, 3, 3, 4, 5, 8]);
        let one_fragment = rng.pick(&[1, 2, 5, 16, 64, 256, 511, 600, 1024, 4096]);
        let limits = random_limits(family, rng, size, one_fragment);
        let mut program = Program {
            limits,
            streams: Vec::new(),
            messages: Vec::new(),
            actions: vec![Vec::new(); size],
            piece_bytes: rng.pick(&[1, 4, 30, 30, 300, 300, 5000, 65536]),
        };
        program.add_streams(family, rng);
        program.add_messages(family, rng, one_fragment);
        program.add_actions(family, rng);
        program
    }

    fn add_streams(&mut self, family: Family, rng: &mut Chance) {
        let ranks = self.size();
        for _ in 0..1 + rng.below(2 * ranks) {
            let mut stream = Stream {
                from: rng.below(ranks) as u32,
                to: rng.below(ranks) as u32,
                key: MatchKey::new(rng.pick(&[Context::User, Context::Collective]), Tag(rng.below(3) as u32))
                    .in_group([0, 0, 1, (1 << GROUP_BITS) - 1][rng.below(4)]),
                withdraws: false,
            };
            if stream.from == stream.to && !rng.once_in(4) {
                stream.to = (stream.to + 1) % ranks as u32;
            }
            if self.streams.iter().all(|other| *other != stream) {
                self.streams.push(stream);
            }
        }
        if family == Family::Misfitting {
            self.streams.iter_mut().for_each(|stream| stream.withdraws = rng.once_in(3));
        }
    }

    fn add_messages(&mut self, family: Family, rng: &mut Chance, fragment: usize) {
        // What one run may cost: frames, and steps to move all bytes.
        let frames_max = 160;
        let mut budget = (frames_max * fragment).min(200 * self.piece_bytes).clamp(600, 30_000);
        let messages_max = rng.pick(&[3, 8, 8, 24]);
        for _ in 0..1 + rng.below(messages_max) {
            let stream = rng.below(self.streams.len());
            let window = self.limits[self.streams[stream].to as usize].window_bytes as usize;
            let elements = rng.pick(&[Elements::Bytes, Elements::Bytes, Elements::Words, Elements::Floats]);
            let wish = match rng.below(8) {
                0 => 0,
                1 => rng.below(9),
                2 => fragment + rng.below(3) - 1,
                3 => rng.below(4 * fragment + 1),
                4 => window.saturating_sub(MESSAGE_COST as usize),
                5 => window + rng.below(3 * window + 1),
                6 => 2 * fragment,
                _ => rng.below(1000),
            };
            let most = match family {
                Family::Windowed => budget.min(window - MESSAGE_COST as usize),
                _ => budget,
            };
            let bytes = wish.min(most).min(frames_max * fragment / 2) / elements.size() * elements.size();
            budget = budget.saturating_sub(bytes);
            let spare = if rng.once_in(2) { 0 } else { rng.below(2 * fragment + 16) };
            let capacity = bytes + spare / elements.size() * elements.size();
            let stamp = rng.next();
            self.messages.push(Message { stream, elements, bytes, read_elements: elements, capacity, stamp });
        }
        if family == Family::Misfitting {
            self.add_misfits(rng);
        }
    }

    fn add_misfits(&mut self, rng: &mut Chance) {
        let most = self.messages.iter().map(|message| message.bytes).max().unwrap_or(0);
        for message in &mut self.messages {
            if self.streams[message.stream].withdraws {
                message.elements = Elements::Bytes;
                message.read_elements = Elements::Bytes;
                message.capacity = most;
            } else if rng.once_in(4) {
                if message.bytes > 0 && rng.once_in(2) {
                    let size = message.elements.size();
                    message.capacity = rng.below(message.bytes) / size * size;
                } else {
                    let other = if message.elements == Elements::Words { Elements::Floats } else { Elements::Words };
                    message.read_elements = other;
                    message.capacity = message.bytes.div_ceil(8) * 8;
                }
            }
        }
    }

    /// Puts all actions into one random order; each rank's program is its part of it.
    fn add_actions(&mut self, family: Family, rng: &mut Chance) {
        let mut order = Order::new(self);
        let weights = [rng.pick(&[1, 4, 30]), rng.pick(&[1, 4, 30]), rng.pick(&[1, 4, 30])];
        let mut postponed = vec![Vec::new(); self.size()];
        loop {
            let mut candidates = Vec::new();
            for (message, weights) in (0..self.messages.len()).zip(std::iter::repeat(weights)) {
                order.candidates(self, family, message, weights, &mut candidates);
            }
            let Some(&last) = candidates.last() else { break };
            let chance = rng.below(last.1);
            let (action, _) = candidates[candidates.partition_point(|(_, end)| *end <= chance)];
            let rank = order.take(self, action);
            self.actions[rank].push(action);
            if let Action::Read(message) = action
                && self.streams[self.messages[message].stream].withdraws
                && rng.once_in(2)
            {
                // The read posted anew comes last of its stream, so it may be waited for only at the end.
                order.postpone_wait(message);
                postponed[rank].push((rng.below(12), message));
            }
        }
        for (rank, postponed) in postponed.into_iter().enumerate() {
            let actions = &mut self.actions[rank];
            for (delay, message) in postponed {
                let posted = actions.iter().position(|action| *action == Action::Read(message)).expect("posted");
                actions.insert((posted + 1 + delay).min(actions.len()), Action::Withdraw(message));
                actions.push(Action::WaitRead(message));
            }
        }
        // Withdrawals that were appended after waits go before them.
        for actions in &mut self.actions {
            let last = |action: &Action| matches!(action, Action::WaitRead(at) if order.is_postponed(*at));
            let (mut first, waits): (Vec<_>, Vec<_>) = actions.iter().partition(|action| !last(action));
            first.extend(waits);
            *actions = first;
        }
    }
}

fn random_limits(family: Family, rng: &mut Chance, size: usize, fragment: usize) -> Vec<Limits> {
    let one = MESSAGE_COST as usize;
    let windows = match family {
        Family::Windowed => [one, one + 8, one + fragment, 700, 2048, 5000, 10_000, 1 << 20],
        _ => [0, one, one + 8, one + fragment, 700, 2048, 5000, 1 << 20],
    };
    let limits = |rng: &mut Chance| Limits {
        window_bytes: rng.pick(&windows) as u64,
        envelopes_max: rng.pick(&[0, 1, 1, 2, 3, 1024]),
        fragment_bytes: if rng.once_in(8) { 1 + rng.below(4096) } else { fragment } as u32,
    };
    let common = limits(rng);
    (0..size).map(|_| if rng.once_in(4) { limits(rng) } else { common }).collect()
}
