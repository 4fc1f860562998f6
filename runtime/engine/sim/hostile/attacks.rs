//! What a peer says that has the key and means harm, and what is to come of it.

use crate::buffer::Element;
use crate::ids::Tag;
use crate::wire::frame::{ANSWER, CHARGED, FIRST, HOLDING, Header, Kind, MatchKey, MessageHeader, PING, Stamp};

/// The largest message there may be.
pub(super) const HUGE: u64 = (1 << 48) - 1;

pub(super) fn user(tag: u32) -> MatchKey {
    MatchKey::user(Tag(tag))
}

pub(super) fn message(tag: u32, total: u64) -> Option<MessageHeader> {
    Some(MessageHeader { key: user(tag), element: u8::TYPE, total })
}

/// What the peer says.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) number: u32,
    pub(super) bytes: Vec<u8>,
    /// Where the victim's stream to the peer stands.
    pub(super) sent: u64,
}

impl Talk {
    pub(super) fn frame(
        &mut self,
        kind: Kind,
        flags: u8,
        message_id: u64,
        message: Option<MessageHeader>,
        body: &[u8],
    ) {
        let header = Header { kind, flags, number: self.number, message_id, length: body.len() as u32 };
        self.number = self.number.wrapping_add(1);
        self.bytes.extend(header.encode());
        self.bytes.extend(message.iter().flat_map(MessageHeader::encode));
        self.bytes.extend(body);
    }

    pub(super) fn bare(&mut self, kind: Kind, flags: u8, message_id: u64) {
        self.frame(kind, flags, message_id, None, &[]);
    }

    pub(super) fn acknowledges(&mut self, position: u64) {
        self.frame(Kind::Acknowledgement, 0, 0, None, &position.to_le_bytes());
    }

    pub(super) fn opens(&mut self, message_id: u64, tag: u32, body: &[u8]) {
        self.frame(Kind::Data, FIRST, message_id, message(tag, body.len() as u64), body);
    }

    /// A header that no engine would write.
    pub(super) fn raw(&mut self, kind: u8, length: u32) {
        let mut bytes = Header { kind: Kind::Data, flags: 0, number: self.number, message_id: 0, length: 0 }.encode();
        bytes[..4].copy_from_slice(&(length << 8 | u32::from(kind)).to_le_bytes());
        self.number = self.number.wrapping_add(1);
        self.bytes.extend(bytes);
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comes {
    /// Of this, by these words.
    Named(&'static str),
    Nothing,
}

pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) says: fn(&mut Talk),
    pub(super) comes: Comes,
}

const fn attack(name: &'static str, says: fn(&mut Talk), comes: Comes) -> Attack {
    Attack { name, says, comes }
}

/// Messages that the peer's own stream begins with have small ids; those that it invents have these.
pub(super) const UNKNOWN: u64 = 1 << 40;

pub(super) const ATTACKS: [Attack; 32] = [
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
