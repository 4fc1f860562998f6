//! From what the nodes have found out to results. Pure. Ratios are those within a repetition, since the machine's
//! speed drifts from one to the next; times and rates are medians with the least and the greatest.

use lathide::report::summary::Summary;
use serde::Serialize;

use super::plan::{Cost, Order, Own, Way};

/// One block as both nodes saw it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    pub(super) order: Order,
    pub(super) mine: Own,
    pub(super) theirs: Own,
}

/// One-way time of a message: half the round trip.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) bytes: usize,
    pub(super) raw_s: Summary,
    pub(super) raw_polled_s: Summary,
    pub(super) lathide_s: Summary,
    /// lathide over blocking raw TCP: Strumpen's penalty factor (Fig. 19).
    pub(super) penalty: Summary,
    /// lathide over polled raw TCP.
    pub(super) penalty_polled: Summary,
    /// Per repetition.
    pub(super) round_trips: u32,
    pub(super) repeats: usize,
}

/// The blocks of each size, ascending.
fn by_size<'a, T>(blocks: &'a [Block], of: impl Fn(&'a Block) -> Option<(usize, T)>) -> Vec<(usize, Vec<T>)> {
    let mut sizes: Vec<(usize, Vec<T>)> = Vec::new();
    for (bytes, block) in blocks.iter().filter_map(of) {
        match sizes.iter_mut().find(|(size, _)| *size == bytes) {
            Some((_, all)) => all.push(block),
            None => sizes.push((bytes, vec![block])),
        }
    }
    sizes.sort_by_key(|(bytes, _)| *bytes);
    sizes
}

/// One-way times by size.
pub(super) fn latency(blocks: &[Block]) -> Vec<Latency> {
    let sizes = by_size(blocks, |block| match (block.order, &block.mine) {
        (Order::OneWay { bytes, round_trips }, Own::Ways(costs)) => Some((bytes, (round_trips, *costs))),
        _ => None,
    });
    let one = |(bytes, blocks): (usize, Vec<(u32, [Cost; 3])>)| {
        let time = |way: Way| {
            let index = Way::ALL.iter().position(|other| *other == way).unwrap_or(0);
            blocks.iter().map(move |(round_trips, costs)| costs[index].wall_s / f64::from(2 * round_trips))
        };
        let against = |way| Summary::of(time(Way::Lathide).zip(time(way)).map(|(lathide, raw)| lathide / raw));
        Some(Latency {
            bytes,
            raw_s: Summary::of(time(Way::Raw))?,
            raw_polled_s: Summary::of(time(Way::RawPolled))?,
            lathide_s: Summary::of(time(Way::Lathide))?,
            penalty: against(Way::Raw)?,
            penalty_polled: against(Way::RawPolled)?,
            round_trips: blocks[0].0,
            repeats: blocks.len(),
        })
    };
    sizes.into_iter().filter_map(one).collect()
}
