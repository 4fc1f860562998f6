//! Blocks of all ranks for all ranks.

pub(crate) mod bruck;
pub(crate) mod pairwise;
pub(crate) mod serial;
