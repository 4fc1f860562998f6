//! The global operation of Stoica, Sultan and Keyes (3.2, Fig. 13), p4's own: contributions are collected up the
//! binary tree, then rank 0 sends the result to everybody, one after the other.
//!
//! Operands are combined in the order of ranks: `own op left op right` at every node.
//! Cost of a short one: `D(0) + (N + 1) a_W + a_C + a_L` with N = ranks - 1, where `D(i)` is the moment at which
//! node `i` has taken what its children sent, `a_W` each, in the order of arrival.

use crate::collective::broadcast::serial;
use crate::collective::reduce::binary;
use crate::collective::schedule::{Builder, Region, Schedule};
#[cfg(test)]
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank` in the global operation on `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let free = binary::append(&mut builder, rank, ranks, Rank(0), region, 0);
    serial::append(&mut builder, rank, ranks, Rank(0), region, free.first().copied().flatten());
    builder.finish()
}

/// The paper's price of a short message, in seconds.
#[cfg(test)]
pub(crate) fn price_fixed(machine: &CostModel, ranks: u32) -> f64 {
    if ranks < 2 {
        return 0.0;
    }
    let mut done = vec![0.0; ranks as usize];
    for node in (0..ranks as usize).rev() {
        let children = (2 * node + 1..=2 * node + 2).filter(|&child| child < ranks as usize);
        let mut arrivals: Vec<f64> =
            children.map(|child| done[child] + machine.node.fixed + machine.flight()).collect();
        arrivals.sort_by(f64::total_cmp);
        done[node] = arrivals.into_iter().fold(0.0, |free, arrival| arrival.max(free) + machine.node.fixed);
    }
    done[0] + f64::from(ranks) * machine.node.fixed + machine.flight()
}
