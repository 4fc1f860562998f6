//! Binomial tree scatter for short blocks and many ranks: who has the blocks of an interval of ranks sends half of
//! them on together. Cost: `ceil(log2 ranks)` messages one after the other.

use crate::collective::blocks::Blocks;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::collective::tree::halving;
use crate::ids::Rank;

/// The part of `rank` in the scatter from `root`.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let family = halving(rank, ranks, root);
    let output = Region::output(0, blocks.count(rank.0));
    if let (Some(parent), true) = (family.parent, family.children.is_empty()) {
        builder.receive(parent, output, &[]);
        return builder.finish();
    }
    let held = blocks.range(family.own.clone());
    let (whole, here) = match family.parent {
        Some(parent) => {
            let whole = builder.scratch(held.end - held.start);
            (whole, builder.receive(parent, whole, &[]))
        }
        None => (Region::input(0, held.end), None),
    };
    let place = |ranks: std::ops::Range<u32>| {
        let range = blocks.range(ranks);
        whole.part(&(range.start - held.start..range.end - held.start))
    };
    let mut sent: After = None;
    for child in &family.children {
        sent = builder.send(child.rank, place(child.ranks.clone()), &[here, sent]).or(sent);
    }
    builder.copy(place(rank.0..rank.0 + 1), output, &[here]);
    builder.finish()
}
