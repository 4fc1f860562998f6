//! Where an operation's outcome waits for its handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use super::sync::{AtomicBool, Mutex};
use crate::collective::choose::Choice;
use crate::engine::{OpId, Outcome};
use crate::error::{Error, Operation};
use crate::ids::{Rank, Tag};
use crate::wire::frame::{Context, Key};

/// Shared by a handle and the kernel. Holds an outcome at most once.
pub(crate) struct Slot {
    operation: Operation,
    /// The operation's name within the engine, and what its message is matched by.
    pub(crate) op: OpId,
    pub(crate) key: Key,
    collective: Option<OfCollective>,
    is_done: AtomicBool,
    state: Mutex<State>,
}

/// What a collective's slot knows beside its operation.
pub(crate) struct OfCollective {
    /// With whom messages are exchanged.
    pub(crate) peers: Vec<Rank>,
    /// Why its algorithm was taken; nothing to choose from for an exchange.
    pub(crate) choice: Option<Arc<Choice>>,
}

enum State {
    /// Under way; whoever waits is woken once.
    Pending(Option<Waker>),
    Done(Outcome),
    /// The handle has taken the outcome, or is gone.
    Over,
}

impl Slot {
    pub(crate) fn new(operation: Operation, op: OpId, key: Key) -> Self {
        let (is_done, state) = (AtomicBool::new(false), Mutex::new(State::Pending(None)));
        Slot { operation, op, key, collective: None, is_done, state }
    }

    /// The slot of a whole collective.
    pub(crate) fn of_collective(operation: Operation, op: OpId, of: OfCollective) -> Self {
        let key = Key { context: Context::Collective, tag: Tag(0) };
        Slot { collective: Some(of), ..Slot::new(operation, op, key) }
    }

    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// The ranks whose messages may complete the operation.
    pub(crate) fn peers(&self) -> &[Rank] {
        self.collective.as_ref().map_or(std::slice::from_ref(&self.operation.peer), |collective| &collective.peers)
    }

    /// The choice of a collective's algorithm.
    pub(crate) fn choice(&self) -> Option<&Arc<Choice>> {
        self.collective.as_ref()?.choice.as_ref()
    }

    /// Whether an outcome is there, or was.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The kernel's end: puts the outcome in. Returns who is to be woken, and the outcome if the handle is gone.
    pub(crate) fn complete(&self, outcome: Outcome) -> (Option<Waker>, Option<Outcome>) {
        let mut state = self.state.lock();
        let waker = match &mut *state {
            State::Pending(waker) => waker.take(),
            State::Done(_) => unreachable!("{} completed twice", self.operation),
            State::Over => None,
        };
        let mut unwanted = None;
        match *state {
            State::Over => unwanted = Some(outcome),
            _ => *state = State::Done(outcome),
        }
        self.is_done.store(true, Ordering::Release);
        (waker, unwanted)
    }

    /// The receiver refused the message after the write was complete: the outcome becomes an error, if the
    /// handle has not taken it. Returns whether it does.
    pub(crate) fn refuse(&self, error: &Error) -> bool {
        let mut state = self.state.lock();
        let untaken = matches!(*state, State::Done(_));
        if untaken {
            *state = State::Done(Outcome::Failed(error.clone()));
        }
        untaken
    }

    /// The handle's end: the outcome, once; `None` while there is none, or if it was taken.
    pub(crate) fn take(&self) -> Option<Outcome> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Done(outcome) => Some(outcome),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Has `waker` woken at completion, in place of any other. `false`: it is complete already.
    pub(crate) fn register(&self, waker: &Waker) -> bool {
        match &mut *self.state.lock() {
            State::Pending(registered) => {
                if !registered.as_ref().is_some_and(|old| old.will_wake(waker)) {
                    *registered = Some(waker.clone());
                }
                true
            }
            State::Done(_) | State::Over => false,
        }
    }

    /// Nobody is to be woken any more.
    pub(crate) fn unregister(&self) {
        if let State::Pending(waker) = &mut *self.state.lock() {
            *waker = None;
        }
    }

    /// The handle is gone. Returns whether the operation was still under way.
    pub(crate) fn detach(&self) -> bool {
        let mut state = self.state.lock();
        let pending = matches!(*state, State::Pending(_));
        *state = State::Over;
        pending
    }
}
