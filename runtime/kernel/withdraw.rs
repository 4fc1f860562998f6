//! Reads that the program gives up: none loses a message.
//!
//! A read that no message has met is withdrawn. One that a message has met, whether that is still arriving or is complete and
//! not taken, leaves the message to the next read of its tag, in its place in the order.

use super::Kernel;
use super::completion::{Completion, Detached};
use super::panics::Locked;

impl Kernel {
    /// A handle is gone, with its outcome or before there was one.
    pub(crate) fn abandon(&self, completion: &Completion) {
        match completion.detach() {
            Detached::Over => {}
            // Its core may have been locked when this process was forked.
            _ if self.forked().is_some() => {}
            Detached::UnderWay if completion.is_read() => {
                let mut core = self.lock();
                core.give_up(completion);
                self.leave_returned(core);
            }
            Detached::Unread(place, origin) => {
                let mut core = self.lock();
                core.give_back(completion, origin, place);
                self.leave_returned(core);
            }
            Detached::Refused(error) => self.lock().keep_refusal(error),
            Detached::UnderWay => {}
        }
    }

    /// A message that has gone back may have met another read, and its sender may have to hear of that.
    fn leave_returned(&self, mut core: Locked<'_>) {
        if self.task_may_move() {
            core.flush();
        } else {
            core.hand_on();
        }
        self.unlock(core);
    }

    /// Withdraws a read, if no message has met it: its outcome is its buffer. Returns whether that is so.
    pub(crate) fn cancel(&self, completion: &Completion) -> bool {
        if completion.is_done() || !completion.is_read() || self.forked().is_some() {
            return false;
        }
        let mut core = self.lock();
        let is_withdrawn = core.withdraw(completion);
        core.hand_on();
        self.unlock(core);
        is_withdrawn
    }
}
