//! Buffers of messages that have left, of which peers have not acknowledged all. What is not acknowledged is copied when a buffer is
//! given back; until the result is made, or a later step writes there, most of it is.

use std::collections::VecDeque;

use crate::collective::schedule::Region;
use crate::engine::Written;

/// More are not kept: the oldest are the likeliest to be acknowledged.
const COUNT_MAX: usize = 8;

/// Each with the region that it was sent from.
#[derive(Default)]
pub(super) struct Held(VecDeque<(Region, Written)>);

impl Held {
    pub(super) fn keep(&mut self, region: Region, written: Written) {
        if written.unacknowledged() > 0 {
            self.0.push_back((region, written));
        }
        if self.0.len() > COUNT_MAX {
            self.0.pop_front().into_iter().for_each(give_back);
        }
    }

    /// A step is about to write to `region`: gives back what was sent from there.
    pub(super) fn make_way(&mut self, region: Region) {
        while let Some(at) = self.0.iter().position(|(held, _)| held.overlaps(region)) {
            self.0.remove(at).into_iter().for_each(give_back);
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives all back.
    pub(super) fn release(&mut self) {
        if !self.is_empty() {
            self.0.drain(..).for_each(give_back);
        }
    }
}

fn give_back((_, written): (Region, Written)) {
    drop(written.take());
}
