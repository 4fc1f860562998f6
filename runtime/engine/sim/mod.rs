//! Whole jobs in one process, thousands of them, each from a seed; and tests of single promises.

mod babble;
mod oracle;
mod program;
mod rng;
mod runs;
mod units;
mod world;
