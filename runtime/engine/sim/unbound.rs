//! Reads of any origin and length, withdrawn and given up at any moment: no message is lost, doubled or out of order, and
//! nothing waits in vain.
//!
//! Ranks post reads and writes as chance will, so a run may end with reads for which nobody has written. What must hold when
//! nothing moves: no read waits for a message that was written. Then all reads are withdrawn, and what is left is read.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::time::Duration;

use super::runs::{Counts, each_seed};
use super::starts::Starts;
use super::world::Verdict;
use crate::buffer::{Element, ReceiveBuffer};
use crate::chance::Chance;
use crate::engine::outgoing::MESSAGE_COST;
use crate::engine::{Completed, Engine, Limits, OpId, Origin, Outcome};
use crate::ids::{Rank, Tag};
use crate::places::{FromAny, OnArrival};
use crate::wire::frame::MatchKey;

const TAGS: u32 = 3;
/// The longest message.
const BYTES_MAX: usize = 3000;
/// Each message begins with its number.
const NUMBER_BYTES: usize = 4;
const STEPS_MAX: u64 = 1_000_000;

/// A message that was written, to be found once.
struct Message {
    from: usize,
    to: usize,
    tag: u32,
    bytes: usize,
    write: OpId,
    is_written: bool,
    /// The read that has taken it.
    taken: Option<OpId>,
}

/// A read that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Pending {
    rank: usize,
    op: OpId,
    from: Option<usize>,
    tag: u32,
}

/// A read that is complete and whose message the program has not taken.
struct Untaken {
    read: Pending,
    origin: Origin,
    place: Box<dyn ReceiveBuffer>,
}

struct World {
    rng: Chance,
    limits: Vec<Limits>,
    engines: Vec<Engine>,
    pipes: Vec<VecDeque<u8>>,
    capacity: usize,
    sends: Vec<bool>,
    messages: Vec<Message>,
    pending: BTreeMap<(usize, OpId), Pending>,
    untaken: Vec<Untaken>,
    /// Messages may go back.
    returns: bool,
    now: Duration,
    trace: u64,
    counts: Counts,
}

#[test]
fn reads_of_any_origin_lose_nothing() {
    each_seed("reads_of_any_origin_lose_nothing", 12_000, |seed| run(seed, false));
}

#[test]
fn reads_that_are_given_up_lose_nothing() {
    each_seed("reads_that_are_given_up_lose_nothing", 8000, |seed| run(seed, true));
}

fn run(seed: u64, returns: bool) -> Verdict<(Counts, u64)> {
    let mut world = World::new(Chance(seed), returns);
    let actions = 10 + world.rng.below(150);
    let eagerness = world.rng.pick(&[1, 2, 6, 20]);
    for _ in 0..actions {
        let rank = world.rng.below(world.engines.len());
        world.act(rank)?;
        for _ in 0..world.rng.below(4 * eagerness) {
            world.step()?;
        }
    }
    while world.step()? {}
    while let Some(untaken) = world.untaken.pop() {
        world.leave(untaken)?;
    }
    while world.step()? {}
    world.check_standstill()?;
    world.drain()?;
    world.check_end()?;
    Ok((world.counts, world.trace))
}

impl World {
    fn new(mut rng: Chance, returns: bool) -> Self {
        let size = 1 + rng.below(5);
        let windows = [0, MESSAGE_COST, MESSAGE_COST + 8, 700, 3000, 1 << 20];
        let (window_bytes, envelopes_max) = (rng.pick(&windows), rng.pick(&[0, 1, 1, 2, 3, 1024]));
        let limits = Limits { window_bytes, envelopes_max, fragment_bytes: 1 + rng.below(600) };
        let limits = vec![limits; size];
        let starts = Starts::random(&mut |end| rng.below(end));
        let mut engines: Vec<Engine> = (0..size).map(|rank| Engine::new(Rank(rank as u32), &limits)).collect();
        engines.iter_mut().for_each(|engine| engine.begin_at(starts));
        World {
            limits,
            engines,
            pipes: vec![VecDeque::new(); size * size],
            capacity: rng.pick(&[40, 200, 4096, 1 << 16]),
            sends: vec![false; size * size],
            messages: Vec::new(),
            pending: BTreeMap::new(),
            untaken: Vec::new(),
            returns,
            now: Duration::ZERO,
            trace: 0,
            counts: Counts { runs: 1, ..Counts::default() },
            rng,
        }
    }

