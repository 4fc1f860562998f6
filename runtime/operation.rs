//! Operations, as errors, reports and timelines name them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{Rank, Tag};

/// A primitive with its peer and tag, or a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Operation {
    /// Read, write, which collective, or which operation on a window.
    pub kind: OperationKind,
    /// The rank that made the call.
    pub rank: Rank,
    /// The rank on the other side. For a collective its root, or the caller if it has none.
    pub peer: Rank,
    /// The tag; `None` for collectives and their messages.
    pub tag: Option<Tag>,
    /// The bytes written, or the length of the receive buffer. For a collective the bytes that this rank contributes or
    /// receives, whichever is more.
    pub bytes: u64,
}

impl Operation {
    pub(crate) fn new(kind: OperationKind, rank: Rank, peer: Rank, tag: Option<Tag>, bytes: u64) -> Self {
        Operation { kind, rank, peer, tag, bytes }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation { kind, rank, peer, tag, bytes } = self;
        match kind {
            OperationKind::Read => write!(f, "rank {rank}'s initread from rank {peer}")?,
            OperationKind::ReadAny => write!(f, "rank {rank}'s initread_any")?,
            OperationKind::Write => write!(f, "rank {rank}'s initwrite to rank {peer}")?,
            OperationKind::Collective(collective) => return write!(f, "rank {rank}'s {collective}, {bytes} bytes"),
            OperationKind::Exchange => return write!(f, "rank {rank}'s exchange, {bytes} bytes"),
            OperationKind::Window(call) => {
                return write!(f, "rank {rank}'s {call} on rank {peer}'s part of a window, {bytes} bytes");
            }
        }
        match tag {
            Some(tag) => write!(f, " (tag {tag}, {bytes} bytes)"),
            None => write!(f, " (inside a collective)"),
        }
    }
}

/// Which primitive an [`Operation`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum OperationKind {
    /// `initread`
    Read,
    /// `initread_any`: a read from whichever rank. The operation's peer is then the calling rank.
    ReadAny,
    /// `initwrite`
    Write,
    /// A collective.
    Collective(Collective),
    /// A neighbours' exchange.
    Exchange,
    /// An operation on a window.
    Window(WindowCall),
}

/// An operation on a window ([`crate::Window`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowCall {
    /// Elements are combined with those of the target.
    Accumulate,
    /// One element is replaced if it has an expected value.
    CompareExchange,
    /// One element is combined with a value, and its old value comes back.
    FetchUpdate,
    /// All earlier operations on the target are complete there.
    Flush,
    /// Elements of the target are read.
    Get,
    /// Elements of the target are written.
    Put,
}

impl WindowCall {
    /// Its name, which is that of the call.
    pub fn name(self) -> &'static str {
        match self {
            WindowCall::Accumulate => "accumulate",
            WindowCall::CompareExchange => "compare_exchange",
            WindowCall::FetchUpdate => "fetch_update",
            WindowCall::Flush => "flush",
            WindowCall::Get => "get",
            WindowCall::Put => "put",
        }
    }
}

impl fmt::Display for WindowCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OperationKind {
    /// Whether it writes to a window, and is complete before its target knows of it.
    pub(crate) fn is_window_write(self) -> bool {
        matches!(self, OperationKind::Window(WindowCall::Put | WindowCall::Accumulate))
    }
}

/// A collective operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collective {
    /// The block of every rank to every rank.
    Allgather,
    /// A reduction with the result on every rank.
    Allreduce,
    /// A block of every rank to each rank.
    Alltoall,
    /// No rank continues before every rank has called it.
    Barrier,
    /// The root's data to every rank.
    Broadcast,
    /// The contributions of all ranks before each rank, combined.
    Exscan,
    /// The block of every rank to the root.
    Gather,
    /// The contributions of all ranks, combined, to the root.
    Reduce,
    /// A reduction of which each rank gets its block.
    #[serde(rename = "reduce_scatter")]
    ReduceScatter,
    /// The contributions of all ranks up to each rank, combined.
    Scan,
    /// One block of the root to each rank.
    Scatter,
}

impl Collective {
    /// Whether one rank's part differs from that of all others.
    pub(crate) fn has_root(self) -> bool {
        use Collective::*;
        matches!(self, Broadcast | Gather | Reduce | Scatter)
    }

    /// Its name, which is that of the call.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Allgather => "allgather",
            Collective::Allreduce => "allreduce",
            Collective::Alltoall => "alltoall",
            Collective::Barrier => "barrier",
            Collective::Broadcast => "broadcast",
            Collective::Exscan => "exscan",
            Collective::Gather => "gather",
            Collective::Reduce => "reduce",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::Scan => "scan",
            Collective::Scatter => "scatter",
        }
    }

    /// The names of the algorithms that can carry it out.
    pub fn algorithms(self) -> &'static [&'static str] {
        match self {
            Collective::Allgather => &["doubling", "bruck", "ring", "binomial", "serial", "simple"],
            Collective::Allreduce => {
                &["serial", "doubling", "global", "ring", "halving", "simple", "binomial", "chain"]
            }
            Collective::Alltoall => &["pairwise", "bruck", "serial"],
            Collective::Barrier => &["serial", "dissemination", "binomial", "simple"],
            Collective::Broadcast => &["serial", "binary", "binomial", "chain"],
            Collective::Exscan | Collective::Scan => &["doubling", "chain"],
            Collective::Gather => &["simple", "binomial", "windowed", "granted"],
            Collective::Reduce => &["binary", "binomial", "chain"],
            Collective::ReduceScatter => &["halving", "ring", "pairwise"],
            Collective::Scatter => &["serial", "binomial"],
        }
    }

    /// All collectives, by name.
    pub const ALL: [Collective; 11] = [
        Collective::Allgather,
        Collective::Allreduce,
        Collective::Alltoall,
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Exscan,
        Collective::Gather,
        Collective::Reduce,
        Collective::ReduceScatter,
        Collective::Scan,
        Collective::Scatter,
    ];
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
