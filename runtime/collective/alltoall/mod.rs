//! Blocks of all ranks for all ranks.

pub(crate) mod pairwise;
