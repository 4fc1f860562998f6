//! Collectives under every schedule: relays, whose parts run without the lock.

use super::program::{arrive, block_on, heard, initrelay, initwrite, make_room, relay, test, wait};
use super::runs::{DEFERRED, NO_ROOM, Scenario, explore, read};

/// Collectives go on whether this thread waits for them, another waits, or nobody does; some of their parts are long.
pub(super) const RELAYS: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| {
            let relay = initrelay(kernel, 0, 1, 1);
            let _ = initwrite(kernel, 0);
            wait(kernel, relay).expect("nothing fails");
        },
        |kernel| {
            let _ = initrelay(kernel, 1, 2, 0);
        },
        |kernel| read(kernel, 1, 3),
        |_| {
            arrive(1, 2);
            arrive(0, 1);
            arrive(1, 3);
        },
        |_| {
            make_room(0, 2);
            make_room(1, 1);
            heard(1, 1);
            heard(0, 2);
        },
    ],
};

/// The same in deferred mode, where a thread waits for each.
const DEFERRED_RELAYS: Scenario = Scenario {
    setup: DEFERRED,
    acts: &[
        |kernel| wait(kernel, initrelay(kernel, 0, 1, 1)).expect("nothing fails"),
        |kernel| test(kernel, initrelay(kernel, 1, 2, 0)),
        |kernel| block_on(kernel, initrelay(kernel, 1, 3, 1)),
        |_| {
            arrive(1, 2);
            arrive(0, 1);
            arrive(1, 3);
        },
    ],
};

/// Blocking calls beside others: whoever waits in the call that has begun a collective carries on itself, or somebody else does.
const BLOCKING_RELAYS: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| relay(kernel, 0, 1, 1),
        |kernel| relay(kernel, 1, 2, 0),
        |kernel| {
            let _ = initrelay(kernel, 1, 4, 0);
            read(kernel, 1, 3);
        },
        |_| {
            arrive(1, 2);
            arrive(0, 1);
            arrive(1, 4);
            arrive(1, 3);
        },
        |_| {
            make_room(0, 2);
            make_room(1, 1);
            heard(1, 1);
            heard(0, 2);
        },
    ],
};

/// The thread that helps waits for what comes only when a blocking call beside it has gone on.
const RELAY_BEFORE_READ: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| relay(kernel, 0, 1, 1),
        |kernel| read(kernel, 1, 3),
        |_| arrive(0, 1),
        |_| {
            make_room(1, 1);
            heard(1, 1);
            arrive(1, 3);
        },
    ],
};

#[test]
fn collectives_go_on_whoever_waits() {
    explore(RELAYS);
}

#[test]
fn blocking_calls_carry_their_collectives_on() {
    explore(BLOCKING_RELAYS);
    explore(RELAY_BEFORE_READ);
}

#[test]
fn calls_carry_collectives_on_in_deferred_mode() {
    explore(DEFERRED_RELAYS);
}
