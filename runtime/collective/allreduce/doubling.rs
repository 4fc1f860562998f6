//! Recursive doubling for short messages: in round k, ranks whose numbers differ in bit k exchange what they have
//! combined so far. Cost: `log2 ranks` exchanges.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first: of each pair the
//! even rank hands its contribution over and gets the result at the end, two messages more. Operands are combined
//! in the order of ranks: groups are intervals, and the lower group stands on the left.

use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let own = Region::output(0, count);
    let groups = 1 << ranks.ilog2();
    let pairs = ranks - groups;
    let is_paired = rank.0 < 2 * pairs;
    if is_paired && rank.0.is_multiple_of(2) {
        let handed = builder.send(Rank(rank.0 + 1), own, &[]);
        builder.receive(Rank(rank.0 + 1), own, &[handed]);
        return builder.finish();
    }
    let mut combined = None;
    if is_paired {
        let room = builder.scratch(count);
        let received = builder.receive(Rank(rank.0 - 1), room, &[]);
        combined = builder.combine(own, room, Side::Left, &[received]);
    }
    let group = if is_paired { rank.0 / 2 } else { rank.0 - pairs };
    let head = |group: u32| Rank(if group < pairs { 2 * group + 1 } else { group + pairs });
    combined = exchange(&mut builder, group, groups, head, own, combined);
    if is_paired {
        builder.send(Rank(rank.0 - 1), own, &[combined]);
    }
    builder.finish()
}

/// The rounds among groups. Two rooms take turns, so that a round's message can come while the one before is
/// combined.
fn exchange(
    builder: &mut Builder,
    group: u32,
    groups: u32,
    head: impl Fn(u32) -> Rank,
    own: Region,
    mut combined: After,
) -> After {
    let rounds = groups.trailing_zeros() as usize;
    let rooms: Vec<Region> = (0..rounds.min(2)).map(|_| builder.scratch(own.count)).collect();
    let mut emptied = [None, None];
    for round in 0..rounds {
        let partner = group ^ 1 << round;
        let room = rooms[round % 2];
        let received = builder.receive(head(partner), room, &[emptied[round % 2]]);
        let sent = builder.send(head(partner), own, &[combined]);
        let side = if partner < group { Side::Left } else { Side::Right };
        combined = builder.combine(own, room, side, &[received, sent, combined]);
        emptied[round % 2] = combined;
    }
    combined
}
