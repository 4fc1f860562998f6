//! Operations of all ranks together, as schedules: small programs of steps, one per rank, that are data.
//!
//! The same schedule is executed by the node, run by the simulator, priced by the model and checked by tests.
//!
//! | module | what |
//! | --- | --- |
//! | [`schedule`] | the language: send, receive, combine, copy, signal |
//! | [`Progress`] | which steps may be posted, which that allows when they are complete |
//! | [`Workspace`], [`Operator`] | the buffers, and the steps without messages |
//! | [`barrier`], [`broadcast`], [`reduce`], [`allreduce`] | one algorithm per file |
//! | [`gather`], [`scatter`], [`allgather`], [`alltoall`], [`exchange`] | and so on |
//! | [`price`] | what a schedule costs on a machine of the hyperbolic model |
//! | [`signature`] | what ranks must agree on, and the words when they do not |
//! | [`choose`] | the candidates for a call, with their prices |

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
mod blocks;
pub mod broadcast;
mod call;
pub mod choose;
#[cfg(test)]
mod choose_tests;
#[cfg(test)]
mod correct_tests;
pub mod exchange;
pub(crate) mod execute;
pub mod gather;
mod operator;
#[cfg(test)]
mod order_tests;
pub mod price;
#[cfg(test)]
mod price_tests;
mod progress;
pub mod reduce;
mod report;
pub mod scatter;
pub mod schedule;
pub mod signature;
mod simulate;
mod tree;
#[cfg(test)]
mod trial_tests;
mod workspace;

pub use blocks::Blocks;
pub use call::{Algorithm, Call};
pub use operator::{Number, Operator};
pub use progress::Progress;
pub use report::{CandidateReport, CollectiveReport};
pub use schedule::Schedule;
pub use workspace::Workspace;

pub use crate::operation::Collective;
pub use crate::overrides::Overrides;
