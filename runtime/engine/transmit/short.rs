//! A short message that is all there is to send: it leaves in one piece, without being put into a frame for a call of many; as it is
//! posted even without being put into a queue.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use super::{COPY_BYTES_MAX, Sent, Unsent, write_some};
use crate::engine::outgoing::{Express, Outgoing, Partial, Stage};
use crate::engine::{Completed, OpId};
use crate::wire::frame::{FIRST, Kind, MessageHeader};

/// A short message that is about to be posted.
pub(in crate::engine) struct Short<'a> {
    pub(in crate::engine) op: OpId,
    pub(in crate::engine) message_header: MessageHeader,
    pub(in crate::engine) bytes: &'a [u8],
}

impl Outgoing {
    /// Sends a message that is not posted, if it is short, may go, and nothing is before it. Returns whether all of it has left, or
    /// the rest waits for room; of neither the buffer is needed any more. `None`: nothing was sent.
    pub(in crate::engine) fn send_unposted(
        &mut self,
        short: &Short<'_>,
        scratch: &mut Vec<u8>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Option<Sent>> {
        let &Short { op, message_header, bytes } = short;
        let is_alone = self.express.is_empty() && self.has_nothing_else() && self.is_drained();
        if !is_alone || bytes.len() > self.short_max() || !self.takes_at_once(message_header.total) {
            return Ok(None);
        }
        if self.retention.unsent() > 0 || self.notes.are_wanted() {
            return Ok(None);
        }
        let message_id = self.next_message_id;
        scratch.clear();
        self.put_head((Kind::Data, FIRST), message_id, Some(message_header), bytes.len(), scratch);
        scratch.extend_from_slice(bytes);
        let written = match write_some(&[IoSlice::new(scratch)], write) {
            Ok(written) => written,
            Err(Unsent::Socket(error)) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) => return Ok(None),
        };
        self.next_message_id += 1;
        self.takes_credit(&message_header);
        self.short_has_left(scratch, written);
        self.remember(message_id, op, message_header);
        if written == scratch.len() {
            return Ok(Some(Sent::All));
        }
        self.partial = Some(Partial { head: scratch[written..].to_vec(), payload: None, finishes: None });
        Ok(Some(Sent::Blocked))
    }

    /// The first `written` bytes of a short message have left; `frame`: all of it, with its head.
    fn short_has_left(&mut self, frame: &[u8], written: usize) {
        self.number = self.number.wrapping_add(1);
        self.express_run += frame.len();
        self.has_sent_short = true;
        self.keep(&frame[..written], None);
    }

    /// Whether nothing but short messages waits to be sent.
    fn has_nothing_else(&self) -> bool {
        let has_queues = self.stamp_due.is_some() || !self.control.is_empty() || !self.bulk.is_empty();
        self.partial.is_none() && !has_queues && !self.acknowledgement.is_due(true)
    }

    /// The most bytes of a message that leaves in one piece.
    fn short_max(&self) -> usize {
        self.batch.bytes().min(COPY_BYTES_MAX)
    }

    /// The short message that is all there is to send, if that is so.
    pub(super) fn only_short(&self) -> Option<usize> {
        let &Express::Message(index) = self.express.front()? else { return None };
        if self.express.len() > 1 || !self.has_nothing_else() || !self.has_room() {
            return None;
        }
        let message = self.message(index);
        let is_new = message.stage == Stage::Ready { opened: false, charged: false };
        let is_short = message.message_header.total <= self.short_max() as u64;
        (is_new && message.stamp.is_none() && is_short).then_some(index)
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
        self.express.pop_front();
        self.short_has_left(scratch, written);
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
