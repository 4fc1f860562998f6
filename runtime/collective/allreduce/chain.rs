//! Pipelined chains for long messages and operators that are not commutative: segments are combined from the last
//! rank down to rank 0 and come back up. Operands are combined in the order of ranks,
//! `x_0 op (x_1 op (... op x_(ranks-1)))`. Cost with s segments: `2 (ranks - 1) + s - 1` segments one after the other.

use crate::collective::broadcast;
use crate::collective::reduce;
use crate::collective::schedule::{Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank` in the reduction of `count` elements, in segments of at most `segment` elements (0: in one
/// piece).
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64, segment: u64) -> Schedule {
    let mut builder = Builder::new();
    let region = Region::output(0, count);
    let free = reduce::chain::append(&mut builder, rank, ranks, Rank(0), region, segment, false);
    broadcast::chain::append(&mut builder, rank, ranks, Rank(0), region, segment, &free);
    builder.finish()
}