    /// The program of `rank` does something.
    fn act(&mut self, rank: usize) -> Verdict {
        let tag = self.rng.below(TAGS);
        match self.rng.below(14) {
            0..5 => self.write(rank, tag)?,
            5..7 => self.read(rank, tag, true)?,
            7..10 => self.read(rank, tag, false)?,
            10 => self.end_read(rank, false)?,
            _ if !self.returns => {}
            11..13 => self.end_read(rank, true)?,
            _ => {
                if !self.untaken.is_empty() {
                    let at = self.rng.below(self.untaken.len());
                    let untaken = self.untaken.swap_remove(at);
                    self.leave(untaken)?;
                }
            }
        }
        self.settle(rank)
    }

    fn write(&mut self, from: usize, tag: u32) -> Verdict {
        let to = self.rng.below(self.engines.len());
        let window = self.limits[to].window_bytes as usize;
        let wish = match self.rng.below(4) {
            0 => 0,
            1 => self.rng.below(700),
            2 => window + self.rng.below(700),
            _ => self.rng.below(BYTES_MAX),
        };
        let (number, bytes) = (self.messages.len(), wish.clamp(NUMBER_BYTES, BYTES_MAX));
        let source = Box::new(payload(number, bytes));
        let write = self.engines[from].initwrite(self.now, Rank(to as u32), key(tag), u8::TYPE, source);
        let write = write.map_err(|unposted| unposted.error.to_string())?;
        self.counts.messages += 1;
        self.messages.push(Message { from, to, tag, bytes, write, is_written: false, taken: None });
        Ok(())
    }

    fn read(&mut self, rank: usize, tag: u32, names: bool) -> Verdict {
        let from = names.then(|| self.rng.below(self.engines.len()));
        let allocates = self.rng.once_in(2);
        let (engine, now) = (&mut self.engines[rank], self.now);
        let place = || vec![0xa5_u8; BYTES_MAX];
        let op = match (from, allocates) {
            (Some(from), false) => engine.initread(now, Rank(from as u32), key(tag), u8::TYPE, Box::new(place())),
            (Some(from), true) => {
                let place = Box::new(OnArrival::<u8>::new(BYTES_MAX));
                engine.initread(now, Rank(from as u32), key(tag), u8::TYPE, place)
            }
            (None, false) => {
                engine.initread_any(now, key(tag), u8::TYPE, Box::new(FromAny::<_, Vec<u8>>::new(place())))
            }
            (None, true) => {
                let place = FromAny::<_, Vec<u8>>::new(OnArrival::<u8>::new(BYTES_MAX));
                engine.initread_any(now, key(tag), u8::TYPE, Box::new(place))
            }
        };
        let op = op.map_err(|unposted| unposted.error.to_string())?;
        self.pending.insert((rank, op), Pending { rank, op, from, tag });
        Ok(())
    }

    /// A read of `rank` that has not ended is withdrawn, or also given up.
    fn end_read(&mut self, rank: usize, gives_up: bool) -> Verdict {
        let of_rank: Vec<Pending> = self.pending.values().copied().filter(|read| read.rank == rank).collect();
        if of_rank.is_empty() {
            return Ok(());
        }
        let read = of_rank[self.rng.below(of_rank.len())];
        let is_withdrawn = self.withdraw(read);
        self.counts.abandoned += u64::from(is_withdrawn);
        if !is_withdrawn && gives_up {
            self.engines[rank].unmeet(read.from.map(|from| Rank(from as u32)), read.op);
            self.counts.refused_late += 1;
        }
        self.settle(rank)?;
        if (is_withdrawn || gives_up) && self.pending.contains_key(&(rank, read.op)) {
            return Err(format!("{read:?} goes on"));
        }
        Ok(())
    }

