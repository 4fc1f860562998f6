//! Peers that are lost: whose connection has ended, whose host is silent, who sends what was not sealed.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::Core;
use super::sockets::Socket;
use crate::error::Error;
use crate::ids::{Path, Rank};
use crate::join::keepalive;
use crate::kernel::wake::Reason;
use crate::wire::checksum::Damaged;
use crate::wire::cipher::CipherError;

/// Between two looks for silent peers, if none is silent.
const LOOK_MIN: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(3600);
/// A socket holds less; who sends on and on is not heard to the end.
const HEARD_MAX: usize = 16 << 20;

impl Core {
    /// Looks whether the peers' hosts are there, those that have not answered for `silence` being lost. Returns how long
    /// until the next look.
    pub(crate) fn look_for_silence(&mut self, keepalive: Duration) -> Duration {
        let mut next = keepalive.clamp(LOOK_MIN, LOOK_MAX);
        for path in self.sockets.paths() {
            let Some(socket) = self.sockets.get(path) else { continue };
            match keepalive::look(&socket.stream, keepalive, self.resumes.is_some()) {
                Ok(pause) => next = next.min(pause),
                Err(error) => self.ended(path, &keepalive::explain(&error)),
            }
        }
        next
    }

    /// Hears the last of connections that have ended: nobody else reads them while the program computes in deferred mode.
    pub(in crate::kernel) fn look_for_ends(&mut self) {
        for path in self.sockets.paths() {
            let socket = self.sockets.get(path);
            if socket.is_some_and(|socket| lathide_sys::tcp::has_ended(socket.stream.as_fd()).unwrap_or(false)) {
                self.hear(path);
            }
        }
    }

    /// The connection to `peer` has ended. Without its goodbye, the peer is lost; but others may be too, and who
    /// was first only the rendezvous can tell. As long as it is there, it has a moment to say so.
    pub(in crate::kernel) fn lost(&mut self, path: impl Into<Path>, cause: &str) {
        let path = path.into();
        let peer = path.peer;
        self.hang_up(path);
        if !path.is_first() {
            self.engine.suspend(path);
            // Perhaps nothing more is to be said on it.
            if self.engine.may_end(path) {
                return;
            }
        }
        self.sockets.lanes(peer).into_iter().for_each(|lane| _ = self.hang_up(lane));
        self.down.retain(|lane, _| lane.peer != peer);
        if self.engine.is_over(peer) {
            return;
        }
        let cause = format!("{cause}; look for the first failure in that rank's output");
        self.suspect(peer, cause);
    }

    /// A read on `path` has failed.
    pub(super) fn broke(&mut self, path: Path, error: &io::Error) {
        if CipherError::of(error).is_some() {
            self.tampered(path);
        } else if Damaged::is(error) {
            self.damaged(path);
        } else {
            self.ended(path, &keepalive::explain(error));
        }
    }

    /// What came on `path` is not what was sealed. That is certain, whatever else has happened.
    pub(super) fn tampered(&mut self, path: Path) {
        self.hang_up(path);
        self.engine.fail(Error::Tampered { peer: path.peer, operation: None });
    }

    pub(super) fn suspect(&mut self, peer: Rank, cause: String) {
        if self.is_advised {
            self.suspect.get_or_insert((peer, cause));
            self.wake.because(Reason::LossSuspected);
        } else {
            // What was read before is heard before.
            self.flush();
            self.engine.fail_lost(peer, &cause);
        }
    }

    /// The job has failed, as the rendezvous knows.
    pub(crate) fn hear_failure(&mut self, error: Error) {
        self.hear_all();
        self.engine.fail(error);
    }

    /// Reads what has come on every link, hands it on and passes on what that has to say: news of a failure may have
    /// overtaken it on their way by the rendezvous, and what ranks have said before, such as how they disagree, says more.
    pub(crate) fn hear_all(&mut self) {
        self.sockets.paths().into_iter().for_each(|path| self.hear(path));
    }

    fn hear(&mut self, path: Path) {
        let mut count = 0;
        // A read ends where the program could post the next.
        while count < HEARD_MAX {
            let more = self.read(path);
            self.flush();
            if more == 0 {
                break;
            }
            count += more;
        }
    }

    /// Reads what is left on a connection that cannot be written to, and not its end.
    pub(super) fn hear_rest(&mut self, path: Path) {
        let mut count = 0;
        // What waits for another lane is sent again on the next connection.
        let is_left = |socket: &Socket| !socket.is_waiting && socket.stream.peek(&mut [0]).is_ok_and(|count| count > 0);
        while count < HEARD_MAX && self.sockets.get(path).is_some_and(is_left) {
            match self.read(path) {
                0 => break,
                more => count += more,
            }
        }
    }

    /// Whether a rank may be lost, and it is not known yet which was first.
    pub(crate) fn is_suspicious(&self) -> bool {
        self.suspect.is_some() && self.engine.failure().is_none()
    }

    /// The rendezvous has had its moment, or is gone: what was seen here stands.
    pub(crate) fn confirm_loss(&mut self) {
        if let Some((peer, cause)) = self.suspect.take() {
            self.engine.fail_lost(peer, &cause);
            self.hand_on();
        }
    }
}

#[cfg(test)]
#[path = "loss_tests.rs"]
mod tests;
