//! Recursive halving, then doubling (Rabenseifner 2004), for commutative operators and messages of medium length: each group
//! combines its block of the whole, as in [`reduce_scatter::halving`](crate::collective::reduce_scatter::halving), and the
//! same partners exchange what they have in the opposite order. Cost: `2 log2 ranks` exchanges, of a half of the data, a fourth,
//! and so on, and back: as many bytes as the ring, in fewer messages.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first, two messages of all the
//! data more.

use std::ops::Range;

use crate::collective::blocks::Blocks;
use crate::collective::pairs;
use crate::collective::reduce_scatter::halving;
use crate::collective::schedule::{Region, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let whole = Region::output(0, count);
    pairs::for_everybody(rank, ranks, whole, |builder, groups, group, joined| {
        let blocks = Blocks::even(count, groups.count);
        let region = |held: &Range<u32>| whole.part(&blocks.range(held.clone()));
        let (combined, rounds) = halving::append(builder, groups, group, region, joined);
        let mut known = vec![combined];
        let mut later = None;
        for round in rounds.iter().rev() {
            // The partner has combined what it was given, in whose place its result comes. What is not acknowledged of it when that
            // place is taken is copied: so it is taken when the next round's message has come, or the last one's own.
            let is_free = [round.sent, later.or(round.received)];
            later = round.received;
            builder.send(round.partner, round.kept, &known);
            known.push(builder.receive(round.partner, round.given, &is_free));
        }
        known
    })
}
