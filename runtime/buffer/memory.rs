//! Copies of what may be long.
//!
//! C libraries copy some kilobytes and more by one instruction (`rep movsb`). On most processors nothing is faster: what is in a cache
//! takes half as long as by vector instructions (seen: Intel Ice Lake). On AMD's it takes ten times as long if the copy lies 1 to 31
//! bytes further within a page than the original (seen: EPYC, glibc 2.36). Long buffers begin 16 bytes behind the begin of a page, most
//! of them, and what is copied here follows headers: it happens. So what is long is copied there in short pieces, for which libraries
//! take a few vector instructions: at the speed of memory, wherever they lie.

use std::ops::DerefMut;
use std::sync::OnceLock;

use lathide_sys::processor;

/// C libraries copy so many bytes by vector instructions, without a loop. Pieces of 1 KiB need one, and take twice as long if the bytes
/// are in no cache.
const SHORT_BYTES: usize = 256;

/// Copies all of `from`.
///
/// # Panics
/// If the lengths differ.
pub(crate) fn copy<T: Copy>(into: &mut [T], from: &[T]) {
    copy_by(piece_bytes(from), into, from);
}

fn copy_by<T: Copy>(piece_bytes: usize, into: &mut [T], from: &[T]) {
    assert_eq!(into.len(), from.len(), "a copy is as long as what is copied");
    let elements = elements::<T>(piece_bytes);
    for (into, from) in into.chunks_mut(elements).zip(from.chunks(elements)) {
        into.copy_from_slice(from);
    }
}

/// Appends a copy of all of `from`.
pub(crate) fn append<T: Copy>(into: &mut Vec<T>, from: &[T]) {
    append_by(piece_bytes(from), into, from);
}

fn append_by<T: Copy>(piece_bytes: usize, into: &mut Vec<T>, from: &[T]) {
    into.reserve(from.len());
    for from in from.chunks(elements::<T>(piece_bytes)) {
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
        let now = room.min(left).min(SHORT_BYTES);
        if to == from {
            pieces[to].copy_within(from_at..from_at + now, to_at);
        } else {
            let (before, after) = pieces.split_at_mut(from);
            before[to][to_at..to_at + now].copy_from_slice(&after[0][from_at..from_at + now]);
        }
        (to_at, from_at, left) = (to_at + now, from_at + now, left - now);
    }
}

/// How many bytes of `from` are copied at a time.
fn piece_bytes<T>(from: &[T]) -> usize {
    static LONG: OnceLock<usize> = OnceLock::new();
    if size_of_val(from) <= SHORT_BYTES {
        return SHORT_BYTES;
    }
    *LONG.get_or_init(|| if processor::is_by_amd() { SHORT_BYTES } else { usize::MAX })
}

/// How many elements such a piece has.
const fn elements<T>(piece_bytes: usize) -> usize {
    match size_of::<T>() {
        0 => usize::MAX,
        bytes if bytes > piece_bytes => 1,
        bytes => piece_bytes / bytes,
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
            for piece_bytes in [SHORT_BYTES, usize::MAX] {
                let mut into = vec![[7; 3]; from.len()];
                copy_by(piece_bytes, &mut into, &from);
                prop_assert_eq!(&into, &from);
                let mut all = vec![[9; 3]; before];
                append_by(piece_bytes, &mut all, &from);
                prop_assert_eq!(&all[..before], &vec![[9; 3]; before][..]);
                prop_assert_eq!(&all[before..], &from[..]);
            }
            prop_assert_eq!(&copy_of(&from), &from);
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
