//! Gather in which the root grants: a rank sends a piece of its block when the root signals that there is room,
//! and at most `window` pieces are on their way. Pieces bound what the queue in front of the root must hold to
//! `window` pieces, however long the blocks are; each costs a signal, which `window` above 1 hides.

use super::{collect, others};
use crate::collective::blocks::{Blocks, segments};
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the gather to `root`, in pieces of at most `segment` elements (0: whole blocks). A
/// `window` of 0 is one of 1.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks, window: u32, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    let window = window.max(1) as usize;
    if rank != root {
        let own = Region::input(0, blocks.count(rank.0));
        for piece in segments(own.count, segment) {
            let granted = builder.await_signal(root, &[]);
            builder.send(root, own.part(&piece), &[granted]);
        }
        return builder.finish();
    }
    let regions = collect(&mut builder, ranks, root, blocks);
    let mut received: Vec<After> = Vec::new();
    for from in others(ranks, root) {
        let region = regions[from.index()];
        for piece in segments(region.count, segment) {
            let room = received.len().checked_sub(window).and_then(|before| received[before]);
            builder.signal(from, &[room]);
            received.push(builder.receive(from, region.part(&piece), &[]));
        }
    }
    builder.finish()
}
