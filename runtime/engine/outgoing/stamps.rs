//! Stamps on their way out: of a message just posted, and of none.

use super::{Body, Control, Express, Outgoing};
use crate::engine::operation::OpId;
use crate::wire::frame::{Kind, PING, Stamp};

/// Stamps of no message that may wait to be sent.
const PINGS_MAX: usize = 16;

impl Outgoing {
    /// Has the message just posted carry a stamp, if it is the only thing to send and may go: the time on the way of one
    /// that waits behind others, or for credit, says little about the link.
    pub(in crate::engine) fn stamp(&mut self, op: OpId, stamp: Stamp) {
        let only = match (self.express.front(), self.bulk.front()) {
            (Some(&Express::Message(index)), None) if self.express.len() == 1 => index,
            (None, Some(&index)) if self.bulk.len() == 1 => index,
            _ => return,
        };
        let is_next = self.partial.is_none() && self.control.is_empty();
        if is_next && self.message(only).op == op {
            self.message_mut(only).stamp = Some(stamp);
        }
    }

    /// A stamp of no message, to be answered `answers` times in turn.
    pub(in crate::engine) fn ping(&mut self, stamp: Stamp, answers: u32) {
        // One that waits behind others tells nothing of the link; and who does not read must not make them pile up.
        if self.control.iter().filter(|control| control.flags & PING != 0).count() >= PINGS_MAX {
            return;
        }
        self.control.push_back(Control {
            flags: PING,
            body: Body::Stamp(stamp),
            ..Control::about(Kind::Stamp, answers.into())
        });
    }
}
