//! What is observed under the core's lock.

use std::sync::Arc;

use crate::ids::Rank;
use crate::observe::links::{Link, Links};
use crate::observe::regions::Counts;
use crate::observe::{Observer, Tape};

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

    /// What has passed over the links so far.
    pub(super) fn links(&self) -> Vec<(Rank, Link)> {
        self.links.iter().map(|(peer, link)| (peer, link.clone())).collect()
    }
}
