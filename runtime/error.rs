//! Errors, by whose fault they are. Every message names the ranks, the operation, and what to check next.

mod window;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::buffer::ElementType;
use crate::ids::{Rank, Tag};
use crate::operation::Operation;
pub use window::{WindowFault, WindowRefusal};
pub use wire::WireError;

/// The result of lathide's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. It is `Clone`, so that one lost peer can fail all waiting calls.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A collective failed on a rank for a local reason, such as an operator that panics. Every rank gets this error
    /// from that collective, unless it is complete there, and from all later ones. If it is a group's, the group is named,
    /// and every rank is every member.
    #[error("{} failed on rank {rank}: {cause}", collective(*.number))]
    Collective {
        /// The number of the collective, counted from 1; 0 for a neighbours' exchange, which has no number.
        number: u64,
        /// The rank that failed.
        rank: Rank,
        /// Why.
        cause: Arc<str>,
    },
    /// Ranks called different collectives, or the same one with different arguments. Every rank gets this error from
    /// that collective, unless it is complete there, and from all later ones. Messages between two ranks go on. If it
    /// is a group's, the group is named, every rank is every member, and other groups go on.
    #[error("{}{cause}", before_cause(*.number))]
    Disagreement {
        /// The number of the collective, counted from 1; 0 for what ranks say of a window that they make.
        number: u64,
        /// Two ranks that differ.
        ranks: (Rank, Rank),
        /// What each of the two called, and what to change.
        cause: Arc<str>,
    },
    /// Deadlock: every rank of a set waits for another rank of the set.
    #[error("deadlock: {report}")]
    Deadlock {
        /// Who waits for whom, with tags and sizes, and what to change. A launcher prints that once for all ranks; the
        /// text then only refers to it.
        report: Arc<str>,
    },
    /// This node could not join its job.
    #[error("rank {rank} could not join its job: {cause}")]
    Join {
        /// This rank.
        rank: Rank,
        /// What failed, with addresses, and what to check.
        cause: Arc<str>,
    },
    /// A message does not fit the read that it matched. Both sides get this error; the job can go on.
    #[error("{0}")]
    Mismatch(Arc<Mismatch>),
    /// The call is wrong, whatever the other ranks do.
    #[error("{0}")]
    Misuse(#[from] Misuse),
    /// A thread panicked while it moved this node's messages: the kernel's thread, or a thread of the program inside a
    /// call, in a method of a buffer, or in a waker. The node cannot go on.
    #[error("rank {rank} cannot go on: {cause}")]
    Panicked {
        /// This rank.
        rank: Rank,
        /// Which thread, and what to check.
        cause: Arc<str>,
    },
    /// A rank is lost: it died, left, or failed.
    #[error("rank {peer} is lost{}: {cause}", during(.operation))]
    PeerLost {
        /// The lost rank. If several are lost, the first one that was noticed.
        peer: Rank,
        /// Why, as far as it is known here, and what to check.
        cause: Arc<str>,
        /// The operation that noticed, if it was one.
        operation: Option<Operation>,
    },
    /// An authenticated peer sent bytes that violate the protocol; its link is closed.
    #[error(
        "rank {peer} broke the protocol: {cause}; the link is closed (do all ranks run the same version of lathide?)"
    )]
    Protocol {
        /// The rank whose bytes were wrong.
        peer: Rank,
        /// What was wrong with them.
        cause: WireError,
    },
    /// The node is finalized; it accepts no calls any more.
    #[error("rank {rank}: this node is finalized; make the call before finalize() or drop")]
    Shutdown {
        /// This rank.
        rank: Rank,
    },
    /// An encrypted link carried bytes that the peer did not seal. Neither rank is at fault: something between them
    /// changed the bytes.
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
    /// The timeout of a call has expired; the operation goes on.
    #[error("{operation} is not complete after {after:?}; it goes on, wait for it again or drop it")]
    Timeout {
        /// The operation that was waited for.
        operation: Operation,
        /// How long the call waited.
        after: Duration,
    },
    /// The target of an operation on a window has refused it. Both sides get this error; the job can go on.
    #[error("{0}")]
    Window(Arc<WindowRefusal>),
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

    /// Names no operation: the one that is named is a message of an operation that the program knows as a whole.
    pub(crate) fn unnamed(mut self) -> Self {
        if let Error::PeerLost { operation, .. } | Error::Tampered { operation, .. } = &mut self {
            *operation = None;
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

/// A message does not fit the read that it matched: the buffer is too short, or the element types differ, or the buffer
/// is longer and cannot be cut ([`ReadBuffer`](crate::ReadBuffer)).
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
        } else if sent.0 < posted.0 {
            f.write_str("this read's buffer cannot be cut: send as many bytes as it has, or read into a Vec or a Part")
        } else {
            write!(f, "give initread a buffer of at least {} bytes", sent.0)
        }
    }
}

