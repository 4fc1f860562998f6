//! A peer that has the key and means harm, one attack at a time: a named error, or nothing comes of it. Memory is bounded either way.

mod lanes;

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::time::Duration;

use super::babble::{KEPT_MAX, LIMITS, PEER};
use crate::buffer::{Element, ElementType};
use crate::engine::{Engine, Limits, OpId, Outcome, Sent};
use crate::error::{Error, WireError};
use crate::ids::{Rank, Tag};
use crate::wire::frame::{
    ANSWER, CHARGED, FIRST, HEADER_BYTES, HOLDING, Header, Kind, MatchKey, MessageHeader, PING, Stamp,
};

const NOW: Duration = Duration::ZERO;
/// Control frames that may wait for a peer that does not read.
const CONTROL_MAX: usize = 64;
/// The largest message there may be.
const HUGE: u64 = (1 << 48) - 1;

fn user(tag: u32) -> MatchKey {
    MatchKey::user(Tag(tag))
}

fn message(tag: u32, total: u64) -> Option<MessageHeader> {
    Some(MessageHeader { key: user(tag), element: u8::TYPE, total })
}

/// What the peer says.
#[derive(Default)]
struct Talk {
    number: u32,
    bytes: Vec<u8>,
    /// Where the victim's stream to the peer stands.
    sent: u64,
}

impl Talk {
    fn frame(&mut self, kind: Kind, flags: u8, message_id: u64, message: Option<MessageHeader>, body: &[u8]) {
        let header = Header { kind, flags, number: self.number, message_id, length: body.len() as u32 };
        self.number = self.number.wrapping_add(1);
        self.bytes.extend(header.encode());
        self.bytes.extend(message.iter().flat_map(MessageHeader::encode));
        self.bytes.extend(body);
    }

    fn bare(&mut self, kind: Kind, flags: u8, message_id: u64) {
        self.frame(kind, flags, message_id, None, &[]);
    }

    fn acknowledges(&mut self, position: u64) {
        self.frame(Kind::Acknowledgement, 0, 0, None, &position.to_le_bytes());
    }

    fn opens(&mut self, message_id: u64, tag: u32, body: &[u8]) {
        self.frame(Kind::Data, FIRST, message_id, message(tag, body.len() as u64), body);
    }

    /// A header that no engine would write.
    fn raw(&mut self, kind: u8, length: u32) {
        let mut bytes = Header { kind: Kind::Data, flags: 0, number: self.number, message_id: 0, length: 0 }.encode();
        bytes[..4].copy_from_slice(&(length << 8 | u32::from(kind)).to_le_bytes());
        self.number = self.number.wrapping_add(1);
        self.bytes.extend(bytes);
    }
}

