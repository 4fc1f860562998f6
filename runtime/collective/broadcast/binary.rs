//! Binary tree broadcast (Stoica, Sultan and Keyes 3.1, Fig. 10): the children of `i` are `2i + 1` and `2i + 2`,
//! the left one is sent to first; ranks count from the root around.
//!
//! Cost: a is the latest `t(i)`, with `t(0) = 0` and `t(2i + s) = t(i) + (s + 1) a_W + a_C + a_L` for s = 1, 2. For
//! long messages the tree works in rounds, `r(0) = 0` and `r(2i + s) = r(i) + s`; with `n_k` transfers in round k,
//! `b = sum over k of max(n_k b_C, b_W)`.

use super::pass_down;
#[cfg(test)]
use crate::collective::price::Line;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::collective::tree::heap;
#[cfg(test)]
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank` in the broadcast of `count` elements from `root`, in segments of at most `segment` elements
/// (0: in one piece, as in the paper).
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    let (parent, children) = heap(rank, ranks, root);
    pass_down(&mut builder, (parent, &children), Region::output(0, count), segment, &[]);
    builder.finish()
}

/// The paper's price of a message in one piece, per byte.
#[cfg(test)]
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let (mut times, mut rounds, mut transfers) = (vec![0.0], vec![0usize], Vec::new());
    for child in 1..ranks as usize {
        let (parent, step) = ((child - 1) / 2, 2 - child % 2);
        times.push(times[parent] + (step + 1) as f64 * machine.node.fixed + machine.flight());
        let round = rounds[parent] + step;
        rounds.push(round);
        if transfers.len() < round {
            transfers.resize(round, 0);
        }
        transfers[round - 1] += 1;
    }
    Line {
        fixed: times.into_iter().fold(0.0, f64::max),
        per_byte: transfers.into_iter().map(|transfers| machine.transfer(transfers)).sum(),
    }
}
