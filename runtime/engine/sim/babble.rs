//! An authenticated peer that talks nonsense in well-formed frames: the most that a broken one can do.

use std::collections::HashSet;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::time::Duration;

use super::runs::{Counts, each_seed};
use super::starts::Starts;
use super::world::Verdict;
use crate::buffer::{Element, ElementType};
use crate::chance::Chance;
use crate::engine::snapshot::Waiting;
use crate::engine::{Engine, Limits, OpId, Outcome};
use crate::error::Error;
use crate::error::WireError;
use crate::ids::{Rank, Tag};
use crate::operation::OperationKind;
use crate::wire::frame::{
    ANSWER, CHARGED, Context, FIRST, HOLDING, Header, Kind, MatchKey, MessageHeader, PING, Stamp,
};

pub(super) const PEER: Rank = Rank(1);
pub(super) const LIMITS: Limits = Limits { window_bytes: 3000, envelopes_max: 3, fragment_bytes: 4096 };
pub(super) const KINDS: [Kind; 16] = [
    Kind::Data,
    Kind::Data,
    Kind::Data,
    Kind::Data,
    Kind::Envelope,
    Kind::Envelope,
    Kind::Grant,
    Kind::Credit,
    Kind::Hold,
    Kind::Want,
    Kind::Refuse,
    Kind::Abort,
    Kind::Goodbye,
    Kind::GoodbyeAck,
    Kind::Stamp,
    Kind::Acknowledgement,
];

/// What may be kept for a peer that acknowledges nothing, and the batch by which that may be more.
pub(super) const KEPT_MAX: usize = (1 << 20) + (128 << 10);
/// Control frames that may wait for one that does not read.
const CONTROL_MAX: usize = 200;

#[test]
fn well_formed_nonsense_ends_the_link_only() {
    each_seed("well_formed_nonsense_ends_the_link_only", 100_000, babble);
}

/// A stream of one message of 4000 bytes in fragments of these lengths, the first message header it.
fn fragments(lengths: &[usize], again: Option<usize>) -> Vec<u8> {
    let (mut bytes, mut at) = (Vec::new(), 0);
    for (number, length) in lengths.iter().enumerate() {
        let first = number == 0 || again == Some(number);
        let flags = if first { FIRST } else { 0 };
        let header = Header { kind: Kind::Data, flags, number: number as u32, message_id: 0, length: *length as u32 };
        bytes.extend(header.encode());
        if first {
            let key = MatchKey::user(Tag(0));
            bytes.extend(MessageHeader { key, element: u8::TYPE, total: 4000 }.encode());
        }
        bytes.extend((at..at + length).map(|at| (at % 251) as u8));
        at += length;
    }
    bytes
}

/// Lets an engine with a posted read receive `bytes`, by reads of at most `piece`.
fn receive_all(bytes: &[u8], piece: usize) -> Engine {
    let limits = Limits { window_bytes: 5000, ..LIMITS };
    let mut engine = Engine::new(Rank(0), &[Limits { fragment_bytes: 100, ..limits }, limits]);
    let key = MatchKey::user(Tag(0));
    engine.initread(Duration::ZERO, PEER, key, u8::TYPE, Box::new(vec![0u8; 4000])).unwrap();
    let mut rest = bytes;
    while !rest.is_empty() && engine.failure().is_none() {
        let mut read = |slices: &mut [IoSliceMut<'_>]| (&rest[..piece.min(rest.len())]).read_vectored(slices);
        let count = engine.receive(Duration::ZERO, PEER, &mut read).unwrap();
        rest = &rest[count..];
    }
    engine
}

#[test]
fn fragments_may_differ_from_what_was_predicted() {
    for piece in [30, 116, 117, 500, 5000] {
        let lengths = [100, 100, 100, 60, 100, 100, 140, 100, 0, 100, 1500, 500, 1, 99, 1000];
        let mut engine = receive_all(&fragments(&lengths, None), piece);
        let Some(Outcome::Read(mut place, _)) = engine.poll_completion().map(|completion| completion.outcome) else {
            panic!("pieces of {piece}: the message is not complete: {:?}", engine.failure());
        };
        let right = place.bytes_mut().iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8);
        assert!(right, "pieces of {piece}: other bytes have come");
        let engine = receive_all(&fragments(&[100; 40], Some(20)), piece);
        let failure = engine.failure();
        let twice = matches!(failure, Some(Error::Protocol { cause: WireError::Twice { message_id: 0, .. }, .. }));
        assert!(twice, "pieces of {piece}: the message was opened twice; {failure:?}");
    }
}

