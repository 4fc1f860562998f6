//! Pairwise exchange for any operator: in round k everybody sends the block of the rank k further on to that rank, and
//! receives a contribution to its own from the rank k before. Cost: `ranks - 1` messages of a block.
//!
//! Operands are combined in the order of ranks. Those of the ranks below come in falling order, and each is combined on
//! the left; those of the ranks above come in falling order too, are combined among themselves, and stand on the right:
//! `(x_0 op (... op x_i)) op (x_(i+1) op (... op x_(ranks-1)))`.

use super::{ROOMS, regions};
use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`. A message waits until the one before has left, and until that of the round `window` before has
/// come; 0 does not wait for what comes: all rounds go as fast as they can.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks, window: u32) -> Schedule {
    let mut builder = Builder::new();
    let regions = regions(ranks, blocks);
    let own = regions[rank.index()];
    let above = rank.above(ranks).map(|_| builder.scratch(own.count));
    let rooms: Vec<Region> =
        (0..(ranks as usize).saturating_sub(2).clamp(1, ROOMS)).map(|_| builder.scratch(own.count)).collect();
    let mut received: Vec<After> = Vec::new();
    let (mut sent, mut emptied): (After, [After; ROOMS]) = (None, [None; ROOMS]);
    // The last steps that combined contributions of ranks below, and of ranks above.
    let (mut low, mut high): (After, After) = (None, None);
    for round in 1..ranks as usize {
        let (to, from) = (rank.on_ring(round as i64, ranks), rank.on_ring(-(round as i64), ranks));
        let behind = if window == 0 { None } else { received.len().checked_sub(window as usize) };
        let after = [sent, behind.and_then(|behind| received[behind])];
        sent = builder.send(to, regions[to.index()], &after).or(sent);
        match above.filter(|_| from > rank) {
            // The first one from above needs no room: the others are combined into it.
            Some(sum) if from.above(ranks).is_none() => {
                high = builder.receive(from, sum, &[]);
                received.push(high);
            }
            sum => {
                let (room, slot) = (rooms[round % rooms.len()], round % rooms.len());
                let came = builder.receive(from, room, &[emptied[slot]]);
                received.push(came);
                let (into, last) = sum.map_or((own, &mut low), |sum| (sum, &mut high));
                *last = builder.combine(into, room, Side::Left, &[came, *last]);
                emptied[slot] = *last;
            }
        }
    }
    if let Some(sum) = above {
        builder.combine(own, sum, Side::Right, &[low, high]);
    }
    builder.finish()
}

/// The price of blocks of equal length in rounds that wait for each other (a window of 1), or do not (0), per byte of a
/// block. It is a lower bound.
pub(crate) fn price(machine: &CostModel, ranks: u32, window: u32) -> Line {
    use crate::collective::alltoall;
    let rounds = f64::from(ranks.saturating_sub(1));
    let line = if window == 0 {
        alltoall::pairwise::price_at_once(machine, ranks)
    } else {
        alltoall::pairwise::price(machine, ranks)
    };
    Line { per_byte: line.per_byte.max(rounds * machine.combine), ..line }
}
