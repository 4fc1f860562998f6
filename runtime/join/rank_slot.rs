//! What the rendezvous knows of one rank.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::answering::Answering;
use super::cores::Cores;
use super::events::Contact;

/// A rank that has a connection, or had one.
pub(super) struct RankSlot {
    pub(super) contact: Contact,
    /// Where its peers reach it, once it has said so: then it has joined.
    pub(super) address: Option<SocketAddr>,
    pub(super) cores: Cores,
    /// How long it calls again after a cut, as it has said.
    pub(super) resume: Option<Duration>,
    pub(super) line: Answering,
    /// While its connection is cut.
    pub(super) down: Option<Down>,
    /// Whether it has said its last word.
    pub(super) has_left: bool,
    /// Whether it has left or is lost.
    pub(super) gone: bool,
}

/// A rank whose connection is cut.
pub(super) struct Down {
    /// How that was seen.
    pub(super) cause: String,
    /// Finds out whether its process has ended.
    pub(super) search: AbortHandle,
}

impl Drop for Down {
    fn drop(&mut self) {
        self.search.abort();
    }
}

impl RankSlot {
    /// One that has not said yet where it is.
    pub(super) fn new(contact: Contact, line: Answering) -> Self {
        let cores = Cores::default();
        RankSlot { contact, address: None, cores, resume: None, line, down: None, has_left: false, gone: false }
    }

    /// Whether a connection continues the one that this rank has: the same process comes again. Before its first report
    /// is here, it may just not know that it was in.
    pub(super) fn is_continued_by(&self, contact: Contact) -> bool {
        self.contact.incarnation == contact.incarnation
            && self.contact.epoch < contact.epoch
            && (self.address.is_none() || self.resume.is_some())
            && (!self.gone || self.has_left)
    }
}
