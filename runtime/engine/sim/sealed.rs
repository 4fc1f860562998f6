//! Links with records between engine and socket, over sockets that are full at every byte. (Half of the simulated jobs of
//! `runs` have records too; here the lengths are chosen.)

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSliceMut};
use std::time::Duration;

use crate::buffer::Element;
use crate::chance::Chance;
use crate::engine::{Engine, Limits, OpId, Outcome, Sent};
use crate::ids::{Rank, Tag};
use crate::wire::cipher::tests::repeatable_pair;
use crate::wire::frame::{MatchKey, Stamp};
use crate::wire::records::Records;

const NOW: Duration = Duration::ZERO;
const RECORD_BYTES: usize = 32 << 10;
const RECORDS_BYTES: [usize; 5] = [1, 16, 17, 100, RECORD_BYTES];

/// Two engines, their records, and sockets with little room.
struct Sealed {
    engines: [Engine; 2],
    records: [Records; 2],
    wires: [VecDeque<u8>; 2],
    /// Bytes that a socket takes before it is full.
    room: [usize; 2],
    done: [HashMap<OpId, Outcome>; 2],
    /// Which run this is, for messages about failures.
    what: String,
}

impl Sealed {
    fn new(records: [Records; 2], fragment_bytes: u32, what: String) -> Self {
        let limits = [Limits { window_bytes: 1 << 20, envelopes_max: 16, fragment_bytes }; 2];
        let engines = [0, 1].map(|rank| Engine::new(Rank(rank), &limits));
        Sealed { engines, records, wires: Default::default(), room: [0; 2], done: Default::default(), what }
    }

    fn write(&mut self, from: usize, tag: u32, bytes: Vec<u8>) -> OpId {
        let (to, key) = (Rank(1 - from as u32), MatchKey::user(Tag(tag)));
        self.engines[from].initwrite(NOW, to, key, u8::TYPE, Box::new(bytes)).unwrap()
    }

    fn read(&mut self, rank: usize, tag: u32, bytes: usize) -> OpId {
        let (from, key) = (Rank(1 - rank as u32), MatchKey::user(Tag(tag)));
        self.engines[rank].initread(NOW, from, key, u8::TYPE, Box::new(vec![0u8; bytes])).unwrap()
    }

    fn send(&mut self, from: usize) -> Sent {
        let (wire, room) = (&mut self.wires[from], &mut self.room[from]);
        let mut send = |bytes: &[u8]| {
            let now = bytes.len().min(*room);
            wire.extend(&bytes[..now]);
            *room -= now;
            if now == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(now) }
        };
        let (engine, records, to) = (&mut self.engines[from], &mut self.records[from], Rank(1 - from as u32));
        let (waited, before) = (engine.links[to.index()].sealed.len(), engine.shared.completions.len());
        let sent = engine.transmit_sealed(to, records, &mut send).unwrap();
        let is_left = engine.has_output(to) || records.has_unsent();
        assert_eq!(sent != Sent::All, is_left, "{}: what is left is to be sent on", self.what);
        let ended = engine.shared.completions.len() - before;
        assert!(ended <= waited || !records.has_unsent(), "{}: a write ends when it has left", self.what);
        self.settle(from);
        sent
    }

    fn receive(&mut self, rank: usize, most: usize) -> bool {
        let (wire, records) = (&mut self.wires[1 - rank], &mut self.records[rank]);
        let mut left = most;
        let mut take = |bytes: &mut [u8]| {
            let now = bytes.len().min(left).min(wire.len());
            bytes.iter_mut().zip(wire.drain(..now)).for_each(|(place, byte)| *place = byte);
            left -= now;
            if now == 0 { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(now) }
        };
        loop {
            let mut read = |slices: &mut [IoSliceMut<'_>]| records.read(slices, &mut take);
            match self.engines[rank].receive(NOW, Rank(1 - rank as u32), &mut read) {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}: {error}", self.what);
                    break;
                }
            }
        }
        self.settle(rank);
        left < most
    }

    fn settle(&mut self, rank: usize) {
        while let Some(completion) = self.engines[rank].poll_completion() {
            let again = self.done[rank].insert(completion.op, completion.outcome);
            assert!(again.is_none(), "{}: an operation ended twice", self.what);
        }
        while self.engines[rank].poll_arrival().is_some() {}
        let failure = self.engines[rank].failure();
        assert!(failure.is_none(), "{}: {failure:?}", self.what);
    }

    /// Moves bytes both ways, in pieces of chance, until none move.
    fn run(&mut self, rng: &mut Chance, piece: usize) {
        let mut is_idle = false;
        while !is_idle {
            is_idle = true;
            for rank in 0..2 {
                self.room[rank] = 1 + rng.below(piece);
                let before = self.room[rank];
                self.send(rank);
                is_idle &= self.room[rank] == before;
                is_idle &= !self.receive(1 - rank, 1 + rng.below(piece));
            }
        }
    }

    fn check(&mut self, rank: usize, read: OpId, bytes: &[u8]) {
        match self.done[rank].remove(&read) {
            Some(Outcome::Read(mut place, _)) => {
                assert!(*place.bytes_mut() == *bytes, "{}: other bytes came", self.what)
            }
            _ => panic!("{}: nothing moves, and this is left: {:?}", self.what, self.outstanding()),
        }
    }

    fn outstanding(&self) -> Vec<crate::engine::snapshot::Waiting> {
        self.engines.iter().flat_map(Engine::outstanding).collect()
    }

    fn end(self) -> [Records; 2] {
        assert!(self.outstanding().is_empty(), "{}: this is left: {:?}", self.what, self.outstanding());
        self.records
    }
}

