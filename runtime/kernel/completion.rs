//! Where an operation's outcome waits for its handle.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use super::sync::{AtomicBool, Mutex};
use crate::collective::choose::Choice;
use crate::engine::{OpId, Outcome};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::{Context, MatchKey};

/// Shared by a handle and the kernel. Holds an outcome at most once.
pub(crate) struct Completion {
    operation: Operation,
    /// The operation's name within the engine, and what its message is matched by.
    pub(crate) op: OpId,
    pub(crate) key: MatchKey,
    collective: Option<OfCollective>,
    /// The handle's: the thread that has posted the operation, and whether the handle was awaited.
    pub(crate) opener: AtomicU32,
    pub(crate) is_awaited: std::sync::atomic::AtomicBool,
    is_done: AtomicBool,
    state: Mutex<State>,
}

/// What a collective's completion knows beside its operation.
pub(crate) struct OfCollective {
    /// With whom messages are exchanged.
    pub(crate) peers: Vec<Rank>,
    /// Why its algorithm was taken; nothing to choose from for an exchange.
    pub(crate) choice: Chosen,
}

/// A choice, once it is made: a deferred collective's is made later.
pub(crate) type Chosen = Arc<OnceLock<Arc<Choice>>>;

enum State {
    /// Under way; whoever waits is woken once.
    Pending(Option<Waker>),
    Done(Outcome),
    /// The handle has taken the outcome, or is gone.
    Over,
}

/// What a handle leaves that is gone.
#[derive(Debug)]
pub(crate) enum Detached {
    /// Nothing.
    Over,
    /// A write that was refused, which nobody has been told.
    Refused(Error),
    /// Its operation.
    UnderWay,
}

impl Completion {
    pub(crate) fn new(operation: Operation, op: OpId, key: MatchKey) -> Self {
        Completion {
            operation,
            op,
            key,
            collective: None,
            opener: AtomicU32::new(0),
            is_awaited: false.into(),
            is_done: AtomicBool::new(false),
            state: Mutex::new(State::Pending(None)),
        }
    }

    /// The completion of a whole collective.
    pub(crate) fn of_collective(operation: Operation, op: OpId, of: OfCollective) -> Self {
        let key = MatchKey { context: Context::Collective, tag: Tag(0) };
        Completion { collective: Some(of), ..Completion::new(operation, op, key) }
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
        self.collective.as_ref()?.choice.get()
    }

    /// Whether an outcome is there, or was.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The kernel's end: puts the outcome in. Returns who is to be woken, and the outcome if the handle is gone.
    pub(crate) fn complete(&self, outcome: Outcome) -> (Option<Waker>, Option<Outcome>) {
        let mut state = self.state.lock();
        let (waker, unclaimed) = match &mut *state {
            State::Pending(waker) => {
                let waker = waker.take();
                *state = State::Done(outcome);
                (waker, None)
            }
            State::Done(_) => unreachable!("{} completed twice", self.operation),
            State::Over => (None, Some(outcome)),
        };
        self.is_done.store(true, Ordering::Release);
        (waker, unclaimed)
    }

    /// What the program must hear of this outcome though nobody has taken it: that its message was refused.
    pub(crate) fn as_refusal(&self, outcome: &Outcome) -> Option<Error> {
        match outcome {
            Outcome::Failed(error @ Error::Mismatch(_)) if self.operation.kind == OperationKind::Write => {
                Some(error.clone())
            }
            Outcome::Failed(error @ Error::Window(_)) if self.operation.kind.is_window_write() => Some(error.clone()),
            _ => None,
        }
    }

    /// The operation fails, if it has no outcome yet. Returns who is to be woken.
    pub(crate) fn fail(&self, error: &Error) -> Option<Waker> {
        let mut state = self.state.lock();
        let State::Pending(waker) = &mut *state else { return None };
        let waker = waker.take();
        *state = State::Done(Outcome::Failed(error.clone()));
        self.is_done.store(true, Ordering::Release);
        waker
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

    /// Whether somebody is to be woken at completion.
    pub(crate) fn has_waker(&self) -> bool {
        matches!(&*self.state.lock(), State::Pending(Some(_)))
    }

    /// Nobody is to be woken any more.
    pub(crate) fn unregister(&self) {
        if let State::Pending(waker) = &mut *self.state.lock() {
            *waker = None;
        }
    }

    /// The handle is gone.
    pub(crate) fn detach(&self) -> Detached {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Pending(_) => Detached::UnderWay,
            State::Done(outcome) => self.as_refusal(&outcome).map_or(Detached::Over, Detached::Refused),
            State::Over => Detached::Over,
        }
    }
}
