//! Single promises of the engine, one test each, on two engines joined by plain byte queues.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::buffer::{Element, SendBuffer};
use crate::engine::{Engine, Limits, OpId, Outcome, Sent};
use crate::ids::{Path, Rank, Tag};
use crate::operation::OperationKind;
use crate::wire::frame::{HEADER_BYTES, MESSAGE_HEADER_BYTES, MatchKey};

pub(super) const NOW: Duration = Duration::ZERO;
pub(super) const FRAGMENT: usize = 4096;
pub(super) const MIB: usize = 1 << 20;

/// Two engines and what is between them.
pub(super) struct Pair {
    pub(super) engines: [Engine; 2],
    /// Bytes on their way from rank 0 and from rank 1.
    wires: [VecDeque<u8>; 2],
    wire_bytes_max: usize,
    done: [HashMap<OpId, Outcome>; 2],
    /// Bytes read through a single slice, thus by way of the staging buffer.
    pub(super) staged: usize,
    /// Bytes read by vectored reads.
    pub(super) predicted: usize,
    /// Calls of `send` and `receive`, so that no test goes on for ever.
    steps: u32,
}

const STEPS_MAX: u32 = 1_000_000;

impl Pair {
    pub(super) fn new(window_bytes: u64, envelopes_max: u32, wire_bytes_max: usize) -> Self {
        let limits = Limits { window_bytes, envelopes_max, fragment_bytes: FRAGMENT as u32 };
        let engine = |rank| Engine::new(Rank(rank), &[limits, limits]);
        Pair {
            engines: [engine(0), engine(1)],
            wires: Default::default(),
            wire_bytes_max,
            done: Default::default(),
            staged: 0,
            predicted: 0,
            steps: 0,
        }
    }

    pub(super) fn write(&mut self, from: usize, tag: u32, source: impl SendBuffer + 'static) -> OpId {
        let to = Rank(1 - from as u32);
        let op = self.engines[from].initwrite(NOW, to, MatchKey::user(Tag(tag)), u8::TYPE, Box::new(source));
        self.settle(from);
        op.unwrap()
    }

    pub(super) fn read(&mut self, rank: usize, tag: u32, bytes: usize) -> OpId {
        let (from, place) = (Rank(1 - rank as u32), Box::new(vec![0u8; bytes]));
        let op = self.engines[rank].initread(NOW, from, MatchKey::user(Tag(tag)), u8::TYPE, place);
        self.settle(rank);
        op.unwrap()
    }

    pub(super) fn send(&mut self, from: usize) -> Sent {
        let (wire, most) = (&mut self.wires[from], self.wire_bytes_max);
        let mut write = |slices: &[IoSlice<'_>]| {
            let before = wire.len();
            for slice in slices {
                let room = most - wire.len();
                wire.extend(&slice[..room.min(slice.len())]);
            }
            if wire.len() == before { Err(ErrorKind::WouldBlock.into()) } else { Ok(wire.len() - before) }
        };
        let sent = self.engines[from].transmit(Rank(1 - from as u32), &mut write).unwrap();
        self.settle(from);
        sent
    }

    /// `rank` tells what has come, if it is to.
    fn acknowledge(&mut self, rank: usize) {
        if self.engines[rank].has_output(Rank(1 - rank as u32)) {
            self.send(rank);
            self.receive(1 - rank, usize::MAX);
        }
    }

    /// `rank` reads once, at most `most` bytes.
    pub(super) fn receive(&mut self, rank: usize, most: usize) -> usize {
        let wire = &mut self.wires[1 - rank];
        let (staged, predicted) = (&mut self.staged, &mut self.predicted);
        let mut read = |slices: &mut [IoSliceMut<'_>]| {
            let mut count = 0;
            for slice in slices.iter_mut() {
                let now = slice.len().min(most - count).min(wire.len());
                wire.drain(..now).zip(slice.iter_mut()).for_each(|(from, to)| *to = from);
                count += now;
            }
            *(if slices.len() == 1 { &mut *staged } else { &mut *predicted }) += count;
            if count == 0 { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(count) }
        };
        let count = self.engines[rank].receive(NOW, Rank(1 - rank as u32), &mut read).unwrap_or(0);
        self.settle(rank);
        count
    }

