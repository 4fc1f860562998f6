//! Whether the peer has acknowledged so much that something may be sent. Of long messages to a peer that reads beside this node more may be
//! unacknowledged than of others, unless short ones come between.

use super::{BOUND_BYTES, Outgoing};

/// So many long messages go like others after a short one that was posted while such were under way.
const MIXED_MESSAGES: u32 = 8;

impl Outgoing {
    /// Whether the peer has acknowledged so much that another call's worth may be sent.
    pub(in crate::engine) fn has_room(&self) -> bool {
        self.retention.has_room(self.next_bytes())
    }

    /// A message of so many bytes is posted.
    pub(super) fn mixes(&mut self, bytes: u64) {
        if self.retention.is_long(bytes) {
            self.mixed = self.mixed.saturating_sub(1);
        } else if !self.bulk.is_empty() || self.retention.kept() > BOUND_BYTES {
            self.mixed = MIXED_MESSAGES;
        }
    }

    /// The bytes of the message that is sent next, as far as there is one and its length matters.
    pub(in crate::engine) fn next_bytes(&self) -> u64 {
        if self.mixed > 0 {
            return 0;
        }
        let under_way = self.partial.as_ref().and_then(|partial| partial.payload.as_ref()).map(|(index, _)| *index);
        let next = under_way.or_else(|| self.express.front().map(|entry| entry.index()));
        next.or_else(|| self.bulk.front().copied()).map_or(0, |index| self.message(index).message_header.total)
    }
}
