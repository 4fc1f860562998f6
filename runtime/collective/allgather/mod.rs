//! Everybody's block to everybody. Works in place: the output holds the own block at its place at first, and all blocks in the
//! order of ranks at the end.

pub(crate) mod bruck;
pub(crate) mod doubling;
pub(crate) mod ring;
pub(crate) mod simple;
pub(crate) mod tree;
