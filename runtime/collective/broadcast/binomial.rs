//! Binomial tree broadcast: who has the message sends to half of those it is responsible for, so that the number
//! of holders doubles. Cost: `ceil(log2 ranks)` messages one after the other. In segments, it is the broadcast of k
//! packets of Tam and Wang (section 4).

use super::pass_down;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::collective::tree::halving;
use crate::ids::Rank;

/// The part of `rank` in the broadcast of `count` elements from `root`, in segments of at most `segment` elements
/// (0: in one piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    let family = halving(rank, ranks, root);
    let children: Vec<Rank> = family.children.iter().map(|child| child.rank).collect();
    pass_down(&mut builder, (family.parent, &children), Region::output(0, count), segment, &[]);
    builder.finish()
}
