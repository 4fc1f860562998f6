//! The root's blocks to everybody. The root's input is all blocks in the order of ranks; the output, the own
//! block. Blocks may differ in length.

pub(crate) mod binomial;
pub(crate) mod serial;
