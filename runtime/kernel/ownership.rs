//! Who watches the links while no thread helps: the kernel's task, at once or soon.
//!
//! Opening and closing the task's epoll set costs a few system calls and, worse, may wake the task for a packet that the
//! next wait takes anyway. A program that computes between its waits gets the task at once. One that goes from
//! wait to wait (a ping-pong, a stream) does not: there the task's epoll set stays closed, and the task looks after a
//! millisecond whether waits still follow each other; when they do not, it opens the task's epoll set. Each look takes the
//! program's core for some tens of microseconds, so it is rarer the longer waits have followed each other. Once the
//! program has computed again, the task has the links at the end of the next wait. So links are never
//! unwatched for more than a tick or two while the program computes, and a short message costs no call for the
//! hand-over.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::poller::Poller;
use super::sync::{AtomicBool, AtomicU64, Mutex};

/// After this time the task looks whether waits still follow each other. Tokio's timers tick in milliseconds.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// Later a tick is this part of the time for which they have, ...
const OF_STREAK: u32 = 16;
/// ... but no longer than this.
pub(super) const TICK_MAX: Duration = Duration::from_millis(8);
/// A program that stays away for longer between two calls computes. Opening the task's epoll set for less is in vain.
pub(super) const BRIEF: Duration = Duration::from_micros(200);

pub(crate) struct Ownership {
    state: Mutex<State>,
    pace: Pace,
}

struct State {
    watcher: Owner,
    /// Waits that have ended; the task compares.
    waits: u64,
    /// Their number at the last tick.
    seen: u64,
    /// For how long waits have followed each other. Halved when the program has computed: it may be an interruption.
    streak: Duration,
    /// How long the tick is.
    tick: Duration,
}

/// Whether the program computes between its calls. Only a hint, so nothing is ordered by it.
struct Pace {
    /// When the program last left a call, in nanoseconds of the node's clock.
    left: AtomicU64,
    has_computed: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    /// The task's set is armed.
    Task,
    /// The task's set is disarmed; the task opens it when no more waits follow.
    TaskSoon,
    /// The task's set is disarmed; the task looks after its pause.
    Pause,
    /// The task's set is disarmed; whoever helps decides at the end.
    Helper,
}

impl Ownership {
    /// At first nobody watches: the task's epoll set is closed.
    pub(crate) fn new() -> Self {
        let state = State { watcher: Owner::Helper, waits: 0, seen: 0, streak: Duration::ZERO, tick: TICK };
        let pace = Pace { left: AtomicU64::new(0), has_computed: AtomicBool::new(true) };
        Ownership { state: Mutex::new(state), pace }
    }

    /// The program enters a call, at `now`.
    pub(crate) fn program_enters(&self, now: Duration) {
        let left = Duration::from_nanos(self.pace.left.load(Ordering::Relaxed));
        if now.saturating_sub(left) >= BRIEF {
            self.pace.has_computed.store(true, Ordering::Relaxed);
        }
    }

    /// The program leaves a call, at `now`. What moves inside a call is no computation.
    pub(crate) fn program_leaves(&self, now: Duration) {
        self.pace.left.store(now.as_nanos() as u64, Ordering::Relaxed);
    }

    /// A helper is about to poll and to sleep: the task must not be woken for what the helper will take.
    pub(crate) fn helper_takes(&self, poller: &Poller) {
        let mut state = self.state.lock();
        match state.watcher {
            Owner::Task => {
                state.watcher = Owner::Helper;
                poller.close_gate();
            }
            Owner::Pause => state.watcher = Owner::Helper,
            Owner::TaskSoon | Owner::Helper => {}
        }
    }

    /// No thread helps any more. `may_move`: whether the task may have the links; asked under the lock, as in
    /// [`Ownership::settle`]. Returns whether the task is to begin ticking.
    #[must_use]
    pub(crate) fn helper_leaves(&self, poller: &Poller, may_move: impl FnOnce() -> bool) -> bool {
        let mut state = self.state.lock();
        state.waits += 1;
        let has_computed = self.pace.has_computed.load(Ordering::Relaxed);
        self.pace.has_computed.store(false, Ordering::Relaxed);
        let is_to_decide = match state.watcher {
            Owner::Helper => true,
            Owner::TaskSoon => has_computed,
            Owner::Task | Owner::Pause => false,
        };
        if !is_to_decide || !may_move() {
            return false;
        }
        if has_computed {
            state.open(poller);
            return false;
        }
        state.watcher = Owner::TaskSoon;
        (state.streak, state.tick) = (state.streak / 2, TICK);
        true
    }

    /// The program has looked at a link itself, and goes on: for the task's tick that is a wait, so that it is not woken beside a
    /// program whose waits are all met at once.
    pub(crate) fn program_looks(&self) {
        self.state.lock().waits += 1;
    }

    /// The task has looked and, if it `may`, pauses before it looks again; otherwise it watches, if it is the one.
    /// Returns whether it pauses. It may be asked though a helper has the links: then it does not.
    pub(crate) fn rest(&self, poller: &Poller, may: impl FnOnce() -> bool) -> bool {
        let mut state = self.state.lock();
        if !matches!(state.watcher, Owner::Task | Owner::Pause) {
            return false;
        }
        let may = may();
        match (state.watcher, may) {
            (Owner::Task, true) => {
                state.watcher = Owner::Pause;
                poller.close_gate();
            }
            (Owner::Pause, false) => state.open(poller),
            _ => {}
        }
        may
    }

    /// Whether the task still pauses: nobody has taken the links meanwhile.
    pub(crate) fn rests(&self) -> bool {
        self.state.lock().watcher == Owner::Pause
    }

    /// Has the task watch if it may, whoever helps, and no longer if it may not. It is asked under the lock: when one
    /// future begins to wait as the last one ends, who comes second knows of both.
    pub(crate) fn settle(&self, poller: &Poller, may_move: impl FnOnce() -> bool) {
        let mut state = self.state.lock();
        if may_move() {
            state.open(poller);
        } else {
            state.watcher = Owner::Helper;
            poller.close_gate();
        }
    }

    /// Whether the program goes from wait to wait, as far as can be known: whoever waits next moves what is to be moved.
    pub(crate) fn waits_follow(&self) -> bool {
        self.state.lock().watcher == Owner::TaskSoon
    }

    /// The task's tick. Returns when the next is due, if the task goes on ticking. `is_held`: somebody helps.
    pub(crate) fn tick(&self, poller: &Poller, is_held: impl FnOnce() -> bool) -> Option<Duration> {
        let mut state = self.state.lock();
        if state.watcher != Owner::TaskSoon {
            return None;
        }
        if state.seen != state.waits {
            // Those that wait poll the links, or have them watched again.
            poller.stop_watching();
            return Some(state.follows());
        }
        if is_held() {
            // A long wait: its end decides. Until then not even the ticks are needed.
            state.watcher = Owner::Helper;
        } else {
            state.open(poller);
        }
        None
    }
}

impl State {
    /// Waits still follow each other. Returns the next tick.
    fn follows(&mut self) -> Duration {
        self.seen = self.waits;
        self.streak += self.tick;
        self.tick = (self.streak / OF_STREAK).clamp(TICK, TICK_MAX);
        self.tick
    }

    fn open(&mut self, poller: &Poller) {
        self.watcher = Owner::Task;
        poller.open_gate();
    }
}