/// The engine that is talked to, and its operations that have not ended.
pub(super) struct Victim {
    rng: Chance,
    pub(super) engine: Engine,
    pub(super) ops: HashSet<OpId>,
    reads: Vec<(MatchKey, OpId)>,
}

fn babble(seed: u64) -> Verdict<(Counts, u64)> {
    let mut rng = Chance(seed);
    let fragment = rng.pick(&[1, 16, 600, 4096]);
    let mut victim = Victim::new(rng, fragment);
    let starts = Starts::random(&mut |end| victim.rng.below(end));
    victim.engine.begin_at(starts);
    let babbler = Babbler { number: starts.frames, next_message_id: starts.message_ids, ..Babbler::default() };
    let (mut babbler, mut trace) = (babbler, 0u64);
    let mut counts = Counts { runs: 1, ..Counts::default() };
    let frames = 4 + victim.rng.below(120);
    for _ in 0..frames {
        if victim.engine.failure().is_some() {
            counts.failures += 1;
            break;
        }
        for _ in 0..victim.rng.below(3) {
            victim.act()?;
        }
        if victim.rng.once_in(40) {
            victim.goes_on(true, &mut counts)?;
        }
        babbler.heard = (victim.engine.acknowledged(PEER), victim.engine.sent(PEER));
        let bytes = babbler.frame(&mut victim.rng);
        counts.bytes += bytes.len() as u64;
        counts.steps += 1;
        for piece in bytes.chunks(1 + victim.rng.below(60)) {
            victim.engine.handle_bytes(Duration::ZERO, PEER, piece);
            victim.settle(&mut counts)?;
        }
        trace = trace.rotate_left(7) ^ victim.ops.len() as u64 ^ victim.engine.buffered_bytes();
    }
    victim.end(&mut counts)?;
    Ok((counts, trace))
}

impl Victim {
    /// One whose own fragments are so long.
    pub(super) fn new(rng: Chance, fragment_bytes: u32) -> Self {
        let engine = Engine::new(Rank(0), &[Limits { fragment_bytes, ..LIMITS }, LIMITS]);
        Victim { rng, engine, ops: HashSet::new(), reads: Vec::new() }
    }

    /// Its job fails: every operation has ended then.
    pub(super) fn end(&mut self, counts: &mut Counts) -> Verdict {
        self.engine.fail(Error::Shutdown { rank: Rank(0) });
        self.settle(counts)?;
        if self.ops.is_empty() { Ok(()) } else { Err(format!("{:?} never ended", self.ops)) }
    }

    /// Its connection is cut, and the peer comes again with a position that is possible, or mostly so if it `lies`.
    pub(super) fn goes_on(&mut self, lies: bool, counts: &mut Counts) -> Verdict {
        let (from, to) = (self.engine.acknowledged(PEER), self.engine.sent(PEER));
        let is_false = lies && self.rng.once_in(8);
        let outside =
            [from.wrapping_sub(1), to.wrapping_add(1), from.wrapping_add(1 << 63), from.wrapping_sub(1 << 32)];
        let position = match is_false {
            true => self.rng.pick(&outside),
            false => from.wrapping_add(self.rng.below(to.wrapping_sub(from) + 1)),
        };
        self.engine.suspend(PEER);
        let kept = self.engine.links[PEER.index()].outgoing.retention.memory();
        match self.engine.resume(PEER, position) {
            Ok(_) if is_false => return Err(format!("{position} is not in {from} to {to}, and it goes on")),
            Ok(again) if again != to.wrapping_sub(position) => {
                return Err(format!("{again} bytes again, from {position} to {to}"));
            }
            Err(error) if !is_false => return Err(format!("{position} is in {from} to {to}: {error}")),
            Ok(again) => {
                counts.again += again;
                counts.resumed += 1;
            }
            Err(cause) => self.engine.fail(Error::Protocol { peer: PEER, cause }),
        }
        if self.engine.links[PEER.index()].outgoing.retention.memory() > kept {
            return Err("a new connection takes memory".to_owned());
        }
        self.settle(counts)
    }

