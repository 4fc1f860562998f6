//! Links whose connection is cut: until there is another, or none will come.

use std::net::{IpAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::SockRef;

use super::Core;
use super::sockets::Socket;
use crate::controllers::Disabled;
use crate::error::Error;
use crate::ids::{Path, Rank};
use crate::join::handshake::Connection;
use crate::join::interface::is_here;
use crate::join::keepalive::{self, EndedBy};
use crate::kernel::down::{Cut, Down, Gone, Resumed, Standstill};
use crate::kernel::wake::Reason;

/// How long a link's path is not looked at again.
const WIDEN_PAUSE: Duration = Duration::from_millis(20);
const DAMAGED: &str = "its connection carried bytes that were changed on their way: a checksum was wrong";

impl Core {
    /// The bytes of frames that went to each rank and came from it, each counted once.
    pub(in crate::kernel) fn traffic(&self) -> (Vec<u64>, Vec<u64>) {
        self.sockets.ranks().map(|rank| self.engine.traffic(rank)).unzip()
    }

    /// The connection to `peer` has ended, or is suspected to have. If all is said, so has the link; otherwise another
    /// connection is to carry it on.
    pub(super) fn ended(&mut self, path: impl Into<Path>, cause: &str) {
        let path = path.into();
        let Some(limit) = self.resumes.filter(|_| !self.is_broken && !self.engine.may_end(path)) else {
            return self.lost(path, cause);
        };
        let Some(socket) = self.hang_up(path) else { return };
        self.engine.suspend(path);
        let (at, has) = (self.clock.now(), self.engine.acknowledged(path));
        let (positions, owes) = ((self.engine.received(path), has), self.engine.sent(path) != has);
        let cut = Cut { at, began: socket.began, positions, owes };
        let standstill = Standstill::after(self.standstills.get(&path).copied(), cut, limit);
        self.standstills.insert(path, standstill);
        let down = Down { since: at, cause: cause.to_owned(), by_checksum: false, is_known: false };
        self.down.entry(path).or_insert(down);
        if path.is_first() {
            self.observe_down(path.peer, cause);
        }
        self.wake.because(Reason::LinkDown);
    }

    /// Closes a connection.
    pub(super) fn hang_up(&mut self, path: Path) -> Option<Socket> {
        let socket = self.sockets.take(path)?;
        self.poller.remove(path);
        Some(socket)
    }

    /// What came on `path` is not what was sent; nothing of that was looked at.
    pub(super) fn damaged(&mut self, path: impl Into<Path>) {
        let path = path.into();
        self.observe_damage(path.peer);
        self.ended(path, DAMAGED);
        if let Some(down) = self.down.get_mut(&path) {
            down.by_checksum = true;
        }
    }

    /// Links that have gone down since they were asked for last.
    pub(in crate::kernel) fn take_down(&mut self) -> Vec<Gone> {
        let (standstills, now) = (&self.standstills, self.clock.now());
        let fresh = self.down.iter_mut().filter(|(_, down)| !down.is_known);
        fresh
            .map(|(path, down)| {
                down.is_known = true;
                let (since, cuts) = standstills.get(path).map_or((now, 1), |stands| (stands.since, stands.cuts));
                Gone { path: *path, stood: now.saturating_sub(since), in_vain: cuts > 1 }
            })
            .collect()
    }

    /// The peer has shown that its connection is gone: this end's, too, and what it has still to say is not heard. A lane that
    /// is new opens here. Returns what has come by then; `None`: the link is over.
    pub(in crate::kernel) fn let_go(&mut self, path: Path) -> Option<u64> {
        if self.engine.failure().is_some() || self.engine.may_end(path) {
            return None;
        }
        self.open_lanes(path.peer, path.lane);
        if self.engine.lanes(path.peer) < path.lane {
            return None;
        }
        self.ended(path, "its connection was cut, as it says");
        self.down.contains_key(&path).then(|| self.engine.received(path))
    }

    /// Takes down the links whose connections have a local address that this host has lost.
    pub(in crate::kernel) fn cut_homeless(&mut self) {
        for path in self.sockets.paths() {
            let local = self.sockets.get(path).and_then(|socket| socket.stream.local_addr().ok());
            if local.is_some_and(|local| !is_here(local.ip())) {
                self.ended(path, "its connection had an address that this host has lost");
            }
        }
    }

    /// Takes down the link to `peer` if its connection does not go to this address.
    pub(in crate::kernel) fn cut_elsewhere(&mut self, peer: Rank, address: IpAddr) {
        for path in self.sockets.paths().into_iter().filter(|path| path.peer == peer) {
            let remote = self.sockets.get(path).and_then(|socket| socket.stream.peer_addr().ok());
            if remote.is_some_and(|remote| remote.ip() != address) {
                self.ended(path, "its host has another address");
            }
        }
    }

    /// What has come on `path`, which is down.
    pub(in crate::kernel) fn received_on(&self, path: impl Into<Path>) -> Option<u64> {
        let path = path.into();
        self.down.contains_key(&path).then(|| self.engine.received(path))
    }

    /// There is a new connection for `path`, whose peer has received all before `position`. `None`: it is not wanted any more, or is of no use.
    pub(in crate::kernel) fn resume(
        &mut self,
        path: impl Into<Path>,
        connection: Connection<TcpStream>,
        position: u64,
        settings: (Option<Duration>, Disabled),
    ) -> Option<Resumed> {
        let path = path.into();
        let down = self.down.remove(&path)?;
        let again = self.go_on(path, connection, position, settings);
        if path.is_first() {
            self.observe_up(path.peer, again);
        }
        self.flush();
        let after = self.clock.now().saturating_sub(down.since);
        if !path.is_first() {
            tracing::debug!(?path, ?again, ?after, "a lane has a connection");
            return None;
        }
        Some(Resumed { after, again: again?, by_checksum: down.by_checksum })
    }

    fn go_on(
        &mut self,
        path: Path,
        connection: Connection<TcpStream>,
        position: u64,
        (keepalive, disabled): (Option<Duration>, Disabled),
    ) -> Option<u64> {
        if self.engine.failure().is_some() {
            return None;
        }
        let mut socket = Socket::new(connection, disabled, self.written.len());
        let prepared = keepalive::limit(&socket.stream, keepalive, EndedBy::Look)
            .and_then(|()| self.poller.add(path, socket.stream.clone()));
        if let Err(error) = prepared {
            self.lost(path, &format!("its new connection cannot be used: {error}"));
            return None;
        }
        let again = match self.engine.resume(path, position) {
            Ok(again) => again,
            Err(cause) => {
                self.poller.remove(path);
                self.engine.fail(Error::Protocol { peer: path.peer, cause });
                return None;
            }
        };
        // Where it cannot be recorded any more when messages leave, their times are missing.
        if self.observed.as_mut().is_some_and(|observed| observed.regions.sends_mut().is_some()) {
            let _ = lathide_sys::departure::record(socket.stream.as_fd());
        }
        (socket.taken_before, socket.began) = (self.written[path.peer.index()], self.clock.now());
        self.sockets.put(path, socket);
        if !path.is_first() {
            self.express(path.peer);
        }
        Some(again)
    }

    /// No connection for `path` will follow: its peer is lost, if it has not said all, or not for a lane that never had one.
    pub(in crate::kernel) fn abandon(&mut self, path: impl Into<Path>, cause: &str) {
        let path = path.into();
        if let Some(down) = self.down.remove(&path) {
            if path.is_first() {
                self.observe_up(path.peer, None);
            } else if !self.standstills.contains_key(&path) {
                tracing::debug!(?path, cause, "a lane could not be opened");
                return;
            }
            let position = self.engine.acknowledged(path);
            let stands = self.standstills.get(&path).filter(|stands| stands.since < down.since);
            let since = stands.map_or(down.since, |stands| stands.since);
            let in_vain = stands.map_or_else(String::new, |stands| {
                format!("; nothing has got through on its last {} connections", stands.cuts)
            });
            let after = self.clock.now().saturating_sub(since).as_secs_f64();
            let words =
                format!("{}; {cause}, {after:.1} s after{in_vain}; it had received {position} bytes", down.cause);
            self.lost(path, &words);
        }
    }

    /// Has peers told of what has come from them, where it is time, and sends what there is. Returns how long until it is time
    /// for the next.
    pub(in crate::kernel) fn acknowledge(&mut self) -> Option<Duration> {
        let mut next = None;
        if self.engine.has_untold() {
            let now = self.clock.now();
            next = self.engine.acknowledge(now).map(|next| next.saturating_sub(now));
        }
        self.flush();
        next
    }

    /// The timer has ended. Returns when it is to end again.
    pub(in crate::kernel) fn tell(&mut self) -> Option<Duration> {
        let next = self.acknowledge();
        self.is_telling = next.is_some();
        next
    }

    /// The timer has ended, and nothing may be sent now.
    pub(in crate::kernel) fn tell_later(&mut self) {
        self.is_telling = false;
    }

    /// Whether a timer is to be set for what peers are to be told of, which then runs; `may`: whether anything may be sent. If not,
    /// a timer would only wake a core that computes.
    pub(in crate::kernel) fn is_to_tell(&mut self, may: impl FnOnce() -> bool) -> bool {
        let is_to = self.engine.has_untold() && !self.is_telling && may();
        self.is_telling |= is_to;
        is_to
    }

    /// A link that has stopped for want of acknowledgements may carry more if its path holds more: twice what it holds.
    pub(super) fn widen(&mut self, path: Path) {
        let Some(bound) = self.engine.take_bound(path) else { return };
        let Some(socket) = self.sockets.get_mut(path) else { return };
        let now = self.clock.now();
        if now.saturating_sub(socket.looked) < WIDEN_PAUSE {
            return;
        }
        socket.looked = now;
        let Ok(holds) = lathide_sys::tcp::holds(SockRef::from(&socket.stream).as_fd()) else { return };
        if 2 * holds > bound {
            self.engine.set_bound(path, 2 * holds);
        }
    }
}

#[cfg(test)]
#[path = "cuts_tests.rs"]
mod tests;
