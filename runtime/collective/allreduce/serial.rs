//! Everybody sends to rank 0, which combines in the order of ranks and answers everybody: `2 (ranks - 1)` messages, of which no rank
//! but the first waits for more than one. For short operands of ranks that share cores.

use crate::collective::broadcast::pass_down;
use crate::collective::reduce::pass_up;
use crate::collective::schedule::{Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let others: Vec<Rank> = if rank == Rank(0) { (1..ranks).map(Rank).collect() } else { Vec::new() };
    let parent = Some(Rank(0)).filter(|root| *root != rank);
    let children: Vec<(Rank, Side)> = others.iter().map(|&other| (other, Side::Right)).collect();
    let free = pass_up(&mut builder, parent, &children, region, 0);
    pass_down(&mut builder, (parent, &others), region, 0, &free);
    builder.finish()
}
