//! A read that whoever has the core locked waits for, and no handle.

use crate::engine::{OpId, Outcome};

/// The read, and its end.
pub(super) struct Awaited {
    pub(super) read: OpId,
    pub(super) outcome: Option<Outcome>,
}
