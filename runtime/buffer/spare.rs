//! Memory that is used again: pieces are kept for whoever has use for them next, the oldest as long as there is room. Pure.

use std::collections::VecDeque;

/// So many pieces are looked at: what is needed next is mostly as long as what was needed last.
const LOOKED_AT_MAX: usize = 4;

/// Pieces of memory that nobody uses.
pub(crate) struct Spare<P> {
    /// Each with its bytes; the one that was kept last comes last.
    pieces: VecDeque<(P, usize)>,
    /// Of all.
    bytes: usize,
    bytes_max: usize,
}

impl<P> Spare<P> {
    /// Room for so many bytes.
    pub(crate) const fn new(bytes_max: usize) -> Self {
        Spare { pieces: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// One of the pieces that were kept last, if it fits.
    pub(crate) fn take(&mut self, fits: impl Fn(&P) -> bool) -> Option<P> {
        let from_end = self.pieces.iter().rev().take(LOOKED_AT_MAX).position(|(piece, _)| fits(piece))?;
        let (piece, bytes) = self.pieces.remove(self.pieces.len() - 1 - from_end)?;
        self.bytes -= bytes;
        Some(piece)
    }

    /// Keeps a piece of so many bytes. Returns those that there is no room for any more: to be dropped when nothing is locked.
    pub(crate) fn keep(&mut self, piece: P, bytes: usize) -> Vec<P> {
        self.bytes += bytes;
        self.pieces.push_back((piece, bytes));
        let mut gone = Vec::new();
        while self.bytes > self.bytes_max
            && let Some((oldest, bytes)) = self.pieces.pop_front()
        {
            self.bytes -= bytes;
            gone.push(oldest);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES_MAX: usize = 1000;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// Whatever comes and goes, no more is kept than allowed, what is taken fits, and what is kept is counted.
        #[test]
        fn what_is_kept_is_bounded_and_fits(steps in prop::collection::vec((any::<bool>(), 0..3 * BYTES_MAX / 2), 1..60)) {
            let mut spare = Spare::new(BYTES_MAX);
            for (takes, bytes) in steps {
                if takes {
                    if let Some(piece) = spare.take(|piece| (bytes..=2 * bytes).contains(piece)) {
                        prop_assert!((bytes..=2 * bytes).contains(&piece));
                    }
                } else {
                    drop(spare.keep(bytes, bytes));
                }
                prop_assert!(spare.bytes <= BYTES_MAX);
                prop_assert_eq!(spare.bytes, spare.pieces.iter().map(|(piece, _)| piece).sum::<usize>());
            }
        }
    }

    #[test]
    fn the_last_ones_are_looked_at_and_the_oldest_goes() {
        let mut spare = Spare::new(BYTES_MAX);
        let quarter = BYTES_MAX / 4;
        let gone: Vec<Vec<usize>> = (0..6).map(|piece| spare.keep(piece, quarter)).collect();
        assert_eq!(gone, [vec![], vec![], vec![], vec![], vec![0], vec![1]]);
        assert_eq!((spare.take(|piece| *piece < 4), spare.take(|piece| *piece < 4)), (Some(3), Some(2)));
        assert_eq!((spare.take(|piece| *piece < 4), spare.bytes), (None, 2 * quarter), "they are taken");
    }
}
