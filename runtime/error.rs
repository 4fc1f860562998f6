//! What can go wrong, sorted by fault. Every message names ranks, the operation and the next thing to look at.

mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::buffer::ElementType;
use crate::ids::{Rank, Tag};
use crate::operation::Operation;
pub use wire::WireError;

/// The result of lathide's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. `Clone`, so that one lost peer can fail every waiter.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A collective has failed on a rank for a reason of its own, such as an operator that panics. Every rank has this
    /// error from that collective, as far as it is not complete there, and from all after it.
    #[error("{} failed on rank {rank}: {cause}", collective(*.number))]
    Collective {
        /// Which: the first that the program has called is 1; 0 for a neighbours' exchange, which has no number.
        number: u64,
        /// The rank that failed.
        rank: Rank,
        /// Why.
        cause: Arc<str>,
    },
    /// Ranks have called different collectives, or one differently. Every rank has this error from that collective, as
    /// far as it is not complete there, and from all after it; messages between two ranks go on.
    #[error("collective {number}: {cause}")]
    Disagreement {
        /// Which: the first that the program has called is 1.
        number: u64,
        /// Two ranks that differ.
        ranks: (Rank, Rank),
        /// What each of the two has called, and what to change.
        cause: Arc<str>,
    },
    /// No rank can move any more: every waiting rank waits for another that waits too.
    #[error("deadlock: {report}")]
    Deadlock {
        /// Who waits for whom, with tags and sizes, and what to change. Under a launcher, which shows that once for all
        /// ranks, no more than where to look.
        report: Arc<str>,
    },
    /// This node could not become part of its job.
    #[error("rank {rank} could not join its job: {cause}")]
    Join {
        /// This rank.
        rank: Rank,
        /// What failed, with addresses, and what to look at.
        cause: Arc<str>,
    },
    /// A read and the message it met do not fit. Both sides get this error; the job can go on.
    #[error("{0}")]
    Mismatch(Arc<Mismatch>),
    /// The call cannot be right, whatever the other ranks do.
    #[error("{0}")]
    Misuse(#[from] Misuse),
    /// A thread has panicked while it moved this node's messages: the kernel's own, or one of the program's inside a call,
    /// in a buffer's method or in a waker. The node cannot go on.
    #[error("rank {rank} cannot go on: {cause}")]
    Panicked {
        /// This rank.
        rank: Rank,
        /// Which thread, and what to look at.
        cause: Arc<str>,
    },
    /// A rank is gone: it died, left, or failed.
    #[error("rank {peer} is lost{}: {cause}", during(.operation))]
    PeerLost {
        /// The rank that is gone. If several are, the first that was noticed.
        peer: Rank,
        /// Why, as far as it is known here, and what to look at.
        cause: Arc<str>,
        /// The operation that noticed, if it was one.
        operation: Option<Operation>,
    },
    /// A peer that proved membership sent bytes that break the protocol; its link is closed.
    #[error(
        "rank {peer} broke the protocol: {cause}; the link is closed (do all ranks run the same version of lathide?)"
    )]
    Protocol {
        /// The rank whose bytes were wrong.
        peer: Rank,
        /// What was wrong with them.
        cause: WireError,
    },
    /// The node has been finalized; no call can be made with it any more.
    #[error("rank {rank}: this node is finalized; make the call before finalize() or drop")]
    Shutdown {
        /// This rank.
        rank: Rank,
    },
    /// An encrypted link carried bytes that the peer did not seal. Neither rank is to blame: somebody or something between
    /// them changes what passes.
    #[error(
        "the encrypted link to rank {peer} carried bytes that rank {peer} did not seal{}: they were changed on the way, by \
         an attacker, a proxy or a faulty device between the two hosts; what they said was not delivered",
        during(.operation)
    )]
    Tampered {
        /// The rank at the other end.
        peer: Rank,
        /// The operation that noticed, if it was one.
        operation: Option<Operation>,
    },
    /// The time given to a `_timeout` call is over; the operation goes on.
    #[error("{operation} is not complete after {after:?}; it goes on, wait for it again or drop it")]
    Timeout {
        /// The operation waited for.
        operation: Operation,
        /// How long the call waited.
        after: Duration,
    },
}

lathide_models::debug_is_display!(Error);

impl Error {
    /// Names the operation that met a loss or tampering, if none is named yet.
    pub(crate) fn during(mut self, of: Operation) -> Self {
        if let Error::PeerLost { operation, .. } | Error::Tampered { operation, .. } = &mut self {
            operation.get_or_insert(of);
        }
        self
    }

