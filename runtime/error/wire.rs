//! What peers' bytes can have wrong with them.

use crate::ids::Tag;

/// What is wrong with bytes that came from a peer.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame of a kind this version does not know.
    #[error("unknown frame kind {kind}")]
    UnknownKind {
        /// The kind byte.
        kind: u8,
    },
    /// A frame out of turn.
    #[error("frame number {got} where {expected} was due")]
    Number {
        /// What came.
        got: u32,
        /// What was due.
        expected: u32,
    },
    /// A length that no honest peer sends.
    #[error("{what} of {got} is beyond {most}")]
    TooLong {
        /// Which length.
        what: &'static str,
        /// What came.
        got: u64,
        /// The most that is legal here.
        most: u64,
    },
    /// A frame about a message that is not under way.
    #[error("{what} for message {message_id}, which is not under way")]
    NoSuchMessage {
        /// Which frame.
        what: &'static str,
        /// The message's number.
        message_id: u64,
    },
    /// A message was opened twice.
    #[error("message {message_id} (tag {tag}) was opened twice")]
    Twice {
        /// The message's number.
        message_id: u64,
        /// Its tag.
        tag: Tag,
    },
    /// Bytes after goodbye.
    #[error("a frame after goodbye")]
    AfterGoodbye,
    /// Handshake bytes that prove nothing.
    #[error("handshake: {0}")]
    Handshake(&'static str),
}

lathide_models::debug_is_display!(WireError);
