//! Binomial tree gather for short blocks and many ranks: everybody collects the blocks of its subtree and sends
//! them on together. Cost: the root takes `ceil(log2 ranks)` messages instead of `ranks - 1`.

use crate::collective::blocks::Blocks;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::collective::tree::halving;
use crate::ids::Rank;

/// The part of `rank` in the gather to `root`.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let family = halving(rank, ranks, root);
    let input = Region::input(0, blocks.count(rank.0));
    let held = blocks.range(family.own.clone());
    if let (Some(parent), true) = (family.parent, family.children.is_empty()) {
        builder.send(parent, input, &[]);
        return builder.finish();
    }
    let whole = match family.parent {
        Some(_) => builder.scratch(held.end - held.start),
        None => Region::output(0, held.end),
    };
    let place = |ranks: std::ops::Range<u32>| {
        let range = blocks.range(ranks);
        whole.part(&(range.start - held.start..range.end - held.start))
    };
    let mut here: Vec<After> = vec![builder.copy(input, place(rank.0..rank.0 + 1), &[])];
    for child in family.children.iter().rev() {
        here.push(builder.receive(child.rank, place(child.ranks.clone()), &[]));
    }
    if let Some(parent) = family.parent {
        builder.send(parent, whole, &here);
    }
    builder.finish()
}
