//! The scenarios, each under many schedules; and what the checker says of kernels that are broken on purpose.

use std::time::Duration;

use super::Kernel;
use super::explore::{explore as explore_all, is_found};
use super::machine::{self, Fault};
use super::program::{
    Act, NOBODYS, Setup, all_is_taken, arrive, block_on, drain, heard, initread, initwrite, make_room, pass_time, run,
    test, wait, wait_any, wait_timeout, write_own,
};
use super::sync::thread;
use super::wake::Reason;
use crate::config::Overlap;

pub(super) const SETUP: Setup = Setup { overlap: Overlap::On, links: 2, room: 2 };
pub(super) const NO_ROOM: Setup = Setup { room: 0, ..SETUP };
pub(super) const DEFERRED: Setup = Setup { overlap: Overlap::Off, ..SETUP };
const MOMENT: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
pub(super) struct Scenario {
    pub(super) setup: Setup,
    pub(super) acts: &'static [Act],
}

pub(super) fn read(kernel: &Kernel, peer: usize, tag: u32) {
    wait(kernel, initread(kernel, peer, tag)).expect("nothing fails");
}

fn write(kernel: &Kernel, peer: usize) {
    wait(kernel, initwrite(kernel, peer)).expect("nothing fails");
}

/// Three threads wait, one of them twice.
const READERS: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| {
            read(kernel, 0, 0);
            read(kernel, 1, 10);
        },
        |kernel| read(kernel, 1, 1),
        |kernel| read(kernel, 0, 2),
        |_| {
            let first = machine::below(3) as u32;
            for tag in (0..3).map(|tag| (tag + first) % 3) {
                arrive(tag as usize % 2, tag);
            }
        },
        |_| arrive(1, 10),
    ],
};

/// What each thread waits for comes only when another has its message: none may be late with a wake-up.
const CHAIN: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| read(kernel, 0, 1),
        |kernel| {
            read(kernel, 0, 2);
            arrive(0, 1);
        },
        |kernel| {
            read(kernel, 1, 3);
            arrive(0, 2);
        },
        |_| arrive(1, 3),
    ],
};

/// A thread writes to its own node, and so completes what another waits for while the task is nudged for what the
/// wait before has left.
const OWN: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| {
            read(kernel, 0, 1);
            let completion = initread(kernel, 0, 2);
            let _ = initwrite(kernel, 0);
            wait(kernel, completion).expect("nothing fails");
        },
        |kernel| {
            heard(0, 1);
            write_own(kernel, 0, 2);
        },
        |_| {
            arrive(0, 1);
            arrive(0, NOBODYS);
        },
    ],
};

/// Writes find no room at first; an answer comes when one was heard.
const WRITERS: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| {
            let answer = initread(kernel, 0, 1);
            write(kernel, 0);
            wait(kernel, answer).expect("nothing fails");
        },
        |kernel| {
            let answer = initread(kernel, 0, 2);
            let writes = [initwrite(kernel, 0), initwrite(kernel, 1)];
            let other = wait_any(kernel, writes);
            wait(kernel, answer).expect("nothing fails");
            wait(kernel, other).expect("nothing fails");
        },
        |_| {
            make_room(0, 1);
            heard(0, 1);
            arrive(0, 1);
            make_room(0, 1);
            heard(0, 2);
            arrive(0, 2);
        },
        |_| make_room(1, 1),
    ],
};

/// The program computes: what it has posted moves all the same, whether another thread waits or has just waited.
const COMPUTING: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| {
            let _ = initwrite(kernel, 0);
            let _ = initwrite(kernel, 0);
        },
        |kernel| {
            read(kernel, 1, 1);
            let _ = initread(kernel, 1, 2);
        },
        |_| {
            arrive(1, 1);
            make_room(0, 1);
            heard(0, 1);
            arrive(1, 2);
            all_is_taken();
            make_room(0, 1);
            heard(0, 2);
        },
    ],
};

/// Deadlines pass, for one that helps and for one that does not. What comes later is waited for again.
const DEADLINES: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| {
            let completion = initread(kernel, 0, 1);
            if !wait_timeout(kernel, &completion, MOMENT) {
                arrive(0, 1);
                wait(kernel, completion).expect("nothing fails");
            }
        },
        |kernel| {
            let completion = initread(kernel, 1, 2);
            if !wait_timeout(kernel, &completion, 2 * MOMENT) {
                wait(kernel, completion).expect("nothing fails");
            }
        },
        |kernel| read(kernel, 1, 3),
        |_| {
            arrive(1, 2);
            arrive(1, 3);
        },
        |_| pass_time(2),
    ],
};

/// The job is lost while all wait, two of them for messages that do not come.
const LOSS: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| drop(wait(kernel, initread(kernel, 0, 1))),
        |kernel| drop(wait(kernel, initread(kernel, 1, 2)).expect_err("nobody sends")),
        |kernel| drop(wait(kernel, initread(kernel, 1, 3)).expect_err("nobody sends")),
        |_| arrive(0, 1),
        |_| machine::with(|state| state.is_job_lost = true),
    ],
};

