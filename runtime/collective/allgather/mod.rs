//! Everybody's block to everybody. The input is the own block; the output, all blocks in the order of ranks.

pub mod bruck;
pub mod ring;
