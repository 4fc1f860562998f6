//! How a job ends early: a peer is lost, breaks the protocol, or something else has failed.

use std::sync::Arc;

use super::arriving::Posted;
use super::{Completed, Engine, Outcome};
use crate::error::{Error, WireError};
use crate::ids::Rank;

impl Engine {
    /// What `from` has sent cannot be understood.
    pub(super) fn handle_protocol_error(&mut self, from: Rank, cause: WireError) {
        self.fail(Error::Protocol { peer: from, cause });
    }

    /// The connection to `peer` has ended for good. Returns whether it might, after goodbye; otherwise the peer is lost.
    pub(crate) fn is_over(&mut self, peer: Rank) -> bool {
        self.links[peer.index()].close(&mut self.shared)
    }

    /// The connection to `peer` has ended. After its goodbye that is no loss.
    #[cfg(test)]
    pub(crate) fn handle_lost(&mut self, peer: Rank, cause: &str) {
        if !self.is_over(peer) {
            self.fail_lost(peer, cause);
        }
    }

    /// `peer` is known to be lost; so the job has failed, and every operation of this node with it.
    pub(crate) fn fail_lost(&mut self, peer: Rank, cause: &str) {
        self.fail(Error::PeerLost { peer, cause: Arc::from(cause), operation: None });
    }

    /// Ends every operation with `error`, and every command from now on. The first failure stands.
    pub(crate) fn fail(&mut self, error: Error) {
        if self.failure.is_some() {
            return;
        }
        for link in &mut self.links {
            link.fail(&error, &mut self.shared);
        }
        for Posted { op, place, .. } in self.shared.any.clear() {
            let outcome = Outcome::failed_with(error.clone(), place.into_any());
            self.shared.completions.push_back(Completed { op, outcome });
        }
        self.failure = Some(error);
    }

    /// Every command fails with `error` from now on, as the first failure stands. Operations do not end: the engine may be
    /// half changed, so nothing else of it is touched.
    pub(crate) fn declare_failed(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// A peer has said that the job failed: by which rank's fault, and why. Operations end with [`Engine::fail_lost`],
    /// which is left to the caller, who may know better.
    pub(crate) fn poll_failed_peer(&mut self) -> Option<(Rank, String)> {
        self.shared.failed_peer.take()
    }

    /// What every command fails with, once the job has failed.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}
