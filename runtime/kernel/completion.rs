//! Where an operation's outcome waits for its handle.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use super::ready::Ready;
use super::sync::{AtomicBool, Mutex};
use crate::buffer::ReceiveBuffer;
use crate::collective::choose::Choice;
use crate::collective::execute::Plan;
use crate::engine::{OpId, Origin, Outcome, Written};
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
    /// All ranks, for a read of any origin.
    anyone: Option<Arc<[Rank]>>,
    /// The member's of a set, if it is one.
    pub(crate) token: AtomicU32,
    /// The handle's: the thread that has posted the operation, and whether the handle was awaited.
    pub(crate) opener: AtomicU32,
    pub(crate) is_awaited: std::sync::atomic::AtomicBool,
    is_done: AtomicBool,
    /// Whether the operation was over as it was posted.
    was_over: bool,
    /// Whether the handle has taken the outcome: then its end leaves nothing to look at.
    is_taken: std::sync::atomic::AtomicBool,
    state: Mutex<State>,
}

/// What a collective's completion knows beside its operation.
pub(crate) struct OfCollective {
    /// With whom messages are exchanged, if not with the ranks of the plan's schedule.
    pub(crate) peers: Option<Arc<[Rank]>>,
    /// Why its algorithm was taken.
    pub(crate) choice: Chosen,
    /// When the call that has begun it was over, in nanoseconds of the node's clock.
    begun: AtomicU64,
}

impl OfCollective {
    pub(crate) fn new(peers: Arc<[Rank]>, choice: Chosen) -> Self {
        OfCollective { peers: Some(peers), choice, begun: AtomicU64::new(0) }
    }

    /// Of one that is carried out by `plan`. `peers`: what the job calls the ranks of its schedule, in a group.
    pub(crate) fn planned(plan: Arc<Plan>, peers: Option<Arc<[Rank]>>) -> Self {
        OfCollective { peers, choice: Chosen::Now(plan), begun: AtomicU64::new(0) }
    }

    fn peers(&self) -> &[Rank] {
        match (&self.peers, &self.choice) {
            (Some(peers), _) => peers,
            (None, Chosen::Now(plan)) => plan.schedule.peers(),
            (None, Chosen::Nothing | Chosen::Later(_)) => &[],
        }
    }
}

/// A choice, once it is made.
pub(crate) enum Chosen {
    /// There is nothing to choose from.
    Nothing,
    Now(Arc<Plan>),
    /// A deferred collective's.
    Later(Arc<OnceLock<Arc<Choice>>>),
}

impl Chosen {
    fn get(&self) -> Option<&Arc<Choice>> {
        match self {
            Chosen::Nothing => None,
            Chosen::Now(plan) => Some(&plan.choice),
            Chosen::Later(choice) => choice.get(),
        }
    }
}

enum State {
    /// Under way; whoever listens is told once.
    Pending(Listener),
    /// Complete, and the set that was told.
    Done(Outcome, Option<Arc<Ready>>),
    /// The handle has taken the outcome, or is gone.
    Over,
}

/// Who is told that an operation is complete.
enum Listener {
    Nobody,
    Waker(Waker),
    /// The set whose member this token names.
    Set(Arc<Ready>, u32),
}

impl Listener {
    /// Tells. Returns who is to be woken.
    fn tell(self) -> Option<Waker> {
        match self {
            Listener::Nobody => None,
            Listener::Waker(waker) => Some(waker),
            Listener::Set(ready, token) => ready.push(token),
        }
    }

    /// The set that is to be told.
    fn set(&self) -> Option<Arc<Ready>> {
        match self {
            Listener::Set(ready, _) => Some(ready.clone()),
            Listener::Nobody | Listener::Waker(_) => None,
        }
    }
}

/// What a handle leaves that is gone.
pub(crate) enum Detached {
    /// Nothing.
    Over,
    /// A write that was refused, which nobody has been told.
    Refused(Error),
    /// Its operation.
    UnderWay,
    /// The message that its read has met, in the buffer.
    Unread(Box<dyn ReceiveBuffer>, Origin),
}

