//! Buffers of messages that have left, of which peers have not acknowledged all. What is not acknowledged is copied when a buffer is
//! given back; until the result is made most of it is.

use std::collections::VecDeque;

use crate::engine::Written;

/// More are not kept: the oldest are the likeliest to be acknowledged.
const COUNT_MAX: usize = 8;

/// Those sent from where no later step writes.
#[derive(Default)]
pub(super) struct Held(VecDeque<Written>);

impl Held {
    pub(super) fn keep(&mut self, written: Written) {
        if written.unacknowledged() > 0 {
            self.0.push_back(written);
        }
        if self.0.len() > COUNT_MAX {
            self.0.pop_front().into_iter().for_each(give_back);
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives all back.
    pub(super) fn release(&mut self) {
        self.0.drain(..).for_each(give_back);
    }
}

pub(super) fn give_back(written: Written) {
    drop(written.take());
}
