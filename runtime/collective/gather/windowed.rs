//! The gather of Tam and Wang (5.3, Algorithm 1): `window` ranks send at once, and who has sent its block signals
//! the rank `window` further on to begin. [`window::senders`](super::window::senders) says how many.

use super::{collect, others, send};
use crate::collective::blocks::Blocks;
use crate::collective::schedule::{Builder, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the gather to `root`. Senders count from the root around, from 1 on; a `window` of 0 is
/// one of 1.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, blocks: &Blocks, window: u32) -> Schedule {
    let mut builder = Builder::new();
    let window = window.max(1);
    let sender = rank.on_ring(-i64::from(root.0), ranks).0;
    if rank == root {
        let regions = collect(&mut builder, ranks, root, blocks);
        for from in others(ranks, root) {
            builder.receive(from, regions[from.index()], &[]);
        }
        return builder.finish();
    }
    let named = |sender: u32| root.on_ring(sender.into(), ranks);
    let begin = (sender > window).then(|| builder.await_signal(named(sender - window), &[])).flatten();
    let sent = send(&mut builder, rank, root, blocks, &[begin]);
    if sender.checked_add(window).is_some_and(|next| next < ranks) {
        builder.signal(named(sender + window), &[begin, sent]);
    }
    builder.finish()
}