    fn act(&mut self) -> Verdict {
        let key = key(&mut self.rng);
        let bytes = vec![1u8; self.rng.pick(&[0, 1, 8, 700, 2000, 9000])];
        let now = Duration::ZERO;
        let posted = match self.rng.below(12) {
            0..4 => self.engine.initread(now, PEER, key, u8::TYPE, Box::new(bytes)).inspect(|op| {
                self.reads.push((key, *op));
            }),
            4..7 => self.engine.initwrite(now, PEER, key, u8::TYPE, Box::new(bytes)).inspect(|op| {
                self.engine.stamp(PEER, *op, Stamp { sent_ns: 0, echo_ns: None });
            }),
            7 => {
                if let Some((key, op)) = self.reads.pop() {
                    self.engine.withdraw(PEER, key, op);
                }
                return Ok(());
            }
            8 => {
                if self.rng.once_in(20) {
                    self.engine.goodbye(None);
                }
                return Ok(());
            }
            _ => {
                self.send();
                return Ok(());
            }
        };
        if let Ok(op) = posted
            && !self.ops.insert(op)
        {
            return Err(format!("{op:?} was used twice"));
        }
        Ok(())
    }

    fn send(&mut self) {
        let rng = &mut self.rng;
        let mut write = |slices: &[IoSlice<'_>]| {
            let all: usize = slices.iter().map(|slice| slice.len()).sum();
            let most = rng.below(3000);
            if most == 0 { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(all.min(most)) }
        };
        self.engine.transmit(PEER, &mut write).expect("the socket is there");
    }

    /// Takes what has come of it, and checks that this is bounded.
    pub(super) fn settle(&mut self, counts: &mut Counts) -> Verdict {
        if let Some((peer, cause)) = self.engine.poll_failed_peer() {
            self.engine.fail_lost(peer, &cause);
        }
        while self.engine.poll_pending().is_some() {}
        while let Some(completion) = self.engine.poll_completion() {
            if !self.ops.remove(&completion.op) {
                return Err(format!("{:?} ends twice", completion.op));
            }
            counts.messages += 1;
            counts.failed += u64::from(matches!(completion.outcome, Outcome::Failed(..)));
        }
        while self.engine.poll_refusal().is_some() {
            counts.refused_late += 1;
        }
        let stamps = std::iter::from_fn(|| self.engine.poll_arrival()).count();
        if stamps > 16 {
            return Err(format!("{stamps} stamps are kept"));
        }
        // Nothing ends what is left when the peer has said goodbye: neither its connection's end nor its loss.
        let waits = |waiting: &Waiting| waiting.kind == OperationKind::Read && waiting.peer == PEER;
        if self.engine.has_left(PEER) && self.engine.outstanding().iter().any(waits) {
            return Err("a read waits for a peer that has left".to_owned());
        }
        let outgoing = &self.engine.links[PEER.index()].outgoing;
        let (kept, control) = (outgoing.retention.memory(), outgoing.control.len());
        if kept > KEPT_MAX || control > CONTROL_MAX {
            return Err(format!("{kept} bytes are kept, {control} control frames wait"));
        }
        let (buffered, envelopes) = (self.engine.buffered_bytes(), self.engine.envelopes());
        let incoming = &self.engine.links[PEER.index()].incoming;
        let (takes, most) = (incoming.footprint(), incoming.footprint_max());
        if takes > most {
            return Err(format!("{takes} bytes are taken for messages and {most} charged"));
        }
        if buffered > LIMITS.window_bytes || envelopes > LIMITS.envelopes_max {
            return Err(format!("{buffered} bytes and {envelopes} envelopes are beyond the limits"));
        }
        Ok(())
    }
}