/// Futures wait beside a thread.
const FUTURES: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| {
            block_on(kernel, initread(kernel, 0, 1));
            block_on(kernel, initread(kernel, 0, 2));
        },
        |kernel| block_on(kernel, initread(kernel, 1, 3)),
        |kernel| read(kernel, 1, 4),
        |_| {
            arrive(0, 1);
            arrive(1, 4);
            arrive(0, 2);
        },
        |_| arrive(1, 3),
    ],
};

/// The same where bytes move only while a thread or a future waits.
const DEFERRED_FUTURES: Scenario = Scenario { setup: DEFERRED, ..FUTURES };

/// Threads wait, and ask in a loop, where bytes move only inside a call.
const DEFERRED_CALLS: Scenario = Scenario {
    setup: DEFERRED,
    acts: &[
        |kernel| read(kernel, 0, 1),
        |kernel| test(kernel, initread(kernel, 1, 2)),
        |kernel| {
            write(kernel, 0);
            read(kernel, 0, 3);
        },
        |_| {
            heard(0, 1);
            arrive(0, 3);
        },
        |_| {
            arrive(0, 1);
            arrive(1, 2);
        },
    ],
};

/// A thread waits for something that only the core knows: all is over that others have posted.
const DRAIN: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| {
            let _ = initwrite(kernel, 0);
            drain(kernel);
        },
        |kernel| {
            let _ = initwrite(kernel, 1);
            read(kernel, 1, 1);
        },
        |_| {
            arrive(1, 1);
            make_room(0, 1);
        },
        |_| make_room(1, 1),
    ],
};

/// Messages that nobody waits for come while waits come and go, and the job is lost when all have been taken.
const BUSY: Scenario = Scenario {
    setup: SETUP,
    acts: &[
        |kernel| {
            read(kernel, 0, 1);
            read(kernel, 0, 2);
        },
        |kernel| {
            // A park of the program's own may have left this behind.
            thread::current().unpark();
            read(kernel, 1, 3);
            write(kernel, 1);
        },
        |_| {
            arrive(1, NOBODYS);
            arrive(0, 1);
            arrive(0, NOBODYS);
            arrive(0, 2);
        },
        |_| {
            arrive(0, NOBODYS);
            arrive(1, 3);
        },
    ],
};

/// The job is lost while a thread waits for something that only the core knows.
const LOSS_AT_END: Scenario = Scenario {
    setup: NO_ROOM,
    acts: &[
        |kernel| {
            let _ = initwrite(kernel, 0);
            drain(kernel);
        },
        |kernel| drop(wait(kernel, initread(kernel, 1, 1))),
        |_| arrive(1, 1),
        |_| machine::with(|state| state.is_job_lost = true),
    ],
};

/// The scenario ends well under every schedule tried.
pub(super) fn explore(scenario: Scenario) {
    explore_all(move || run(scenario.setup, Fault::None, scenario.acts));
}

#[test]
fn each_waiting_thread_gets_its_messages() {
    explore(READERS);
}

#[test]
fn no_wait_keeps_another_waiting() {
    explore(CHAIN);
    explore(OWN);
}

#[test]
fn writes_end_when_there_is_room() {
    explore(WRITERS);
}

#[test]
fn bytes_move_while_the_program_computes() {
    explore(COMPUTING);
}

#[test]
fn messages_nobody_waits_for_are_taken() {
    explore(BUSY);
}

#[test]
fn deadlines_hold_and_lose_nothing() {
    explore(DEADLINES);
}

#[test]
fn a_lost_job_ends_every_wait() {
    explore(LOSS);
    explore(LOSS_AT_END);
}

#[test]
fn futures_and_threads_wait_side_by_side() {
    explore(FUTURES);
}

#[test]
fn futures_move_bytes_in_deferred_mode() {
    explore(DEFERRED_FUTURES);
}

#[test]
fn calls_move_bytes_in_deferred_mode() {
    explore(DEFERRED_CALLS);
}

#[test]
fn what_only_the_core_knows_is_seen() {
    explore(DRAIN);
}

/// The checker can fail: each of these is found, and soon.
#[test]
fn what_is_broken_is_found() {
    let faults = [
        (Fault::UnparkIsLost, READERS),
        (Fault::NudgeIsLost, READERS),
        (Fault::TaskSetIsArmedBlindly, READERS),
        (Fault::ReasonIsLost(Reason::WaitsFollow), READERS),
        (Fault::ReasonIsLost(Reason::Gathered), COMPUTING),
        (Fault::WakeUpIsLost, READERS),
        (Fault::LookTakesNudge, WRITERS),
        (Fault::WaiterIsForgotten, WRITERS),
        (Fault::ExchangeIsTorn, READERS),
        // Whoever leaves a collective that can go on must say so.
        (Fault::ReasonIsLost(Reason::CollectiveDue), super::relays::RELAYS),
        // So must whoever leaves what it sends for others to go with.
        (Fault::ReasonIsLost(Reason::Gathered), super::relays::RELAYS),
    ];
    for (fault, scenario) in faults {
        assert!(is_found(move || run(scenario.setup, fault, scenario.acts)), "{fault:?} is not found");
    }
}
