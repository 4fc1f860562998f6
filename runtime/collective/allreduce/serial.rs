//! Everybody sends to rank 0, which combines in the order of ranks and answers everybody: `2 (ranks - 1)` messages, of which no rank
//! but the first waits for more than one. For short operands of ranks that share cores.

use crate::collective::broadcast::pass_down;
use crate::collective::reduce::pass_up;
use crate::collective::schedule::{Builder, Region, Schedule, Side};
use crate::collective::tree::{Family, star};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let Family { parent, children, .. } = star(rank, ranks);
    let operands: Vec<(Rank, Side)> = children.iter().map(|child| (child.rank, child.side)).collect();
    let free = pass_up(&mut builder, parent, &operands, region, 0);
    let children: Vec<Rank> = children.iter().map(|child| child.rank).collect();
    pass_down(&mut builder, (parent, &children), region, 0, &free);
    builder.finish()
}