    pub(super) fn settle(&mut self, rank: usize) {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "no end: {:?}", self.engines.each_ref().map(|engine| engine.outstanding()));
        let engine = &mut self.engines[rank];
        while let Some(completion) = engine.poll_completion() {
            assert!(self.done[rank].insert(completion.op, completion.outcome).is_none(), "an operation ended twice");
        }
        assert!(engine.failure().is_none(), "{:?}", engine.failure());
    }

    /// Moves bytes both ways until none move.
    pub(super) fn run(&mut self) {
        let mut idle = false;
        while !idle {
            idle = true;
            for rank in 0..2 {
                if self.engines[rank].has_output(Rank(1 - rank as u32)) {
                    let before = self.wires[rank].len();
                    self.send(rank);
                    idle &= self.wires[rank].len() == before;
                }
                idle &= self.receive(1 - rank, usize::MAX) == 0;
            }
        }
    }

    pub(super) fn is_done(&self, rank: usize, op: OpId) -> bool {
        self.done[rank].contains_key(&op)
    }

    pub(super) fn take(&mut self, rank: usize, op: OpId) -> Vec<u8> {
        match self.done[rank].remove(&op) {
            Some(Outcome::Read(place, _)) => *place.into_any().downcast().expect("the buffer that was posted"),
            _ => panic!("{op:?} is not a read that has ended; {:?}", self.engines[rank].outstanding()),
        }
    }

    /// Bytes that `from` has sent and nobody has read.
    pub(super) fn on_the_wire(&self, from: usize) -> usize {
        self.wires[from].len()
    }

    fn frames_sent(&self, rank: usize) -> u32 {
        self.engines[rank].frames().0[1 - rank]
    }
}

/// `bytes` bytes that tell their places and `seed` apart.
pub(super) fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed) as u8).collect()
}

#[test]
fn a_short_write_leaves_as_it_is_posted_unless_something_is_before_it() {
    let mut pair = Pair::new(1 << 20, 16, MIB);
    let at_once = |pair: &mut Pair, tag: u32, bytes: usize| {
        let (engine, wire) = (&mut pair.engines[0], &mut pair.wires[0]);
        let mut write = |slices: &[IoSlice<'_>]| {
            slices.iter().for_each(|slice| wire.extend(&slice[..]));
            Ok(slices.iter().map(|slice| slice.len()).sum())
        };
        let what = (MatchKey::user(Tag(tag)), u8::TYPE);
        let sent = engine.write_at_once(Rank(1), what, &vec![tag as u8; bytes], &mut write).unwrap();
        sent.map(|(_, sent)| assert_eq!(sent, Sent::All)).is_some()
    };
    assert!(at_once(&mut pair, 1, 8));
    assert_eq!(pair.wires[0].len(), HEADER_BYTES + MESSAGE_HEADER_BYTES + 8);
    assert!(!at_once(&mut pair, 1, FRAGMENT + 1), "a longer one is cut into fragments");
    let queued = pair.write(0, 1, vec![2u8; 8]);
    assert!(!at_once(&mut pair, 1, 8), "one is before it");
    pair.send(0);
    assert!(pair.done[0].contains_key(&queued) && at_once(&mut pair, 1, 8));
    let reads = [1u8, 2, 1].map(|is| (pair.read(1, 1, 8), is));
    pair.run();
    for (read, is) in reads {
        let Some(Outcome::Read(mut place, _)) = pair.done[1].remove(&read) else { panic!("it has come") };
        assert_eq!(place.bytes_mut(), [is; 8]);
    }
    pair.engines[0].goodbye(None);
    assert!(!at_once(&mut pair, 1, 8), "it has said goodbye");
}

/// A message in two lanes is two to send and to read; on the first alone it is one, but what is short waits behind it.
#[test]
fn beside_other_lanes_a_message_goes_whole_on_the_first_if_little_is_ahead_there() {
    const HEADS: usize = HEADER_BYTES + MESSAGE_HEADER_BYTES;
    let first_lane = |sizes: &[usize]| -> Vec<usize> {
        let mut pair = Pair::new(1 << 20, 16, MIB);
        pair.engines[0].open_lanes(Rank(1), 1);
        pair.engines[0].resume(Path { peer: Rank(1), lane: 1 }, 0).expect("nothing has been sent on it");
        let went = |&bytes: &usize| {
            let before = pair.wires[0].len();
            pair.write(0, 1, vec![0u8; bytes]);
            pair.send(0);
            pair.wires[0].len() - before - HEADS
        };
        sizes.iter().map(went).collect()
    };
    let (beginning, some, most) = (FRAGMENT, 20 << 10, 32 << 10);
    assert_eq!(first_lane(&[most]), [most]);
    assert_eq!(first_lane(&[most + 1, 8, some]), [beginning, 8, beginning], "a long one is under way");
    assert_eq!(first_lane(&[some; 4]), [some, some, some, beginning], "nothing is acknowledged");
}

