//! Operations: their names, and how they end.

use std::any::Any;

use super::outgoing::Written;
use crate::buffer::{ElementType, ReceiveBuffer};
use crate::error::Error;
use crate::ids::Rank;

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
    /// A read's buffer, filled and cut to the message; the message it has met.
    Read(Box<dyn ReceiveBuffer>, Origin),
    /// What a collective or an operation on a window has come to, as the handle gives it.
    Made(Box<dyn Any + Send>),
    /// A write's buffer, free for reuse.
    Written(Written),
    // Boxed: outcomes pass through several hands, and hardly any is this one.
    Failed(Box<Failure>),
    /// A read withdrawn before it met a message: its buffer, or none for what has none.
    Abandoned(Option<Box<dyn ReceiveBuffer>>),
}

impl Outcome {
    /// A failure that has no buffer to give back.
    pub(crate) fn failed(error: Error) -> Self {
        Outcome::Failed(Box::new(Failure { error, buffer: None }))
    }

    /// A failure that gives the buffer back.
    pub(crate) fn failed_with(error: Error, buffer: Box<dyn Any + Send>) -> Self {
        Outcome::Failed(Box::new(Failure { error, buffer: Some(buffer) }))
    }
}

/// Why an operation has failed, and what was posted, if it can be given back.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) buffer: Option<Box<dyn Any + Send>>,
}

/// An operation that was not posted, and its buffer.
pub(crate) struct Unposted {
    pub(crate) error: Error,
    pub(crate) buffer: Box<dyn Any + Send>,
}

impl From<Unposted> for Error {
    fn from(unposted: Unposted) -> Self {
        unposted.error
    }
}

impl std::fmt::Debug for Unposted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

/// Which message a read has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub(crate) from: Rank,
    pub(crate) message_id: u64,
    pub(crate) element: ElementType,
}

/// A refusal that came after the write was complete.
#[derive(Clone, Debug)]
pub(crate) struct LateRefusal {
    pub(crate) op: Option<OpId>,
    pub(crate) error: Error,
}
