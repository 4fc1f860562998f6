//! Collectives over real sockets: every operation, every algorithm, mixed with messages, while programs compute, when
//! ranks disagree, and when one dies.

mod computing;
mod failing;
pub(crate) mod results;
