//! Ring reduction for long messages and commutative operators: the data is divided into a block per rank; each
//! block travels around the ring and is combined, then travels around once more. Cost: `2 (ranks - 1)` messages of
//! a block one after the other, so that twice the data passes each link, whatever the number of ranks.
//!
//! Block `i` is combined in the order of ranks from rank `i` around: `((x_i op x_(i+1)) op ...) op x_(i-1)`. So the
//! operator must be commutative.

use crate::collective::allgather::ring::{self, Before};
use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let blocks = Blocks::even(count, ranks);
    let regions: Vec<Region> = blocks.ranges(ranks).map(|range| Region::output(0, count).part(&range)).collect();
    let (left, right) = (rank.on_ring(-1, ranks), rank.on_ring(1, ranks));
    let rooms: Vec<Region> = (0..2.min(ranks - 1)).map(|_| builder.scratch(blocks.longest())).collect();
    let mut before = Before { sent: vec![None; ranks as usize], received: Vec::new() };
    let (mut combined, mut emptied): (After, [After; 2]) = (None, [None; 2]);
    for round in 0..ranks.saturating_sub(1) as usize {
        let out = rank.on_ring(-(round as i64), ranks).index();
        let into = rank.on_ring(-(round as i64) - 1, ranks).index();
        before.sent[out] = builder.send(right, regions[out], &[combined]);
        let room = rooms[round % 2].part(&(0..regions[into].count));
        let received = builder.receive(left, room, &[emptied[round % 2]]);
        before.received.push(received);
        combined = builder.combine(regions[into], room, Side::Left, &[received]);
        // An empty block leaves the room as it is.
        emptied[round % 2] = combined.or(emptied[round % 2]);
    }
    // The block that was combined last is complete. Blocks come back into the places from which they were sent.
    let own = rank.on_ring(1, ranks);
    ring::append(&mut builder, rank, own, (&regions, regions[own.index()]), combined, Some(before));
    builder.finish()
}

/// The price of blocks of equal length, per byte of the whole.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let rounds = f64::from(2 * (ranks - 1));
    let block = 1.0 / f64::from(ranks);
    Line {
        fixed: rounds * machine.exchange_fixed(),
        per_byte: rounds * block * machine.transfer(ranks as usize) + rounds / 2.0 * block * machine.combine,
    }
}