impl Completion {
    pub(crate) fn new(operation: Operation, op: OpId, key: MatchKey) -> Self {
        Completion {
            operation,
            op,
            key,
            collective: None,
            anyone: None,
            token: AtomicU32::new(0),
            opener: AtomicU32::new(0),
            is_awaited: false.into(),
            is_done: AtomicBool::new(false),
            was_over: false,
            is_taken: false.into(),
            state: Mutex::new(State::Pending(Listener::Nobody)),
        }
    }

    /// The completion of a write that was over as it was posted: its bytes have left.
    pub(crate) fn written(operation: Operation, op: OpId, key: MatchKey, source: Written) -> Self {
        let state = Mutex::new(State::Done(Outcome::Written(source), None));
        Completion { is_done: AtomicBool::new(true), was_over: true, state, ..Completion::new(operation, op, key) }
    }

    /// The completion of a read from any of `anyone`.
    pub(crate) fn of_any(operation: Operation, op: OpId, key: MatchKey, anyone: Arc<[Rank]>) -> Self {
        Completion { anyone: Some(anyone), ..Completion::new(operation, op, key) }
    }

    /// The completion of a whole collective.
    pub(crate) fn of_collective(operation: Operation, op: OpId, of: OfCollective) -> Self {
        let key = MatchKey::new(Context::Collective, Tag(0));
        Completion { collective: Some(of), ..Completion::new(operation, op, key) }
    }

    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// The ranks whose messages may complete the operation.
    pub(crate) fn peers(&self) -> &[Rank] {
        match (&self.collective, &self.anyone) {
            (Some(collective), _) => collective.peers(),
            (None, Some(anyone)) => anyone,
            (None, None) => std::slice::from_ref(&self.operation.peer),
        }
    }

    /// Whether it is of a collective, or of an exchange.
    pub(crate) fn is_collective(&self) -> bool {
        self.collective.is_some()
    }

