//! Two ends and a connection that is cut wherever one likes: each frame comes once, in order.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::chance::Chance;
use crate::{mutant, scale};

/// Two ends, what is under way between them, and what has come.
#[derive(Default)]
struct Pair {
    ends: [Session; 2],
    /// To each end.
    under_way: [VecDeque<Outgoing>; 2],
    pushed: [u64; 2],
    come: [Vec<u64>; 2],
    acknowledgements: u64,
}

impl Pair {
    fn push(&mut self, end: usize) {
        if self.ends[end].has_room() {
            self.ends[end].push(Bytes::copy_from_slice(&self.pushed[end].to_le_bytes()));
            self.pushed[end] += 1;
        }
    }

    /// `end` sends one. Returns whether it had any.
    fn send(&mut self, end: usize) -> bool {
        let Some(outgoing) = self.ends[end].next() else { return false };
        self.acknowledgements += u64::from(matches!(outgoing, Outgoing::Acknowledgement(_)));
        self.under_way[1 - end].push_back(outgoing);
        true
    }

    /// One arrives at `end`. Returns whether any was under way.
    fn arrive(&mut self, end: usize) -> bool {
        match self.under_way[end].pop_front() {
            Some(Outgoing::Acknowledgement(number)) => {
                self.ends[end].acknowledge(number).expect("a number that can be")
            }
            Some(Outgoing::Frame(frame)) => {
                self.come[end].push(u64::from_le_bytes(frame[..].try_into().expect("a number")));
                self.ends[end].has_come();
            }
            None => return false,
        }
        true
    }

    /// All that is under way is lost. `ready_is_lost`: so is the acceptor's word that there is a new connection, and the
    /// acceptor sends `in_vain` frames on it.
    fn cut(&mut self, ready_is_lost: bool, in_vain: usize) {
        self.under_way = Default::default();
        let [dialer, acceptor] = &mut self.ends;
        acceptor.resume(dialer.received()).expect("a number that can be");
        if ready_is_lost {
            for _ in 0..in_vain {
                self.ends[1].next();
            }
            return self.cut(false, 0);
        }
        dialer.resume(acceptor.received()).expect("a number that can be");
    }

    /// Until nothing is left to do: all has come, once and in order.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            if !(0..2).any(|end| self.send(end) | self.arrive(end)) {
                break;
            }
        }
        for end in 0..2 {
            assert_eq!(self.come[end], (0..self.pushed[1 - end]).collect::<Vec<_>>());
            assert!(self.ends[end].is_settled() && self.ends[end].next().is_none(), "{:?}", self.ends[end]);
        }
    }
}

/// What may happen, drawn from `chance`.
fn step(pair: &mut Pair, chance: &mut Chance) {
    let end = chance.below(2_usize);
    match chance.below(16_u32) {
        0..4 => pair.push(end),
        4..9 => _ = pair.send(end),
        9..15 => _ = pair.arrive(end),
        _ => {
            let ready_is_lost = chance.once_in(3);
            pair.cut(ready_is_lost, chance.below(5));
        }
    }
}

#[test]
fn each_frame_comes_once_and_in_order_whatever_is_cut() {
    mutant::each_seed("each_frame_comes_once_and_in_order_whatever_is_cut", 100_000, |chance| {
        let mut pair = Pair::default();
        for _ in 0..chance.below(400_u32) {
            step(&mut pair, chance);
        }
        pair.cut(chance.once_in(2), 3);
        pair.settle();
        true
    });
}

/// Three frames each way, cut after every step, and after every further step once more.
#[test]
fn a_cut_after_every_step_loses_nothing() {
    let mut count = 0;
    for (first, second) in (0..24).flat_map(|first| (0..24).map(move |second| (first, second))) {
        for ready_is_lost in [false, true] {
            let mut pair = Pair::default();
            (0..6).for_each(|at| pair.push(at % 2));
            for steps in [first, second] {
                for at in 0..steps {
                    // Both ends send, then both hear.
                    _ = if at % 4 < 2 { pair.send(at % 2) } else { pair.arrive(at % 2) };
                }
                pair.cut(ready_is_lost, 2);
            }
            pair.settle();
            count += 1;
        }
    }
    println!("{count} pairs of cuts");
}

#[test]
fn what_nobody_was_sent_nobody_can_have() {
    let mut session = Session::default();
    (0..3).for_each(|_| session.push(Bytes::from_static(b"frame")));
    assert!(session.acknowledge(1).is_err(), "none was sent");
    assert!(session.next().is_some() && session.next().is_some());
    assert_eq!(session.acknowledge(3), Err(Miscount { claimed: 3, least: 0, most: 2 }));
    session.acknowledge(1).unwrap();
    assert!(session.acknowledge(0).is_err(), "it had that one");
    session.acknowledge(1).unwrap();
    for claimed in [0, 3, u64::MAX] {
        assert!(session.resume(claimed).is_err(), "{claimed}");
    }
    session.resume(1).unwrap();
    assert!(session.acknowledge(2).is_err(), "not again on this connection");
    assert_eq!(session.next(), Some(Outgoing::Frame(Bytes::from_static(b"frame"))));
    session.acknowledge(2).unwrap();
}

#[test]
fn an_idle_session_says_nothing() {
    let mut pair = Pair::default();
    pair.push(0);
    pair.settle();
    assert_eq!(pair.acknowledgements, 1, "none answers an acknowledgement");
    for _ in 0..10 {
        pair.cut(false, 0);
        assert!(!pair.send(0) && !pair.send(1));
    }
}

#[test]
fn what_is_kept_is_bounded() {
    for bytes in [1, 1 << 10, 1 << 20] {
        let (mut session, mut count) = (Session::default(), 0);
        while session.has_room() {
            session.push(vec![0; bytes].into());
            count += 1;
            while session.next().is_some() {}
        }
        assert!(count <= FRAMES_MAX && count * bytes <= BYTES_MAX + bytes, "{count} of {bytes} bytes");
        session.acknowledge(1).unwrap();
        assert!(session.has_room());
        session.acknowledge(count as u64).unwrap();
        assert_eq!(session.kept_bytes, 0);
    }
}

proptest! {
    #![proptest_config(scale::cases(4096))]

    /// Any claim is an error or leaves a session that still delivers what it keeps.
    #[test]
    fn no_claim_harms_a_session(seed: u64, claim: u64, near in 0_u64..40, on_resume: bool) {
        let (mut pair, mut chance) = (Pair::default(), Chance(seed));
        for _ in 0..200 {
            step(&mut pair, &mut chance);
        }
        for claimed in [claim, near] {
            let session = &mut pair.ends[0];
            let (kept, least) = (session.kept.len(), session.acknowledged);
            let heard = if on_resume { session.resume(claimed) } else { session.acknowledge(claimed) };
            let gone = if heard.is_ok() { claimed - least } else { 0 };
            prop_assert_eq!(session.kept.len() as u64, kept as u64 - gone);
            prop_assert!(session.next <= session.sent && session.next >= session.acknowledged);
        }
    }
}
