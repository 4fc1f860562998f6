//! Whole jobs in one process, thousands of them, each from a seed; and tests of single promises.

mod babble;
mod beside;
mod costs;
mod cuts;
mod faulty;
mod flips;
mod given_up;
mod hostile;
mod mutants;
mod network;
mod oracle;
mod order;
mod predicted;
mod program;
mod runs;
mod sealed;
pub(crate) mod starts;
mod turns;
mod unbound;
mod units;
mod world;
