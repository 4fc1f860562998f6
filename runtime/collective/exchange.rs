//! Neighbour exchange: every rank sends to some ranks and receives from some, all at once (Stoica, Sultan and Keyes
//! 3.3).
//!
//! It is a list of shifts, such as "to the left, from the right" and "to the right, from the left", in the same order
//! on every rank. So messages match even if one rank is both neighbours.

use std::collections::VecDeque;

#[cfg(test)]
use super::price::Line;
use super::schedule::{Builder, Region, Schedule};
#[cfg(test)]
use crate::cost::CostModel;
use crate::ids::Rank;

/// One shift of an exchange. At the edge of a grid one side or both are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shift {
    /// The rank to send to, and the number of elements.
    pub to: Option<(Rank, usize)>,
    /// The rank to receive from, and the number of elements.
    pub from: Option<(Rank, usize)>,
}

/// The schedule of `rank`. The input holds the data to send, the output the received data, both consecutive in the
/// order of `shifts`. A rank may be its own neighbour: data that it sends to itself is copied.
pub(crate) fn schedule(rank: Rank, shifts: &[Shift]) -> Schedule {
    let mut builder = Builder::new();
    let mut to_itself = VecDeque::new();
    let mut sends = Vec::new();
    let (mut start_in, mut start_out) = (0, 0);
    for shift in shifts {
        if let Some((to, count)) = shift.to {
            let count = count as u64;
            let region = Region::input(start_in, count);
            start_in += count;
            if to == rank {
                to_itself.push_back(region);
            } else {
                sends.push((to, region));
            }
        }
    }
    for shift in shifts {
        if let Some((from, count)) = shift.from {
            let count = count as u64;
            let region = Region::output(start_out, count);
            start_out += count;
            if from != rank {
                builder.receive(from, region, &[]);
            } else if let Some(sent) = to_itself.pop_front() {
                let count = sent.count.min(region.count);
                builder.copy(sent.part(&(0..count)), region.part(&(0..count)), &[]);
            }
        }
    }
    for (to, region) in sends {
        builder.send(to, region, &[]);
    }
    builder.finish()
}

/// The paper's cost for `ranks` ranks with `neighbours` neighbours each on a shared network, per byte of a message:
/// `a = 2 K a_W + K N a_C + a_L`, `b = max(K N b_C, K b_W)` (the paper prints `b_W`; rule 3 gives `K b_W`).
#[cfg(test)]
pub(crate) fn price(machine: &CostModel, ranks: u32, neighbours: u32) -> Line {
    let (ranks, neighbours) = (f64::from(ranks), f64::from(neighbours));
    let messages = neighbours * ranks;
    let fixed = 2.0 * neighbours * machine.node.fixed + messages * machine.network.fixed + machine.latency;
    Line { fixed, per_byte: (messages * machine.network.per_byte).max(neighbours * machine.node.per_byte) }
}
