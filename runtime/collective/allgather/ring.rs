//! Ring: blocks travel around, and everybody passes on what came last. Cost: `ranks - 1` messages of a block one
//! after the other, each between neighbours.

use crate::collective::blocks::Blocks;
use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`.
pub(crate) fn schedule(rank: Rank, ranks: u32, blocks: &Blocks) -> Schedule {
    let mut builder = Builder::new();
    let whole = Region::output(0, blocks.total(ranks));
    let regions: Vec<Region> = blocks.ranges(ranks).map(|range| whole.part(&range)).collect();
    let own = regions[rank.index()];
    append(&mut builder, rank, rank, (&regions, own), None, None);
    builder.finish()
}

/// What has gone around before in the regions into which blocks come.
pub(in crate::collective) struct Before {
    /// When what each block's region had has been sent.
    pub(in crate::collective) sent: Vec<After>,
    /// What has been received from the rank before, in order.
    pub(in crate::collective) received: Vec<After>,
}

/// The same as part of another schedule: the block that this rank has at first is `own`, in the region `first` once
/// `ready` is done; the rank before has the block before.
///
/// Who writes where something was sent from copies what has not been acknowledged. So a receive is posted there only when the
/// last message but one from the rank before has come: most is acknowledged by then, and the place is there before its message.
pub(in crate::collective) fn append(
    builder: &mut Builder,
    rank: Rank,
    own: Rank,
    (regions, first): (&[Region], Region),
    ready: After,
    mut before: Option<Before>,
) {
    let ranks = regions.len() as u32;
    let (left, right) = (rank.on_ring(-1, ranks), rank.on_ring(1, ranks));
    let mut here = ready;
    for round in 0..i64::from(ranks) - 1 {
        let out = own.on_ring(-round, ranks).index();
        let into = own.on_ring(-round - 1, ranks).index();
        let from = if round == 0 { first } else { regions[out] };
        builder.send(right, from, &[here]);
        let needs = before.as_ref().map_or([None; 2], |Before { sent, received }| {
            let last_but_one = received.len().saturating_sub(2);
            [sent[into], received.get(last_but_one).copied().flatten()]
        });
        here = builder.receive(left, regions[into], &needs);
        if let Some(before) = &mut before {
            before.received.push(here);
        }
    }
}

/// The price of blocks of equal length, per byte of a block.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let rounds = f64::from(ranks - 1);
    Line { fixed: rounds * machine.exchange_fixed(), per_byte: rounds * machine.transfer(ranks as usize) }
}
