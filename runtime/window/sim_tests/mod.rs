//! Random programs of operations on windows, on engines in one process: what they find and leave is what a sequential model
//! says, and none of them hangs, whatever fails.

mod hostile;
mod program;
mod runs;
mod world;
