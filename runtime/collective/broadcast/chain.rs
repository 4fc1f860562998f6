//! Pipelined chain broadcast for long messages: everybody passes each segment on to the next rank while it
//! receives the one after. Cost with s segments: `ranks - 2 + s` segments one after the other, so that nearly the
//! whole message travels at the speed of one link, whatever the number of ranks.

use super::pass_down;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the broadcast of `count` elements from `root`, in segments of at most `segment` elements
/// (0: in one piece). The chain goes from the root around the ring of ranks.
pub(crate) fn schedule(rank: Rank, ranks: u32, root: Rank, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    append(&mut builder, rank, ranks, root, Region::output(0, count), segment, &[]);
    builder.finish()
}

/// The same as part of another schedule: segment `s` waits for `after[s]`.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    rank: Rank,
    ranks: u32,
    root: Rank,
    region: Region,
    segment: u64,
    after: &[After],
) {
    let parent = (rank != root).then(|| rank.on_ring(-1, ranks));
    let next = rank.on_ring(1, ranks);
    let children: &[Rank] = if next == root { &[] } else { &[next] };
    pass_down(builder, (parent, children), region, segment, after);
}
