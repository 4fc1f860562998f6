//! Buffers of the program's own types that fail.

use std::io::{ErrorKind, IoSlice};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::units::{NOW, Pair};
use crate::buffer::{Element, ElementType, WriteBuffer};
use crate::engine::{Completed, Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::wire::frame::MatchKey;

/// A buffer of a type of the program's own that gives its bytes so many times.
struct Faulty {
    bytes: Vec<u8>,
    left: AtomicUsize,
    shrinks: bool,
}

impl WriteBuffer for Faulty {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        match (left, self.shrinks) {
            (0, true) => &[],
            (0, false) => panic!("a fault of the program's buffer, which this test wants"),
            _ => &self.bytes,
        }
    }
}

#[test]
fn a_buffer_that_fails_fails_its_node_and_every_operation_of_it_ends() {
    for (bytes, left, shrinks, to) in (0..12).flat_map(|left| {
        [100, 5000, 100_000].into_iter().flat_map(move |bytes| {
            [(bytes, left, true, 0), (bytes, left, false, 0), (bytes, left, true, 1), (bytes, left, false, 1)]
        })
    }) {
        let mut pair = Pair::new(64 << 20, 16, 9000);
        let place = || Box::new(vec![0u8; 100_000]);
        let faulty = Faulty { bytes: vec![7; bytes], left: left.into(), shrinks };
        let (engine, key) = (&mut pair.engines[0], MatchKey::user(Tag(1)));
        let mut ops: Vec<OpId> =
            vec![engine.initread(NOW, Rank(1), MatchKey::user(Tag(5)), u8::TYPE, place()).unwrap()];
        ops.extend(engine.initwrite(NOW, Rank(to), key, u8::TYPE, Box::new(faulty)).ok());
        ops.extend(engine.initread(NOW, Rank(to), key, u8::TYPE, place()).ok());
        ops.extend(engine.initwrite(NOW, Rank(1), key, u8::TYPE, Box::new(vec![8u8; 20_000])).ok());
        pair.engines[1].initread(NOW, Rank(0), key, u8::TYPE, place()).unwrap();
        let (mut ended, mut steps) = (Vec::new(), 0);
        while pair.engines[0].failure().is_none() && steps < 100 {
            steps += 1;
            let mut write =
                |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|slice| slice.len()).sum::<usize>().min(5000));
            pair.engines[0].transmit(Rank(1), &mut write).unwrap();
        }
        if let Some(failure) = pair.engines[0].failure() {
            let text = failure.to_string();
            assert!(text.contains("rank 0's initwrite to rank 1 (tag 1") && text.contains("`bytes`"), "{text}");
        }
        pair.engines[0].fail(Error::Shutdown { rank: Rank(0) });
        pair.engines[0].goodbye(Some((Rank(0), "it failed")));
        ended.extend(std::iter::from_fn(|| pair.engines[0].poll_completion()).map(|completion| completion.op));
        ended.sort_unstable();
        ops.sort_unstable();
        assert_eq!(ended, ops, "{bytes} bytes given {left} times to rank {to}, shrinks: {shrinks}");
        drop(pair.engines[0].take_spent());
    }
}

/// A buffer that gives its bytes so many times, and shares itself as `shares` says.
struct Sharing {
    bytes: Faulty,
    shares: Shares,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shares {
    Not,
    Panics,
    /// Another that gives other bytes: fewer.
    Fewer,
    /// Another that panics when it is asked for bytes.
    Faulty,
}

impl WriteBuffer for Sharing {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }
    fn share(&self) -> Option<Self> {
        let of = |bytes: &[u8], left: usize| {
            let bytes = Faulty { bytes: bytes.to_vec(), left: left.into(), shrinks: false };
            Some(Sharing { bytes, shares: Shares::Not })
        };
        match self.shares {
            Shares::Not => None,
            Shares::Panics => panic!("a fault of the program's buffer, which this test wants"),
            Shares::Fewer => of(&self.bytes.bytes[..10], usize::MAX),
            Shares::Faulty => of(&self.bytes.bytes, 0),
        }
    }
}

