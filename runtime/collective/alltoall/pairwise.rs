//! Everybody's blocks to everybody: block `j` of rank `i`'s input becomes block `i` of rank `j`'s output. Blocks may
//! differ in length; then each rank knows the lengths of what it sends and receives only.
//!
//! Pairwise: in round k everybody sends to the rank k further on and receives from the rank k before, so that
//! nobody is sent to by two ranks in one round. Cost: `ranks - 1` messages of a block.

use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`. A message waits until the one before has left, and until that of the round `window` before has
/// come; 0 does not wait for what comes: all rounds go as fast as they can.
///
/// Where ranks know their own lengths only, an empty block is told by a signal: a rank that expects another length than
/// its peer sends then fails, and does not wait for ever.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks, window: u32) -> Schedule {
    let mut builder = Builder::new();
    let (to_each, from_each, tells_empty) = match blocks {
        Blocks::Own { sent, received } => (Blocks::Each(sent.clone()), Blocks::Each(received.clone()), true),
        same => (same.clone(), same.clone(), false),
    };
    let regions = |blocks: &Blocks, whole: fn(u64, u64) -> Region| -> Vec<Region> {
        let whole = whole(0, blocks.total(ranks));
        blocks.ranges(ranks).map(|range| whole.part(&range)).collect()
    };
    let (input, output) = (regions(&to_each, Region::input), regions(&from_each, Region::output));
    let mut received: Vec<After> = Vec::new();
    let mut sent: After = None;
    for round in 1..i64::from(ranks) {
        let (to, from) = (rank.on_ring(round, ranks), rank.on_ring(-round, ranks));
        let behind = if window == 0 { None } else { received.len().checked_sub(window as usize) };
        let (source, place) = (input[to.index()], output[from.index()]);
        let after = [sent, behind.and_then(|behind| received[behind])];
        received.push(match tells_empty && place.is_empty() {
            true => builder.await_signal(from, &[]),
            false => builder.receive(from, place, &[]),
        });
        let step = match tells_empty && source.is_empty() {
            true => builder.signal(to, &after),
            false => builder.send(to, source, &after),
        };
        sent = step.or(sent);
    }
    builder.copy(input[rank.index()], output[rank.index()], &[]);
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
