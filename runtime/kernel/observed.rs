//! What the core tells of messages: their posts, ends and arrivals.

use std::time::Duration;

use super::core::Core;
use super::slot::Slot;
use crate::engine::Outcome;
use crate::error::OperationKind;
use crate::observe::links::ANSWERS;
use crate::observe::nanoseconds;

impl Core {
    /// An operation has just been posted, at `now`, and nothing of it is sent yet.
    pub(super) fn observe_post(&mut self, slot: &Slot, now: Duration) {
        let operation = slot.operation();
        if let (Some(links), OperationKind::Write) = (&mut self.observed, operation.kind) {
            let (stamp, asks) = links.posts(nanoseconds(now), operation.peer, operation.bytes);
            if let Some(stamp) = stamp {
                self.engine.stamp(operation.peer, slot.op, stamp);
            }
            if let Some(stamp) = asks {
                self.engine.ping(operation.peer, stamp, ANSWERS);
            }
        }
    }

    /// An operation has ended.
    pub(super) fn observe_end(&mut self, slot: &Slot, outcome: &mut Outcome) {
        if let (Some(links), Outcome::Read(place)) = (&mut self.observed, outcome) {
            links.receives(slot.operation().peer, place.bytes_mut().len() as u64);
        }
    }

    /// Stamps may have come with what was read just now.
    pub(super) fn observe_arrivals(&mut self) {
        while let Some(arrival) = self.engine.poll_arrival() {
            let Some(links) = &mut self.observed else { continue };
            let now = nanoseconds(self.clock.now());
            if let Some(answer) = links.arrives(now, &arrival) {
                self.engine.ping(arrival.peer, answer, arrival.answers - 1);
            }
        }
    }
}