/// A wrong call. It is never caused by what other ranks do.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The send buffer of a write has a user-defined type, and its `bytes` panicked, or returned fewer bytes than
    /// before. The node fails, since part of the message may have left.
    #[error(
        "{operation}: the buffer's `bytes` panicked or changed its length; it must give the same bytes until wait returns"
    )]
    Buffer {
        /// The operation.
        operation: Operation,
    },
    /// An environment variable or a setting is invalid.
    #[error("{name}={value:?}: {why}")]
    Config {
        /// The variable or setting.
        name: String,
        /// Its value.
        value: String,
        /// What is wrong with it, and what is valid.
        why: String,
    },
    /// A group or a grid cannot be made of these ranks, or a rank does not exist in it.
    #[error("rank {rank}: {why}")]
    Group {
        /// This rank, in the job.
        rank: Rank,
        /// What is wrong, and what is valid.
        why: String,
    },
    /// A collective's buffer has the wrong length.
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
    /// The calling process was forked from the one that joined the job. Only that one can use the node: the links of
    /// both are the same connections.
    #[error(
        "rank {rank}: process {process} joined the job, and this one was forked from it and cannot use its node; start \
         programs by exec (std::process::Command), or fork before init"
    )]
    Forked {
        /// This node's rank.
        rank: Rank,
        /// The process that joined.
        process: u32,
    },
    /// [`init`](crate::init) was called a second time in a process of a job of several ranks.
    #[error(
        "rank {rank}: init was called before in this process, {}; call it once, and give clones of the node to those \
         that need it (other jobs: init_with)",
        if *is_here { "and its node is still there" } else { "whose node has left the job" }
    )]
    Joined {
        /// This process's rank.
        rank: Rank,
        /// Whether the first call's node, or that call itself, goes on.
        is_here: bool,
    },
    /// A completed operation of a set was asked for another type than it returns.
    #[error("{operation} does not return {asked}; ask for what its handle returns")]
    Type {
        /// The operation.
        operation: Operation,
        /// The type that was asked for.
        asked: &'static str,
    },
    /// Elements must not have size zero.
    #[error("rank {rank}: a message's elements must have a size; {element} has none")]
    NoSize {
        /// This rank.
        rank: Rank,
        /// The element type.
        element: ElementType,
    },
    /// The peer's rank does not exist in this job.
    #[error("rank {rank}: rank {peer} does not exist{}; this job has ranks 0 to {}", given(*.peer), size.saturating_sub(1))]
    NoSuchRank {
        /// This rank.
        rank: Rank,
        /// The rank that was given.
        peer: Rank,
        /// The number of ranks.
        size: u32,
    },
    /// A part or a strided section does not lie within its buffer, or has an element twice.
    #[error("{}{why}", of_rank(.rank))]
    Region {
        /// This rank; `None` if no node was called.
        rank: Option<Rank>,
        /// Which elements, and those of the buffer.
        why: String,
    },
    /// The handle's result was already taken. A future must not be polled after it is ready.
    #[error("{operation}: its result was taken already; wait once")]
    Taken {
        /// The operation.
        operation: Operation,
    },
    /// Threads of one rank called collectives, and nothing orders their calls. Ranks might have matched calls of
    /// different threads. So every collective that is not complete fails, on all ranks.
    #[error(
        "rank {rank}: {why}; call collectives from one thread (its handles may be waited for anywhere), or order the \
         calls and say so by declare_serialized()"
    )]
    Threads {
        /// This rank.
        rank: Rank,
        /// Which threads or tasks, and what they called.
        why: String,
    },
}

lathide_models::debug_is_display!(Misuse);

/// A collective's number, as text.
fn collective(number: u64) -> String {
    if number == 0 { "an exchange".to_owned() } else { format!("collective {number}") }
}

/// What was probably given for a rank that does not exist: those of the upper half come of negative numbers.
fn given(rank: Rank) -> String {
    let signed = rank.0.cast_signed();
    if signed < 0 { format!(" (it was given as {signed}, or is too large)") } else { String::new() }
}

/// Whose error it is, as the beginning of a text.
fn of_rank(rank: &Option<Rank>) -> String {
    rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default()
}

/// A collective's number, if it has one, as text before what ranks disagree on.
fn before_cause(number: u64) -> String {
    if number == 0 { String::new() } else { format!("collective {number}: ") }
}

/// The operation that was affected, as text.
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
