//! Bruck's algorithm for short blocks and any number of ranks: in round k a block whose rank is further on by a number with
//! bit k goes 2^k ranks further, packed with all others of the round. Cost: `ceil(log2 ranks)` messages of up to half of
//! the blocks each, which are copied in between.

use crate::collective::price::Line;
use crate::collective::schedule::{After, Builder, Region, Schedule};
use crate::cost::CostModel;
use crate::ids::Rank;

/// The part of `rank`; all blocks have `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64) -> Schedule {
    let mut builder = Builder::new();
    let block = |whole: Region, at: u32| whole.part(&(u64::from(at) * count..u64::from(at + 1) * count));
    let total = u64::from(ranks) * count;
    let (input, output) = (Region::input(0, total), Region::output(0, total));
    // Where the block is now that has to go so far, and since when.
    let mut held: Vec<(Region, After)> =
        (0..ranks).map(|by| (block(input, rank.on_ring(by.into(), ranks).0), None)).collect();
    for (distance, moved) in rounds(ranks) {
        let bytes = moved.len() as u64 * count;
        let (from, to) = (rank.on_ring(-i64::from(distance), ranks), rank.on_ring(distance.into(), ranks));
        if let [by] = moved[..] {
            let (region, since) = held[by as usize];
            builder.send(to, region, &[since]);
        } else {
            let packed = builder.scratch(bytes);
            let copies: Vec<After> = (0..)
                .zip(&moved)
                .map(|(at, &by)| {
                    let (region, since) = held[by as usize];
                    builder.copy(region, block(packed, at), &[since])
                })
                .collect();
            builder.send(to, packed, &copies);
        }
        let place = builder.scratch(bytes);
        let received = builder.receive(from, place, &[]);
        for (at, &by) in (0..).zip(&moved) {
            held[by as usize] = (block(place, at), received);
        }
    }
    for (by, (region, since)) in (0..).zip(held) {
        builder.copy(region, block(output, rank.on_ring(-by, ranks).0), &[since]);
    }
    builder.finish()
}

/// For each round how far its blocks go, and which they are: by how far each is to go in all.
fn rounds(ranks: u32) -> impl Iterator<Item = (u32, Vec<u32>)> {
    let distances = (0..32).map(|round| 1u32 << round).take_while(move |&distance| distance < ranks);
    distances.map(move |distance| (distance, (1..ranks).filter(|by| by & distance != 0).collect()))
}

/// The price, per byte of a block. A simulation finds less where some rounds do not wait for each other.
pub(crate) fn price(machine: &CostModel, ranks: u32) -> Line {
    let (mut fixed, mut blocks) = (0.0, 0.0);
    for (_, moved) in rounds(ranks) {
        fixed += machine.exchange_fixed();
        blocks += moved.len() as f64;
    }
    Line { fixed, per_byte: blocks * machine.transfer(ranks as usize) }
}

/// How many times a block's bytes are copied on each rank: before each message of several, and all at the end.
pub(crate) fn copies(ranks: u32) -> f64 {
    let packed: usize = rounds(ranks).map(|(_, moved)| moved.len()).filter(|&count| count > 1).sum();
    packed as f64 + f64::from(ranks)
}
