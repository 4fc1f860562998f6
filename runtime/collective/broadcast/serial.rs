//! Serial broadcast: the root sends to everybody, one after the other (Stoica, Sultan and Keyes 3.1, p4's own).
//!
//! Cost for N = ranks - 1 others: `a = (N + 1) a_W + a_C + a_L`, `b = N max(b_C, b_W)`. On a network that all
//! share and that is the bottleneck, no broadcast has a smaller b.

use super::pass_down;
use crate::collective::price::Line;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank` in the broadcast of `count` elements from `root`.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64) -> Schedule {
    let mut builder = Builder::new();
    append(&mut builder, rank, ranks, root, Region::output(0, count), None);
    builder.finish()
}

/// The same as part of another schedule: begins after `after`.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    rank: Rank,
    ranks: u32,
    root: Rank,
    region: Region,
    after: crate::collective::schedule::After,
) {
    if rank == root {
        let others: Vec<Rank> = (1..ranks).map(|by| root.on_ring(by.into(), ranks)).collect();
        pass_down(builder, (None, &others), region, 0, &[after]);
    } else {
        pass_down(builder, (Some(root), &[]), region, 0, &[after]);
    }
}

/// The paper's price, per byte of the message.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    if ranks < 2 {
        return Line::default();
    }
    let others = f64::from(ranks - 1);
    let fixed = (others + 1.0) * machine.node.fixed + machine.flight();
    Line { fixed, per_byte: others * machine.node.per_byte.max(machine.network.per_byte) }
}
