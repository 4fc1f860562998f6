//! Everybody sends its operand to everybody, and combines all in the order of ranks: one delay, `ranks (ranks - 1)` messages, and on each
//! rank all of the work. For short operands over links whose delay is long.

use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let own = Region::output(0, count);
    let mut operands: Vec<(Region, After)> = (0..ranks)
        .map(|from| match Rank(from) {
            from if from == rank => (own, None),
            from => {
                let room = builder.scratch(count);
                (room, builder.receive(from, room, &[]))
            }
        })
        .collect();
    let mut free: Vec<After> =
        (1..i64::from(ranks)).map(|by| builder.send(rank.on_ring(by, ranks), own, &[])).collect();
    if ranks == 1 {
        return builder.finish();
    }
    if rank == Rank(0) {
        // The own operand is still on its way to others.
        let room = builder.scratch(count);
        operands[0] = (room, builder.copy(own, room, &[]));
    }
    let (result, mut combined) = operands[0];
    for &(operand, here) in &operands[1..] {
        combined = builder.combine(result, operand, Side::Right, &[combined, here]);
    }
    free.push(combined);
    builder.copy(result, own, &free);
    builder.finish()
}
