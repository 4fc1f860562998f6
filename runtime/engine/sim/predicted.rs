//! Reads that put payload where it belongs: which bytes take another way, and that all come right.

use super::units::{FRAGMENT, MIB, Pair, pattern};
use crate::ids::Rank;

#[test]
fn predicted_payload_takes_no_way_round() {
    let mut pair = Pair::new(64 << 20, 1024, 512 << 10);
    let bytes = 4 * MIB + 1234;
    let read = pair.read(1, 1, bytes);
    pair.write(0, 1, pattern(5, bytes));
    pair.run();
    assert!(pair.take(1, read) == pattern(5, bytes));
    assert!(pair.staged <= 80 << 10, "{} of {bytes} bytes came by way of the staging buffer", pair.staged);
    assert!(pair.predicted > bytes - (80 << 10));
}

#[test]
fn mispredicted_payload_is_put_right() {
    for piece in [1, 15, 16, 17, 100, 4095, 4112, 5000, 70_000, usize::MAX] {
        let mut pair = Pair::new(64 << 20, 1024, 1 << 20);
        let (long, longer, short) = (20 * FRAGMENT + 5, 30 * FRAGMENT, 100);
        let mut reads = vec![(pair.read(1, 1, long), 1, long), (pair.read(1, 2, longer), 2, longer)];
        pair.write(0, 1, pattern(1, long));
        pair.write(0, 2, pattern(2, longer));
        for message in 0..40 {
            pair.write(0, 3, pattern(message, short));
            pair.send(0);
            pair.receive(1, piece.min(9000));
        }
        reads.extend((0..40).map(|message| (pair.read(1, 3, short), message, short)));
        while pair.receive(1, piece) > 0 || pair.engines[0].has_output(Rank(1)) {
            pair.send(0);
        }
        assert!(pair.predicted > 0, "nothing was predicted with pieces of {piece}");
        for (read, seed, bytes) in reads {
            assert!(pair.take(1, read) == pattern(seed, bytes), "message {seed} of {bytes} bytes, pieces of {piece}");
        }
    }
}

/// Messages in a row, whose reads are posted before they come.
fn in_a_row(tags: impl Fn(u32) -> u32, bytes: usize, piece: usize) -> Pair {
    let mut pair = Pair::new(64 << 20, 1024, 1 << 20);
    // One that nobody writes to.
    pair.read(1, 1 << 20, 8);
    let mut next = pair.read(1, tags(0), bytes);
    for message in 0..40 {
        pair.write(0, tags(message), pattern(message as usize, bytes));
        let read = std::mem::replace(&mut next, pair.read(1, tags(message + 1), bytes));
        while pair.engines[0].has_output(Rank(1)) || !pair.is_done(1, read) {
            pair.send(0);
            pair.receive(1, piece);
            if pair.engines[1].has_output(Rank(0)) {
                pair.send(1);
                pair.receive(0, usize::MAX);
            }
        }
        assert!(pair.take(1, read) == pattern(message as usize, bytes), "message {message}, pieces of {piece}");
        // Of the first message nothing could be known.
        if message == 0 {
            pair.staged = 0;
        }
    }
    pair
}

/// However the first of them have been cut, the end of a message does not take the next one with it to the staging buffer.
#[test]
fn the_end_of_a_message_takes_nothing_of_the_next_a_way_round() {
    for piece in [60_000, 63_603, 64_000, 65_535, 65_536, 65_568, 70_000, 131_100] {
        let pair = in_a_row(|_| 1, 64 << 10, piece);
        assert!(pair.staged <= 8 << 10, "pieces of {piece}: {} bytes took a way round", pair.staged);
    }
}

/// Messages of collectives have a tag for each call: the read that was posted first is theirs, whatever else waits beside it.
#[test]
fn a_message_is_read_in_place_though_none_of_its_tag_has_come_before() {
    let pair = in_a_row(|message| message, 1 << 20, usize::MAX);
    assert!(pair.staged <= 8 << 10, "{} bytes took a way round", pair.staged);
}
