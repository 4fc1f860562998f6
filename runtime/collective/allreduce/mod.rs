//! Reduction whose result everybody gets. Works in place: the output holds the contribution at first, the result
//! at the end. Every rank has the same bits: no rank combines in an order of its own.

pub mod binomial;
pub mod chain;
pub mod doubling;
pub mod global;
pub mod ring;
