//! Pipelined chain reduction for long messages: segments travel towards the root, and every rank adds its own.
//! Cost with s segments: `ranks - 2 + s` segments one after the other.
//!
//! A commutative operator is combined along one chain, `x_root op (x_(root+1) op (... op x_(root-1)))`, ranks
//! counted around. Any other is combined in the order of ranks, along two chains that meet at the root:
//! `(((x_0 op x_1) op ...) op x_root) op (x_(root+1) op (... op x_(ranks-1)))`.

use super::pass_up;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements to `root`, in segments of at most `segment` elements
/// (0: in one piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64, is_commutative: bool) -> Schedule {
    let mut builder = Builder::new();
    append(&mut builder, rank, ranks, root, Region::output(0, count), segment, is_commutative);
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
    is_commutative: bool,
) -> Vec<After> {
    let (mut parent, mut children) = (None, Vec::new());
    if is_commutative {
        parent = (rank != root).then(|| rank.on_ring(-1, ranks));
        let next = rank.on_ring(1, ranks);
        children.extend((next != root).then_some((next, Side::Right)));
    } else {
        if rank <= root {
            children.extend(rank.below().map(|below| (below, Side::Left)));
        }
        if rank >= root {
            children.extend(rank.above(ranks).map(|above| (above, Side::Right)));
        }
        if rank < root {
            parent = rank.above(ranks);
        } else if rank > root {
            parent = rank.below();
        }
    }
    pass_up(builder, parent, &children, region, segment)
}
