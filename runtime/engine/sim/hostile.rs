//! A peer that has the key and means harm, one attack at a time: a named error, or nothing comes of it. Memory is bounded either way.

mod attacks;
mod lanes;

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::time::Duration;

use attacks::{ATTACKS, Attack, Comes, HUGE, Talk, message, user};

use super::babble::{KEPT_MAX, LIMITS, PEER};
use crate::buffer::{Element, ElementType};
use crate::engine::{Engine, Limits, OpId, Outcome, Sent};
use crate::error::{Error, WireError};
use crate::ids::Rank;
use crate::wire::frame::{HEADER_BYTES, Kind, MessageHeader};

const NOW: Duration = Duration::ZERO;
/// Control frames that may wait for a peer that does not read.
const CONTROL_MAX: usize = 64;

/// A node with reads and writes of all kinds under way, and what its peer reads of it.
struct Victim {
    engine: Engine,
    ops: Vec<OpId>,
    /// How much more the peer reads.
    reads: usize,
    sent: u64,
}

impl Victim {
    fn new(reads: usize) -> Self {
        let mut victim = Victim {
            engine: Engine::new(Rank(0), &[Limits { fragment_bytes: 64, ..LIMITS }, LIMITS]),
            ops: Vec::new(),
            reads,
            sent: 0,
        };
        for (tag, bytes) in [(0, 100), (1, 700), (2, 5000)] {
            victim.read(tag, bytes);
        }
        for bytes in [8, 700, 9000] {
            let op = victim.engine.initwrite(NOW, PEER, user(3), u8::TYPE, Box::new(vec![1u8; bytes]));
            victim.ops.push(op.unwrap());
        }
        victim.send();
        victim
    }

    fn read(&mut self, tag: u32, bytes: usize) -> OpId {
        let op = self.engine.initread(NOW, PEER, user(tag), u8::TYPE, Box::new(vec![0u8; bytes])).unwrap();
        self.ops.push(op);
        op
    }

    fn send(&mut self) {
        let Victim { reads, sent, .. } = self;
        let mut write = |slices: &[IoSlice<'_>]| {
            let count = slices.iter().map(|slice| slice.len()).sum::<usize>().min(*reads);
            if count == 0 {
                return Err(io::Error::from(ErrorKind::WouldBlock));
            }
            (*reads, *sent) = (*reads - count, *sent + count as u64);
            Ok(count)
        };
        while self.engine.transmit(PEER, &mut write).unwrap() == Sent::More {}
    }

