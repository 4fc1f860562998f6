//! How data is divided: into one block per rank, and into consecutive segments.

use std::ops::Range;
use std::sync::Arc;

/// The number of elements of each rank's block.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Blocks {
    /// The same number for every rank.
    Equal(u64),
    /// A number for each rank.
    Each(Arc<[u64]>),
    /// The numbers that this rank sends to each rank and receives from each. Other ranks do not know them, so nothing on
    /// which ranks must agree may depend on them: [`Blocks::count`] and all that follows from it are 0.
    Own {
        /// For each rank.
        sent: Arc<[u64]>,
        /// From each rank.
        received: Arc<[u64]>,
    },
}

impl Blocks {
    /// `count` elements divided as evenly as possible: the first blocks may have one more than the last.
    pub fn even(count: u64, ranks: u32) -> Self {
        let (least, more) = (count / u64::from(ranks), count % u64::from(ranks));
        if more == 0 {
            return Blocks::Equal(least);
        }
        Blocks::Each((0..u64::from(ranks)).map(|rank| least + u64::from(rank < more)).collect())
    }

    /// The number of elements of block `rank`.
    pub fn count(&self, rank: u32) -> u64 {
        match self {
            Blocks::Equal(count) => *count,
            Blocks::Each(counts) => counts[rank as usize],
            Blocks::Own { .. } => 0,
        }
    }

    /// The range of the blocks of `ranks`, if all blocks are consecutive.
    pub fn range(&self, ranks: Range<u32>) -> Range<u64> {
        match self {
            Blocks::Equal(count) => u64::from(ranks.start) * count..u64::from(ranks.end) * count,
            Blocks::Each(counts) => {
                let start = counts[..ranks.start as usize].iter().sum();
                start..start + counts[ranks.start as usize..ranks.end as usize].iter().sum::<u64>()
            }
            Blocks::Own { .. } => 0..0,
        }
    }

    /// The ranges of the first `ranks` blocks, in one pass.
    pub fn ranges(&self, ranks: u32) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut end = 0;
        (0..ranks).map(move |rank| {
            let start = end;
            end += self.count(rank);
            start..end
        })
    }

    /// The number of elements of all blocks.
    pub fn total(&self, ranks: u32) -> u64 {
        self.range(0..ranks).end
    }

    /// The number of elements of the longest block.
    pub fn longest(&self) -> u64 {
        match self {
            Blocks::Equal(count) => *count,
            Blocks::Each(counts) => counts.iter().copied().max().unwrap_or(0),
            Blocks::Own { .. } => 0,
        }
    }
}

impl From<u64> for Blocks {
    fn from(count: u64) -> Self {
        Blocks::Equal(count)
    }
}

/// Cuts `count` elements into segments of at most `segment` elements, the last of which may be shorter.
/// 0 does not cut. No elements are no segment.
pub(super) fn segments(count: u64, segment: u64) -> impl Iterator<Item = Range<u64>> + Clone {
    let step = if segment == 0 { count.max(1) } else { segment };
    (0..count.div_ceil(step)).map(move |index| index * step..((index + 1) * step).min(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_blocks_differ_by_one_at_most() {
        for count in [0u64, 1, 5, 6, 7, 63, 64, 65, 1000] {
            for ranks in 1..=64 {
                let blocks = Blocks::even(count, ranks);
                let ranges: Vec<_> = blocks.ranges(ranks).collect();
                assert_eq!(blocks.total(ranks), count);
                assert_eq!(ranges.last().unwrap().end, count);
                for rank in 0..ranks {
                    assert!(blocks.count(rank).abs_diff(count / u64::from(ranks)) <= 1);
                    assert_eq!(blocks.range(rank..rank + 1), ranges[rank as usize]);
                }
                assert_eq!(blocks.longest(), count.div_ceil(ranks.into()));
            }
        }
    }

    #[test]
    fn segments_cover_everything_once() {
        let cut = |count, segment| segments(count, segment).collect::<Vec<_>>();
        assert_eq!(cut(0, 0), []);
        assert_eq!(cut(0, 4), []);
        assert_eq!(cut(2, 0).first(), Some(&(0..2)));
        assert_eq!(cut(2, 0).len(), 1);
        assert_eq!(cut(5, 2), [0..2, 2..4, 4..5]);
        assert_eq!(cut(4, 2), [0..2, 2..4]);
    }
}
