//! Everybody sends all its blocks to rank 0, which sorts them and answers everybody: `2 (ranks - 1)` messages, and no rank but the
//! first waits for more than one. All blocks pass rank 0 twice: for the shortest blocks of ranks that share cores.

use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::ids::Rank;

/// The part of `rank`; all blocks have `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let total = u64::from(ranks) * count;
    let (input, output) = (Region::input(0, total), Region::output(0, total));
    if rank != Rank(0) {
        builder.send(Rank(0), input, &[]);
        builder.receive(Rank(0), output, &[]);
        return builder.finish();
    }
    let block = |whole: Region, at: u32| whole.part(&(u64::from(at) * count..u64::from(at + 1) * count));
    let mut rows: Vec<(Region, After)> = vec![(input, None)];
    for from in 1..ranks {
        let row = builder.scratch(total);
        rows.push((row, builder.receive(Rank(from), row, &[])));
    }
    for to in 0..ranks {
        let column = if to == 0 { output } else { builder.scratch(total) };
        let sorted = (0..).zip(&rows);
        let sorted: Vec<After> =
            sorted.map(|(from, &(row, since))| builder.copy(block(row, to), block(column, from), &[since])).collect();
        if to > 0 {
            builder.send(Rank(to), column, &sorted);
        }
    }
    builder.finish()
}

/// How many times a block's bytes are copied on rank 0.
pub(crate) fn copies(ranks: u32) -> f64 {
    f64::from(ranks) * f64::from(ranks)
}