#[test]
fn eight_bytes_pass_a_gigabyte() {
    let mut pair = Pair::new(64 << 20, 1024, 64 << 10);
    // Memory of zeros that nobody touches costs nothing.
    let long = pair.read(1, 1, 1 << 30);
    pair.write(0, 1, vec![0u8; 1 << 30]);
    pair.run_some(20);
    assert_eq!(pair.send(0), Sent::Blocked);
    let short = pair.read(1, 2, 8);
    let before = pair.frames_sent(0);
    let on_the_wire = pair.wires[0].len();
    pair.write(0, 2, pattern(3, 8));
    assert_eq!(pair.send(0), Sent::Blocked, "the wire is full");
    let mut read = 0;
    while !pair.is_done(1, short) {
        read += pair.receive(1, 4096);
        pair.send(0);
        assert!(read < 2 * on_the_wire, "8 bytes wait behind a long message");
    }
    assert_eq!(pair.take(1, short), pattern(3, 8));
    // What was on the wire, the frame under way, the message, and what the last piece read held beside it.
    let most = on_the_wire + 3 * (FRAGMENT + HEADER_BYTES + MESSAGE_HEADER_BYTES);
    assert!(read <= most, "{read} bytes were read before 8 bytes came through, {on_the_wire} were on the wire");
    let frames = pair.frames_sent(0) - before;
    assert!(frames <= on_the_wire.div_ceil(FRAGMENT) as u32 + 4, "{frames} frames left meanwhile");
    assert!(!pair.is_done(1, long));
}

impl Pair {
    fn run_some(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.send(0);
            self.receive(1, usize::MAX);
            self.send(1);
            self.receive(0, usize::MAX);
        }
    }

    /// Bytes of each message of `tag` that have come to `rank`.
    fn arrived(&self, rank: usize, tag: u32) -> u64 {
        let all = self.engines[rank].outstanding().into_iter();
        all.filter(|waiting| waiting.tag == Some(Tag(tag))).map(|waiting| waiting.done).sum()
    }
}

#[test]
fn long_messages_share_the_link() {
    let mut pair = Pair::new(64 << 20, 1024, 32 << 10);
    let sizes = [8 * MIB, 8 * MIB];
    let reads = [1, 2].map(|tag| pair.read(1, tag, sizes[0]));
    pair.write(0, 1, pattern(1, sizes[0]));
    pair.write(0, 2, pattern(2, sizes[1]));
    let mut widest = 0;
    while !reads.iter().any(|op| pair.is_done(1, *op)) {
        pair.send(0);
        pair.receive(1, 10_000);
        pair.acknowledge(1);
        if !reads.iter().any(|op| pair.is_done(1, *op)) {
            widest = widest.max(pair.arrived(1, 1).abs_diff(pair.arrived(1, 2)));
        }
    }
    assert!(widest <= 6 * FRAGMENT as u64, "one long message was {widest} bytes ahead of the other");
    pair.run();
    assert!(pair.take(1, reads[0]) == pattern(1, sizes[0]) && pair.take(1, reads[1]) == pattern(2, sizes[1]));
}

/// So that each can be passed on while the next comes; unless a small one of their tag must not come before them.
#[test]
fn of_many_messages_the_first_is_there_before_the_last_begins() {
    for has_small in [false, true] {
        let mut pair = Pair::new(64 << 20, 1024, 8 << 10);
        let reads: Vec<OpId> = (0..8).map(|_| pair.read(1, 1, 3 * FRAGMENT)).collect();
        (0..8).for_each(|message| _ = pair.write(0, 1, pattern(message, 3 * FRAGMENT)));
        let small = has_small.then(|| {
            pair.write(0, 1, pattern(8, 8));
            pair.read(1, 1, 8)
        });
        while !pair.is_done(1, reads[0]) {
            pair.send(0);
            pair.receive(1, 10_000);
        }
        assert_eq!(small.is_some_and(|small| pair.is_done(1, small)), has_small, "a small one passes");
        assert!(has_small || (1..8).all(|later| !pair.is_done(1, reads[later])));
        assert_eq!(pair.arrived(1, 1) > 6 * FRAGMENT as u64, has_small, "{} bytes have come", pair.arrived(1, 1));
        pair.run();
        let arrived: Vec<Vec<u8>> = reads.into_iter().map(|read| pair.take(1, read)).collect();
        assert!(arrived == (0..8).map(|message| pattern(message, 3 * FRAGMENT)).collect::<Vec<_>>());
        assert!(small.is_none_or(|small| pair.take(1, small) == pattern(8, 8)));
    }
}