#[derive(Clone, Copy, Debug)]
enum Comes {
    /// Of this, by these words.
    Named(&'static str),
    Nothing,
}

struct Attack {
    name: &'static str,
    says: fn(&mut Talk),
    comes: Comes,
}

const fn attack(name: &'static str, says: fn(&mut Talk), comes: Comes) -> Attack {
    Attack { name, says, comes }
}

/// Messages that the peer's own stream begins with have small ids; those that it invents have these.
const UNKNOWN: u64 = 1 << 40;

const ATTACKS: [Attack; 32] = [
    attack("a fragment of 16 MiB", |talk| talk.raw(1, (1 << 24) - 1), Comes::Named("a fragment of 16777215 is beyond")),
    attack(
        "credit of 16 MiB",
        |talk| talk.raw(4, (1 << 24) - 1),
        Comes::Named("a control frame of 16777215 is beyond"),
    ),
    attack("a kind that is none", |talk| talk.raw(0, 0), Comes::Named("unknown frame kind 0")),
    attack("the kind after the last", |talk| talk.raw(15, 0), Comes::Named("unknown frame kind 15")),
    attack("the greatest kind", |talk| talk.raw(255, 77), Comes::Named("unknown frame kind 255")),
    attack(
        "the longest message begins",
        |talk| talk.frame(Kind::Data, FIRST, 0, message(9, HUGE), &[1; 100]),
        Comes::Named("is beyond"),
    ),
    attack(
        "the longest message is announced",
        |talk| talk.frame(Kind::Envelope, 0, 0, message(9, HUGE), &[]),
        Comes::Nothing,
    ),
    attack(
        "more is announced than may be",
        |talk| (0..4).for_each(|id| talk.frame(Kind::Envelope, 0, id, message(9, HUGE), &[])),
        Comes::Named("is beyond"),
    ),
    attack(
        "more is sent unasked than may be",
        |talk| (0..9).for_each(|id| talk.opens(id, 9, &[1; 700])),
        Comes::Named("is beyond"),
    ),
    attack(
        "a message is longer than it said",
        |talk| {
            talk.frame(Kind::Data, FIRST, 0, message(9, 10), &[1; 5]);
            talk.frame(Kind::Data, 0, 0, None, &[1; 6]);
        },
        Comes::Named("is beyond"),
    ),
    attack(
        "credit without end",
        |talk| (0..1000).for_each(|_| talk.frame(Kind::Credit, 0, 0, None, &u64::MAX.to_le_bytes())),
        Comes::Nothing,
    ),
    attack(
        "credit without its number",
        |talk| talk.frame(Kind::Credit, 0, 0, None, &[1; 7]),
        Comes::Named("credit frame"),
    ),
    attack("data of nothing", |talk| talk.frame(Kind::Data, 0, UNKNOWN, None, &[1]), Comes::Named("not under way")),
    attack("charged data of nothing", |talk| talk.bare(Kind::Data, CHARGED, UNKNOWN), Comes::Named("not under way")),
    attack(
        "a message twice",
        |talk| (0..2).for_each(|_| talk.frame(Kind::Data, FIRST, 0, message(9, 10), &[1; 5])),
        Comes::Named("opened twice"),
    ),
    attack(
        "a frame twice",
        |talk| {
            talk.bare(Kind::Hold, 0, 0);
            talk.number -= 1;
            talk.bare(Kind::Hold, 0, 0);
        },
        Comes::Named("frame number 0 where 1 was due"),
    ),
    attack("a grant of nothing", |talk| talk.bare(Kind::Grant, 0, UNKNOWN), Comes::Nothing),
    attack(
        "a refusal of nothing",
        |talk| talk.frame(Kind::Refuse, 0, UNKNOWN, message(3, 7), &message(3, 8).unwrap().encode()),
        Comes::Nothing,
    ),
    attack(
        "a refusal without words",
        |talk| talk.frame(Kind::Refuse, 0, 0, message(3, 7), &[1]),
        Comes::Named("a refusal"),
    ),
    attack("nothing is given up", |talk| talk.frame(Kind::Abort, 0, UNKNOWN, None, &[0; 16]), Comes::Nothing),
    attack(
        "it is not said how much is given up",
        |talk| talk.bare(Kind::Abort, 0, UNKNOWN),
        Comes::Named("an abort without its numbers"),
    ),
    attack("a goodbye that nobody said is confirmed", |talk| talk.bare(Kind::GoodbyeAck, 0, 0), Comes::Nothing),
    attack(
        "a stamp of nothing",
        |talk| talk.frame(Kind::Stamp, 0, UNKNOWN, None, &Stamp { sent_ns: u64::MAX, echo_ns: Some(-1) }.encode()),
        Comes::Nothing,
    ),
    attack(
        "an answer to no want",
        |talk| talk.frame(Kind::Envelope, ANSWER, 0, message(9, 10), &[]),
        Comes::Named("is beyond"),
    ),
    attack(
        "an acknowledgement of what was not sent",
        |talk| talk.acknowledges(talk.sent + 1),
        Comes::Named("acknowledged, of"),
    ),
    attack(
        "one of what never will be",
        |talk| talk.acknowledges(talk.sent + (1 << 62)),
        Comes::Named("acknowledged, of"),
    ),
    attack(
        "acknowledgements of the past",
        |talk| {
            talk.acknowledges(talk.sent);
            [0, 1, talk.sent - 1, u64::MAX].into_iter().for_each(|position| talk.acknowledges(position));
        },
        Comes::Nothing,
    ),
    attack(
        "an acknowledgement without its position",
        |talk| talk.frame(Kind::Acknowledgement, 0, 0, None, &[1; 7]),
        Comes::Named("an acknowledgement without"),
    ),
    attack(
        "acknowledgements without end",
        |talk| (0..200_000).for_each(|_| talk.acknowledges(talk.sent)),
        Comes::Nothing,
    ),
    attack(
        "pings that want more answers than there is time for",
        |talk| {
            let stamp = Stamp { sent_ns: 0, echo_ns: None }.encode();
            (0..20_000).for_each(|_| talk.frame(Kind::Stamp, PING, (1 << 56) - 1, None, &stamp));
        },
        Comes::Nothing,
    ),
    attack(
        "it holds, and holds not",
        |talk| (0..50_000u64).for_each(|turn| talk.bare(Kind::Hold, HOLDING * (turn % 2) as u8, 0)),
        Comes::Nothing,
    ),
    attack(
        "words after goodbye",
        |talk| {
            talk.bare(Kind::Goodbye, 0, 0);
            talk.bare(Kind::Hold, 0, 0);
        },
        Comes::Named("a frame after goodbye"),
    ),
];

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
