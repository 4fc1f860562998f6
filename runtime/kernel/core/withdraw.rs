//! Reads that are given up.

use super::Core;
use crate::buffer::ReceiveBuffer;
use crate::engine::Origin;
use crate::kernel::completion::Completion;
use crate::operation::OperationKind;

impl Core {
    /// Withdraws a read, if it has met no message. Returns whether it had not.
    pub(crate) fn withdraw(&mut self, completion: &Completion) -> bool {
        if self.is_broken {
            return false;
        }
        let (operation, key, op) = (completion.operation(), completion.key, completion.op);
        match operation.kind {
            OperationKind::ReadAny => self.engine.withdraw_any(key, op),
            _ => self.engine.withdraw(operation.peer, key, op),
        }
    }

    /// Whether there are buffers that nobody wants any more.
    pub(in crate::kernel) fn has_unwanted(&self) -> bool {
        !self.unwanted.is_empty() || self.engine.has_spent()
    }

    /// Nobody waits for a read any more: it is withdrawn, or its message is for another read.
    pub(crate) fn give_up(&mut self, completion: &Completion) {
        if self.withdraw(completion) || self.is_broken {
            return;
        }
        let operation = completion.operation();
        let from = (operation.kind == OperationKind::Read).then_some(operation.peer);
        self.engine.unmeet(from, completion.op);
    }

    /// A read's message was not taken: it is for another read.
    pub(crate) fn give_back(&mut self, completion: &Completion, origin: Origin, place: Box<dyn ReceiveBuffer>) {
        self.engine.put_back(self.clock.now(), completion.key, origin, place);
    }
}
