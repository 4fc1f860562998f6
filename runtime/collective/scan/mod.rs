//! Prefix reductions: rank `i` gets the contributions of the ranks up to it, combined; in an *exclusive* one, of the
//! ranks before it, and rank 0 gets nothing. Operands are always combined in the order of ranks.
//!
//! The inclusive scan works in place: the output holds the contribution at first, the result at the end. In the exclusive
//! one the contribution is the input, and the output, of rank 0 too, is as long.

pub(crate) mod chain;
pub(crate) mod doubling;
