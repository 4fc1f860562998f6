//! Binomial tree reduction. Operands are combined in the order of ranks for every root: each subtree is an
//! interval of ranks, which grows by its neighbours. Cost: `ceil(log2 ranks)` messages one after the other.
//!
//! With halves `[low, middle)` and `[middle, high)`, the result of an interval is `(low half) op (high half)`.

use super::pass_up;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::collective::tree::halving;
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements to `root`, in segments of at most `segment` elements
/// (0: in one piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    append(&mut builder, rank, ranks, root, Region::output(0, count), segment);
    builder.finish()
}

/// The same as part of another schedule.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    rank: Rank,
    ranks: u32,
    root: Rank,
    region: Region,
    segment: u64,
) -> Vec<After> {
    let family = halving(rank, ranks, root);
    let children: Vec<(Rank, Side)> = family.children.iter().rev().map(|child| (child.rank, child.side)).collect();
    pass_up(builder, family.parent, &children, region, segment)
}
