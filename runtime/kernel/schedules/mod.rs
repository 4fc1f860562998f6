//! The hand-over under every schedule that chance finds.
//!
//! The files of the hand-over (`hand_over.rs`, `help.rs`, `helper.rs`, `conditions.rs`, `ownership.rs`, `wake.rs`, `completion.rs`,
//! `ready.rs`, `withdraw.rs`) are compiled a second time here, letter
//! by letter, beside modules that put shuttle's primitives in place of the system's ([`sync`]) and small models in
//! place of what they hand over: the poller ([`epoll`], held against the real one in [`real`]), the engine with
//! its sockets ([`core`]), the polling, and the task's loop ([`program::serve`]). Shuttle runs all threads of an execution
//! one step at a time in an order it chooses.
//!
//! Not explored: weak memory (shuttle takes every atomic for sequentially consistent), and what is inside the models.

#![allow(dead_code, reason = "the files are used whole elsewhere")]
#![allow(clippy::duplicate_mod, reason = "that is the point")]

mod cancels;
mod core;
mod epoll;
mod explore;
mod machine;
mod poller;
mod program;
mod real;
mod relays;
mod runs;
mod sync;
mod wakes;

#[path = "../completion.rs"]
mod completion;
#[path = "../conditions.rs"]
mod conditions;
#[path = "../hand_over.rs"]
mod hand_over;
#[path = "../help.rs"]
mod help;
#[path = "../helper.rs"]
mod helper;
#[path = "../ownership.rs"]
mod ownership;
#[path = "../panics.rs"]
mod panics;
#[path = "../ready.rs"]
mod ready;
#[path = "../wake.rs"]
mod wake;
#[path = "../withdraw.rs"]
mod withdraw;

use std::sync::Arc;
use std::time::Duration;

use self::core::Core;
use self::helper::{Condition, Help};
use self::ownership::Ownership;
use self::poller::Poller;
use self::sync::Mutex;
use self::wake::TaskWake;
use crate::config::Overlap;
use crate::engine::{OpId, Written};
use crate::error::Error;
use crate::ids::Rank;
use crate::observe::event::What;
use crate::operation::Operation;

/// The real one's fields, as far as the hand-over knows them.
pub(crate) struct Kernel {
    rank: Rank,
    settings: Settings,
    clock: Clock,
    core: Mutex<Core>,
    poller: Arc<Poller>,
    help: Help,
    ownership: Ownership,
    wake: TaskWake,
    observer: Unobserved,
}

struct Settings {
    overlap: Overlap,
}

/// Nothing is observed here: it wakes nobody.
struct Unobserved;

impl Unobserved {
    fn tell(&self, _: impl FnOnce() -> Duration, _: impl FnOnce() -> What) {}
    fn enters(&self, _: Duration) {}
    fn begins_wait(&self, _: Duration, _: impl Iterator<Item = (OpId, Operation)>) {}
    fn leaves_wait(&self, _: Duration, _: Duration, _: impl Iterator<Item = (OpId, Operation)>) {}
    fn leaves_at_once(&self, _: Duration) {}
}

impl Kernel {
    fn new(overlap: Overlap, links: usize) -> Self {
        let poller = Arc::new(Poller);
        Kernel {
            rank: Rank(0),
            settings: Settings { overlap },
            clock: Clock,
            core: Mutex::new(Core::new(links, poller.clone())),
            help: Help::new(poller.clone(), tuning::spin::Spin),
            poller,
            ownership: Ownership::new(),
            wake: TaskWake::new(),
            observer: Unobserved,
        }
    }

    fn asks_in_vain(&self) {}

    /// Takes in what has come before a buffer goes back.
    fn listen(&self, peer: Rank, _: &Written) {
        let mut core = self.lock();
        if core.read_lanes(peer) > 0 {
            core.flush();
        }
        self.unlock(core);
    }

    /// Nobody forks here.
    fn forked(&self) -> Option<Error> {
        None
    }

    fn ends_forked(&self, _: &dyn Condition) -> bool {
        false
    }
}

/// Between two calls the program computes, or not.
struct Clock;

impl Clock {
    fn now(&self) -> Duration {
        machine::with(|state| {
            state.program_time += Duration::from_millis(machine::below(2));
            state.program_time
        })
    }
}

mod tuning {
    pub(super) mod spin {
        //! Polls a few times.

        use std::time::Duration;

        use super::super::machine;
        use super::super::poller::alone;
        use super::super::sync::Instant;

        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Look {
            Met,
            Step,
            Part,
            Nothing,
        }

        pub(crate) struct Spin;

        impl Spin {
            pub(crate) fn is_shared(&self) -> bool {
                machine::once_in(2)
            }

            pub(crate) fn poll(&self, _: bool, _: bool, mut look: impl FnMut() -> Look) -> Option<Instant> {
                machine::with(|state| alone(&mut state.helping));
                let is_met = (0..machine::below(3)).any(|_| look() == Look::Met);
                machine::with(|state| state.helping -= 1);
                (!is_met).then(Instant::now)
            }

            /// What is learnt changes only how often it polls.
            pub(crate) fn slept(&self, _: bool, _: bool, _: Duration) {}
        }
    }
}

mod deadlock {
    //! Nobody waits for long.

    use std::time::Duration;

    use super::Kernel;
    use super::helper::Condition;

    pub(crate) struct LongWait {
        pub(crate) began: Duration,
    }

    impl LongWait {
        pub(crate) fn new(began: Duration) -> Self {
            LongWait { began }
        }

        pub(crate) fn tick(&mut self, _: &Kernel, _: &dyn Condition, _: bool) {}
    }
}
