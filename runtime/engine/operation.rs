//! Operations: their names, and how they end.

use crate::buffer::{ReceiveBuffer, SendBuffer};
use crate::error::Error;

/// Names an operation within its engine; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct OpId(pub(crate) u64);

/// An operation has ended. Every operation ends exactly once.
pub(crate) struct Completed {
    pub(crate) op: OpId,
    pub(crate) outcome: Outcome,
}

/// How an operation ended.
pub(crate) enum Outcome {
    /// A read's buffer, filled and cut to the message.
    Read(Box<dyn ReceiveBuffer>),
    /// A write's buffer, free for reuse.
    Written(Box<dyn SendBuffer>),
    Failed(Error),
    /// A read withdrawn before it met a message.
    Abandoned,
}

/// A refusal that came after the write was complete.
#[derive(Clone, Debug)]
pub(crate) struct LateRefusal {
    pub(crate) op: Option<OpId>,
    pub(crate) error: Error,
}
