//! Recursive doubling for short messages: in round k, ranks whose numbers differ in bit k exchange what they have
//! combined so far. Cost: `log2 ranks` exchanges.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first: of each pair the
//! even rank hands its contribution over and gets the result at the end, two messages more. Operands are combined
//! in the order of ranks: groups are intervals, and the lower group stands on the left.

use crate::collective::pairs::{self, Groups};
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let own = Region::output(0, count);
    pairs::for_everybody(rank, ranks, own, |builder, groups, group, joined| {
        vec![exchange(builder, groups, group, own, joined)]
    })
}

/// The rounds among groups. Two rooms take turns, so that a round's message can come while the one before is
/// combined.
fn exchange(builder: &mut Builder, groups: Groups, group: u32, own: Region, mut combined: After) -> After {
    let rounds = groups.count.trailing_zeros() as usize;
    let rooms: Vec<Region> = (0..rounds.min(2)).map(|_| builder.scratch(own.count)).collect();
    let mut emptied = [None, None];
    for round in 0..rounds {
        let partner = group ^ 1 << round;
        let room = rooms[round % 2];
        let received = builder.receive(groups.head(partner), room, &[emptied[round % 2]]);
        let sent = builder.send(groups.head(partner), own, &[combined]);
        let side = if partner < group { Side::Left } else { Side::Right };
        combined = builder.combine(own, room, side, &[received, sent, combined]);
        emptied[round % 2] = combined;
    }
    combined
}
