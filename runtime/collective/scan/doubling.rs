//! Recursive doubling for short messages (Hillis and Steele 1986): in round k everybody sends what it has combined so far
//! to the rank 2^k further on, and receives that of the rank 2^k before. Cost: `ceil(log2 ranks)` messages one after the
//! other.

use crate::collective::schedule::{After, Builder, Region, Schedule, Side};
use crate::ids::Rank;

/// Messages that are received at once.
const ROOMS: usize = 2;

/// The part of `rank` in the scan of `count` elements.
pub(crate) fn schedule(rank: Rank, ranks: u32, count: u64, is_exclusive: bool) -> Schedule {
    let mut builder = Builder::new();
    if is_exclusive {
        exclusive(&mut builder, rank, ranks, count);
    } else {
        inclusive(&mut builder, rank, ranks, count);
    }
    builder.finish()
}

fn inclusive(builder: &mut Builder, rank: Rank, ranks: u32, count: u64) {
    let own = Region::output(0, count);
    let rooms = rooms(builder, distances(ranks).filter(|&distance| distance <= rank.0).count(), count);
    let (mut combined, mut emptied): (After, [After; ROOMS]) = (None, [None; ROOMS]);
    for (round, distance) in distances(ranks).enumerate() {
        let to = rank.0.checked_add(distance).filter(|&to| to < ranks);
        let sent = to.and_then(|to| builder.send(Rank(to), own, &[combined]));
        if let Some(from) = rank.0.checked_sub(distance) {
            let (room, emptied) = (rooms[round % ROOMS], &mut emptied[round % ROOMS]);
            let received = builder.receive(Rank(from), room, &[*emptied]);
            combined = builder.combine(own, room, Side::Left, &[received, sent, combined]);
            *emptied = combined;
        }
    }
}

/// What is sent is the inclusive sum, as long as there is somebody to send it to; the result is the exclusive one.
fn exclusive(builder: &mut Builder, rank: Rank, ranks: u32, count: u64) {
    let (input, output) = (Region::input(0, count), Region::output(0, count));
    let receives = distances(ranks).filter(|&distance| distance <= rank.0).count();
    let rooms = rooms(builder, receives.saturating_sub(1), count);
    let reaches = |distance: u32| rank.0.checked_add(distance).filter(|&to| to < ranks);
    let mut sum = input;
    let (mut summed, mut combined): (After, After) = (None, None);
    let mut emptied: [[After; 2]; ROOMS] = [[None; 2]; ROOMS];
    for (round, distance) in distances(ranks).enumerate() {
        let sent = reaches(distance).and_then(|to| builder.send(Rank(to), sum, &[summed]));
        let Some(from) = rank.0.checked_sub(distance) else { continue };
        let sends_again = distance.checked_mul(2).and_then(reaches).is_some();
        if round == 0 {
            combined = builder.receive(Rank(from), output, &[]);
            if sends_again {
                sum = builder.scratch(count);
                let copied = builder.copy(input, sum, &[]);
                summed = builder.combine(sum, output, Side::Left, &[copied, combined]);
                combined = summed;
            }
            continue;
        }
        let (room, emptied) = (rooms[round % rooms.len()], &mut emptied[round % rooms.len()]);
        let received = builder.receive(Rank(from), room, &emptied[..]);
        combined = builder.combine(output, room, Side::Left, &[received, combined]);
        if sends_again {
            summed = builder.combine(sum, room, Side::Left, &[received, sent, summed]);
        }
        *emptied = [combined, summed];
    }
}

fn rooms(builder: &mut Builder, messages: usize, count: u64) -> Vec<Region> {
    (0..messages.min(ROOMS)).map(|_| builder.scratch(count)).collect()
}

/// How far a message goes in each round.
fn distances(ranks: u32) -> impl Iterator<Item = u32> {
    (0..32).map(|round| 1u32 << round).take_while(move |&distance| distance < ranks)
}
