//! Which operations of a set are complete: each says so itself, so that nobody has to look through them.

use std::collections::VecDeque;
use std::task::Waker;

use super::sync::Mutex;

/// Shared by a set of operations and the completions of its members.
pub(crate) struct Ready(Mutex<State>);

/// The position of one that has left before it was told of.
const LEFT: u32 = u32::MAX;

#[derive(Default)]
struct State {
    /// Members that are complete, by token, in the order in which they were completed.
    queue: VecDeque<u32>,
    /// Where in the set each token's member stands.
    positions: Vec<u32>,
    /// Tokens without a member.
    free: Vec<u32>,
    /// Who waits for the next.
    waiter: Option<Waker>,
    /// Members that have completed in the set so far.
    told: u64,
    /// How many operations besides the members had completed in the node when none of those in the set was found complete.
    others: Option<u64>,
}

impl Ready {
    pub(crate) fn new() -> Self {
        Ready(Mutex::new(State::default()))
    }

    /// A token for the member at `position`.
    pub(crate) fn join(&self, position: usize) -> u32 {
        let mut state = self.0.lock();
        let position = position as u32;
        match state.free.pop() {
            Some(token) => {
                state.positions[token as usize] = position;
                token
            }
            None => {
                state.positions.push(position);
                state.positions.len() as u32 - 1
            }
        }
    }

    /// A member has left, and the one of `moved`, if any, stands in its place.
    pub(crate) fn leave(&self, token: u32, moved: Option<u32>) {
        let mut state = self.0.lock();
        let position = std::mem::replace(&mut state.positions[token as usize], LEFT);
        if let Some(moved) = moved {
            state.positions[moved as usize] = position;
        }
        state.free.push(token);
    }

    /// How many have joined and not left.
    pub(crate) fn members(&self) -> usize {
        let state = self.0.lock();
        state.positions.len() - state.free.len()
    }

    /// A member is complete. Returns who is to be woken.
    pub(crate) fn push(&self, token: u32) -> Option<Waker> {
        let mut state = self.0.lock();
        state.queue.push_back(token);
        state.told += 1;
        state.waiter.take()
    }

    /// A member was complete when it joined.
    pub(crate) fn push_joined(&self, token: u32) {
        self.0.lock().queue.push_back(token);
    }

    /// The first that is complete, and where it stands; it is not told again.
    pub(crate) fn pop(&self) -> Option<(u32, usize)> {
        let mut state = self.0.lock();
        loop {
            let token = state.queue.pop_front()?;
            match state.positions[token as usize] {
                LEFT => {}
                position => return Some((token, position as usize)),
            }
        }
    }

    /// Whether no member that is complete waits to be asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().queue.is_empty()
    }

    /// Has `waker` woken by the next member that completes, in place of any other.
    pub(crate) fn register(&self, waker: &Waker) {
        self.0.lock().waiter = Some(waker.clone());
    }

    /// Takes that back.
    pub(crate) fn unregister(&self) {
        self.0.lock().waiter = None;
    }

    /// Whether somebody waits for a member.
    pub(crate) fn has_waiter(&self) -> bool {
        self.0.lock().waiter.is_some()
    }

    /// Whether `completed` operations of the node are others than were known of, the members not counted.
    pub(crate) fn has_others(&self, completed: u64) -> bool {
        let state = self.0.lock();
        state.others != Some(completed.wrapping_sub(state.told))
    }

    /// None of the set was found complete when that many were.
    pub(crate) fn knows_others(&self, completed: u64) {
        let mut state = self.0.lock();
        state.others = Some(completed.wrapping_sub(state.told));
    }
}