/// A connection is cut when so much of the message has gone, and its bytes are asked for again.
#[test]
fn a_buffer_that_fails_when_its_bytes_are_sent_again_fails_its_node_by_name() {
    const LONG: usize = 100_000;
    let (mut runs, mut failed) = (0, 0);
    let cases = (0..9usize).flat_map(|left| [0, 1, 3000, 60_000, usize::MAX].map(|sent| (left, sent)));
    for (left, sent) in cases.chain([(usize::MAX, usize::MAX), (usize::MAX, 3000)]) {
        for (shrinks, takes) in [(false, false), (true, false), (false, true), (true, true)] {
            for shares in [Shares::Not, Shares::Panics, Shares::Fewer, Shares::Faulty] {
                runs += 1;
                let bytes = Faulty { bytes: vec![7; LONG], left: left.into(), shrinks };
                failed += u32::from(is_sent_again(Sharing { bytes, shares }, sent, takes));
            }
        }
    }
    println!("{failed} of {runs} runs met a fault");
    assert!(failed > runs / 3 && failed < runs);
}

/// Returns whether the node has failed. `takes`: the program has its buffer back when the connection is cut.
fn is_sent_again(buffer: Sharing, mut room: usize, takes: bool) -> bool {
    let case = format!("{room} bytes go, {:?}, taken back: {takes}", buffer.shares);
    let mut pair = Pair::new(64 << 20, 16, 9000);
    let (engine, key) = (&mut pair.engines[0], MatchKey::user(Tag(1)));
    let place = Box::new(vec![0u8; 8]);
    let mut ops = vec![engine.initread(NOW, Rank(1), key, u8::TYPE, place).unwrap()];
    let Ok(write) = engine.initwrite(NOW, Rank(1), key, u8::TYPE, Box::new(buffer)) else { return true };
    ops.push(write);
    let mut taken = 0;
    let mut transmit = |engine: &mut Engine, room: &mut usize| {
        for _ in 0..200 {
            let mut write = |slices: &[IoSlice<'_>]| {
                let count = slices.iter().map(|slice| slice.len()).sum::<usize>().min(*room);
                *room -= count;
                taken += count;
                if count == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(count) }
            };
            engine.transmit(Rank(1), &mut write).unwrap();
        }
        taken
    };
    transmit(engine, &mut room);
    let mut ended = Vec::new();
    while let Some(Completed { op, outcome }) = engine.poll_completion() {
        ended.push(op);
        if let (Outcome::Written(written), true) = (outcome, takes) {
            drop(written.take());
        }
    }
    if engine.failure().is_none() {
        engine.suspend(Rank(1));
        let all = engine.sent(Rank(1));
        assert_eq!(engine.resume(Rank(1), 0), Ok(all), "{case}");
        transmit(engine, &mut usize::MAX.clone());
        let is_all = engine.sent_again(Rank(1)) == all;
        assert_eq!(engine.failure().is_none(), is_all, "{case}: {:?}", engine.failure());
    }
    let failure = engine.failure().map(Error::to_string);
    if let Some(text) = &failure {
        assert!(text.contains("rank 0's initwrite to rank 1 (tag 1") && text.contains("`bytes`"), "{case}: {text}");
    }
    engine.fail(Error::Shutdown { rank: Rank(0) });
    engine.goodbye(Some((Rank(0), "it failed")));
    // Whatever was lost is not asked for any more.
    transmit(engine, &mut usize::MAX.clone());
    ended.extend(std::iter::from_fn(|| engine.poll_completion()).map(|completion| completion.op));
    ended.sort_unstable();
    assert_eq!(ended, ops, "{case}");
    drop(engine.take_spent());
    failure.is_some()
}
