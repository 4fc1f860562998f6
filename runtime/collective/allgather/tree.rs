//! Gathers up a tree and sends the whole down again, by way of rank 0: `2 (ranks - 1)` messages in all, where doubling has `ranks log2
//! ranks`. By the binomial tree twice as many follow each other, by rank 0 alone two. Half of them carry all blocks: for short blocks of ranks
//! that share cores, where what all ranks do counts. Every block comes straight to its place.

use crate::collective::blocks::Blocks;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::collective::tree::{Family, halving, star};
use crate::ids::Rank;

/// The part of `rank` by the binomial tree.
pub(crate) fn binomial(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    schedule(&halving(rank, ranks, Rank(0)), ranks, blocks)
}

/// The part of `rank` where all others are just below rank 0.
pub(crate) fn serial(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    schedule(&star(rank, ranks), ranks, blocks)
}

fn schedule(family: &Family, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let below = family.smallest_first().into_iter();
    let mut here: Vec<After> =
        below.map(|child| builder.receive(child.rank, whole.part(&blocks.range(child.ranks.clone())), &[])).collect();
    if let Some(parent) = family.parent {
        let sent = builder.send(parent, whole.part(&blocks.range(family.own.clone())), &here);
        here.push(sent);
        here = vec![builder.receive(parent, whole, &here)];
    }
    family.children.iter().for_each(|child| _ = builder.send(child.rank, whole, &here));
    builder.finish()
}
