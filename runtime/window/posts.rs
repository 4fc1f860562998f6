//! The messages of windows, as they are posted to the engine: what each is for.

use std::collections::VecDeque;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};

use super::codec::{REFUSALS, REQUESTS};
use crate::buffer::{Element, ReceiveBuffer, SendBuffer};
use crate::engine::{Engine, OpId};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::wire::frame::MatchKey;

/// What a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A request of this rank's, or a refusal by it, that leaves.
    Leaves,
    /// Part of this operation of the rank's own.
    Own { op: OpId },
    /// A chunk of the operands of another rank's request, the one of this number.
    Operands { from: Rank, number: u64, chunk: u64 },
    /// A refusal from another rank.
    Refusal { from: Rank },
    /// A chunk that another rank has asked for.
    Reply { to: Rank, bytes: usize },
    /// A request of another rank, by the read of this number.
    Request { from: Rank, number: u64 },
}

/// The messages under way.
pub(super) struct Messages {
    purposes: HashMap<OpId, Purpose>,
    /// What this rank has sent to itself, and is to read, as the engine says of what others have sent.
    pub(super) own: VecDeque<(Rank, Option<Tag>)>,
    /// Something is to leave that nobody has sent yet.
    pub(super) has_output: bool,
}

impl Messages {
    pub(super) fn new() -> Self {
        Messages { purposes: HashMap::new(), own: VecDeque::new(), has_output: false }
    }

    /// Whether there are such.
    pub(super) fn is_empty(&self) -> bool {
        self.purposes.is_empty()
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.purposes.len()
    }

    /// A message has ended: what it was for, if it is one of windows.
    pub(super) fn take(&mut self, op: OpId) -> Option<Purpose> {
        self.purposes.remove(&op)
    }

    /// Posts to `engine`, at `now`.
    pub(super) fn posts<'a>(&'a mut self, engine: &'a mut Engine, now: Duration) -> Posts<'a> {
        Posts { messages: self, engine, now }
    }
}

/// The messages, and where more are posted.
pub(super) struct Posts<'a> {
    messages: &'a mut Messages,
    engine: &'a mut Engine,
    now: Duration,
}

impl Posts<'_> {
    /// A name for an operation.
    pub(super) fn new_op(&mut self) -> OpId {
        self.engine.new_op()
    }

    /// The time.
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// Reads a message into `place`. All messages of windows are bytes; a request says what they mean.
    pub(super) fn read(
        &mut self,
        from: Rank,
        key: MatchKey,
        place: Box<dyn ReceiveBuffer>,
        purpose: Purpose,
    ) -> Result<OpId, Error> {
        let op = self.engine.initread(self.now, from, key, u8::TYPE, place)?;
        self.messages.purposes.insert(op, purpose);
        Ok(op)
    }

    /// Writes a message.
    pub(super) fn write(
        &mut self,
        to: Rank,
        key: MatchKey,
        source: Box<dyn SendBuffer>,
        purpose: Purpose,
    ) -> Result<OpId, Error> {
        let op = self.engine.initwrite(self.now, to, key, u8::TYPE, source)?;
        self.messages.purposes.insert(op, purpose);
        self.messages.has_output = true;
        if to == self.engine.rank() && [REQUESTS, REFUSALS].contains(&key) {
            self.messages.own.push_back((to, Some(key.tag)));
        }
        Ok(op)
    }

    /// Gives up a read: nothing will come to it, or nobody wants it any more.
    pub(super) fn withdraw(&mut self, from: Rank, key: MatchKey, op: OpId) {
        self.messages.purposes.remove(&op);
        self.engine.withdraw(from, key, op);
    }

    /// Whether this node can write nothing more.
    pub(super) fn is_leaving(&self) -> bool {
        self.engine.is_leaving()
    }
}
