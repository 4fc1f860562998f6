//! Messages that come in one frame, as most short ones do: to the read that waits, or to memory of the window, at once.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Incoming, early};
use crate::buffer::{ReceiveBuffer, memory};
use crate::engine::arriving::{Arriving, Sink};
use crate::engine::notes::Progress;
use crate::engine::outgoing::{Control, cost};
use crate::engine::{Completed, OpId, Origin, Outcome};
use crate::wire::frame::MessageHeader;

impl Incoming {
    /// All `bytes` of a message have come with its header, while no read of any origin waits. Returns whether it has met a read;
    /// `None`: there is something unusual about it, so it is to be opened like a longer one ([`Incoming::open`]), which looks
    /// into that.
    pub(in crate::engine) fn take_whole(
        &mut self,
        (message_id, message_header): (u64, &MessageHeader),
        bytes: &[u8],
        now: Duration,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) -> Option<bool> {
        let (cost, total) = (cost(message_header), message_header.total);
        let is_usual = !self.holding && self.asked.is_empty() && cost <= self.allowance;
        if !is_usual || self.messages.contains_key(&message_id) {
            return None;
        }
        self.allowance -= cost;
        self.last_complete = Some((message_id, total));
        let Some(read) = self.take_posted(message_header.key) else {
            self.notes.take(message_id, Progress::Arrives { bytes: total });
            self.push_arrived(message_header.key, message_id);
            let message = Arriving::new(*message_header, Sink::Buffer(early::copy_of(bytes)), now);
            self.messages.insert(message_id, Box::new(Arriving { received: total, ..message }));
            return Some(false);
        };
        self.credit_due += cost;
        let sink = self.assign(message_id, message_header, read, control, completions);
        self.notes.take(message_id, Progress::Arrives { bytes: total });
        // Else it did not fit, which both ends are told.
        if let Sink::ReceiveBuffer { op, mut place } = sink {
            memory::copy(&mut place.bytes_mut()[..bytes.len()], bytes);
            self.fill(message_id, message_header, (op, place), completions);
        }
        Some(true)
    }

    /// All of a message is in the place of its read, which ends.
    pub(super) fn fill(
        &mut self,
        message_id: u64,
        message_header: &MessageHeader,
        (op, mut place): (OpId, Box<dyn ReceiveBuffer>),
        completions: &mut VecDeque<Completed>,
    ) {
        let filled = place.bytes_mut().len() as u64 == message_header.total;
        self.last_filled = filled.then_some(*message_header);
        place.truncate(message_header.total as usize);
        let origin = Origin { from: self.peer, message_id, element: message_header.element };
        completions.push_back(Completed { op, outcome: Outcome::Read(place, origin) });
    }
}
