//! What happened, when, on which thread. Plain data, kept only if a timeline is asked for.

use serde::{Deserialize, Serialize};

use super::offset::Offset;
use crate::ids::{Rank, Tag};
use crate::operation::OperationKind;

/// One thing that happened on a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Nanoseconds of the node's clock.
    #[serde(rename = "t")]
    pub(crate) at_ns: u64,
    /// The thread's number; see [`What::Thread`].
    #[serde(rename = "n")]
    pub(crate) thread: u32,
    #[serde(rename = "e")]
    pub(crate) what: What,
}

/// What happened. Operations are named by a number that is never used twice on the node, messages by the sender's
/// message_id, which both sides of the link know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum What {
    /// A thread is seen for the first time.
    Thread { name: String },
    /// The program begins on this thread.
    Begin,
    /// The program has called finalize.
    Finalize,
    /// `initread` or `initwrite` returns; it was called at `since_ns`.
    Post { since_ns: u64, op: u64, kind: OperationKind, peer: Rank, tag: Option<Tag>, bytes: u64 },
    /// The collective just posted is carried out so, and why: the price of each candidate.
    Chosen { op: u64, choice: String },
    /// A wait for any of `count` operations begins; the first of them, if it is for operations.
    Wait { first: Option<Awaited>, count: u64 },
    /// The waiting thread drives the engine itself.
    Help,
    /// The waiting thread leaves that to another that waits.
    HandOver,
    /// The wait is over.
    Waited,
    /// The first bytes of a write that takes more than one frame are handed to the socket.
    Goes { peer: Rank, message_id: u64, op: u64 },
    /// All bytes of a write are.
    Leaves { peer: Rank, message_id: u64, op: u64 },
    /// The first bytes of a message of more than one frame have come.
    Begins { peer: Rank, message_id: u64, bytes: u64 },
    /// All bytes of a message have.
    Arrives { peer: Rank, message_id: u64, bytes: u64 },
    /// A read and a message have met.
    Meets { peer: Rank, message_id: u64, op: u64 },
    /// An operation is complete.
    Done { op: u64, failed: bool },
    /// The thread enters a region of the program.
    Region { name: String },
    /// It leaves the innermost that it is in.
    RegionEnds,
    /// The link to a rank has no connection any more, and why.
    LinkDown { peer: Rank, cause: String },
    /// It goes on with another, on which so many bytes are sent again; `None`: it is lost.
    LinkUp { peer: Rank, again: Option<u64> },
    /// The peer's clock was compared with the node's.
    Clock { peer: Rank, offset: Offset },
}

/// What is waited for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Awaited {
    pub(crate) op: u64,
    pub(crate) kind: OperationKind,
    pub(crate) peer: Rank,
    pub(crate) tag: Option<Tag>,
    pub(crate) bytes: u64,
}

/// The first line of a rank's file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// [`SCHEMA`].
    pub(crate) schema: String,
    /// The same for all ranks of one run of one job, and no other.
    pub(crate) job: u64,
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) process: u32,
    pub(crate) host: String,
    /// Names the run of the machine whose clocks these are, if that is known.
    pub(crate) boot: Option<String>,
    /// What the machine's clock showed when the node's clock began.
    pub(crate) began_ns: u64,
    /// Whether messages moved while the program computed.
    pub(crate) overlap: bool,
}

/// The last line of a rank's file. Without it the rank's process has ended early.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// The node's clock.
    pub(crate) ended_ns: u64,
    /// Events for which there was no room.
    pub(crate) dropped: u64,
}

/// A line of a rank's file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// An event.
    Event(Event),
    /// The first.
    Head(Head),
    /// The last.
    Tail(Tail),
}

/// Names the format of a rank's file.
pub(crate) const SCHEMA: &str = "lathide-events-1";
