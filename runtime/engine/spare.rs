//! Memory for copies of what is not acknowledged, and for long messages that no read waits for, used again: the C library gives long
//! pieces back to the system and gets them anew, page by page, which takes longer than to copy what is put there.

use std::ops::RangeInclusive;

use parking_lot::Mutex;

use crate::buffer::memory;
use crate::buffer::spare::Spare;

/// What a process keeps, whatever its links.
const BYTES_MAX: usize = 4 << 20;
/// Shorter pieces the C library keeps itself.
const PIECE_BYTES_MIN: usize = 16 << 10;

static SPARE: Mutex<Spare<Vec<u8>>> = Mutex::new(Spare::new(BYTES_MAX));

/// A copy of all of `from`.
pub(super) fn copy_of(from: &[u8]) -> Vec<u8> {
    let mut copy = take(from.len()..=2 * from.len()).unwrap_or_default();
    memory::append(&mut copy, from);
    copy
}

/// An empty piece with that much room, if there is one.
pub(super) fn take(room: RangeInclusive<usize>) -> Option<Vec<u8>> {
    if *room.end() < PIECE_BYTES_MIN { None } else { SPARE.lock().take(|piece| room.contains(&piece.capacity())) }
}

/// Its memory is for the next.
pub(super) fn keep(mut piece: Vec<u8>) {
    let bytes = piece.capacity();
    if (PIECE_BYTES_MIN..=BYTES_MAX).contains(&bytes) {
        piece.clear();
        // What there is no room for goes back to the system when nothing is locked.
        let oldest = SPARE.lock().keep(piece, bytes);
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_whole_in_memory_that_had_something_else() {
        for filled in [1u8, 2, 3] {
            let copy = copy_of(&[filled; 50_000]);
            assert!(copy.len() == 50_000 && copy.iter().all(|&byte| byte == filled));
            keep(copy);
        }
    }
}