    /// The rank whose loss this is.
    pub(crate) fn blames(&self) -> Option<Rank> {
        match self {
            Error::PeerLost { peer, .. } | Error::Protocol { peer, .. } => Some(*peer),
            _ => None,
        }
    }
}

/// A message met a read it does not fit: the buffer is too short, or the elements are of another type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// The rank that wrote.
    pub from: Rank,
    /// The rank that read.
    pub to: Rank,
    /// The tag of both.
    pub tag: Tag,
    /// The message: bytes and element type.
    pub sent: (u64, ElementType),
    /// The read's buffer: bytes and element type.
    pub posted: (u64, ElementType),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { from, to, tag, sent, posted } = self;
        write!(
            f,
            "rank {from}'s initwrite to rank {to} (tag {tag}): {} bytes of {} met a read of {} bytes of {}; ",
            sent.0, sent.1, posted.0, posted.1
        )?;
        if sent.1 != posted.1 {
            f.write_str("use one element type on both sides")
        } else {
            write!(f, "give initread a buffer of at least {} bytes", sent.0)
        }
    }
}

/// A call that cannot be right. Never caused by what other ranks do.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The bytes of a write's buffer could not be had while they were sent: its type is the program's own, and its
    /// `bytes` panicked, or was shorter than at first. The node fails, since part of the message may have left.
    #[error(
        "{operation}: the buffer's `bytes` panicked or changed its length; it must give the same bytes until wait returns"
    )]
    Buffer {
        /// The operation.
        operation: Operation,
    },
    /// An environment variable or a setting does not make sense.
    #[error("{name}={value:?}: {why}")]
    Config {
        /// The variable or setting.
        name: String,
        /// Its value.
        value: String,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// A collective's buffer has another length than the call needs.
    #[error("rank {rank}: {operation} cannot take {got} elements: {why}")]
    Length {
        /// This rank.
        rank: Rank,
        /// The collective, by name.
        operation: &'static str,
        /// The elements it was given.
        got: u64,
        /// What it needs.
        why: String,
    },
    /// Elements of no size carry nothing.
    #[error("rank {rank}: a message's elements must have a size; {element} has none")]
    NoSize {
        /// This rank.
        rank: Rank,
        /// The element type.
        element: ElementType,
    },
    /// The peer's rank is not one of this job's.
    #[error("rank {rank}: rank {peer} does not exist; this job has ranks 0 to {}", size.saturating_sub(1))]
    NoSuchRank {
        /// This rank.
        rank: Rank,
        /// The rank asked for.
        peer: Rank,
        /// The number of ranks.
        size: u32,
    },
    /// The handle's result was taken before; a future must not be polled after it is ready.
    #[error("{operation}: its result was taken already; wait once")]
    Taken {
        /// The operation.
        operation: Operation,
    },
    /// Threads of one rank have called collectives, and nothing orders their calls. All other ranks are told, and every
    /// collective that is not complete fails: ranks might have matched calls of different threads.
    #[error(
        "rank {rank}: {why}; call collectives from one thread (its handles may be waited for anywhere), or order the \
         calls and say so by declare_serialized()"
    )]
    Threads {
        /// This rank.
        rank: Rank,
        /// Which threads or tasks, and what they have called.
        why: String,
    },
}

lathide_models::debug_is_display!(Misuse);

/// The words for a collective's number.
fn collective(number: u64) -> String {
    if number == 0 { "an exchange".to_owned() } else { format!("collective {number}") }
}

/// The words for the operation that met a loss.
fn during(operation: &Option<Operation>) -> String {
    operation.map(|operation| format!(" (during {operation})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::OperationKind;

    /// As a `main` that returns an error shows it.
    fn shown<E: fmt::Debug + fmt::Display>(error: &E) {
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(format!("{error:#?}"), error.to_string());
    }

    #[test]
    fn debug_is_the_text() {
        let misuse = Misuse::NoSuchRank { rank: Rank(1), peer: Rank(9), size: 2 };
        shown(&misuse);
        shown(&Error::from(misuse));
        shown(&Error::Deadlock { report: "rank 0 waits for rank 1\n  what to change: read".into() });
        let operation = Operation::new(OperationKind::Read, Rank(0), Rank(1), Some(Tag(7)), 8);
        shown(&Error::PeerLost { peer: Rank(1), cause: "it panicked".into(), operation: Some(operation) });
        shown(&Error::Protocol { peer: Rank(1), cause: WireError::AfterGoodbye });
        shown(&WireError::UnknownKind { kind: 3 });
        shown(&lathide_models::BadParameter { name: "gamma", value: -1.0, domain: "above 0" });
    }
}
