//! What travels: the header of a frame, the passes of the handshake, sealed records and control frames, each beside its
//! codec; text that came from elsewhere. Pure.

mod authentication;
pub(crate) mod checksum;
pub(crate) mod cipher;
pub(crate) mod frame;
pub(crate) mod handshake;
pub(crate) mod records;
mod refusal;
pub(crate) mod seal;
pub mod text;

/// Plain bytes in one record, at most. Long enough that its price per byte is the coding's alone, short enough that
/// the peer opens one while the next is on its way.
const RECORD_BYTES: usize = 32 << 10;
