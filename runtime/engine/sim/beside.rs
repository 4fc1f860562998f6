//! Long messages to a peer that reads beside.

use super::units::{MIB, Pair, pattern};
use crate::engine::outgoing::{BESIDE, BOUND_BYTES};
use crate::ids::Rank;

const LONG: usize = 8 * MIB;

/// What rank 0 sends of so much as a peer takes that acknowledges nothing.
fn leaves(pair: &mut Pair) -> u64 {
    let before = pair.on_the_wire(0);
    while pair.engines[0].has_output(Rank(1)) {
        pair.send(0);
    }
    (pair.on_the_wire(0) - before) as u64
}

/// Rank 0 writes two kinds of messages to rank 1, which reads beside if that is so, and has room for all.
fn pair(is_beside: bool) -> Pair {
    let mut pair = Pair::new(64 << 20, 16, usize::MAX);
    pair.engines[0].stays_within_host(Rank(1));
    if is_beside {
        pair.engines[0].reads_beside(Rank(1));
    }
    pair
}

#[test]
fn more_of_a_long_message_is_under_way_to_a_peer_that_reads_beside() {
    for (is_beside, bytes, most) in
        [(false, LONG, BOUND_BYTES), (true, LONG, BESIDE.bound), (true, BESIDE.from_bytes as usize - 1, BOUND_BYTES)]
    {
        let mut pair = pair(is_beside);
        let count = 2 * LONG / bytes;
        let reads: Vec<_> = (0..count).map(|_| pair.read(1, 1, bytes)).collect();
        (0..count).for_each(|at| _ = pair.write(0, 1, pattern(at, bytes)));
        let left = leaves(&mut pair);
        assert!(left <= most && left > most / 2, "{is_beside}, {bytes}: {left}");
        pair.run();
        for (at, read) in reads.into_iter().enumerate() {
            assert!(pair.take(1, read) == pattern(at, bytes));
        }
    }
}

#[test]
fn once_short_messages_come_while_long_ones_are_under_way_these_go_as_to_others() {
    let mut pair = pair(true);
    let turns = 12;
    let reads: Vec<_> = (0..turns).map(|_| [pair.read(1, 1, LONG), pair.read(1, 2, 8)]).collect();
    for turn in 0..turns {
        pair.write(0, 1, pattern(turn, LONG));
        let left = leaves(&mut pair);
        assert_eq!(left > BOUND_BYTES, turn == 0, "turn {turn}: {left}");
        pair.write(0, 2, pattern(turn, 8));
        pair.run();
    }
    for (turn, [long, short]) in reads.into_iter().enumerate() {
        assert!(pair.take(1, long) == pattern(turn, LONG) && pair.take(1, short) == pattern(turn, 8));
    }
    // Long ones alone soon go as before.
    let alone = (0..turns).position(|turn| {
        pair.read(1, 1, LONG);
        pair.write(0, 1, pattern(turn, LONG));
        let left = leaves(&mut pair);
        pair.run();
        left > BOUND_BYTES
    });
    assert!(alone.is_some_and(|count| count > 2), "{alone:?}");
}
