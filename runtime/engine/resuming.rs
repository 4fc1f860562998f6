//! Links that go on over another connection: what each end tells the other when one begins, and what it tells meanwhile.

use std::time::Duration;

use super::Engine;
use super::link::{Farewell, Link, Shared};
use crate::error::WireError;
use crate::ids::Rank;

impl Engine {
    /// The connection to `peer` is gone, and another may follow: until then nothing is sent to it. What it has sent of a frame
    /// stays; all that it has not acknowledged is kept.
    pub(crate) fn suspend(&mut self, peer: Rank) {
        self.links[peer.index()].outgoing.is_down = true;
    }

    /// All bytes before this position have come from `peer`: what a new connection begins with.
    pub(crate) fn received(&self, peer: Rank) -> u64 {
        self.links[peer.index()].outgoing.acknowledgement.received()
    }

    /// The bytes of frames given to `peer`'s connections so far, those that were sent again not counted.
    pub(crate) fn sent(&self, peer: Rank) -> u64 {
        self.links[peer.index()].outgoing.retention.sent()
    }

    /// The bytes that were sent to `peer` again.
    pub(crate) fn sent_again(&self, peer: Rank) -> u64 {
        self.links[peer.index()].outgoing.retention.again
    }

    /// All before this position is acknowledged by `peer`.
    pub(crate) fn acknowledged(&self, peer: Rank) -> u64 {
        self.links[peer.index()].outgoing.retention.acknowledged()
    }

    /// There is a new connection to `peer`, which has received all before `position` and was told what came from it. Returns
    /// how many bytes are to be sent again.
    ///
    /// # Errors
    /// What it has received was never sent, or it has said before that it has more. Then the link cannot go on.
    pub(crate) fn resume(&mut self, peer: Rank, position: u64) -> Result<u64, WireError> {
        let Engine { links, shared, .. } = self;
        links[peer.index()].resume(position, shared)
    }

    /// Has peers told of what was received, where it is time at `now`. Returns when it is time for the next, if nothing else
    /// is sent to them before.
    pub(crate) fn acknowledge(&mut self, now: Duration) -> Option<Duration> {
        let Engine { links, shared, .. } = self;
        let mut next = None;
        for peer in std::mem::take(&mut shared.untold) {
            let link = &mut links[peer.index()];
            match link.acknowledge(now, shared) {
                None => link.is_untold = false,
                Some(deadline) => {
                    shared.untold.push(peer);
                    next = Some(next.map_or(deadline, |next: Duration| next.min(deadline)));
                }
            }
        }
        next
    }

    /// Whether `peer` is to be told of what has come, and at once.
    pub(crate) fn owes(&self, peer: Rank) -> bool {
        let link = &self.links[peer.index()];
        link.outgoing.acknowledgement.is_due(false) && link.has_output()
    }

    /// Whether peers are to be told of what was received, some time.
    pub(crate) fn has_untold(&self) -> bool {
        !self.shared.untold.is_empty()
    }

    /// Whether the link to `peer` could carry more than may be sent unacknowledged, since it was asked last; and how much that
    /// is.
    pub(crate) fn take_bound(&mut self, peer: Rank) -> Option<u64> {
        let retention = &mut self.links[peer.index()].outgoing.retention;
        retention.take_full().then(|| retention.bound())
    }

    /// The path to `peer` holds half of `bytes`: so much may be sent and not be acknowledged, within limits.
    pub(crate) fn set_bound(&mut self, peer: Rank, bytes: u64) {
        let link = &mut self.links[peer.index()];
        link.outgoing.retention.set_bound(bytes);
        link.announce_output(&mut self.shared);
    }

    /// Whether the connection to `peer` may end, since all is said; otherwise another is to follow it.
    pub(crate) fn may_end(&self, peer: Rank) -> bool {
        self.failure.is_some() || self.links[peer.index()].may_end()
    }
}

impl Link {
    /// Has the peer told of what has come, if it is time at `now`. Returns when it will be.
    pub(super) fn acknowledge(&mut self, now: Duration, shared: &mut Shared) -> Option<Duration> {
        // A new connection tells it at its beginning.
        let is_there = !self.outgoing.is_down && !self.farewell.closed;
        let deadline = self.outgoing.acknowledgement.deadline().filter(|_| is_there)?;
        if deadline > now {
            return Some(deadline);
        }
        self.outgoing.acknowledgement.is_wanted();
        self.announce_output(shared);
        None
    }

    /// There is a new connection, and the peer has received all before `position`.
    pub(super) fn resume(&mut self, position: u64, shared: &mut Shared) -> Result<u64, WireError> {
        self.outgoing.retention.rewind(position, &mut shared.spent)?;
        self.outgoing.acknowledgement.is_told();
        self.outgoing.is_down = false;
        self.announce_output(shared);
        Ok(self.outgoing.retention.unsent())
    }

    /// Whether nothing is left to say, so that the connection may end.
    pub(super) fn may_end(&self) -> bool {
        let Farewell { confirmed, heard, failed, closed, .. } = self.farewell;
        closed || failed || confirmed || (heard && self.outgoing.is_answer_acknowledged())
    }
}
