//! Recursive halving for short blocks and commutative operators: in each round a rank and its partner divide what they
//! still hold, and each sends the other's half. Cost: `log2 ranks` exchanges, of a half of the data, a fourth, and so on.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first: of each pair the even
//! rank hands its contribution over and gets its block at the end, two messages more. The partner is far away at first, so
//! operands are not combined in the order of ranks.

use std::ops::Range;

use crate::collective::blocks::Blocks;
use crate::collective::pairs::{self, Groups, Part};
use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let of_ranks = |ranks: Range<u32>| whole.part(&blocks.range(ranks));
    let groups = Groups::of(ranks);
    match groups.part(rank) {
        Part::Guest(head) => {
            let handed = builder.send(head, whole, &[]);
            builder.receive(head, of_ranks(rank.0..rank.0 + 1), &[handed]);
        }
        Part::Head(group, guest) => {
            let joined = pairs::take_in(&mut builder, guest, whole);
            let region = |held: &Range<u32>| of_ranks(groups.ranks(held));
            let (combined, _) = append(&mut builder, groups, group, region, joined);
            if let Some(guest) = guest {
                builder.send(guest, of_ranks(guest.0..guest.0 + 1), &[combined]);
            }
        }
    }
    builder.finish()
}

/// A round: what a group has kept, what it has given to its partner, and when that had left; when what it was given had come.
pub(in crate::collective) struct Round {
    pub(in crate::collective) partner: Rank,
    pub(in crate::collective) kept: Region,
    pub(in crate::collective) given: Region,
    pub(in crate::collective) sent: After,
    pub(in crate::collective) received: After,
}

/// The rounds of `group`, at whose end it has combined what is its own. `region`: what the blocks of some groups are; `combined`:
/// when its contribution is. Returns when all is combined, and the rounds.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    groups: Groups,
    group: u32,
    region: impl Fn(&Range<u32>) -> Region,
    mut combined: After,
) -> (After, Vec<Round>) {
    let (mut held, mut rounds) = (0..groups.count, Vec::new());
    while held.len() > 1 {
        let half = held.len() as u32 / 2;
        let middle = held.start + half;
        let (partner, mut keeps, mut gives) = (group ^ half, held.start..middle, middle..held.end);
        if group >= middle {
            std::mem::swap(&mut keeps, &mut gives);
        }
        let (kept, given) = (region(&keeps), region(&gives));
        let room = builder.scratch(kept.count);
        let received = builder.receive(groups.head(partner), room, &[]);
        let sent = builder.send(groups.head(partner), given, &[combined]);
        let side = if partner < group { Side::Left } else { Side::Right };
        // An empty half leaves what was combined before to be waited for.
        combined = builder.combine(kept, room, side, &[received, combined]).or(combined);
        rounds.push(Round { partner: groups.head(partner), kept, given, sent, received });
        held = keeps;
    }
    (combined, rounds)
}