fn key(rng: &mut Chance) -> MatchKey {
    MatchKey::new(rng.pick(&[Context::User, Context::User, Context::Collective]), Tag(rng.below(2) as u32))
}

/// Who talks: mostly about what it has opened, so that the nonsense goes deep.
#[derive(Default)]
struct Babbler {
    number: u32,
    next_message_id: u64,
    /// Messages it has opened, and the bytes it has not sent.
    opened: Vec<(u64, u64)>,
    /// Of what the victim has sent: what is acknowledged, and all.
    heard: (u64, u64),
}

impl Babbler {
    /// What it says that it has received: mostly so, seldom more than there was.
    fn position(&self, rng: &mut Chance) -> u64 {
        let (from, to) = self.heard;
        let odd = [from.wrapping_sub(1), to.wrapping_add(1), 0, to.wrapping_add(1 << 40)];
        if rng.once_in(20) { rng.pick(&odd) } else { from.wrapping_add(rng.below(to.wrapping_sub(from) + 1)) }
    }

    /// A frame whose number is right, and the rest likely.
    fn frame(&mut self, rng: &mut Chance) -> Vec<u8> {
        let mut kind = rng.pick(&KINDS);
        while matches!(kind, Kind::Goodbye | Kind::GoodbyeAck | Kind::Abort) && !rng.once_in(15) {
            kind = rng.pick(&KINDS);
        }
        let wild = rng.once_in(25);
        let total = if wild { rng.next() } else { rng.pick(&[0, 1, 8, 100, 300, 700]) };
        let opens = kind == Kind::Envelope || (kind == Kind::Data && (self.opened.is_empty() || rng.once_in(3)));
        let known = if self.opened.is_empty() { 0 } else { rng.below(self.opened.len()) };
        let message_id = match kind {
            _ if wild || self.opened.is_empty() => rng.below(6) as u64,
            Kind::Data | Kind::Abort if !opens => self.opened[known].0,
            _ => rng.below(6) as u64,
        };
        let message_id = if opens && !wild { self.next_message_id } else { message_id };
        let left = if opens { total } else { self.opened.get(known).map_or(0, |(_, left)| *left) };
        let length = match kind {
            Kind::Data if wild => rng.below(800),
            Kind::Data => rng.pick(&[0, 1, 100, 700]).min(left as usize),
            Kind::Credit | Kind::Acknowledgement => 8,
            Kind::Stamp => 16,
            _ if wild => rng.below(20),
            _ => 0,
        };
        if opens {
            self.next_message_id += 1;
            self.opened.push((message_id, total));
        }
        if kind == Kind::Data
            && let Some((_, left)) = self.opened.iter_mut().find(|(opened, _)| *opened == message_id)
        {
            *left = left.saturating_sub(length as u64);
        }
        let flags = match kind {
            _ if wild => rng.below(64) as u8,
            Kind::Data if opens => FIRST,
            Kind::Data => rng.pick(&[0, 0, CHARGED]),
            Kind::Hold => rng.pick(&[0, HOLDING]),
            Kind::Envelope => rng.pick(&[0, 0, ANSWER]),
            Kind::Stamp => rng.pick(&[0, PING]),
            _ => 0,
        };
        let header = Header { kind, flags, number: self.number, message_id, length: length as u32 };
        self.number = self.number.wrapping_add(1);
        let mut bytes = header.encode().to_vec();
        if header.has_opening() {
            let element = if rng.once_in(6) { ElementType(rng.below(14) as u16) } else { u8::TYPE };
            bytes.extend(MessageHeader { key: key(rng), element, total }.encode());
        }
        let credit = rng.pick(&[0, 100, 1000, u64::MAX]);
        let credit = if kind == Kind::Acknowledgement && !wild { self.position(rng) } else { credit };
        bytes.extend(credit.to_le_bytes().into_iter().chain(std::iter::repeat(7)).take(length));
        bytes
    }
}
