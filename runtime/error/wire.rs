//! Protocol violations in the bytes of a peer.

use crate::ids::Tag;

/// How the bytes of a peer violate the protocol.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame of an unknown kind.
    #[error("unknown frame kind {kind}")]
    UnknownKind {
        /// The kind byte.
        kind: u8,
    },
    /// A frame with the wrong number (out-of-order, lost or repeated).
    #[error("frame number {got} where {expected} was due")]
    Number {
        /// The received value.
        got: u32,
        /// The expected value.
        expected: u32,
    },
    /// A length beyond its maximum.
    #[error("{what} of {got} is beyond {most}")]
    TooLong {
        /// Which length.
        what: &'static str,
        /// The received value.
        got: u64,
        /// The maximum here.
        most: u64,
    },
    /// A frame for a message that is not in flight.
    #[error("{what} for message {message_id}, which is not under way")]
    NoSuchMessage {
        /// Which frame.
        what: &'static str,
        /// The message id.
        message_id: u64,
    },
    /// A second message header for the same message.
    #[error("message {message_id} (tag {tag}) was opened twice")]
    Twice {
        /// The message id.
        message_id: u64,
        /// Its tag.
        tag: Tag,
    },
    /// A position beyond what was sent, or before what was acknowledged.
    #[error("all before byte {got} acknowledged, of {from} to {to}")]
    Position {
        /// The received value.
        got: u64,
        /// What was acknowledged before.
        from: u64,
        /// What has been sent.
        to: u64,
    },
    /// Bytes after goodbye.
    #[error("a frame after goodbye")]
    AfterGoodbye,
    /// Handshake bytes that do not authenticate the peer.
    #[error("handshake: {0}")]
    Handshake(&'static str),
}

lathide_models::debug_is_display!(WireError);
