//! Collectives as schedules: small programs of steps, one per rank, that are data.
//!
//! The node executes a schedule, the simulator runs the same one, the cost model predicts its time, and tests check it.
//!
//! | module | what |
//! | --- | --- |
//! | `schedule` | the steps: send, receive, combine, copy, signal |
//! | `Prepared` | a schedule with what its executions have in common |
//! | `Progress` | which steps may be posted, and which follow when they are complete |
//! | `Workspace`, `Operator` | the buffers, which messages use without a copy, and the steps without messages |
//! | `Single`, `Plain` | schedules that their caller carries out itself, and their buffers |
//! | `scratch` | memory of long scratch buffers, used again |
//! | `barrier`, `broadcast`, `reduce`, `allreduce` | one algorithm per file |
//! | `gather`, `scatter`, `allgather`, `alltoall`, `exchange` | the same |
//! | `reduce_scatter`, `scan` | the same |
//! | `price` | the predicted time of a schedule by the cost model |
//! | `signature` | what ranks must agree on, and the error text if they do not |
//! | `choose` | the candidates for a call, with their predicted times |

pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
mod blocks;
pub(crate) mod broadcast;
pub(crate) mod calibration;
mod call;
pub(crate) mod choose;
#[cfg(test)]
mod choose_tests;
#[cfg(test)]
mod correct_tests;
#[cfg(test)]
mod counts_tests;
pub(crate) mod exchange;
pub(crate) mod execute;
pub(crate) mod gather;
mod operator;
#[cfg(test)]
mod order_tests;
mod pairs;
pub(crate) mod plain;
pub(crate) mod prepared;
pub(crate) mod price;
#[cfg(test)]
mod price_tests;
mod progress;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
mod report;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod schedule;
mod scratch;
pub(crate) mod signature;
mod simulate;
pub(crate) mod single;
mod tree;
#[cfg(test)]
mod trial_tests;
mod workspace;

pub use blocks::Blocks;
pub use call::{Algorithm, Call};
pub use exchange::Shift;
pub use operator::{Number, Operator};
pub(crate) use prepared::Prepared;
pub use report::{CandidateReport, ChangeReport, CollectiveReport};
