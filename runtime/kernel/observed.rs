//! What is observed under the core's lock.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::Rank;
use crate::observe::links::{Link, Links};
use crate::observe::regions::Counts;
use crate::observe::{Observer, Tape, nanoseconds};

/// What is observed under the core's lock.
pub(crate) struct Observed {
    pub(super) links: Links,
    pub(super) regions: Counts,
    pub(super) tape: Option<Arc<Tape>>,
}

impl Observed {
    /// `None`: nothing is.
    pub(super) fn new(observer: &Observer, tape: Option<Arc<Tape>>) -> Option<Self> {
        Some(Observed { links: observer.links()?, regions: observer.counts(), tape })
    }

    /// Whether a write of `bytes` to `peer`, posted at `now`, carries no stamp, and nobody asks when it leaves.
    pub(super) fn lets_pass(&self, now: Duration, peer: Rank, bytes: u64) -> bool {
        self.tape.is_none() && !self.regions.times_sends() && self.links.lets_pass(nanoseconds(now), peer, bytes)
    }

    /// What has passed over the links so far.
    pub(super) fn links(&self) -> Vec<(Rank, Link)> {
        self.links.iter().map(|(peer, link)| (peer, link.clone())).collect()
    }
}