    /// Has it receive `bytes`, at most `piece` at a time, doing what a kernel does in between.
    fn hears(&mut self, mut bytes: &[u8], piece: usize) {
        while !bytes.is_empty() && self.engine.failure().is_none() {
            let most = piece.min(bytes.len());
            let mut read = |slices: &mut [IoSliceMut<'_>]| (&bytes[..most]).read_vectored(slices);
            let count = self.engine.receive(NOW, PEER, &mut read).unwrap();
            if self.engine.failure().is_some() {
                break;
            }
            bytes = &bytes[count..];
            self.settle();
        }
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(arrival) = self.engine.poll_arrival() {
            if arrival.answers > 0 {
                self.engine.ping(PEER, arrival.stamp, arrival.answers - 1);
            }
        }
        while self.engine.poll_request().is_some() || self.engine.poll_holder().is_some() {}
        while self.engine.poll_stranger().is_some() || self.engine.poll_refusal().is_some() {}
        while self.engine.poll_pending().is_some() {}
        self.send();
        self.is_bounded();
    }

    fn is_bounded(&self) {
        let link = &self.engine.links[PEER.index()];
        assert!(link.outgoing.control.len() <= CONTROL_MAX, "{} control frames wait", link.outgoing.control.len());
        assert!(link.outgoing.retention.memory() <= KEPT_MAX, "{} bytes are kept", link.outgoing.retention.memory());
        assert!(link.incoming.footprint() <= link.incoming.footprint_max());
        let (buffered, envelopes) = (self.engine.buffered_bytes(), self.engine.envelopes());
        assert!(buffered <= LIMITS.window_bytes && envelopes <= LIMITS.envelopes_max, "{buffered}, {envelopes}");
    }

    /// Ends it: every operation has an end.
    fn ends(mut self) {
        self.engine.fail(Error::Shutdown { rank: Rank(0) });
        let mut ended: Vec<OpId> = std::iter::from_fn(|| self.engine.poll_completion()).map(|end| end.op).collect();
        ended.sort_unstable();
        self.ops.sort_unstable();
        assert_eq!(ended, self.ops, "each ends once");
        drop(self.engine.take_spent());
    }
}

/// The next message that it reads comes as it should.
fn goes_on(victim: &mut Victim, talk: &mut Talk, name: &str) {
    let engine = &mut victim.engine;
    while engine.poll_completion().map(|end| victim.ops.retain(|op| *op != end.op)).is_some() {}
    let op = victim.ops[0];
    talk.bytes.clear();
    talk.opens(7, 0, &[9; 100]);
    victim.hears(&talk.bytes, usize::MAX);
    let end = victim.engine.poll_completion().unwrap_or_else(|| panic!("{name}: the link stands still"));
    let is_right = match end.outcome {
        Outcome::Read(mut place, _) => *place.bytes_mut() == [9; 100],
        _ => false,
    };
    assert!(end.op == op && is_right, "{name}: another end");
    victim.ops.remove(0);
}

#[test]
fn an_attack_is_named_or_nothing_comes_of_it() {
    let (mut named, mut ignored) = (0, 0);
    for (Attack { name, says, comes }, piece, reads) in ATTACKS.iter().flat_map(|attack| {
        [1, 7, 333, usize::MAX]
            .into_iter()
            .flat_map(move |piece| [0, 50, usize::MAX].map(|reads| (attack, piece, reads)))
    }) {
        let mut victim = Victim::new(reads);
        let mut talk = Talk { sent: victim.sent.max(1), ..Talk::default() };
        if victim.sent == 0 && name.contains("past") {
            continue;
        }
        if victim.sent == 0 {
            talk.sent = 0;
        }
        says(&mut talk);
        if talk.bytes.len() > 100_000 && piece < 333 {
            continue;
        }
        victim.hears(&talk.bytes, piece);
        let failure = victim.engine.failure().map(Error::to_string);
        match (comes, failure) {
            (Comes::Named(words), Some(text)) => {
                assert!(text.contains(words) && text.contains("rank 1"), "{name}, by {piece}: {text}");
                named += 1;
            }
            (Comes::Nothing, None) => {
                goes_on(&mut victim, &mut talk, name);
                ignored += 1;
            }
            (comes, failure) => panic!("{name}, by {piece}, of which {reads} are read: {failure:?}, not {comes:?}"),
        }
        victim.ends();
    }
    println!("{} attacks: {named} runs ended by their name, {ignored} went on", ATTACKS.len());
}

/// Every kind of frame there may be, with every length of a body up to that of the longest control frame.
#[test]
fn frames_of_any_kind_and_length_are_frames_or_errors() {
    let mut failed = 0;
    for (kind, length) in
        (0..=255u8).flat_map(|kind| [0, 1, 7, 8, 9, 16, 255, 256, 257, 5000].map(|length| (kind, length)))
    {
        let (mut victim, mut talk) = (Victim::new(usize::MAX), Talk::default());
        talk.raw(kind, length);
        talk.bytes.extend(vec![0xff; length as usize + 20]);
        victim.hears(&talk.bytes, 64);
        if let Some(failure) = victim.engine.failure() {
            assert!(failure.to_string().contains("rank 1"), "{failure}");
            failed += 1;
        }
        victim.ends();
    }
    println!("{failed} of 2560 frames were errors");
    assert!(failed > 2400);
}

/// Credit is owed for all that is read; a peer that does not read it must not have it pile up.
#[test]
fn credit_that_is_not_read_does_not_pile_up() {
    let (mut victim, mut talk) = (Victim::new(0), Talk::default());
    for id in 0..100_000 {
        let op = victim.read(8, 300);
        talk.opens(id, 8, &[3; 300]);
        victim.hears(&talk.bytes, usize::MAX);
        talk.bytes.clear();
        assert_eq!(victim.engine.failure().map(Error::to_string), None);
        assert_eq!(victim.engine.poll_completion().map(|end| end.op), Some(op));
        victim.ops.pop();
    }
    victim.ends();
}

/// More wants than any program posts reads.
#[test]
fn wants_without_end_are_too_many() {
    let (mut victim, mut talk) = (Victim::new(usize::MAX), Talk::default());
    for tag in 0..(1 << 20) + 2 {
        talk.frame(Kind::Want, 0, 0, message(tag, 8), &[]);
    }
    victim.hears(&talk.bytes, 100_000);
    let text = victim.engine.failure().expect("they are too many").to_string();
    assert!(text.contains("wants") && text.contains("rank 1"), "{text}");
    victim.ends();
}

/// What a new connection may begin with: nothing before what was acknowledged, and nothing beyond what was sent.
#[test]
fn a_link_goes_on_only_from_where_it_may() {
    let (mut victim, mut talk) = (Victim::new(500), Talk::default());
    assert_eq!(victim.sent, 500);
    talk.acknowledges(300);
    victim.hears(&talk.bytes, usize::MAX);
    victim.engine.suspend(PEER);
    victim.reads = usize::MAX;
    for position in [0, 299, 501, 1 << 32, (1 << 63) + 300, u64::MAX, u64::MAX - 300, 300u64.wrapping_sub(1 << 32)] {
        let error = victim.engine.resume(PEER, position).expect_err("it was not there");
        assert_eq!(error, WireError::Position { got: position, from: 300, to: 500 });
        assert!(error.to_string().contains("acknowledged, of 300 to 500"), "{error}");
        victim.send();
        assert_eq!(victim.sent, 500, "nothing is sent before it goes on");
    }
    assert_eq!(victim.engine.resume(PEER, 400), Ok(100));
    victim.send();
    assert_eq!(victim.engine.sent_again(PEER), 100);
    talk.bytes.clear();
    // On the new connection less was taken again than the old one had taken.
    talk.acknowledges(400);
    victim.hears(&talk.bytes, usize::MAX);
    assert_eq!(victim.engine.failure().map(Error::to_string), None);
    victim.ends();
}

/// What was lost has not come, though it was sent once: it cannot be acknowledged before it is sent again.
#[test]
fn what_is_to_be_sent_again_cannot_be_acknowledged() {
    let (mut victim, mut talk) = (Victim::new(500), Talk::default());
    victim.engine.suspend(PEER);
    assert_eq!(victim.engine.resume(PEER, 100), Ok(400));
    victim.reads = 50;
    victim.send();
    talk.acknowledges(151);
    victim.hears(&talk.bytes, usize::MAX);
    let text = victim.engine.failure().expect("it was not sent again").to_string();
    assert!(text.contains("acknowledged, of 100 to 150"), "{text}");
    victim.ends();
}

/// Connections made and lost in a loop, each at another byte: memory stays, and nothing is lost or doubled.
#[test]
fn a_link_that_is_cut_without_end_keeps_its_memory() {
    const CUTS: u64 = 20_000;
    let mut victim = Victim::new(0);
    let mut chance = crate::chance::Chance(1);
    let mut position = 0;
    for _ in 0..CUTS {
        victim.reads = chance.below(600);
        victim.send();
        victim.engine.suspend(PEER);
        let most = victim.engine.sent(PEER);
        position += chance.below(most - position + 1) / 4;
        assert_eq!(victim.engine.resume(PEER, position), Ok(most - position));
        victim.is_bounded();
    }
    let again = victim.engine.sent_again(PEER);
    println!("{CUTS} cuts, {again} bytes sent again of {}", victim.engine.sent(PEER));
    victim.ends();
}

/// An invented element type and an empty name: what an honest node prints of it is words.
#[test]
fn what_nobody_knows_is_printed() {
    let (mut victim, mut talk) = (Victim::new(usize::MAX), Talk::default());
    let odd = MessageHeader { key: user(0), element: ElementType(0x7fff), total: HUGE };
    talk.frame(Kind::Refuse, 0, 0, Some(odd), &odd.encode());
    victim.hears(&talk.bytes, HEADER_BYTES);
    victim.ends();
}
