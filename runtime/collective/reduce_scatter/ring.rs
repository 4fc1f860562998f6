//! Ring for long blocks and commutative operators: each block travels around the ring, from the rank behind its own to its
//! own, and is combined on its way. Cost: `ranks - 1` messages of a block one after the other, each between neighbours.
//!
//! Block `i` is combined in the order of ranks from rank `i + 1` around: `((x_(i+1) op x_(i+2)) op ...) op x_i`. So the
//! operator must be commutative.

use super::{ROOMS, regions};
use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let regions = regions(ranks, blocks);
    let (left, right) = (rank.on_ring(-1, ranks), rank.on_ring(1, ranks));
    let rounds = ranks.saturating_sub(1) as usize;
    let rooms: Vec<Region> = (0..rounds.min(ROOMS)).map(|_| builder.scratch(blocks.longest())).collect();
    let (mut combined, mut emptied): (After, [After; ROOMS]) = (None, [None; ROOMS]);
    for round in 0..rounds {
        let out = regions[rank.on_ring(-1 - round as i64, ranks).index()];
        let into = regions[rank.on_ring(-2 - round as i64, ranks).index()];
        builder.send(right, out, &[combined]);
        let room = rooms[round % ROOMS].part(&(0..into.count));
        let received = builder.receive(left, room, &[emptied[round % ROOMS]]);
        combined = builder.combine(into, room, Side::Left, &[received]);
        // An empty block leaves the room as it is.
        emptied[round % ROOMS] = combined.or(emptied[round % ROOMS]);
    }
    builder.finish()
}

/// The price of blocks of equal length, per byte of a block.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let rounds = f64::from(ranks - 1);
    Line {
        fixed: rounds * machine.exchange_fixed(),
        per_byte: rounds * (machine.transfer(ranks as usize) + machine.combine),
    }
}
