//! Commands about reads of any origin, and about reads that are given up.

use std::time::Duration;

use super::arriving::Posted;
use super::{Engine, OpId, Origin, Unposted};
use crate::buffer::{ElementType, ReceiveBuffer};
use crate::ids::Rank;
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::MatchKey;

impl Engine {
    /// Posts a read of the next message of `key` from whichever rank, this one included.
    ///
    /// Of the ranks whose message is here already, the one from which such a read took a message longest ago has its turn.
    pub(crate) fn initread_any(
        &mut self,
        now: Duration,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
    ) -> Result<OpId, Unposted> {
        if let Err(error) = self.check(self.rank) {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        let op = self.new_op();
        let read = Posted::new(op, place, element, now);
        let ready = self.links.iter().filter(|link| link.incoming.has_arrived(key));
        if let Some(from) = ready.min_by_key(|link| link.incoming.any_taken).map(|link| link.peer()) {
            let operation = Operation::new(OperationKind::Read, self.rank, from, key.user_tag(), read.capacity);
            let link = &mut self.links[from.index()];
            link.incoming.any_taken = self.shared.any.count();
            link.initread(key, read, operation, &mut self.shared)?;
            return Ok(op);
        }
        self.shared.any.push(key, read);
        for link in &mut self.links {
            link.ask(key, &mut self.shared);
        }
        Ok(op)
    }

    /// [`Engine::withdraw`] of a read of any origin.
    pub(crate) fn withdraw_any(&mut self, key: MatchKey, op: OpId) -> bool {
        let read = self.shared.any.withdraw(key, op);
        self.end_withdrawn(read)
    }

    /// A read that has met its message is given up: what arrives for it, from `from` or from any rank, is for another
    /// read. It has to be told at once, before other reads are posted, so that they find messages in their order.
    pub(crate) fn unmeet(&mut self, from: Option<Rank>, op: OpId) {
        let links = self.links.iter_mut().filter(|link| from.is_none_or(|from| link.peer() == from));
        for link in links {
            if link.unmeet(op, &mut self.shared) {
                return;
            }
        }
    }

    /// A message that a read has met, and that nobody has taken, is for another read.
    pub(crate) fn put_back(&mut self, now: Duration, key: MatchKey, origin: Origin, place: Box<dyn ReceiveBuffer>) {
        self.shared.now = now;
        if self.failure.is_some() {
            return self.shared.spent.push(place.into_any());
        }
        self.links[origin.from.index()].put_back(key, origin, place, &mut self.shared);
    }
}
