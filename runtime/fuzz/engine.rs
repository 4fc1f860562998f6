//! An engine that a peer with the key talks to, over connections that are cut.
//!
//! The input is a program: a byte says what is done next, the bytes behind it with what.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::time::Duration;

use crate::buffer::{Element, ElementType};
use crate::engine::{Engine, Limits, OpId, Outcome};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::wire::frame::{CONTROL_BYTES_MAX, Header, MatchKey, MessageHeader};

const PEER: Rank = Rank(1);
const LIMITS: Limits = Limits { window_bytes: 3000, envelopes_max: 3, fragment_bytes: 256 };
/// Operations of one input.
const OPS_MAX: usize = 200;

struct Victim<'a> {
    engine: Engine,
    ops: Vec<OpId>,
    input: &'a [u8],
    /// The number of the peer's next frame.
    number: u32,
    now: Duration,
}

/// Every operation ends, whatever the peer says.
pub fn engine(bytes: &[u8]) {
    let engine = Engine::new(Rank(0), &[LIMITS, LIMITS]);
    let mut victim = Victim { engine, ops: Vec::new(), input: bytes, number: 0, now: Duration::ZERO };
    while let Some(what) = victim.byte() {
        victim.step(what);
        victim.settle();
        if victim.engine.failure().is_some() {
            break;
        }
    }
    victim.engine.fail(Error::Shutdown { rank: Rank(0) });
    victim.settle();
    assert!(victim.ops.is_empty(), "{:?} never ended", victim.ops);
    drop(victim.engine.take_spent());
}

impl Victim<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.input.split_first()?;
        self.input = rest;
        Some(*byte)
    }

    /// The next so many bytes, or fewer.
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (bytes, rest) = self.input.split_at(count.min(self.input.len()));
        self.input = rest;
        bytes.to_vec()
    }

    fn number<const BYTES: usize>(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.bytes(BYTES).into_iter().zip(&mut bytes).for_each(|(from, to)| *to = from);
        u64::from_le_bytes(bytes)
    }

    fn step(&mut self, what: u8) {
        let (tag, argument) = (Tag(u32::from(what >> 3) % 4), usize::from(self.byte().unwrap_or(0)));
        match what % 8 {
            0 if self.ops.len() < OPS_MAX => {
                let place = Box::new(vec![0u8; argument * argument]);
                self.ops.extend(self.engine.initread(self.now, PEER, MatchKey::user(tag), u8::TYPE, place).ok());
            }
            1 if self.ops.len() < OPS_MAX => {
                let source = Box::new(vec![1u8; argument * argument]);
                self.ops.extend(self.engine.initwrite(self.now, PEER, MatchKey::user(tag), u8::TYPE, source).ok());
            }
            2 => self.send(argument * 64),
            3 => self.goes_on(argument),
            4 => {
                self.now += Duration::from_millis(argument as u64);
                self.engine.acknowledge(self.now);
                if argument == 255 {
                    self.engine.goodbye(None);
                }
            }
            5 => {
                let frame = self.frame(argument);
                self.hears(&frame, usize::MAX);
            }
            // A frame begins, or goes on.
            what => {
                let bytes = self.bytes(argument);
                self.number = self.number.wrapping_add(u32::from(what == 7));
                self.hears(&bytes, 1 + argument / 3);
            }
        }
    }

    /// A frame with the right number: the rest is the input's.
    fn frame(&mut self, kind: usize) -> Vec<u8> {
        let (flags, message_id) = (self.byte().unwrap_or(0), self.number::<1>());
        let length = (self.number::<1>() as u32).min(CONTROL_BYTES_MAX as u32);
        let mut head = [0; 16];
        head[0] = (kind % 14) as u8;
        head[1] = length as u8;
        head[4..8].copy_from_slice(&self.number.to_le_bytes());
        head[8] = message_id as u8;
        head[15] = flags;
        self.number = self.number.wrapping_add(1);
        let mut frame = head.to_vec();
        if Header::decode(&head).is_ok_and(|header| header.has_opening()) {
            let (tag, element, total) = (Tag(self.number::<1>() as u32 % 4), self.number::<1>(), self.number::<2>());
            let element = ElementType(if element == 0 { u8::TYPE.0 } else { element as u16 });
            frame.extend(MessageHeader { key: MatchKey::user(tag), element, total }.encode());
        }
        if kind % 14 == 12 && flags == 0 {
            // A position that may be, mostly.
            let (from, to) = (self.engine.acknowledged(PEER), self.engine.sent(PEER));
            let position = from + self.number::<1>() * (to - from) / 250;
            frame[1] = 8;
            frame.extend(position.to_le_bytes());
        } else {
            frame.extend(self.bytes(length as usize));
        }
        frame
    }

    fn hears(&mut self, mut bytes: &[u8], piece: usize) {
        while !bytes.is_empty() && self.engine.failure().is_none() {
            let most = piece.min(bytes.len());
            let mut read = |slices: &mut [IoSliceMut<'_>]| (&bytes[..most]).read_vectored(slices);
            let count = self.engine.receive(self.now, PEER, &mut read).expect("it gives what there is");
            bytes = &bytes[count..];
        }
    }

    fn send(&mut self, mut room: usize) {
        let mut write = |slices: &[IoSlice<'_>]| {
            let count = slices.iter().map(|slice| slice.len()).sum::<usize>().min(room);
            room -= count;
            if count == 0 { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(count) }
        };
        self.engine.transmit(PEER, &mut write).expect("the socket is there");
    }

    /// The connection is cut; the peer comes again.
    fn goes_on(&mut self, argument: usize) {
        let (from, to) = (self.engine.acknowledged(PEER), self.engine.sent(PEER));
        self.engine.suspend(PEER);
        let position = from.wrapping_add(argument as u64 * (to - from) / 250);
        match self.engine.resume(PEER, position) {
            Ok(again) => assert!(position <= to && again == to - position),
            Err(cause) => {
                assert!(position > to);
                self.engine.fail(Error::Protocol { peer: PEER, cause });
            }
        }
    }

    fn settle(&mut self) {
        if let Some((peer, cause)) = self.engine.poll_failed_peer() {
            self.engine.fail_lost(peer, &cause);
        }
        while self.engine.poll_pending().is_some() {}
        while let Some(completion) = self.engine.poll_completion() {
            let before = self.ops.len();
            self.ops.retain(|op| *op != completion.op);
            assert!(self.ops.len() < before, "{:?} ends twice", completion.op);
            if let Outcome::Written(written) = completion.outcome {
                drop(written.take());
            }
        }
        while self.engine.poll_refusal().is_some() {}
        while self.engine.poll_arrival().is_some() {}
        while self.engine.poll_stranger().is_some() || self.engine.poll_holder().is_some() {}
        while self.engine.poll_request().is_some() {}
    }
}