/// `bytes` bytes that tell their places and `seed` apart.
fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed) as u8).collect()
}

/// The records of both ends: encrypted, or with checksums.
fn records(is_encrypted: bool, record_bytes: usize) -> [Records; 2] {
    let (mut one, mut other) = if is_encrypted { repeatable_pair() } else { (Records::checked(), Records::checked()) };
    one.of_at_most(record_bytes);
    other.of_at_most(record_bytes);
    [one, other]
}

/// What was not begun may let others pass; so a short message is posted at each such moment.
#[test]
fn a_socket_may_be_full_at_every_byte() {
    let kinds = [true, false].into_iter().flat_map(|is_encrypted| RECORDS_BYTES.map(|bytes| (is_encrypted, bytes)));
    for (is_encrypted, record_bytes) in kinds {
        let mut records = records(is_encrypted, record_bytes);
        let mut passes_all = false;
        for room in (0..).take_while(|room| *room < 8000) {
            if passes_all {
                break;
            }
            // Records of one byte make a stream twenty times as long: not every place in it.
            let step = if record_bytes < 100 { 7 } else { 1 } * if crate::scale::is_whole() { 1 } else { 5 };
            if room % step != 0 {
                continue;
            }
            let mut rng = Chance(room as u64);
            let what = format!("encrypted {is_encrypted}, records of {record_bytes}, room for {room}");
            let mut sealed = Sealed::new(records, 256, what);
            let sizes = [1001, 17, 0, 513, 1];
            let mut reads = Vec::new();
            for rank in 0..2 {
                for (message, bytes) in sizes.into_iter().enumerate() {
                    sealed.write(rank, message as u32 % 2, pattern(message, bytes));
                    reads.push((1 - rank, sealed.read(1 - rank, message as u32 % 2, bytes), message, bytes));
                }
                sealed.room[rank] = room;
                passes_all = sealed.send(rank) == Sent::All;
                sealed.write(rank, 2, pattern(9, 33));
                sealed.engines[rank].ping(Rank(1 - rank as u32), Stamp { sent_ns: 0, echo_ns: None }, 0);
                reads.push((1 - rank, sealed.read(1 - rank, 2, 33), 9, 33));
            }
            sealed.run(&mut rng, 4000);
            for (rank, read, seed, bytes) in reads {
                sealed.check(rank, read, &pattern(seed, bytes));
            }
            records = sealed.end();
        }
        assert!(passes_all || record_bytes < 100, "no room was enough");
    }
}

#[test]
fn lengths_of_every_residue_pass_and_are_answered() {
    let around = |middle: usize| middle.saturating_sub(20)..middle + 20;
    let lengths: Vec<usize> = [0, 4096, 8192, RECORD_BYTES, 2 * RECORD_BYTES].into_iter().flat_map(around).collect();
    for is_encrypted in [true, false] {
        lengths_pass(&lengths, records(is_encrypted, RECORD_BYTES));
    }
}

fn lengths_pass(lengths: &[usize], mut records: [Records; 2]) {
    for (seed, bytes) in lengths.iter().copied().enumerate().chain([(1000, 60_000), (1001, 32_623)]) {
        let mut rng = Chance(seed as u64);
        let piece = rng.pick(&[500, 5000, 70_000]);
        let mut sealed = Sealed::new(records, 4096, format!("seed {seed}, {bytes} bytes, pieces of {piece}"));
        for rank in 0..2 {
            // One of them finds the socket full.
            sealed.write(rank, 1, pattern(1, 60_000));
            sealed.room[rank] = rng.below(70_000);
            sealed.send(rank);
            sealed.write(rank, 1, pattern(2, bytes));
            sealed.room[rank] = rng.below(40_000);
            sealed.send(rank);
        }
        let first = [0, 1].map(|rank| sealed.read(rank, 1, 60_000));
        let second = [0, 1].map(|rank| sealed.read(rank, 1, bytes));
        sealed.run(&mut rng, piece);
        sealed.write(1, 2, vec![3]);
        let answer = sealed.read(0, 2, 1);
        sealed.run(&mut rng, piece);
        for rank in 0..2 {
            sealed.check(rank, first[rank], &pattern(1, 60_000));
            sealed.check(rank, second[rank], &pattern(2, bytes));
        }
        sealed.check(0, answer, &[3]);
        records = sealed.end();
    }
}
