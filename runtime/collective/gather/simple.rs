//! The simple gather: everybody sends at once. The fastest if the queue in front of the root holds it all.

use super::{collect, others, send};
use crate::collective::blocks::Blocks;
use crate::collective::schedule::{Builder, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the gather to `root`.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    if rank == root {
        let regions = collect(&mut builder, ranks, root, blocks);
        for from in others(ranks, root) {
            builder.receive(from, regions[from.index()], &[]);
        }
    } else {
        send(&mut builder, rank, root, blocks, &[]);
    }
    builder.finish()
}
