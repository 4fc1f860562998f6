//! Buffers of messages that have left, of which peers have not acknowledged all. What is not acknowledged is copied when a buffer is
//! given back; until the result is made, or a later step writes there, most of it is.

use std::collections::VecDeque;

use crate::collective::schedule::Region;
use crate::engine::Written;
use crate::ids::Rank;

/// More are not kept: the oldest are the likeliest to be acknowledged.
const COUNT_MAX: usize = 8;

/// What has left.
struct Sent {
    from: Region,
    /// In the job.
    to: Rank,
    written: Written,
}

/// In the order in which they have.
#[derive(Default)]
pub(super) struct Held(VecDeque<Sent>);

/// Is given what has left to a rank of the job before its buffer goes back: whoever can may hear first what that rank has acknowledged.
pub(crate) type Listen<'a> = &'a mut dyn FnMut(Rank, &Written);

impl Held {
    /// What was sent `from` there has left.
    pub(super) fn keep(&mut self, from: Region, to: Rank, written: Written, listen: Listen<'_>) {
        if written.unacknowledged() > 0 {
            self.0.push_back(Sent { from, to, written });
        }
        if self.0.len() > COUNT_MAX {
            self.0.pop_front().into_iter().for_each(|sent| sent.give_back(listen));
        }
    }

    /// A step is about to write to `region`: gives back what was sent from there.
    pub(super) fn make_way(&mut self, region: Region, listen: Listen<'_>) {
        while let Some(at) = self.0.iter().position(|sent| sent.from.overlaps(region)) {
            self.0.remove(at).into_iter().for_each(|sent| sent.give_back(listen));
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives all back.
    pub(super) fn release(&mut self, listen: Listen<'_>) {
        if !self.is_empty() {
            self.0.drain(..).for_each(|sent| sent.give_back(listen));
        }
    }
}

impl Sent {
    fn give_back(self, listen: Listen<'_>) {
        listen(self.to, &self.written);
        drop(self.written.take());
    }
}
