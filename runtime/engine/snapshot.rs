//! What is outstanding, for whom and since when: the engine can always say.

use std::time::Duration;

use super::Engine;
use super::arriving::Sink;
use super::outgoing::Stage;
use crate::ids::{Rank, Tag};
use crate::operation::OperationKind;
use crate::wire::frame::{Context, MatchKey};

/// An operation that is not complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub(crate) kind: OperationKind,
    pub(crate) peer: Rank,
    /// `None`: a message of lathide's own.
    pub(crate) tag: Option<Tag>,
    /// The bytes to write, or the most that can be read.
    pub(crate) bytes: u64,
    /// The bytes moved so far.
    pub(crate) done: u64,
    pub(crate) since: Duration,
    /// What it waits for.
    pub(crate) state: &'static str,
}

impl Engine {
    /// Every operation that is not complete, ordered by peer, then by age.
    pub(crate) fn outstanding(&self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self.of_any_origin();
        all.sort_by_key(|waiting| (waiting.since, waiting.tag, waiting.bytes));
        for link in &self.links {
            let (peer, from) = (link.peer(), all.len());
            // What is said of collectives is read by reads that wait for nothing. Windows' operations are known as wholes.
            let is_shown = |key: &MatchKey| !matches!(key.context, Context::Agreement | Context::Window);
            let posted = link.incoming.posted().filter(|(key, _)| is_shown(key));
            all.extend(posted.map(|(key, read)| Waiting {
                kind: OperationKind::Read,
                peer,
                tag: key.user_tag(),
                bytes: read.capacity,
                done: 0,
                since: read.since,
                state: "no message of this tag has come",
            }));
            let arriving = link.incoming.messages().filter(|message| is_shown(&message.message_header.key));
            all.extend(arriving.filter_map(|message| {
                let (kind, done, state) = match message.sink {
                    Sink::ReceiveBuffer { .. } => (OperationKind::Read, message.received, "the message is arriving"),
                    Sink::Own { .. } => (OperationKind::Write, 0, "beyond the window: the read must be posted first"),
                    _ => return None,
                };
                let (tag, bytes) = (message.message_header.key.user_tag(), message.message_header.total);
                Some(Waiting { kind, peer, tag, bytes, done, since: message.since, state })
            }));
            let leaving = link.outgoing.messages().filter(|message| is_shown(&message.message_header.key));
            all.extend(leaving.map(|message| Waiting {
                kind: OperationKind::Write,
                peer,
                tag: message.message_header.key.user_tag(),
                bytes: message.message_header.total,
                done: message.sent,
                since: message.since,
                state: match message.stage {
                    Stage::Ready { .. } => "the message is leaving",
                    Stage::Held | Stage::Announced { .. } => "beyond the window: the peer must post the read first",
                },
            }));
            all.extend(link.sealed().map(|message_header| Waiting {
                kind: OperationKind::Write,
                peer,
                tag: message_header.key.user_tag(),
                bytes: message_header.total,
                done: message_header.total,
                since: link.sealed_since,
                state: "its last bytes wait for room in the socket",
            }));
            all[from..].sort_by_key(|waiting| (waiting.since, waiting.tag, waiting.bytes, waiting.done));
        }
        all
    }

    /// Reads of any origin that wait. They name this rank, since they may come from itself too.
    fn of_any_origin(&self) -> Vec<Waiting> {
        let posted = self.shared.any.posted().map(|(key, read)| Waiting {
            kind: OperationKind::ReadAny,
            peer: self.rank,
            tag: key.user_tag(),
            bytes: read.capacity,
            done: 0,
            since: read.since,
            state: "no message of this tag has come",
        });
        posted.collect()
    }

    /// The bytes of the places of all reads that wait.
    #[cfg(test)]
    pub(crate) fn outstanding_places(&self) -> Vec<u64> {
        self.links.iter().flat_map(|link| link.incoming.posted().map(|(_, read)| read.capacity)).collect()
    }

    /// Frames sent to and received from each rank so far; they wrap.
    #[cfg(test)]
    pub(crate) fn frames(&self) -> (Vec<u32>, Vec<u32>) {
        self.links.iter().map(|link| link.frames()).unzip()
    }
}
