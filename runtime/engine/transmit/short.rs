//! A short message that is all there is to send: it leaves in one piece, without being put into a frame for a call of many.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use super::{COPY_BYTES_MAX, Unsent, write_some};
use crate::engine::Completed;
use crate::engine::outgoing::{Express, Outgoing, Partial, Stage};
use crate::wire::frame::{FIRST, Kind};

impl Outgoing {
    /// The short message that is all there is to send, if that is so.
    pub(super) fn only_short(&self) -> Option<usize> {
        let &Express::Message(index) = self.express.front()? else { return None };
        let is_only = self.express.len() == 1
            && self.partial.is_none()
            && self.stamp_due.is_none()
            && self.control.is_empty()
            && self.bulk.is_empty();
        if !is_only || self.acknowledgement.is_due(true) || !self.has_room() {
            return None;
        }
        let message = self.message(index);
        let is_new = message.stage == Stage::Ready { opened: false, charged: false };
        let most = self.batch.bytes().min(COPY_BYTES_MAX) as u64;
        (is_new && message.stamp.is_none() && message.message_header.total <= most).then_some(index)
    }

    /// Sends it. Returns its bytes with their head, and how many of them were written; an error leaves it as it was.
    pub(super) fn send_short(
        &mut self,
        index: usize,
        scratch: &mut Vec<u8>,
        completions: &mut VecDeque<Completed>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        let message = self.message(index);
        let (message_id, message_header) = (message.message_id, message.message_header);
        scratch.clear();
        self.put_head((Kind::Data, FIRST), message_id, Some(message_header), message_header.total as usize, scratch);
        scratch.extend_from_slice(self.part(index, &(0..message_header.total as usize))?);
        let written = write_some(&[IoSlice::new(scratch)], write)?;
        self.number = self.number.wrapping_add(1);
        self.express.pop_front();
        self.express_run += scratch.len();
        self.has_sent_short = true;
        self.keep(&scratch[..written], None);
        if written == scratch.len() {
            self.complete(index, completions);
        } else {
            let message = self.message_mut(index);
            (message.sent, message.stage) = (message_header.total, Stage::Ready { opened: true, charged: false });
            let head = scratch[written..].to_vec();
            self.partial = Some(Partial { head, payload: None, finishes: Some(index) });
        }
        Ok((scratch.len(), written))
    }
}
