//! When a link has more lanes than the first: for what is long, if the path is one on which that helps.

use std::os::fd::AsFd;
use std::time::Duration;

use socket2::SockRef;

use super::Core;
use crate::ids::{Path, Rank};
use crate::kernel::down::Down;
use crate::kernel::wake::Reason;

/// What must wait behind other long messages before lanes are opened for it.
const BULK_BYTES_MIN: u64 = 256 << 10;
/// How long it is not looked again whether a link is to have more lanes.
const PAUSE: Duration = Duration::from_millis(5);
/// If the round trip is usually shorter, what is under way, queues included, passes at once.
const ROUND_TRIP_MIN: Duration = Duration::from_micros(300);
/// A path as fast as this, in bytes per second, is limited by what its hosts copy, and another socket adds to that.
const RATE_MAX: u64 = 1_000_000_000;
/// On a path as long, and with losses, one connection recovers so slowly that several carry more. Queues do not count, nor does
/// a busy host: its packets are late, and sent again for nothing.
const LONG_PATH: Duration = Duration::from_millis(5);
/// Segments sent again before losses count.
const LOSSES_MIN: u32 = 3;
/// The class of short messages beside long ones: expedited forwarding (RFC 3246), DSCP 46.
const EXPRESS_TOS: u32 = 46 << 2;
/// The greatest priority that needs no privilege.
const EXPRESS_PRIORITY: u32 = 6;

impl Core {
    /// Something was sent on `path`: if more waits, its link is perhaps to have other lanes.
    pub(super) fn consider_lanes(&mut self, path: Path) {
        let peer = path.peer;
        let has = self.engine.lanes(peer);
        if has >= self.lanes_max || self.resumes.is_none() || !self.engine.has_bulk(peer) {
            return;
        }
        // What the lanes in use tell of the path counts.
        if path.is_first() != (has == 0) || self.engine.may_end(path) {
            return;
        }
        let now = self.clock.now();
        let Some(socket) = self.sockets.get_mut(path) else { return };
        if now.saturating_sub(socket.considered) < PAUSE {
            return;
        }
        socket.considered = now;
        if self.engine.bulk_bytes(peer) < BULK_BYTES_MIN {
            return;
        }
        let Ok(flow) = lathide_sys::tcp::flow(socket.stream.as_fd()) else { return };
        let wanted = if flow.round_trip < ROUND_TRIP_MIN || flow.delivery_rate > RATE_MAX {
            0
        } else if flow.shortest_round_trip >= LONG_PATH && flow.retransmitted >= LOSSES_MIN {
            self.lanes_max
        } else {
            1
        };
        if wanted > has {
            self.want_lanes(peer, wanted);
        }
    }

    /// The link to `peer` is to have so many lanes beside the first. The lower rank opens them.
    fn want_lanes(&mut self, peer: Rank, count: u8) {
        if self.wanted_lanes.get(&peer).is_some_and(|wanted| *wanted >= count) {
            return;
        }
        self.wanted_lanes.insert(peer, count);
        if self.engine.rank() < peer {
            self.open_lanes(peer, count);
        } else {
            self.engine.wish_lanes(peer, count);
        }
    }

    /// Has lanes opened, up to this one: they are down until they have a connection.
    pub(super) fn open_lanes(&mut self, peer: Rank, count: u8) {
        let before = self.engine.lanes(peer);
        if count <= before {
            return;
        }
        // A peer may wish for more.
        self.engine.open_lanes(peer, count.min(self.lanes_max));
        let since = self.clock.now();
        for lane in before + 1..=self.engine.lanes(peer) {
            let down = Down { since, cause: "it has not been opened yet".into(), by_checksum: false, is_known: false };
            self.down.insert(Path { peer, lane }, down);
        }
        self.wake.because(Reason::LinkDown);
    }

    /// Reads what is there from `peer`, on all lanes that need not wait for another. Returns how many bytes it was.
    pub(crate) fn read_lanes(&mut self, peer: Rank) -> usize {
        let lanes = (0..=self.engine.lanes(peer)).map(|lane| Path { peer, lane });
        lanes
            .map(
                |path| {
                    if self.sockets.get(path).is_some_and(|socket| !socket.is_waiting) { self.read(path) } else { 0 }
                },
            )
            .sum()
    }

    /// Reads what is there from `peer` on the lanes beside the first, and tries again to write to those that found no room before. Returns
    /// how many bytes came and went.
    pub(crate) fn move_lanes(&mut self, peer: Rank) -> usize {
        let mut count = 0;
        for path in (1..=self.engine.lanes(peer)).map(|lane| Path { peer, lane }) {
            if self.sockets.get(path).is_some_and(|socket| !socket.is_waiting) {
                count += self.read(path) + self.write_on(path);
            }
        }
        count
    }

    /// What has come on `path` may open messages that other lanes wait for, or ask for lanes; and what comes on it may have to
    /// wait itself.
    pub(super) fn tend_lanes(&mut self, path: Path) {
        while let Some((peer, count)) = self.engine.poll_wish() {
            if self.engine.rank() < peer && self.resumes.is_some() {
                self.open_lanes(peer, count);
            }
        }
        if self.engine.waits(path)
            && let Some(socket) = self.sockets.get_mut(path)
        {
            socket.is_waiting = true;
            let (fd, room) = (socket.stream.as_fd(), socket.is_watched);
            // Of a connection that ends the poller tells on and on.
            if lathide_sys::tcp::has_ended(fd).unwrap_or(true) {
                self.ended(path, "its connection has ended");
            } else if let Err(error) = self.poller.watch_no_input(path, room) {
                self.ended(path, &format!("its connection cannot be watched: {error}"));
            }
        }
        while let Some(lane) = self.engine.poll_unblocked() {
            self.goes_on(lane);
        }
    }

    /// What comes on a lane need not wait any more.
    fn goes_on(&mut self, path: Path) {
        let Some(socket) = self.sockets.get_mut(path) else { return };
        if !std::mem::replace(&mut socket.is_waiting, false) {
            return;
        }
        match self.poller.watch_writable(path, socket.is_watched) {
            // Of what records hold no poller tells.
            Ok(()) => _ = self.read(path),
            Err(error) => self.ended(path, &format!("its connection cannot be watched: {error}")),
        }
    }

    /// A lane for long messages has a connection: the first is of a class of its own from now on, where the network has such.
    pub(super) fn express(&self, peer: Rank) {
        let Some(first) = self.sockets.get(peer.into()) else { return };
        let first = SockRef::from(&first.stream);
        let _ = first.set_tos_v4(EXPRESS_TOS).or_else(|_| first.set_tclass_v6(EXPRESS_TOS));
        let _ = first.set_priority(EXPRESS_PRIORITY);
    }
}
