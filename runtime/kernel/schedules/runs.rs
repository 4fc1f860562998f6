//! The scenarios, each under many schedules; and what the checker says of kernels that are broken on purpose.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, Runner};

use super::Kernel;
use super::machine::{self, Fault};
use super::program::{
    Act, Setup, all_is_taken, arrive, block_on, drain, heard, initread, initrelay, initwrite, make_room, pass_time,
    run, test, wait, wait_any, wait_timeout,
};
use crate::config::Overlap;

/// Schedules of each scenario, each step by chance.
const RANDOM: usize = 10_000;
/// Schedules of each scenario with few changes of who runs (probabilistic concurrency testing).
const PCT: usize = 5_000;
/// Changes of who runs, in those.
const CHANGES: usize = 3;
/// `SHUTTLE_RANDOM_SEED` tries another. A failure prints its schedule.
const SEED: u64 = 1994;

const SETUP: Setup = Setup { overlap: Overlap::On, links: 2, room: 2 };
const NO_ROOM: Setup = Setup { room: 0, ..SETUP };
const DEFERRED: Setup = Setup { overlap: Overlap::Off, ..SETUP };
const MOMENT: Duration = Duration::from_millis(5);

#[derive(Clone, Copy)]
struct Scenario {
    setup: Setup,
    acts: &'static [Act],
}

fn read(kernel: &Kernel, peer: usize, tag: u32) {
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
            let slot = initread(kernel, 0, 1);
            if !wait_timeout(kernel, &slot, MOMENT) {
                arrive(0, 1);
                wait(kernel, slot).expect("nothing fails");
            }
        },
        |kernel| {
            let slot = initread(kernel, 1, 2);
            if !wait_timeout(kernel, &slot, 2 * MOMENT) {
                wait(kernel, slot).expect("nothing fails");
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

/// Collectives go on whether this thread waits for them, another waits, or nobody does; some of their parts are long.
const RELAYS: Scenario = Scenario {
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

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    config
}

fn check(
    scheduler: impl Scheduler + 'static,
    Scenario { setup, acts }: Scenario,
    fault: Fault,
    tried: &Arc<AtomicUsize>,
) {
    let tried = tried.clone();
    Runner::new(scheduler, config()).run(move || {
        tried.fetch_add(1, Ordering::Relaxed);
        run(setup, fault, acts);
    });
}

/// The scenario ends well under every schedule tried.
fn explore(scenario: Scenario) {
    let tried = Arc::default();
    check(RandomScheduler::new_from_seed(SEED, RANDOM), scenario, Fault::None, &tried);
    check(PctScheduler::new_from_seed(SEED, CHANGES, PCT), scenario, Fault::None, &tried);
    assert_eq!(tried.load(Ordering::Relaxed), RANDOM + PCT);
}

#[test]
fn each_waiting_thread_gets_its_messages() {
    explore(READERS);
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
fn deadlines_hold_and_lose_nothing() {
    explore(DEADLINES);
}

#[test]
fn a_lost_job_ends_every_wait() {
    explore(LOSS);
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

#[test]
fn collectives_go_on_whoever_waits() {
    explore(RELAYS);
}

#[test]
fn calls_carry_collectives_on_in_deferred_mode() {
    explore(DEFERRED_RELAYS);
}

/// Whoever leaves a collective that can go on must say so.
#[test]
fn a_collective_that_nobody_is_called_for_is_found() {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        check(RandomScheduler::new_from_seed(SEED, RANDOM), RELAYS, Fault::CallIsLost, &Arc::default());
    }));
    assert!(outcome.is_err(), "a collective went on although nobody was told of it");
}

/// The checker can fail: each of these is found, and soon.
#[test]
fn what_is_broken_is_found() {
    let all = [
        ("readers", READERS),
        ("writers", WRITERS),
        ("computing", COMPUTING),
        ("deadlines", DEADLINES),
        ("futures", FUTURES),
        ("drain", DRAIN),
    ];
    let faults = [
        Fault::UnparkIsLost,
        Fault::NudgeIsLost,
        Fault::GateOpensBlindly,
        Fault::TickIsLost,
        Fault::LookTakesNudge,
        Fault::ExchangeIsTorn,
    ];
    let faults = faults.iter().flat_map(|&fault| all.iter().map(move |&(name, scenario)| (fault, name, scenario)));
    for (fault, name, scenario) in faults {
        for is_random in [0, 1, 2] {
            let tried = Arc::default();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if is_random == 0 {
                    check(RandomScheduler::new_from_seed(SEED, RANDOM), scenario, fault, &tried);
                } else if is_random == 1 {
                    check(UrwRandomScheduler::new_from_seed(SEED, RANDOM), scenario, fault, &tried);
                } else {
                    check(PctScheduler::new_from_seed(SEED, CHANGES, PCT), scenario, fault, &tried);
                }
            }));
            let tried = tried.load(Ordering::Relaxed);
        }
    }
}
