//! Everybody sends its block to everybody, all at once: one delay, and `ranks (ranks - 1)` messages. For short blocks over links whose delay
//! is long. Every block comes straight to its place.

use crate::collective::blocks::Blocks;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let block = |rank: Rank| whole.part(&blocks.range(rank.0..rank.0 + 1));
    for by in 1..i64::from(ranks) {
        let from = rank.on_ring(-by, ranks);
        builder.receive(from, block(from), &[]);
    }
    for by in 1..i64::from(ranks) {
        builder.send(rank.on_ring(by, ranks), block(rank), &[]);
    }
    builder.finish()
}
