//! Who watches the links while no thread helps: the kernel's task, at once or soon.
//!
//! Opening and closing the gate costs a few system calls and, worse, may wake the task for a packet that the
//! next wait takes anyway. A program that computes between its waits gets the task at once. One that goes from
//! wait to wait (a ping-pong) does not: there the gate stays closed, and the task looks every millisecond
//! whether waits still follow each other; when they do not, it opens the gate. So links are never unwatched for
//! more than a tick or two while the program computes, and a short message costs no call for the hand-over.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::poller::Poller;

/// How often the task looks whether waits still follow each other. Tokio's timers tick in milliseconds.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// A gate that was open for less than this was opened in vain.
const BRIEF: Duration = Duration::from_micros(200);

/// A wait of more ticks is a long one; the waits of a stream of long messages are shorter.
const HELD_TICKS_MAX: u32 = 20;

pub(crate) struct Watch {
    state: Mutex<State>,
    /// Tells the task to begin ticking.
    pub(super) begin: Notify,
}

struct State {
    watcher: Watcher,
    opened: Instant,
    /// The gate was open only briefly when the helper closed it.
    was_brief: bool,
    /// Waits that have ended; the task compares.
    waits: u64,
    /// Their number at the last tick.
    seen: u64,
    /// Ticks during the wait under way.
    held_ticks: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watcher {
    /// The gate is open.
    Task,
    /// The gate is closed; the task opens it when no more waits follow.
    TaskSoon,
    /// The gate is closed; whoever helps decides at the end.
    Helper,
}

impl Watch {
    /// At first nobody watches: the gate is closed.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let state = State { watcher: Watcher::Helper, opened: now, was_brief: false, waits: 0, seen: 0, held_ticks: 0 };
        Watch { state: Mutex::new(state), begin: Notify::new() }
    }

    /// A helper is about to poll and to sleep: the task must not be woken for what the helper will take.
    pub(crate) fn helper_takes(&self, poller: &Poller) {
        let mut state = self.state.lock();
        if state.watcher == Watcher::Task {
            state.watcher = Watcher::Helper;
            state.was_brief = state.opened.elapsed() < BRIEF;
            poller.close_gate();
        }
    }

    /// No thread helps any more.
    pub(crate) fn helper_leaves(&self, poller: &Poller) {
        let mut state = self.state.lock();
        state.waits += 1;
        if state.watcher == Watcher::Helper {
            if state.was_brief {
                state.watcher = Watcher::TaskSoon;
                self.begin.notify_one();
            } else {
                state.open(poller);
            }
        }
    }

    /// Has the task watch, whoever helps: futures wait.
    pub(crate) fn open(&self, poller: &Poller) {
        self.state.lock().open(poller);
    }

    /// Has the task watch no longer.
    pub(crate) fn close(&self, poller: &Poller) {
        self.state.lock().watcher = Watcher::Helper;
        poller.close_gate();
    }

    /// The task's tick. Returns whether it goes on ticking. `is_held`: somebody helps.
    pub(crate) fn tick(&self, poller: &Poller, is_held: impl FnOnce() -> bool) -> bool {
        let mut state = self.state.lock();
        if state.watcher != Watcher::TaskSoon {
            return false;
        }
        if state.seen != state.waits {
            (state.seen, state.held_ticks) = (state.waits, 0);
            return true;
        }
        if is_held() {
            state.held_ticks += 1;
            if state.held_ticks < HELD_TICKS_MAX {
                return true;
            }
            // A long wait: its end decides. Until then not even the ticks are needed.
            state.watcher = Watcher::Helper;
            state.was_brief = false;
        } else {
            state.open(poller);
        }
        false
    }
}

impl State {
    fn open(&mut self, poller: &Poller) {
        self.watcher = Watcher::Task;
        self.opened = Instant::now();
        poller.open_gate();
    }
}
