//! Serial scatter: the root sends each block to its rank, one after the other.

use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank` in the scatter from `root`.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    if rank != root {
        builder.receive(root, Region::output(0, blocks.count(rank.0)), &[]);
        return builder.finish();
    }
    let whole = Region::input(0, blocks.total(ranks));
    let regions: Vec<Region> = blocks.ranges(ranks).map(|range| whole.part(&range)).collect();
    let mut sent: After = None;
    for by in 1..i64::from(ranks) {
        let to = root.on_ring(by, ranks);
        sent = builder.send(to, regions[to.index()], &[sent]).or(sent);
    }
    let own = regions[root.index()];
    builder.copy(own, Region::output(0, own.count), &[]);
    builder.finish()
}

/// The price of blocks of equal length, per byte of a block: that of a serial broadcast.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    crate::collective::broadcast::serial::price(machine, ranks)
}
