//! What is kept of messages that nobody reads, and for how long.

use super::units::{NOW, Pair, pattern};
use crate::buffer::Element;
use crate::ids::{Rank, Tag};
use crate::wire::frame::{MatchKey, Stamp};

/// Ids pass 2^32 while a message of each kind stays: complete and unread, announced, and to oneself.
#[test]
fn a_message_that_stays_keeps_its_id_for_itself() {
    let mut pair = Pair::new(2000, 2, 1 << 20);
    let own = |pair: &mut Pair, byte: u8| {
        let (key, bytes) = (MatchKey::user(Tag(9)), Box::new(vec![byte; 10]));
        pair.engines[0].initwrite(NOW, Rank(0), key, u8::TYPE, bytes).unwrap();
        pair.settle(0);
    };
    pair.write(0, 1, vec![1u8; 10]);
    pair.write(0, 2, vec![2u8; 3000]);
    own(&mut pair, 1);
    pair.run();
    for link in &mut pair.engines[0].links {
        (link.next_own_slot, link.outgoing.next_message_id) = (u64::from(u32::MAX), u64::from(u32::MAX));
    }
    for message in 3..7 {
        pair.write(0, message, vec![message as u8; 10]);
        own(&mut pair, message as u8);
    }
    pair.run();
    for (tag, bytes) in [(1, 10), (2, 3000), (3, 10), (4, 10), (5, 10), (6, 10)] {
        let read = pair.read(1, tag, bytes);
        pair.run();
        assert_eq!(pair.take(1, read), vec![tag as u8; bytes]);
    }
    for byte in [1, 3, 4, 5, 6] {
        let read = pair.engines[0].initread(NOW, Rank(0), MatchKey::user(Tag(9)), u8::TYPE, Box::new(vec![0u8; 10]));
        pair.settle(0);
        assert_eq!(pair.take(0, read.unwrap()), [byte; 10]);
    }
}

/// Of the shortest messages, each of a tag of its own, as many as the window takes; read in another order.
#[test]
fn what_a_message_costs_is_what_it_takes() {
    const WINDOW: u64 = 16 << 20;
    for bytes in [0, 1, 25] {
        let messages = (WINDOW / (256 + bytes as u64)) as usize;
        let mut pair = Pair::new(WINDOW, 16, 1 << 20);
        for message in 0..messages {
            pair.write(0, message as u32, pattern(message, bytes));
            if message % 1000 == 0 {
                pair.run();
                check_footprint(&pair);
            }
        }
        pair.run();
        let most = pair.engines[1].links[0].incoming.footprint();
        assert!(most <= WINDOW, "{messages} messages of {bytes} bytes take {most} bytes");
        for message in (0..messages).map(|message| message * 7919 % messages) {
            let read = pair.read(1, message as u32, bytes);
            assert_eq!(pair.take(1, read), pattern(message, bytes));
            if message % 1000 == 0 {
                check_footprint(&pair);
            }
        }
        let left = pair.engines[1].links[0].incoming.footprint();
        println!("{messages} messages of {bytes} bytes took {most} bytes, and left {left}");
        assert!(left < 256 << 10, "{left} bytes are left of {most}");
    }
}

fn check_footprint(pair: &Pair) {
    let incoming = &pair.engines[1].links[0].incoming;
    let (takes, most) = (incoming.footprint(), incoming.footprint_max());
    assert!(takes <= most, "{takes} bytes are taken and {most} charged");
}

/// A peer that reads nothing and asks for answers.
#[test]
fn pings_do_not_pile_up() {
    let mut pair = Pair::new(1 << 20, 16, 1 << 20);
    for _ in 0..100_000 {
        pair.engines[0].ping(Rank(1), Stamp { sent_ns: 0, echo_ns: None }, 1);
    }
    let waiting = pair.engines[0].links[1].outgoing.control.len();
    assert!(waiting <= 16, "{waiting} pings wait");
}
