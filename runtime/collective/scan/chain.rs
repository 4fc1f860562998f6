//! Pipelined chain for long messages: segments travel from each rank to the next, and every rank adds its own. Cost with s
//! segments: `ranks - 2 + s` segments one after the other.

use crate::collective::blocks::segments;
use crate::collective::schedule::{Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the scan of `count` elements, in segments of at most `segment` elements (0: in one piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64, segment: u64, is_exclusive: bool) -> Schedule {
    let mut builder = Builder::new();
    let (below, above) = (rank.below(), rank.above(ranks));
    let (input, output) = (Region::input(0, count), Region::output(0, count));
    // Where what comes and the own contribution are combined: for the next rank, or as the result.
    let (room, sum) = match (below, is_exclusive) {
        (None, _) => (output, if is_exclusive { input } else { output }),
        (Some(_), false) => (builder.scratch(count), output),
        (Some(_), true) => (output, if above.is_some() { builder.scratch(count) } else { input }),
    };
    for part in segments(count, segment) {
        let mut ready = None;
        if let Some(below) = below {
            let received = builder.receive(below, room.part(&part), &[]);
            if !is_exclusive {
                ready = builder.combine(sum.part(&part), room.part(&part), Side::Left, &[received]);
            } else if above.is_some() {
                let copied = builder.copy(input.part(&part), sum.part(&part), &[]);
                ready = builder.combine(sum.part(&part), room.part(&part), Side::Left, &[received, copied]);
            }
        }
        if let Some(above) = above {
            builder.send(above, sum.part(&part), &[ready]);
        }
    }
    builder.finish()
}
