//! Collectives over real sockets: every operation, every algorithm, mixed with messages, while programs compute, when
//! operators are slow, when threads call them, when ranks disagree, and when one dies.

mod calibrating;
mod computing;
mod failing;
mod operators;
pub(crate) mod results;
mod threads;
