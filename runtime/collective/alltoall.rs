//! Everybody's blocks to everybody: block `j` of rank `i`'s input becomes block `i` of rank `j`'s output.
//!
//! Pairwise: in round k everybody sends to the rank k further on and receives from the rank k before, so that
//! nobody is sent to by two ranks in one round. Cost: `ranks - 1` messages of a block.

use super::price::Line;
use super::schedule::{After, Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`, with blocks of `count` elements. A message waits until the one before has left, and until
/// that of the round `window` before has come; 0 does not wait for what comes: all rounds go as fast as they can.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64, window: u32) -> Schedule {
    let mut builder = Builder::new();
    let total = u64::from(ranks) * count;
    let block = |of: Rank| u64::from(of.0) * count..(u64::from(of.0) + 1) * count;
    let (input, output) = (Region::input(0, total), Region::output(0, total));
    let mut received: Vec<After> = Vec::new();
    let mut sent: After = None;
    for round in 1..i64::from(ranks) {
        let (to, from) = (rank.on_ring(round, ranks), rank.on_ring(-round, ranks));
        let behind = if window == 0 { None } else { received.len().checked_sub(window as usize) };
        received.push(builder.receive(from, output.part(&block(from)), &[]));
        sent = builder.send(to, input.part(&block(to)), &[sent, behind.and_then(|behind| received[behind])]);
    }
    builder.copy(input.part(&block(rank)), output.part(&block(rank)), &[]);
    builder.finish()
}

/// The price of rounds that wait for each other (a window of 1), per byte of a block.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let rounds = f64::from(ranks - 1);
    Line { fixed: rounds * machine.exchange_fixed(), per_byte: rounds * machine.transfer(ranks as usize) }
}

/// The price of rounds that do not wait for each other (a window of 0), per byte of a block. It is a lower bound: a
/// processor sends and receives all messages, or waits for the last one.
pub(crate) fn price_at_once(machine: &CostModel, ranks: u32) -> Line {
    let rounds = f64::from(ranks - 1);
    if ranks < 2 {
        return Line::default();
    }
    let last = (rounds + 1.0) * machine.node.fixed + machine.flight();
    Line { fixed: last.max(2.0 * rounds * machine.node.fixed), ..price(machine, ranks) }
}
