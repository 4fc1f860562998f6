//! What travels: the header of a frame and the passes of the handshake, each beside its codec. Pure.

mod error;
pub(crate) mod frame;
pub(crate) mod handshake;
mod proof;
mod refusal;

pub use error::WireError;
