//! What nobody wants any more, dropped when nothing is locked.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::Outcome;

/// Buffers that nobody wants any more. Their drop may be the program's code: a panic in it ends no thread of lathide's.
pub(in crate::kernel) struct Unwanted {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) buffers: Vec<Box<dyn Any + Send>>,
}

impl Drop for Unwanted {
    fn drop(&mut self) {
        // The program's panic hook has told of it.
        self.outcomes.drain(..).for_each(|outcome| _ = catch_unwind(AssertUnwindSafe(|| drop(outcome))));
        self.buffers.drain(..).for_each(|buffer| _ = catch_unwind(AssertUnwindSafe(|| drop(buffer))));
    }
}