    /// Whether it is a read of messages.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.operation.kind, OperationKind::Read | OperationKind::ReadAny)
    }

    /// The call that has begun a collective is over, at `now`.
    pub(super) fn set_begun(&self, now: Duration) {
        if let Some(of) = &self.collective {
            of.begun.store(now.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// When that was.
    pub(super) fn begun(&self) -> Option<Duration> {
        self.collective.as_ref().map(|of| Duration::from_nanos(of.begun.load(Ordering::Relaxed)))
    }

    /// The choice of a collective's algorithm.
    pub(crate) fn choice(&self) -> Option<&Arc<Choice>> {
        self.collective.as_ref()?.choice.get()
    }

    /// Lets lists of ranks and choices go. Returns whether it holds nothing now: the handle has taken the outcome.
    pub(super) fn clear(&mut self) -> bool {
        let is_taken = *self.is_taken.get_mut();
        if is_taken {
            (self.collective, self.anyone) = (None, None);
        }
        is_taken
    }

    /// Whether an outcome is there, or was.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Whether the operation was over as it was posted, so that nobody ever waits for it.
    pub(crate) fn was_over(&self) -> bool {
        self.was_over
    }

    /// The kernel's end: puts the outcome in. Returns who is to be woken, and the outcome if the handle is gone.
    pub(crate) fn complete(&self, outcome: Outcome) -> (Option<Waker>, Option<Outcome>) {
        let mut state = self.state.lock();
        match &mut *state {
            State::Pending(listener) => {
                let listener = std::mem::replace(listener, Listener::Nobody);
                (self.end(&mut state, outcome, listener), None)
            }
            State::Done(..) => unreachable!("{} completed twice", self.operation),
            State::Over => {
                self.is_done.store(true, Ordering::Release);
                (None, Some(outcome))
            }
        }
    }

    /// It is complete, and then whoever listens is told: who is told by a set finds it complete.
    fn end(&self, state: &mut State, outcome: Outcome, listener: Listener) -> Option<Waker> {
        *state = State::Done(outcome, listener.set());
        self.is_done.store(true, Ordering::Release);
        listener.tell()
    }

    /// What the program must hear of this outcome though nobody has taken it: that its message was refused.
    pub(crate) fn as_refusal(&self, outcome: &Outcome) -> Option<Error> {
        match outcome {
            Outcome::Failed(failure) if self.operation.kind == OperationKind::Write => {
                matches!(failure.error, Error::Mismatch(_)).then(|| failure.error.clone())
            }
            Outcome::Failed(failure) if self.operation.kind.is_window_write() => {
                matches!(failure.error, Error::Window(_)).then(|| failure.error.clone())
            }
            _ => None,
        }
    }

    /// The operation fails, if it has no outcome yet. Returns who is to be woken.
    pub(crate) fn fail(&self, error: &Error) -> Option<Waker> {
        let mut state = self.state.lock();
        let State::Pending(listener) = &mut *state else { return None };
        let listener = std::mem::replace(listener, Listener::Nobody);
        self.end(&mut state, Outcome::failed(error.clone()), listener)
    }

    /// The receiver refused the message after the write was complete: the outcome becomes an error, if the
    /// handle has not taken it. Returns whether it does.
    pub(crate) fn refuse(&self, error: &Error) -> bool {
        let mut state = self.state.lock();
        let State::Done(outcome, _) = &mut *state else { return false };
        if let Outcome::Written(source) = std::mem::replace(outcome, Outcome::failed(error.clone())) {
            *outcome = Outcome::failed_with(error.clone(), source.take().into_any());
        }
        true
    }

    /// The handle's end: the outcome, once; `None` while there is none, or if it was taken.
    pub(crate) fn take(&self) -> Option<Outcome> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Done(outcome, _) => {
                self.is_taken.store(true, Ordering::Relaxed);
                Some(outcome)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Has `waker` woken at completion, in place of any other. `false`: it is complete already.
    pub(crate) fn register(&self, waker: &Waker) -> bool {
        match &mut *self.state.lock() {
            State::Pending(listener) => {
                if !matches!(listener, Listener::Waker(old) if old.will_wake(waker)) {
                    *listener = Listener::Waker(waker.clone());
                }
                true
            }
            State::Done(..) | State::Over => false,
        }
    }

    /// Makes the operation a member of a set, which is told at completion in place of anybody else, at once if that is over.
    pub(crate) fn join(&self, ready: &Arc<Ready>, position: usize) -> u32 {
        let token = ready.join(position);
        self.token.store(token, Ordering::Relaxed);
        match &mut *self.state.lock() {
            State::Pending(listener) => *listener = Listener::Set(ready.clone(), token),
            State::Done(_, set) => {
                *set = Some(ready.clone());
                ready.push_joined(token);
            }
            State::Over => ready.push_joined(token),
        }
        token
    }

    /// The set that the operation is a member of.
    pub(crate) fn set(&self) -> Option<Arc<Ready>> {
        match &*self.state.lock() {
            State::Pending(Listener::Set(ready, _)) => Some(ready.clone()),
            State::Done(_, set) => set.clone(),
            State::Pending(_) | State::Over => None,
        }
    }

    /// Whether somebody is to be woken at completion.
    pub(crate) fn has_waker(&self) -> bool {
        match &*self.state.lock() {
            State::Pending(Listener::Waker(_)) => true,
            State::Pending(Listener::Set(ready, _)) => ready.has_waiter(),
            State::Pending(Listener::Nobody) | State::Done(..) | State::Over => false,
        }
    }

    /// Nobody is to be woken any more.
    pub(crate) fn unregister(&self) {
        if let State::Pending(listener @ Listener::Waker(_)) = &mut *self.state.lock() {
            *listener = Listener::Nobody;
        }
    }

    /// The handle is gone.
    pub(crate) fn detach(&self) -> Detached {
        if self.is_taken.load(Ordering::Relaxed) {
            return Detached::Over;
        }
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Pending(_) => Detached::UnderWay,
            State::Done(Outcome::Read(place, origin), _) => Detached::Unread(place, origin),
            State::Done(outcome, _) => self.as_refusal(&outcome).map_or(Detached::Over, Detached::Refused),
            State::Over => Detached::Over,
        }
    }
}
