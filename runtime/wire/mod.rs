//! What travels: the header of a frame, the passes of the handshake, sealed records, each beside its codec. Pure.

pub(crate) mod cipher;
mod error;
pub(crate) mod frame;
pub(crate) mod handshake;
mod proof;
mod refusal;

pub use error::WireError;
