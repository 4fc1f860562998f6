//! Recursive doubling for short blocks: in round k, ranks whose numbers differ in bit k exchange all blocks that they have. Cost:
//! `log2 ranks` exchanges, of one block, two, and so on; every block comes straight to its place.
//!
//! With another number of ranks than a power of two, neighbours among the first ranks join first: of each pair the even rank
//! hands its block over and gets all blocks at the end, two messages more. There Bruck's algorithm has fewer.

use std::ops::Range;

use crate::collective::blocks::Blocks;
use crate::collective::pairs::{Groups, Part};
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let block = |rank: Rank| whole.part(&blocks.range(rank.0..rank.0 + 1));
    let groups = Groups::of(ranks);
    match groups.part(rank) {
        Part::Guest(head) => {
            let handed = builder.send(head, block(rank), &[]);
            builder.receive(head, whole, &[handed]);
        }
        Part::Head(group, guest) => {
            let mut here = Vec::new();
            if let Some(guest) = guest {
                here.push(builder.receive(guest, block(guest), &[]));
            }
            let region = |held: &Range<u32>| whole.part(&blocks.range(groups.ranks(held)));
            exchange(&mut builder, groups, group, region, &mut here);
            if let Some(guest) = guest {
                builder.send(guest, whole, &here);
            }
        }
    }
    builder.finish()
}

/// The rounds of `group`. `region`: what the blocks of some groups are; `here`: when those that have come have.
fn exchange(
    builder: &mut Builder,
    groups: Groups,
    group: u32,
    region: impl Fn(&Range<u32>) -> Region,
    here: &mut Vec<After>,
) {
    let mut count = 1;
    while count < groups.count {
        let partner = groups.head(group ^ count);
        let first = group / count * count;
        let of_partner = first ^ count;
        builder.send(partner, region(&(first..first + count)), here);
        here.push(builder.receive(partner, region(&(of_partner..of_partner + count)), &[]));
        count *= 2;
    }
}
