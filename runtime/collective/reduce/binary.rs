//! Binary tree reduction: the collection phase of the global operation of Stoica, Sultan and Keyes (3.2, Fig. 13).
//!
//! Every node combines `own op left op right` and sends the result to its parent. The tree has the paper's shape;
//! its nodes are numbered so that this is the order of ranks. With another root than rank 0, a commutative
//! operator is combined in the order of ranks from the root around; any other at rank 0, which sends the result to
//! the root, one message more.

use super::pass_up;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::collective::tree::heap_in_order;
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements to `root`, in segments of at most `segment` elements
/// (0: in one piece, as in the paper).
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64, is_commutative: bool) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let top = if is_commutative { root } else { Rank(0) };
    let free = append(&mut builder, rank, ranks, top, region, segment);
    if top != root && rank == top {
        for (part, result) in crate::collective::blocks::segments(count, segment).zip(&free) {
            builder.send(root, region.part(&part), &[*result]);
        }
    }
    if top != root && rank == root {
        for (part, sent) in crate::collective::blocks::segments(count, segment).zip(&free) {
            builder.receive(top, region.part(&part), &[*sent]);
        }
    }
    builder.finish()
}

/// The same as part of another schedule, ranks counted from `top` around.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    rank: Rank,
    ranks: u32,
    top: Rank,
    region: Region,
    segment: u64,
) -> Vec<After> {
    let named = |index: Rank| top.on_ring(index.0.into(), ranks);
    let family = heap_in_order(rank.on_ring(-i64::from(top.0), ranks), ranks);
    let children: Vec<(Rank, Side)> =
        family.children.iter().rev().map(|child| (named(child.rank), child.side)).collect();
    pass_up(builder, family.parent.map(named), &children, region, segment)
}
