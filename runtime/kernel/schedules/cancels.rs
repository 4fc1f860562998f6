//! Reads are cancelled and given up while their messages come: whatever happens first, each message is read once.

use super::Kernel;
use super::program::{arrive, initread, wait};
use super::runs::{DEFERRED, SETUP, Scenario, explore, read};
use crate::engine::Outcome;

/// Reads until the message has come, with a read that is cancelled first.
fn cancel_and_read(kernel: &Kernel, peer: usize, tag: u32) {
    let completion = initread(kernel, peer, tag);
    if kernel.cancel(&completion) {
        assert!(matches!(completion.take(), Some(Outcome::Abandoned(Some(_)))), "the buffer comes back");
        read(kernel, peer, tag);
    } else {
        wait(kernel, completion).expect("its message has come");
    }
    assert!(!kernel.lock().has_unread(peer, tag), "a message was read, and is there");
}

/// A handle is dropped, before its message has come or after; the next read gets it.
fn drop_and_read(kernel: &Kernel, peer: usize, tag: u32) {
    let completion = initread(kernel, peer, tag);
    kernel.abandon(&completion);
    read(kernel, peer, tag);
    assert!(!kernel.lock().has_unread(peer, tag), "a message was read, and is there");
}

/// Two reads wait for one message each; one is dropped. Whoever is left gets the first that comes, and another read the second.
fn drop_one_of_two(kernel: &Kernel, peer: usize, tag: u32) {
    let (first, second) = (initread(kernel, peer, tag), initread(kernel, peer, tag));
    kernel.abandon(&first);
    wait(kernel, second).expect("nothing fails");
    read(kernel, peer, tag);
    assert!(!kernel.lock().has_unread(peer, tag), "a message was read, and is there");
}

const CANCELS: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| cancel_and_read(kernel, 0, 1),
        |kernel| drop_and_read(kernel, 1, 2),
        |kernel| read(kernel, 0, 3),
        |_| {
            arrive(0, 1);
            arrive(0, 3);
        },
        |_| arrive(1, 2),
    ],
};

const DROPS: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| drop_one_of_two(kernel, 0, 1),
        |kernel| cancel_and_read(kernel, 1, 2),
        |_| {
            arrive(0, 1);
            arrive(1, 2);
            arrive(0, 1);
        },
    ],
};

#[test]
fn a_message_that_comes_while_its_read_is_cancelled_is_read_once() {
    explore(CANCELS);
    explore(Scenario { setup: DEFERRED, ..CANCELS });
}

#[test]
fn a_message_whose_read_is_given_up_goes_to_the_next() {
    explore(DROPS);
    explore(Scenario { setup: DEFERRED, ..DROPS });
}
