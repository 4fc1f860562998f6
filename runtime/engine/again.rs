//! What a connection has lost goes first on the next one.

use std::io::{self, IoSlice};

use super::outgoing::{CALL_BYTES_MAX, Outgoing};
use super::transmit::{Unsent, write_some};
use crate::buffer::ElementType;
use crate::ids::Tag;
use crate::wire::frame::{Context, MatchKey, MessageHeader};

impl Outgoing {
    /// Sends on of what the last connection has lost. Returns whether all that was offered was taken.
    pub(super) fn send_again(
        &mut self,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<bool, Unsent> {
        let under_way = |message_id| {
            self.messages().find(|message| message.message_id == message_id).map(|message| &*message.source)
        };
        let bytes = self
            .retention
            .lost(CALL_BYTES_MAX, under_way)
            .map_err(|message_id| Unsent::Buffer(self.header_of(message_id)))?;
        let count = write_some(&[IoSlice::new(&bytes)], write)?;
        self.retention.sent_again(count);
        Ok(count == bytes.len())
    }

    /// What is known of a message that is under way or was.
    pub(super) fn header_of(&self, message_id: u64) -> MessageHeader {
        let of_message = self.messages().find(|message| message.message_id == message_id);
        let key = MatchKey::new(Context::Collective, Tag(0));
        let unknown = MessageHeader { key, element: ElementType(0), total: 0 };
        of_message.map_or_else(|| self.remembered_id(message_id).unwrap_or(unknown), |message| message.message_header)
    }
}
