//! Everybody's block to the root. The input is the own block; the root's output, all blocks in the order of ranks.
//! Blocks may differ in length.
//!
//! All data passes the root's link in any case. What algorithms differ in is how many send at once: too many fill
//! the queue in front of that link, which then drops packets, and TCP waits for its timer.

pub(crate) mod binomial;
pub(crate) mod granted;
pub(crate) mod simple;
pub(crate) mod window;
pub(crate) mod windowed;

use super::blocks::Blocks;
use super::schedule::{After, Builder, Region};
use crate::ids::Rank;

/// The root's part in all gathers without trees: its own block is copied, all others are received at once.
/// Returns for each rank where its block lies.
fn collect(builder: &mut Builder, ranks: u32, root: Rank, blocks: &Blocks) -> Vec<Region> {
    let whole = Region::output(0, blocks.total(ranks));
    let regions: Vec<Region> = blocks.ranges(ranks).map(|range| whole.part(&range)).collect();
    let own = regions[root.index()];
    builder.copy(Region::input(0, own.count), own, &[]);
    regions
}

/// The other ranks, from the root around.
fn others(ranks: u32, root: Rank) -> impl Iterator<Item = Rank> {
    (1..i64::from(ranks)).map(move |by| root.on_ring(by, ranks))
}

/// Sends the own block.
fn send(builder: &mut Builder, rank: Rank, root: Rank, blocks: &Blocks, after: &[After]) -> After {
    builder.send(root, Region::input(0, blocks.count(rank.0)), after)
}