#[test]
fn many_messages_are_read_in_reverse_with_a_small_window() {
    // (messages, tags): many of few tags; and each of a tag of its own.
    for (messages, tags) in [(10_000, 10), (10_000, 10_000)] {
        let mut pair = Pair::new(64 << 10, 16, 16 << 10);
        let bytes = |message: usize| 8 + message % 90;
        for message in 0..messages {
            pair.write(0, (message % tags) as u32, pattern(message, bytes(message)));
        }
        pair.run();
        for tag in (0..tags).rev() {
            for message in (tag..messages).step_by(tags) {
                let read = pair.read(1, tag as u32, 100);
                pair.run();
                assert_eq!(pair.take(1, read), pattern(message, bytes(message)), "message {message} of tag {tag}");
                assert!(pair.engines[1].buffered_bytes() <= 64 << 10);
            }
        }
        assert_eq!(pair.done[0].len(), messages, "every write has ended");
        assert!(pair.engines[0].outstanding().is_empty() && pair.engines[1].outstanding().is_empty());
    }
}

#[test]
fn sixty_mebibytes_go_both_ways_before_any_read() {
    let mut pair = Pair::new(64 << 20, 1024, 256 << 10);
    let message = Bytes::from(pattern(7, MIB));
    for _ in 0..60 {
        pair.write(0, 1, message.clone());
        pair.write(1, 1, message.clone());
    }
    pair.run();
    assert_eq!((pair.done[0].len(), pair.done[1].len()), (60, 60), "eager writes end without reads");
    for rank in 0..2 {
        assert!(pair.engines[rank].buffered_bytes() <= 64 << 20);
        for _ in 0..60 {
            let read = pair.read(rank, 1, MIB);
            assert!(pair.take(rank, read) == message, "other bytes have come");
        }
        assert_eq!(pair.engines[rank].buffered_bytes(), 0);
    }
}

#[test]
fn credit_reaches_a_writer_whose_envelope_answers_an_old_want() {
    let mut pair = Pair::new(10_000, 0, 1 << 20);
    // A big early message, a small one of tag 9 behind it, and one that must be held.
    pair.write(0, 1, vec![1u8; 9000]);
    pair.write(0, 9, Vec::<u8>::new());
    pair.write(0, 2, vec![2u8; 944]);
    // The read of tag 9 asks for its message while that is on its way: the want comes to nothing.
    pair.send(0);
    pair.receive(1, HEADER_BYTES);
    let nine = pair.read(1, 9, 0);
    pair.run();
    let (one, two) = (pair.read(1, 1, 9000), pair.read(1, 2, 944));
    pair.run();
    assert!(pair.is_done(1, nine) && pair.is_done(1, one) && pair.is_done(1, two));
    // Now all of the window is free, but some of it is not given back yet.
    let late = pair.write(0, 9, vec![3u8; 9500]);
    pair.run();
    assert!(pair.is_done(0, late), "it fits the window: {:?}", pair.engines[0].outstanding());
}

#[test]
fn a_grant_makes_room_for_the_next_envelope() {
    let mut pair = Pair::new(0, 1, 1 << 20);
    pair.write(0, 1, vec![1u8; 10]);
    pair.write(0, 2, vec![2u8; 20]);
    pair.run();
    let announced = |pair: &Pair| -> Vec<_> {
        pair.engines[1].links[0].incoming.messages().map(|message| message.message_header.total).collect()
    };
    assert_eq!(announced(&pair), [10]);
    let read = pair.read(1, 1, 10);
    pair.run();
    assert!(pair.is_done(1, read));
    assert_eq!(announced(&pair), [20], "nobody asked for it, but there is room to announce it");
}

#[test]
fn a_link_is_named_once_however_often_it_is_sent_to() {
    let mut pair = Pair::new(1 << 20, 16, 1 << 20);
    for _ in 0..100 {
        pair.write(0, 1, vec![1u8]);
        assert_eq!(pair.send(0), Sent::All);
    }
    pair.write(0, 1, vec![1u8]);
    assert_eq!(pair.engines[0].shared.pending, [Rank(1).into()]);
    assert_eq!(pair.engines[0].poll_pending(), Some(Rank(1).into()));
    assert_eq!(pair.engines[0].poll_pending(), None);
}