    fn withdraw(&mut self, Pending { rank, op, from, tag }: Pending) -> bool {
        match from {
            Some(from) => self.engines[rank].withdraw(Rank(from as u32), key(tag), op),
            None => self.engines[rank].withdraw_any(key(tag), op),
        }
    }

    /// A message that was not taken goes back, or is taken.
    fn leave(&mut self, Untaken { read, origin, place }: Untaken) -> Verdict {
        if self.returns && self.rng.once_in(2) {
            self.engines[read.rank].put_back(self.now, key(read.tag), origin, place);
            self.counts.refused_late += 1;
            return self.settle(read.rank);
        }
        self.take(read, place)
    }

    /// The program has a message.
    fn take(&mut self, read: Pending, place: Box<dyn ReceiveBuffer>) -> Verdict {
        let buffer = place.into_any();
        let (from, bytes) = match read.from {
            Some(from) => (from, *buffer.downcast::<Vec<u8>>().map_err(|_| "no vector came back")?),
            None => {
                let buffer = buffer.downcast::<(Rank, Vec<u8>)>().map_err(|_| "no origin came back")?;
                (buffer.0.index(), buffer.1)
            }
        };
        let number =
            bytes.first_chunk::<NUMBER_BYTES>().map_or(usize::MAX, |first| u32::from_le_bytes(*first) as usize);
        let message = self.messages.get_mut(number).ok_or_else(|| format!("{read:?} has got {} bytes", bytes.len()))?;
        if (message.from, message.to, message.tag) != (from, read.rank, read.tag) {
            return Err(format!("{read:?} has got message {number} of another key, from {from}"));
        }
        if bytes != payload(number, message.bytes) {
            return Err(format!("{read:?} has got other bytes than message {number}'s"));
        }
        if let Some(other) = message.taken.replace(read.op) {
            return Err(format!("message {number} was read by {other:?} and by {:?}", read.op));
        }
        Ok(())
    }

    /// Takes what the engine of `rank` has to say.
    fn settle(&mut self, rank: usize) -> Verdict {
        while let Some(peer) = self.engines[rank].poll_pending() {
            let at = rank * self.engines.len() + peer.peer.index();
            self.sends[at] = true;
        }
        while let Some(Completed { op, outcome }) = self.engines[rank].poll_completion() {
            self.trace = (self.trace ^ op.0).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
            let read = self.pending.remove(&(rank, op));
            match (outcome, read) {
                (Outcome::Read(place, origin), Some(read)) => {
                    if self.rng.once_in(6) {
                        self.untaken.push(Untaken { read, origin, place });
                    } else {
                        self.take(read, place)?;
                    }
                }
                (Outcome::Abandoned(_), Some(_)) => {}
                (Outcome::Written(_), None) => {
                    let own = |message: &&mut Message| (message.from, message.write) == (rank, op);
                    match self.messages.iter_mut().find(own) {
                        Some(message) if !message.is_written => message.is_written = true,
                        _ => return Err(format!("{op:?} of rank {rank} is no write, or was written twice")),
                    }
                }
                (Outcome::Failed(failure), _) => return Err(format!("rank {rank}: {}", failure.error)),
                (_, read) => return Err(format!("rank {rank}: {op:?}, {read:?}, has ended otherwise")),
            }
        }
        if let Some(failure) = self.engines[rank].failure() {
            return Err(format!("rank {rank}: {failure}"));
        }
        for link in &self.engines[rank].links {
            let (takes, most) = (link.incoming.footprint(), link.incoming.footprint_max());
            if takes > most || link.incoming.envelopes() > self.limits[rank].envelopes_max {
                return Err(format!("rank {rank}: {takes} bytes are taken of {most}, or too many envelopes"));
            }
        }
        Ok(())
    }

