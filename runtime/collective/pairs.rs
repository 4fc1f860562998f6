//! Ranks as a power of two of groups, so that in each round every group has a partner: neighbours among the first ranks make a
//! group of two, the others stand alone. The higher rank of two acts for both.

use std::ops::Range;

use super::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// The groups of a number of ranks.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    /// How many there are: a power of two.
    pub(super) count: u32,
    /// How many of them, the first, have two ranks.
    pairs: u32,
}

/// What a rank is within its group.
pub(super) enum Part {
    /// It hands its contribution over to this rank, and gets its result from it.
    Guest(Rank),
    /// It acts for this group, and for its guest.
    Head(u32, Option<Rank>),
}

impl Groups {
    pub(super) fn of(ranks: u32) -> Self {
        let count = 1 << ranks.ilog2();
        Groups { count, pairs: ranks - count }
    }

    pub(super) fn part(self, rank: Rank) -> Part {
        let Rank(rank) = rank;
        match rank < 2 * self.pairs {
            true if rank.is_multiple_of(2) => Part::Guest(Rank(rank + 1)),
            true => Part::Head(rank / 2, Some(Rank(rank - 1))),
            false => Part::Head(rank - self.pairs, None),
        }
    }

    /// The rank that acts for `group`.
    pub(super) fn head(self, group: u32) -> Rank {
        Rank(self.before(group) + u32::from(group < self.pairs))
    }

    /// The ranks of `groups`.
    pub(super) fn ranks(self, groups: &Range<u32>) -> Range<u32> {
        self.before(groups.start)..self.before(groups.end)
    }

    /// How many ranks the groups before `group` have.
    fn before(self, group: u32) -> u32 {
        group + group.min(self.pairs)
    }
}

/// The head combines what its guest, if it has one, contributes: on the left, since it is the lower rank.
pub(super) fn take_in(builder: &mut Builder, guest: Option<Rank>, own: Region) -> After {
    let guest = guest?;
    let room = builder.scratch(own.count);
    let received = builder.receive(guest, room, &[]);
    builder.combine(own, room, Side::Left, &[received])
}

/// The part of `rank` in a reduction of `whole` whose result everybody gets. `exchange`: what a head does of its group, once it has
/// combined its guest's contribution; it returns when all of the result is here.
pub(super) fn for_everybody(
    rank: Rank,
    ranks: u32,
    whole: Region,
    exchange: impl FnOnce(&mut Builder, Groups, u32, After) -> Vec<After>,
) -> Schedule {
    let mut builder = Builder::new();
    let groups = Groups::of(ranks);
    match groups.part(rank) {
        Part::Guest(head) => {
            let handed = builder.send(head, whole, &[]);
            builder.receive(head, whole, &[handed]);
        }
        Part::Head(group, guest) => {
            let joined = take_in(&mut builder, guest, whole);
            let known = exchange(&mut builder, groups, group, joined);
            if let Some(guest) = guest {
                builder.send(guest, whole, &known);
            }
        }
    }
    builder.finish()
}
