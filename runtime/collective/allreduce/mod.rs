//! Reduction whose result everybody gets. Works in place: the output holds the contribution at first, the result
//! at the end. Every rank has the same bits: no rank combines in an order of its own.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod doubling;
pub(crate) mod global;
pub(crate) mod halving;
pub(crate) mod ring;
pub(crate) mod serial;
pub(crate) mod simple;
