//! Recursive halving for short blocks and commutative operators: in each round a rank and its partner divide what they
//! still hold, and each sends the other's half. Cost: `log2 ranks` exchanges, of a half of the data, a fourth, and so on.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first: of each pair the even
//! rank hands its contribution over and gets its block at the end, two messages more. The partner is far away at first, so
//! operands are not combined in the order of ranks.

use std::ops::Range;

use crate::collective::blocks::Blocks;
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let of_ranks = |ranks: Range<u32>| whole.part(&blocks.range(ranks));
    let groups = 1u32 << ranks.ilog2();
    let pairs = ranks - groups;
    let is_paired = rank.0 < 2 * pairs;
    if is_paired && rank.0.is_multiple_of(2) {
        let handed = builder.send(Rank(rank.0 + 1), whole, &[]);
        builder.receive(Rank(rank.0 + 1), of_ranks(rank.0..rank.0 + 1), &[handed]);
        return builder.finish();
    }
    let mut combined: After = None;
    if is_paired {
        let room = builder.scratch(whole.count);
        let received = builder.receive(Rank(rank.0 - 1), room, &[]);
        combined = builder.combine(whole, room, Side::Left, &[received]);
    }
    // The ranks of the groups before this one.
    let before = |group: u32| if group < pairs { 2 * group } else { group + pairs };
    let head = |group: u32| Rank(before(group) + u32::from(group < pairs));
    let group = if is_paired { rank.0 / 2 } else { rank.0 - pairs };
    let mut held = 0..groups;
    while held.len() > 1 {
        let half = held.len() as u32 / 2;
        let middle = held.start + half;
        let (partner, mut keeps, mut gives) = (group ^ half, held.start..middle, middle..held.end);
        if group >= middle {
            std::mem::swap(&mut keeps, &mut gives);
        }
        let region = |groups: &Range<u32>| of_ranks(before(groups.start)..before(groups.end));
        let (kept, given) = (region(&keeps), region(&gives));
        let room = builder.scratch(kept.count);
        let received = builder.receive(head(partner), room, &[]);
        builder.send(head(partner), given, &[combined]);
        let side = if partner < group { Side::Left } else { Side::Right };
        // An empty half leaves what was combined before to be waited for.
        combined = builder.combine(kept, room, side, &[received, combined]).or(combined);
        held = keeps;
    }
    if is_paired {
        builder.send(Rank(rank.0 - 1), of_ranks(rank.0 - 1..rank.0), &[combined]);
    }
    builder.finish()
}
