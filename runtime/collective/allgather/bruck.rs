//! Bruck's algorithm for short blocks and any number of ranks: in round k everybody sends all it has, up to 2^k
//! blocks, to the rank 2^k before. Cost: `ceil(log2 ranks)` messages; blocks are turned into place at the end.

use std::ops::Range;

use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let (ranges, total): (Vec<Range<u64>>, u64) = (blocks.ranges(ranks).collect(), blocks.total(ranks));
    let wrapped = ranges[rank.index()].start;
    // Block i of the scratch buffer is that of the rank i further on.
    let turned = builder.scratch(total);
    let start = |by: u32| match (rank.0 + by).checked_sub(ranks) {
        None => ranges[(rank.0 + by) as usize].start - wrapped,
        Some(around) => ranges[around as usize].start + (total - wrapped),
    };
    let place = |blocks: Range<u32>| turned.part(&(start(blocks.start)..start(blocks.end)));
    let own_block = Region::output(wrapped, blocks.count(rank.0));
    let mut here = vec![builder.copy(own_block, place(0..1), &[])];
    for (distance, blocks) in rounds(ranks) {
        builder.send(rank.on_ring(-i64::from(distance), ranks), place(0..blocks), &here);
        here.push(builder.receive(rank.on_ring(i64::from(distance), ranks), place(distance..distance + blocks), &[]));
    }
    let own = total - wrapped;
    builder.copy(turned.part(&(0..own)), Region::output(wrapped, own), &here);
    builder.copy(turned.part(&(own..total)), Region::output(0, wrapped), &here);
    builder.finish()
}

/// For each round the distance to the partner, and the number of blocks sent.
fn rounds(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    let distances = (0..32).map(|round| 1u32 << round).take_while(move |&distance| distance < ranks);
    distances.map(move |distance| (distance, distance.min(ranks - distance)))
}

/// The price, per byte of a block.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let (mut fixed, mut blocks) = (0.0, 0);
    for (_, sent) in rounds(ranks) {
        fixed += machine.exchange_fixed();
        blocks += sent;
    }
    Line { fixed, per_byte: f64::from(blocks) * machine.transfer(ranks as usize) }
}

/// How many times a block's bytes are copied on each rank: the own block at first, all blocks at the end.
pub(crate) fn copies(ranks: u32) -> f64 {
    f64::from(ranks) + 1.0
}
