//! Links that go on over another connection: what each end tells the other when one begins, and what it tells meanwhile.

use std::time::Duration;

use super::Engine;
use super::link::{Farewell, Link, Shared};
use super::outgoing::Retention;
use crate::error::WireError;
use crate::ids::{Path, Rank};

impl Engine {
    /// The connection of `path` is gone, and another may follow: until then nothing is sent on it. What it has sent of a frame
    /// stays; all that it has not acknowledged is kept.
    pub(crate) fn suspend(&mut self, path: impl Into<Path>) {
        let path = path.into();
        let link = &mut self.links[path.peer.index()];
        match link.lane(path) {
            None => link.outgoing.is_down = true,
            Some(lane) => link.outgoing.lanes[lane].is_down = true,
        }
        // Without other lanes the first has all to send.
        link.announce_output(&mut self.shared);
    }

    /// All bytes before this position have come on `path`: what a new connection begins with.
    pub(crate) fn received(&self, path: impl Into<Path>) -> u64 {
        let path = path.into();
        let link = &self.links[path.peer.index()];
        match link.lane(path) {
            None => link.outgoing.acknowledgement.received(),
            Some(lane) => link.outgoing.lanes[lane].acknowledgement.received(),
        }
    }

    /// The bytes of frames given to the connections of `path` so far, those that were sent again not counted.
    pub(crate) fn sent(&self, path: impl Into<Path>) -> u64 {
        self.retention(path.into()).sent()
    }

    /// The same of all lanes of the link to `peer`, with what was received.
    pub(crate) fn traffic(&self, peer: Rank) -> (u64, u64) {
        let paths = (0..=self.lanes(peer)).map(|lane| Path { peer, lane });
        paths.fold((0, 0), |(sent, received), path| {
            (sent.wrapping_add(self.sent(path)), received.wrapping_add(self.received(path)))
        })
    }

    /// The bytes that were sent to `peer` again.
    pub(crate) fn sent_again(&self, peer: Rank) -> u64 {
        (0..=self.lanes(peer)).map(|lane| self.retention(Path { peer, lane }).again).sum()
    }

    /// All before this position on `path` is acknowledged by its peer.
    pub(crate) fn acknowledged(&self, path: impl Into<Path>) -> u64 {
        self.retention(path.into()).acknowledged()
    }

    fn retention(&self, path: Path) -> &Retention {
        let link = &self.links[path.peer.index()];
        link.lane(path).map_or(&link.outgoing.retention, |lane| &link.outgoing.lanes[lane].retention)
    }

    fn retention_mut(&mut self, path: Path) -> &mut Retention {
        let link = &mut self.links[path.peer.index()];
        match link.lane(path) {
            None => &mut link.outgoing.retention,
            Some(lane) => &mut link.outgoing.lanes[lane].retention,
        }
    }

    /// There is a new connection for `path`, whose peer has received all before `position` and was told what came from it.
    /// Returns how many bytes are to be sent again.
    ///
    /// # Errors
    /// What it has received was never sent, or it has said before that it has more. Then the link cannot go on.
    pub(crate) fn resume(&mut self, path: impl Into<Path>, position: u64) -> Result<u64, WireError> {
        let path = path.into();
        let Engine { links, shared, .. } = self;
        links[path.peer.index()].resume(path, position, shared)
    }

    /// Has peers told of what was received, where it is time at `now`. Returns when it is time for the next, if nothing else
    /// is sent to them before.
    pub(crate) fn acknowledge(&mut self, now: Duration) -> Option<Duration> {
        let Engine { links, shared, .. } = self;
        let mut next = None;
        for path in std::mem::take(&mut shared.untold) {
            let link = &mut links[path.peer.index()];
            match link.acknowledge(path, now, shared) {
                None => link.is_told(path),
                Some(deadline) => {
                    shared.untold.push(path);
                    next = Some(next.map_or(deadline, |next: Duration| next.min(deadline)));
                }
            }
        }
        next
    }

    /// Whether the peer is to be told of what has come on `path`, and at once.
    pub(crate) fn owes(&self, path: impl Into<Path>) -> bool {
        let path = path.into();
        let link = &self.links[path.peer.index()];
        match link.lane(path) {
            None => link.outgoing.acknowledgement.is_due(false) && !link.farewell.closed && link.outgoing.has_output(),
            Some(lane) => {
                link.outgoing.lanes[lane].acknowledgement.is_due(false) && link.outgoing.lane_has_output(lane)
            }
        }
    }

    /// Whether peers are to be told of what was received, some time.
    pub(crate) fn has_untold(&self) -> bool {
        !self.shared.untold.is_empty()
    }

    /// Whether `path` could carry more than may be sent unacknowledged, since it was asked last; and how much that is.
    pub(crate) fn take_bound(&mut self, path: Path) -> Option<u64> {
        let retention = self.retention_mut(path);
        retention.take_full().then(|| retention.bound())
    }

    /// The way of `path` holds half of `bytes`: so much may be sent and not be acknowledged, within limits.
    pub(crate) fn set_bound(&mut self, path: Path, bytes: u64) {
        self.retention_mut(path).set_bound(bytes);
        self.links[path.peer.index()].announce_output(&mut self.shared);
    }

    /// Whether the connection of `path` may end, since all is said; otherwise another is to follow it.
    pub(crate) fn may_end(&self, path: impl Into<Path>) -> bool {
        let path = path.into();
        let link = &self.links[path.peer.index()];
        self.failure.is_some() || if path.is_first() { link.may_end() } else { link.lane_may_end() }
    }
}

impl Link {
    /// There is a new connection, and the peer has received all before `position`.
    fn resume(&mut self, path: Path, position: u64, shared: &mut Shared) -> Result<u64, WireError> {
        let outgoing = &mut self.outgoing;
        let again = match path.lane.checked_sub(1).map(usize::from) {
            None => {
                outgoing.retention.rewind(position, &mut shared.spent)?;
                outgoing.acknowledgement.is_told();
                outgoing.is_down = false;
                outgoing.retention.unsent()
            }
            // Nothing is to be said on it any more, and what was is forgotten.
            Some(_) if self.farewell.heard || self.farewell.closed => 0,
            Some(lane) => {
                let state = &mut outgoing.lanes[lane];
                state.retention.rewind(position, &mut shared.spent)?;
                state.acknowledgement.is_told();
                let again = state.retention.unsent();
                outgoing.lane_is_up(lane);
                again
            }
        };
        self.announce_output(shared);
        Ok(again)
    }

    /// Whether nothing is left to say, so that the connection may end.
    pub(super) fn may_end(&self) -> bool {
        let Farewell { confirmed, heard, failed, closed, .. } = self.farewell;
        closed || failed || confirmed || (heard && self.outgoing.is_answer_acknowledged())
    }
}
