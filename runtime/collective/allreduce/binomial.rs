//! Binomial reduction to rank 0 and binomial broadcast back. Operands are combined in the order of ranks, as in
//! [`reduce::binomial`](crate::collective::reduce::binomial). Cost: `2 ceil(log2 ranks)` messages one after the
//! other, but only `2 (ranks - 1)` in all: for networks that all share.

use crate::collective::broadcast::pass_down;
use crate::collective::reduce::binomial;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::collective::tree::halving;
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements, in segments of at most `segment` elements (0: in one
/// piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let free = binomial::append(&mut builder, rank, ranks, Rank(0), region, segment);
    let family = halving(rank, ranks, Rank(0));
    let children: Vec<Rank> = family.children.iter().map(|child| child.rank).collect();
    pass_down(&mut builder, (family.parent, &children), region, segment, &free);
    builder.finish()
}
