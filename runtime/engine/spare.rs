//! Memory for copies of what is not acknowledged, and for long messages that no read waits for, used again: the C library gives long
//! pieces back to the system and gets them anew, page by page, which takes longer than to copy what is put there.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use parking_lot::Mutex;

use crate::buffer::memory;

/// What a process keeps, whatever its links.
const BYTES_MAX: usize = 4 << 20;
/// Shorter pieces the C library keeps itself.
const PIECE_BYTES_MIN: usize = 16 << 10;
/// So many pieces are looked at: the next copy is mostly as long as the last ones.
const LOOKED_AT_MAX: usize = 4;

static SPARE: Mutex<Spare> = Mutex::new(Spare { pieces: VecDeque::new(), bytes: 0 });

struct Spare {
    /// The one that was kept last comes last.
    pieces: VecDeque<Vec<u8>>,
    /// Of all.
    bytes: usize,
}

/// A copy of all of `from`.
pub(super) fn copy_of(from: &[u8]) -> Vec<u8> {
    let mut copy = take(from.len()..=2 * from.len()).unwrap_or_default();
    memory::append(&mut copy, from);
    copy
}

/// An empty piece with that much room, if there is one.
pub(super) fn take(room: RangeInclusive<usize>) -> Option<Vec<u8>> {
    if *room.end() < PIECE_BYTES_MIN { None } else { SPARE.lock().take(&room) }
}

/// Its memory is for the next.
pub(super) fn keep(piece: Vec<u8>) {
    if (PIECE_BYTES_MIN..=BYTES_MAX).contains(&piece.capacity()) {
        // What there is no room for goes back to the system when nothing is locked.
        let oldest = SPARE.lock().keep(piece);
        drop(oldest);
    }
}

impl Spare {
    fn take(&mut self, room: &RangeInclusive<usize>) -> Option<Vec<u8>> {
        let fits = |piece: &Vec<u8>| room.contains(&piece.capacity());
        let from_end = self.pieces.iter().rev().take(LOOKED_AT_MAX).position(fits)?;
        let piece = self.pieces.remove(self.pieces.len() - 1 - from_end)?;
        self.bytes -= piece.capacity();
        Some(piece)
    }

    /// Returns those that there is no room for any more.
    fn keep(&mut self, mut piece: Vec<u8>) -> Vec<Vec<u8>> {
        piece.clear();
        self.bytes += piece.capacity();
        self.pieces.push_back(piece);
        let mut gone = Vec::new();
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.pieces.pop_front()
        {
            self.bytes -= oldest.capacity();
            gone.push(oldest);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// Whatever comes and goes, no more is kept than allowed, a piece has the room that is asked for, and what is kept is counted.
        #[test]
        fn what_is_kept_is_bounded_and_fits(steps in prop::collection::vec((any::<bool>(), 0..3 * BYTES_MAX / 2), 1..60)) {
            let mut spare = Spare { pieces: VecDeque::new(), bytes: 0 };
            for (takes, bytes) in steps {
                if takes {
                    if let Some(piece) = spare.take(&(bytes..=2 * bytes)) {
                        prop_assert!(piece.is_empty() && piece.capacity() >= bytes && piece.capacity() <= 2 * bytes);
                    }
                } else {
                    let mut piece = Vec::with_capacity(bytes);
                    piece.push(1);
                    drop(spare.keep(piece));
                }
                prop_assert!(spare.bytes <= BYTES_MAX);
                prop_assert_eq!(spare.bytes, spare.pieces.iter().map(Vec::capacity).sum::<usize>());
            }
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut spare = Spare { pieces: VecDeque::new(), bytes: 0 };
        let piece = Vec::with_capacity(64 << 10);
        let address = piece.as_ptr();
        assert!(spare.keep(piece).is_empty());
        assert_eq!(spare.take(&(16 << 10..=32 << 10)), None, "it is too long for that");
        let again = spare.take(&(60 << 10..=64 << 10)).expect("it fits");
        assert_eq!(again.as_ptr(), address);
        assert_eq!(spare.take(&(60 << 10..=64 << 10)), None, "it is taken");
    }

    #[test]
    fn a_copy_is_whole_in_memory_that_had_something_else() {
        for filled in [1u8, 2, 3] {
            let copy = copy_of(&[filled; 50_000]);
            assert!(copy.len() == 50_000 && copy.iter().all(|&byte| byte == filled));
            keep(copy);
        }
    }
}
