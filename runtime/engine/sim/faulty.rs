//! Buffers of the program's own types that fail.

use std::io::IoSlice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::units::{NOW, Pair};
use crate::buffer::{Element, ElementType, WriteBuffer};
use crate::engine::OpId;
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