/// Who is written to first is sent to first.
#[test]
fn links_are_sent_to_in_the_order_of_posting() {
    let limits = Limits { window_bytes: 1 << 20, envelopes_max: 16, fragment_bytes: FRAGMENT as u32 };
    let mut engine = Engine::new(Rank(0), &[limits; 4]);
    for to in [2, 1, 3, 1] {
        let source = Box::new(vec![1u8]);
        engine.initwrite(NOW, Rank(to), MatchKey::user(Tag(1)), u8::TYPE, source).expect("nothing has failed");
    }
    let order: Vec<_> = std::iter::from_fn(|| engine.poll_pending()).collect();
    assert_eq!(order, [2, 1, 3].map(|rank| Rank(rank).into()));
}

#[test]
fn a_message_that_nobody_reads_costs_no_more_than_itself() {
    let mut pair = Pair::new(0, 0, 1 << 20);
    pair.write(0, 1, vec![1u8; 10]);
    for round in 0..2000u32 {
        pair.write(0, 2 + round, vec![2u8; 10]);
        pair.run();
        let read = pair.read(1, 2 + round, 10);
        pair.run();
        assert_eq!(pair.take(1, read), [2; 10]);
        let withdrawn = pair.read(1, 10_000 + round, 10);
        pair.engines[1].withdraw(Rank(0), MatchKey::user(Tag(10_000 + round)), withdrawn);
    }
    let (order, queues) =
        (pair.engines[0].links[1].outgoing.held_order_len(), pair.engines[1].links[0].incoming.posted_queues());
    assert!(order <= 200 && queues <= 200, "{order} entries of held messages, {queues} queues of posted reads");
}

#[test]
fn what_is_outstanding_is_known() {
    let mut pair = Pair::new(1000, 1, 1 << 20);
    let words: Arc<[u32]> = Arc::from(vec![7u32; 500]);
    pair.write(0, 1, vec![1u8; 400]);
    pair.write(0, 2, vec![2u8; 3000]);
    let op = pair.engines[0].initwrite(NOW, Rank(1), MatchKey::user(Tag(3)), u32::TYPE, Box::new(words));
    let own = pair.engines[0].initwrite(NOW, Rank(0), MatchKey::user(Tag(4)), u8::TYPE, Box::new(vec![0u8; 1200]));
    pair.read(1, 5, 64);
    pair.run();
    let told = |pair: &Pair, rank: usize| -> Vec<_> {
        let all = pair.engines[rank].outstanding().into_iter();
        all.map(|waiting| (waiting.kind, waiting.peer.0, waiting.tag.unwrap().0, waiting.bytes, waiting.state))
            .collect()
    };
    let (announced, missing) =
        ("beyond the window: the peer must post the read first", "no message of this tag has come");
    let within = "beyond the window: the read must be posted first";
    use OperationKind::{Read, Write};
    assert_eq!(
        told(&pair, 0),
        [(Write, 0, 4, 1200, within), (Write, 1, 2, 3000, announced), (Write, 1, 3, 2000, announced)]
    );
    assert_eq!(told(&pair, 1), [(Read, 0, 5, 64, missing)]);
    pair.wire_bytes_max = 1000;
    pair.read(1, 2, 3000);
    pair.send(1);
    pair.receive(0, usize::MAX);
    pair.send(0);
    pair.receive(1, usize::MAX);
    let arriving = pair.engines[1].outstanding().into_iter().find(|waiting| waiting.tag == Some(Tag(2))).unwrap();
    assert_eq!((arriving.state, arriving.bytes), ("the message is arriving", 3000));
    assert!(arriving.done > 0 && arriving.done < 1000, "{} bytes", arriving.done);
    assert!(op.is_ok() && own.is_ok());
}

/// Whoever has heard a goodbye, and whose answer has arrived, is waited for no more, and makes no connection anew.
#[test]
fn a_link_may_end_once_the_answer_to_its_goodbye_has_arrived() {
    let mut pair = Pair::new(1 << 20, 16, 9000);
    assert!(!pair.engines[0].may_end(Rank(1)) && !pair.engines[1].may_end(Rank(0)));
    pair.engines[0].goodbye(None);
    pair.run();
    assert!(pair.engines[0].may_end(Rank(1)) && pair.engines[1].may_end(Rank(0)));
}