    /// Bytes move on one link, if any can. Returns whether any could.
    fn step(&mut self) -> Verdict<bool> {
        self.counts.steps += 1;
        self.now += Duration::from_micros(1);
        let size = self.engines.len();
        let can_move =
            |at: &usize| (self.sends[*at] && self.pipes[*at].len() < self.capacity) || !self.pipes[*at].is_empty();
        let moves: Vec<usize> = (0..size * size).filter(can_move).collect();
        if moves.is_empty() {
            return Ok(false);
        }
        if self.counts.steps > STEPS_MAX {
            return Err("no end".to_owned());
        }
        let at = self.rng.pick(&moves);
        let (from, to) = (at / size, at % size);
        let can_send = self.sends[at] && self.pipes[at].len() < self.capacity;
        if can_send && (self.pipes[at].is_empty() || self.rng.once_in(2)) {
            self.send(from, to)?;
        } else {
            self.receive(from, to)?;
        }
        Ok(true)
    }

    fn send(&mut self, from: usize, to: usize) -> Verdict {
        let at = from * self.engines.len() + to;
        let (pipe, most) = (&mut self.pipes[at], 1 + self.rng.below(2000_usize));
        let room = (self.capacity - pipe.len()).min(most);
        let mut left = room;
        let mut write = |slices: &[IoSlice<'_>]| {
            let before = left;
            for slice in slices {
                let now = left.min(slice.len());
                pipe.extend(&slice[..now]);
                left -= now;
            }
            if before == left { Err(ErrorKind::WouldBlock.into()) } else { Ok(before - left) }
        };
        let sent = self.engines[from].transmit(Rank(to as u32), &mut write).map_err(|error| error.to_string())?;
        self.sends[at] = !matches!(sent, crate::engine::Sent::All);
        self.settle(from)
    }

    fn receive(&mut self, from: usize, to: usize) -> Verdict {
        let at = from * self.engines.len() + to;
        let (pipe, most) = (&mut self.pipes[at], 1 + self.rng.below(2000_usize));
        let predicted = &mut self.counts.predicted;
        let mut read = |slices: &mut [IoSliceMut<'_>]| {
            *predicted += u64::from(slices.len() > 1);
            let mut count = 0;
            for slice in slices.iter_mut() {
                let now = slice.len().min(most - count).min(pipe.len());
                pipe.drain(..now).zip(slice.iter_mut()).for_each(|(from, to)| *to = from);
                count += now;
            }
            if count == 0 { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(count) }
        };
        let _ = self.engines[to].receive(self.now, Rank(from as u32), &mut read);
        self.settle(to)
    }

    /// Nothing moves: no read waits for what was written, and what was read was written.
    fn check_standstill(&self) -> Verdict {
        for read in self.pending.values() {
            let is_for = |message: &&Message| {
                message.taken.is_none()
                    && (message.to, message.tag) == (read.rank, read.tag)
                    && read.from.is_none_or(|from| from == message.from)
            };
            if let Some(message) = self.messages.iter().find(is_for) {
                let outstanding: Vec<_> = self.engines.iter().map(Engine::outstanding).collect();
                return Err(format!("{read:?} waits, and rank {} has written: {outstanding:#?}", message.from));
            }
        }
        let is_cut_off = |message: &&Message| message.taken.is_some() && !message.is_written;
        match self.messages.iter().position(|message| is_cut_off(&message)) {
            Some(number) => Err(format!("message {number} was read, and its write goes on")),
            None => Ok(()),
        }
    }

    /// All reads are withdrawn, and all messages that are left are read.
    fn drain(&mut self) -> Verdict {
        for read in self.pending.values().copied().collect::<Vec<_>>() {
            if !self.withdraw(read) {
                return Err(format!("{read:?} has met a message that does not come"));
            }
            self.settle(read.rank)?;
        }
        let left = self.messages.iter().filter(|message| message.taken.is_none());
        for (to, tag) in left.map(|message| (message.to, message.tag)).collect::<Vec<_>>() {
            self.read(to, tag, false)?;
            self.settle(to)?;
        }
        while self.step()? {}
        while let Some(Untaken { read, place, .. }) = self.untaken.pop() {
            self.take(read, place)?;
        }
        Ok(())
    }

