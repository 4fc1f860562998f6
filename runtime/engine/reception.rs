//! What a link keeps of the receiving side of a lane beside the first.

use super::Completed;
use super::receive::Parser;

/// The receiving side of a lane beside the first, and what the engine keeps of it.
#[derive(Default)]
pub(super) struct Reception {
    pub(super) parser: Parser,
    /// What its next bytes belong to.
    pub(super) due: Option<Due>,
    /// A segment has come before its message was opened: what follows must wait for that.
    pub(super) waiting: Option<Due>,
    /// Whether `Shared::pending` names it.
    pub(super) is_pending: bool,
    /// Whether `Shared::untold` does.
    pub(super) is_untold: bool,
    /// Writes whose last bytes are in a record that the socket has not taken.
    pub(super) sealed: Vec<Completed>,
}

/// A part of a message that a lane is to bring.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) message_id: u64,
    pub(super) at: u64,
    pub(super) to: u64,
}

/// The two numbers that a frame consists of.
pub(super) fn two_numbers(body: &[u8]) -> Option<(u64, u64)> {
    let (first, second) = body.split_first_chunk()?;
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(second.try_into().ok()?)))
}
