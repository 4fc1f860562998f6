//! The poller's face on the model of epoll.

use std::io;
use std::time::Duration;

use super::epoll::Piece;
use super::machine::{self, Fault};
use crate::ids::Rank;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) peer: Rank,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

pub(crate) struct Poller;

impl Poller {
    pub(crate) fn wait(&self, ready: &mut Vec<Ready>, timeout: Duration) -> io::Result<bool> {
        let look = |state: &mut machine::State| {
            let (found, is_nudged) = state.epoll.look();
            if state.fault == Fault::LookTakesNudge && is_nudged {
                state.epoll.heed_nudge();
            }
            (found, is_nudged)
        };
        let is_told = machine::with(|state| {
            let is_told = state.fault != Fault::WaiterIsForgotten;
            state.epoll.begins_wait(is_told);
            is_told
        });
        let (found, is_nudged) = if timeout.is_zero() {
            machine::with(look)
        } else {
            machine::with(|state| alone(&mut state.helping));
            let wake = |(found, is_nudged): &(Vec<_>, bool)| *is_nudged || !found.is_empty();
            let found = machine::sleep_for(timeout, |state| Some(look(state)).filter(wake), look);
            machine::with(|state| state.helping -= 1);
            found
        };
        machine::with(|state| state.epoll.ends_wait(is_told));
        *ready = found
            .into_iter()
            .map(|(peer, readable, writable)| Ready { peer: Rank(peer as u32), readable, writable })
            .collect();
        Ok(is_nudged)
    }

    pub(crate) fn open_gate(&self) -> bool {
        if machine::with(|state| state.epoll.arm_task_set(true)) {
            return true;
        }
        if machine::with(|state| state.epoll.is_ready() && state.fault != Fault::TaskSetIsArmedBlindly) {
            self.nudge();
        }
        false
    }

    pub(crate) fn close_gate(&self) {
        machine::with(|state| state.epoll.arm_task_set(false));
    }

    pub(crate) fn stop_watching(&self) -> bool {
        machine::with(|state| state.epoll.stop_watching())
    }

    pub(crate) fn nudge(&self) {
        machine::with(|state| {
            if state.fault == Fault::NudgeIsLost && machine::once_in(4) {
                state.fault = Fault::None;
            } else {
                state.epoll.nudge();
            }
        });
    }

    pub(crate) fn heed_nudge(&self) {
        machine::with(|state| state.epoll.heed_nudge());
    }

    pub(super) fn watch_writable(&self, peer: usize, watch: bool) {
        machine::with(|state| state.epoll.watch_writable(peer, watch));
    }

    /// Reads a piece, if one is there.
    pub(super) fn receive(&self, peer: usize) -> Option<Piece> {
        machine::with(|state| state.epoll.sockets[peer].inbox.pop_front())
    }

    /// Writes a message, if there is room.
    pub(super) fn send(&self, peer: usize) -> bool {
        machine::with(|state| {
            let socket = &mut state.epoll.sockets[peer];
            if socket.room == 0 {
                return false;
            }
            (socket.room, socket.sent) = (socket.room - 1, socket.sent + 1);
            true
        })
    }
}

/// Only one thread at a time helps.
pub(super) fn alone(helping: &mut u32) {
    *helping += 1;
    assert_eq!(*helping, 1, "two threads hold the baton");
}
