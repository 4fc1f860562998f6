//! Messages meet reads: of a key in the order of their message headers and of the reads' posting.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use super::Incoming;
use super::tables::shrink;
use crate::buffer::memory;
use crate::engine::arriving::{NO_MESSAGE, Posted, Sink, Unmatched};
use crate::engine::notes::Progress;
use crate::engine::outgoing::{Control, Written, cost};
use crate::engine::spare;
use crate::engine::{Completed, Outcome};
use crate::error::{Error, Mismatch};
use crate::wire::frame::{MatchKey, MessageHeader};

impl Incoming {
    /// A read meets message `message_id`, which is known and unmatched.
    pub(super) fn meet(
        &mut self,
        message_id: u64,
        read: Posted,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) {
        let Some(mut message) = self.messages.remove(&message_id) else { return };
        message.next = NO_MESSAGE;
        let message_header = message.message_header;
        let fits = self.fits(&message_header, &read);
        match message.sink {
            Sink::Buffer(buffer) => {
                self.credit_due += cost(&message_header);
                message.sink = self.assign(message_id, &message_header, read, control, completions);
                if let Sink::ReceiveBuffer { place, .. } = &mut message.sink {
                    memory::copy(&mut place.bytes_mut()[..buffer.len()], &buffer);
                }
                spare::keep(buffer);
            }
            Sink::Returned(mut before) => {
                message.sink = self.assign(message_id, &message_header, read, control, completions);
                // Of a message in parts it is not looked which are here.
                let to = if message.is_split() { message_header.total } else { message.received } as usize;
                if let Sink::ReceiveBuffer { place, .. } = &mut message.sink {
                    memory::copy(&mut place.bytes_mut()[..to], &before.bytes_mut()[..to]);
                }
                self.spent.push(before.into_any());
            }
            Sink::Envelope { answer } => {
                self.forget_envelope(answer);
                message.sink = self.assign(message_id, &message_header, read, control, completions);
                if fits {
                    control.push_back(Control::about(crate::wire::frame::Kind::Grant, message_id));
                }
                self.messages.insert(message_id, message);
                return;
            }
            Sink::Own { op, source } => {
                message.sink = self.assign(message_id, &message_header, read, control, completions);
                let bytes = source.part(0..message_header.total as usize);
                let failure = match (&mut message.sink, bytes) {
                    (Sink::ReceiveBuffer { place, .. }, Some(bytes)) => {
                        memory::copy(&mut place.bytes_mut()[..bytes.len()], bytes);
                        None
                    }
                    (sink @ Sink::ReceiveBuffer { .. }, None) => {
                        let error = self.broken(&message_header);
                        if let Sink::ReceiveBuffer { op, mut place } = std::mem::replace(sink, Sink::Discard) {
                            place.unmeet();
                            let outcome = Outcome::failed_with(error.clone(), place.into_any());
                            completions.push_back(Completed { op, outcome });
                        }
                        Some(error)
                    }
                    _ => {
                        // The write learns it from its own end.
                        control.pop_back();
                        Some(self.mismatch(&message_header, completions))
                    }
                };
                let outcome = match failure {
                    None => Outcome::Written(Written::whole(source)),
                    Some(error) => Outcome::failed_with(error, source.into_any()),
                };
                completions.push_back(Completed { op, outcome });
            }
            Sink::ReceiveBuffer { .. } | Sink::Discard => unreachable!("an unmatched message is buffered or announced"),
        }
        self.messages.insert(message_id, message);
        self.finish(message_id, completions);
    }

    /// Where a message goes that met `read`: its place, or nowhere if it does not fit, which both sides learn.
    pub(super) fn assign(
        &mut self,
        message_id: u64,
        message_header: &MessageHeader,
        read: Posted,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) -> Sink {
        self.notes.take(message_id, Progress::Meets(read.op));
        if self.fits(message_header, &read) {
            let mut place = read.place;
            place.meet(self.peer, message_header.total);
            return Sink::ReceiveBuffer { op: read.op, place };
        }
        let mismatch = Mismatch {
            from: self.peer,
            to: self.rank,
            tag: message_header.key.tag,
            sent: (message_header.total, message_header.element),
            posted: (read.capacity, read.element),
        };
        let outcome = Outcome::failed_with(Error::Mismatch(mismatch.into()), read.place.into_any());
        completions.push_back(Completed { op: read.op, outcome });
        let posted = MessageHeader { key: message_header.key, element: read.element, total: read.capacity };
        control.push_back(Control::refuse(message_id, posted, *message_header));
        Sink::Discard
    }

    fn fits(&self, message_header: &MessageHeader, read: &Posted) -> bool {
        let Posted { capacity, element, must_be_filled, .. } = *read;
        let is_short = message_header.total < capacity && must_be_filled;
        message_header.total <= capacity && message_header.element == element && !is_short
    }

    /// The error that `seat` just gave the read, for the writer within this node.
    fn mismatch(&self, message_header: &MessageHeader, completions: &VecDeque<Completed>) -> Error {
        match completions.back() {
            Some(Completed { outcome: Outcome::Failed(failure), .. }) => failure.error.clone(),
            _ => unreachable!("a message of tag {} was refused without an error", message_header.key.tag),
        }
    }

    /// Asks for the messages of `key` that reads wait for.
    pub(super) fn want(&mut self, key: MatchKey, control: &mut VecDeque<Control>) {
        let Some(queue) = self.posted.queue_mut(key) else { return };
        // Reads are asked for in order, so those not asked for yet are at the end.
        let first = queue.iter().rposition(|read| read.wanted).map_or(0, |at| at + 1);
        for read in queue.range_mut(first..) {
            read.wanted = true;
            self.wants += 1;
            control.push_back(Control::want(key, read.element, read.capacity));
        }
    }

    /// An announced message is more than announced now.
    pub(super) fn forget_envelope(&mut self, answer: bool) {
        if answer {
            self.answers -= 1;
        } else {
            self.envelopes -= 1;
        }
    }

    pub(super) fn take_posted(&mut self, key: MatchKey) -> Option<Posted> {
        self.posted.take_front(key)
    }

    /// The oldest unmatched message of `key` is about to be matched.
    pub(super) fn take_arrived(&mut self, key: MatchKey) -> Option<u64> {
        let queue = self.arrived.get_mut(&key)?;
        let message_id = queue.first;
        let next = self.messages.get(&message_id).map_or(NO_MESSAGE, |message| message.next);
        if next == NO_MESSAGE {
            self.arrived.remove(&key);
            shrink(&mut self.arrived);
        } else {
            queue.first = next;
        }
        Some(message_id)
    }

    /// Message `message_id`, which is known, waits for a read behind those of its key.
    pub(super) fn push_arrived(&mut self, key: MatchKey, message_id: u64) {
        match self.arrived.entry(key) {
            Entry::Vacant(vacant) => _ = vacant.insert(Unmatched { first: message_id, last: message_id }),
            Entry::Occupied(mut occupied) => {
                let last = std::mem::replace(&mut occupied.get_mut().last, message_id);
                if let Some(message) = self.messages.get_mut(&last) {
                    message.next = message_id;
                }
            }
        }
    }
}