    fn check_end(&mut self) -> Verdict {
        if let Some(number) = self.messages.iter().position(|message| message.taken.is_none() || !message.is_written) {
            let Message { from, to, tag, bytes, taken, .. } = self.messages[number];
            let outstanding: Vec<_> = self.engines.iter().map(Engine::outstanding).collect();
            return Err(format!(
                "message {number}, {bytes} bytes of tag {tag} from {from} to {to}, read by {taken:?}, is not over: {:?}, {outstanding:#?}",
                self.limits[to]
            ));
        }
        if !self.returns {
            self.check_order()?;
        }
        for (rank, engine) in self.engines.iter().enumerate() {
            let is_idle = |link: &crate::engine::link::Link| link.incoming.is_idle() && link.outgoing.is_idle();
            if !engine.outstanding().is_empty() || !engine.links.iter().all(is_idle) {
                return Err(format!("rank {rank}: something is left: {:?}", engine.outstanding()));
            }
        }
        Ok(())
    }

    /// Of one sender and tag, older reads have older messages.
    fn check_order(&self) -> Verdict {
        let mut last = BTreeMap::new();
        for (number, Message { from, to, tag, taken, .. }) in self.messages.iter().enumerate() {
            let before = last.insert((from, to, tag), *taken);
            if before.flatten() > *taken {
                return Err(format!("message {number} was read by an older read than the one before it"));
            }
        }
        Ok(())
    }
}

fn key(tag: u32) -> MatchKey {
    MatchKey::user(Tag(tag))
}

fn payload(number: usize, bytes: usize) -> Vec<u8> {
    let mut all = (number as u32).to_le_bytes().to_vec();
    all.extend(Chance(number as u64).bytes(bytes - NUMBER_BYTES));
    all
}

/// Ranks 1 to 3 have written ten messages each; ten reads later each has been read from as often as another, within one.
#[test]
fn senders_take_turns() {
    let mut world = World::new(Chance(1), false);
    let limits = vec![Limits { window_bytes: 1 << 20, envelopes_max: 16, fragment_bytes: 4096 }; 4];
    world.engines = (0..4).map(|rank| Engine::new(Rank(rank), &limits)).collect();
    (world.limits, world.pipes, world.sends) = (limits, vec![VecDeque::new(); 16], vec![false; 16]);
    for number in 0..30_usize {
        let (from, source) = (1 + number / 10, Box::new(payload(number, 100)));
        let write = world.engines[from].initwrite(world.now, Rank(0), key(1), u8::TYPE, source).unwrap();
        world.messages.push(Message { from, to: 0, tag: 1, bytes: 100, write, is_written: false, taken: None });
        world.settle(from).unwrap();
    }
    while world.step().unwrap() {}
    for reads in 1..=30 {
        world.read(0, 1, false).unwrap();
        world.settle(0).unwrap();
        while let Some(Untaken { read, place, .. }) = world.untaken.pop() {
            world.take(read, place).unwrap();
        }
        let of = |from: usize| {
            world.messages.iter().filter(|message| message.from == from && message.taken.is_some()).count()
        };
        let counts = [of(1), of(2), of(3)];
        assert_eq!(counts.iter().sum::<usize>(), reads);
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?} after {reads}");
    }
}

/// A read of any origin says nothing to ranks that hold nothing back.
#[test]
fn nobody_is_asked_without_need() {
    let limits = vec![Limits { window_bytes: 1 << 20, envelopes_max: 16, fragment_bytes: 4096 }; 4];
    let mut engine = Engine::new(Rank(0), &limits);
    engine.initread_any(Duration::ZERO, key(1), u8::TYPE, Box::new(FromAny::<_, Vec<u8>>::new(vec![0_u8; 8]))).unwrap();
    assert_eq!(engine.poll_pending(), None);
}
