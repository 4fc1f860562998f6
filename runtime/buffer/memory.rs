//! Copies of what may be long.
//!
//! C libraries copy some kilobytes and more by one instruction (`rep movsb`), which on some processors takes ten times as long if the
//! copy lies 1 to 31 bytes further within a page than the original (seen: AMD EPYC, glibc 2.36). Long buffers begin 16 bytes behind the
//! begin of a page, most of them, and what is copied here follows headers: it happens. Short pieces are copied by a few
//! vector instructions, at the speed of memory wherever they lie. Pieces of 1 KiB need a loop of them, and take twice as long if the
//! bytes are in no cache.

use std::ops::DerefMut;

/// C libraries copy so many bytes by vector instructions, without a loop.
const PIECE_BYTES: usize = 256;

/// Copies all of `from`.
///
/// # Panics
/// If the lengths differ.
pub(crate) fn copy<T: Copy>(into: &mut [T], from: &[T]) {
    assert_eq!(into.len(), from.len(), "a copy is as long as what is copied");
    for (into, from) in into.chunks_mut(elements::<T>()).zip(from.chunks(elements::<T>())) {
        into.copy_from_slice(from);
    }
}

/// Appends a copy of all of `from`.
pub(crate) fn append<T: Copy>(into: &mut Vec<T>, from: &[T]) {
    into.reserve(from.len());
    for from in from.chunks(elements::<T>()) {
        into.extend_from_slice(from);
    }
}

/// A copy of all of `from`.
pub(crate) fn copy_of<T: Copy>(from: &[T]) -> Vec<T> {
    let mut copy = Vec::new();
    append(&mut copy, from);
    copy
}

/// Of `count` bytes that lie in `pieces` one after the other, all from `skip` on move to the front.
///
/// # Panics
/// If the pieces have fewer bytes.
pub(crate) fn move_up<P: DerefMut<Target = [u8]>>(pieces: &mut [P], skip: usize, count: usize) {
    let mut left = count.saturating_sub(skip);
    let (mut to, mut to_at, mut from, mut from_at) = (0, 0, 0, skip);
    while left > 0 {
        if to_at == pieces[to].len() {
            (to, to_at) = (to + 1, 0);
            continue;
        }
        if from_at >= pieces[from].len() {
            (from, from_at) = (from + 1, from_at - pieces[from].len());
            continue;
        }
        let room = (pieces[to].len() - to_at).min(pieces[from].len() - from_at);
        let now = room.min(left).min(PIECE_BYTES);
        if to == from {
            pieces[to].copy_within(from_at..from_at + now, to_at);
        } else {
            let (before, after) = pieces.split_at_mut(from);
            before[to][to_at..to_at + now].copy_from_slice(&after[0][from_at..from_at + now]);
        }
        (to_at, from_at, left) = (to_at + now, from_at + now, left - now);
    }
}

/// How many elements a piece has.
const fn elements<T>() -> usize {
    match size_of::<T>() {
        0 => usize::MAX,
        bytes if bytes > PIECE_BYTES => 1,
        bytes => PIECE_BYTES / bytes,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn all_is_copied(from in prop::collection::vec(any::<[u8; 3]>(), 0..3000), before in 0..40_usize) {
            let mut into = vec![[7; 3]; from.len()];
            copy(&mut into, &from);
            prop_assert_eq!(&into, &from);
            prop_assert_eq!(&copy_of(&from), &from);
            let mut all = vec![[9; 3]; before];
            append(&mut all, &from);
            prop_assert_eq!(&all[..before], &vec![[9; 3]; before][..]);
            prop_assert_eq!(&all[before..], &from[..]);
        }

        #[test]
        fn what_lies_in_pieces_moves_up(
            lengths in prop::collection::vec(0..3000_usize, 1..8),
            (skip, short) in (0..5000_usize, 0..100_usize),
        ) {
            let total: usize = lengths.iter().sum();
            let all: Vec<u8> = (0..total).map(|at| (at % 251) as u8).collect();
            let count = total.saturating_sub(short);
            let mut rest = &all[..];
            let mut pieces: Vec<Vec<u8>> = lengths.iter().map(|&length| {
                let (piece, beyond) = rest.split_at(length);
                rest = beyond;
                piece.to_vec()
            }).collect();
            move_up(&mut pieces.iter_mut().map(|piece| &mut piece[..]).collect::<Vec<_>>(), skip, count);
            let expected = all[..count].get(skip..).unwrap_or_default();
            prop_assert_eq!(&pieces.concat()[..expected.len()], expected);
        }
    }

    #[test]
    fn elements_of_any_size_are_copied() {
        assert_eq!(copy_of(&[(); 5000]).len(), 5000);
        assert_eq!(copy_of(&[[1_u8; 3000]; 3]), [[1_u8; 3000]; 3]);
    }

    #[test]
    #[should_panic(expected = "as long as")]
    fn what_is_not_as_long_is_no_copy() {
        copy(&mut [0_u8; 3], &[0_u8; 4]);
    }
}
