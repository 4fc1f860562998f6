//! An emulated link: a relay between real TCP sockets that adds a delay and limits the rate, without privileges.
//!
//! It makes the effects of a slow link visible on one machine. [`LinkSpec`] says what the link is like, [`Relay`]
//! is the link. What it emulates: propagation (delay, jitter) and serialisation (rate) of payload bytes, in order,
//! without loss, with a short queue before the link and back pressure to the sender. What it leaves out: packet
//! headers, congestion control and slow start, collisions, and the delay of opening a connection.

mod connection;
mod flow;
mod medium;
mod queue;
mod relay;
mod spec;
mod worker;

pub use relay::Relay;
pub use spec::LinkSpec;
