//! A peer that has the key and means harm, on the lanes beside the first.

use std::io::{IoSliceMut, Read};

use super::attacks::{Comes, Talk, UNKNOWN, message};
use super::{LIMITS, NOW, PEER, Victim, goes_on};
use crate::engine::{Engine, Limits};
use crate::error::Error;
use crate::ids::{Path, Rank};
use crate::wire::frame::{FIRST, Kind};

/// A node with two lanes beside the first; each has words of its own.
struct Lanes {
    victim: Victim,
    talks: [Talk; 3],
}

impl Lanes {
    fn new() -> Self {
        let mut victim = Victim::new(0);
        victim.engine.open_lanes(PEER, 2);
        (1..=2).for_each(|lane| assert_eq!(victim.engine.resume(Path { peer: PEER, lane }, 0), Ok(0)));
        Lanes { victim, talks: Default::default() }
    }

    /// The peer says this on a lane, and all of it comes at once.
    fn say(&mut self, lane: u8, says: impl FnOnce(&mut Talk)) {
        let talk = &mut self.talks[usize::from(lane)];
        says(talk);
        let bytes = std::mem::take(&mut talk.bytes);
        let (mut bytes, engine) = (&bytes[..], &mut self.victim.engine);
        while !bytes.is_empty() && engine.failure().is_none() {
            let mut read = |slices: &mut [IoSliceMut<'_>]| bytes.read_vectored(slices);
            if engine.receive(NOW, Path { peer: PEER, lane }, &mut read).is_err() {
                break;
            }
        }
        while engine.poll_wish().is_some() || engine.poll_unblocked().is_some() {}
        self.victim.settle();
    }

    fn segment(&mut self, lane: u8, message_id: u64, at: u64, length: u64) {
        let body = [at.to_le_bytes(), length.to_le_bytes()].concat();
        self.say(lane, |talk| talk.frame(Kind::Segment, 0, message_id, None, &body));
    }

    fn data(&mut self, lane: u8, message_id: u64, bytes: usize) {
        self.say(lane, |talk| talk.frame(Kind::Data, 0, message_id, None, &vec![5; bytes]));
    }

    /// Message 0 has begun, and no read has met it.
    fn begin(&mut self) {
        self.say(0, |talk| talk.frame(Kind::Data, FIRST, 0, message(9, 2000), &[1; 10]));
    }

    fn abort(&mut self, bytes: u64, segments: u64) {
        let body = [bytes.to_le_bytes(), segments.to_le_bytes()].concat();
        self.say(0, |talk| talk.frame(Kind::Abort, 0, 0, None, &body));
    }
}

#[test]
fn an_attack_on_lanes_is_named_or_nothing_comes_of_it() {
    type Says = fn(&mut Lanes);
    let attacks: [(&str, Says, Comes); 14] = [
        ("beyond the end", |all| all.segment(1, 0, 1999, 2), Comes::Named("a segment's end")),
        ("beyond all ends", |all| all.segment(1, 0, u64::MAX, 2), Comes::Named("a segment")),
        ("data of no segment", |all| all.data(1, 0, 1), Comes::Named("data on a lane")),
        ("on the first lane", |all| all.segment(0, 0, 0, 1), Comes::Named("a segment on the first lane")),
        ("no place", |all| all.say(1, |talk| talk.bare(Kind::Segment, 0, 0)), Comes::Named("without its place")),
        ("hold", |all| all.say(1, |talk| talk.bare(Kind::Hold, 0, 0)), Comes::Named("for the first lane")),
        ("goodbye", |all| all.say(2, |talk| talk.bare(Kind::Goodbye, 0, 0)), Comes::Named("for the first lane")),
        ("a beginning", |all| all.say(1, |talk| talk.opens(3, 9, &[1; 9])), Comes::Named("for the first lane")),
        ("not refused", |all| all.abort(10, 0), Comes::Named("an abort")),
        (
            "an abort of little",
            |all| {
                all.say(0, |talk| talk.frame(Kind::Data, FIRST, 0, message(1, 701), &[1; 10]));
                all.segment(1, 0, 10, 100);
                all.data(1, 0, 100);
                all.abort(109, 1);
            },
            Comes::Named("before an abort"),
        ),
        ("never opened", |all| all.segment(1, UNKNOWN, 0, 10), Comes::Nothing),
        (
            "lanes without end",
            |all| {
                all.say(0, |talk| (0..20_000).for_each(|_| talk.bare(Kind::Lanes, 0, (1 << 56) - 1)));
            },
            Comes::Nothing,
        ),
        (
            "the same part twice",
            |all| {
                all.begin();
                (1..=2).for_each(|lane| all.segment(lane, 0, 10, 1990));
                (1..=2).for_each(|lane| all.data(lane, 0, 1990));
            },
            Comes::Named("is beyond"),
        ),
        (
            "another message of the same number",
            |all| {
                all.say(0, |talk| talk.frame(Kind::Data, FIRST, 0, message(1, 700), &[1; 10]));
                all.segment(1, 0, 600, 100);
                all.data(1, 0, 50);
                all.segment(2, 0, 0, 700);
                all.data(2, 0, 640);
                all.say(0, |talk| talk.frame(Kind::Data, FIRST, 0, message(9, 100), &[1; 10]));
                all.data(1, 0, 50);
            },
            Comes::Nothing,
        ),
    ];
    for (name, says, comes) in attacks {
        let mut all = Lanes::new();
        if matches!(name, "beyond the end" | "beyond all ends" | "data of no segment" | "not refused") {
            all.begin();
        }
        says(&mut all);
        let failure = all.victim.engine.failure().map(Error::to_string);
        match (comes, failure) {
            (Comes::Named(words), Some(text)) => {
                assert!(text.contains(words) && text.contains("rank 1"), "{name}: {text}")
            }
            (Comes::Nothing, None) => goes_on(&mut all.victim, &mut all.talks[0], name),
            (comes, failure) => panic!("{name}: {failure:?}, not {comes:?}"),
        }
        all.victim.ends();
    }
}

/// What one lane reads straight into a place, after another has brought all of the message.
#[test]
fn a_place_that_is_full_takes_nothing_more() {
    const TOTAL: u64 = 400_000;
    let mut all = Lanes::new();
    all.victim.engine = Engine::new(Rank(0), &[LIMITS, Limits { window_bytes: 1 << 20, ..LIMITS }]);
    all.victim.ops.clear();
    all.victim.engine.open_lanes(PEER, 2);
    (1..=2).for_each(|lane| assert_eq!(all.victim.engine.resume(Path { peer: PEER, lane }, 0), Ok(0)));
    all.victim.read(4, TOTAL as usize);
    all.say(0, |talk| talk.frame(Kind::Data, FIRST, 0, message(4, TOTAL), &[]));
    (1..=2).for_each(|lane| all.segment(lane, 0, 0, TOTAL));
    for _ in 0..96 {
        all.data(2, 0, 4096);
    }
    all.data(1, 0, 3000);
    all.say(1, |talk| (0..60).for_each(|_| talk.frame(Kind::Data, 0, 0, None, &[7; 3000])));
    let text = all.victim.engine.failure().expect("the message was complete").to_string();
    assert!(text.contains("not under way") || text.contains("is beyond"), "{text}");
    all.victim.ends();
}
