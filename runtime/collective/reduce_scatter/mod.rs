//! Reduction of which each rank gets its block. Works in place: everybody's output holds its contribution at first, blocks
//! for all ranks in their order; at the end its own block holds the result, all else anything. Blocks may differ in length.

pub(crate) mod halving;
pub(crate) mod pairwise;
pub(crate) mod ring;

use super::blocks::Blocks;
use super::schedule::Region;

/// Contributions to a block that are received at once; the others wait in the window, or at their senders.
const ROOMS: usize = 2;

/// Where each rank's block lies.
fn regions(ranks: u32, blocks: &Blocks) -> Vec<Region> {
    let whole = Region::output(0, blocks.total(ranks));
    blocks.ranges(ranks).map(|range| whole.part(&range)).collect()
}
