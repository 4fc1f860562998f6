//! Messages of which lanes other than the first bring parts: each at its own place, in no order among them.

use super::{Incoming, early};
use crate::buffer::memory;
use crate::engine::arriving::{Arriving, Sink};
use crate::error::WireError;

impl Incoming {
    /// Whether message `message_id` has been opened, and has a place, so that parts of it may come.
    pub(in crate::engine) fn takes_parts(&self, message_id: u64) -> bool {
        let message = self.messages.get(&message_id);
        message.is_some_and(|message| !matches!(message.sink, Sink::Envelope { .. } | Sink::Own { .. }))
    }

    /// A lane is about to bring `length` bytes of message `message_id` from `at` on, unless that has been refused.
    pub(in crate::engine) fn split(&mut self, message_id: u64, at: u64, length: u64) -> Result<(), WireError> {
        let Some(message) = self.messages.get_mut(&message_id) else {
            return Err(WireError::NoSuchMessage { what: "a segment", message_id });
        };
        let total = message.message_header.total;
        let to = at.saturating_add(length);
        if matches!(message.sink, Sink::Envelope { .. } | Sink::Own { .. }) {
            return Err(WireError::NoSuchMessage { what: "a segment", message_id });
        }
        if to > total {
            return Err(WireError::TooLong { what: "a segment's end", got: to, most: total });
        }
        message.parts().segments += 1;
        if message.parts().aborted.is_some() && message.is_all_here() {
            self.messages.remove(&message_id);
            return Ok(());
        }
        if let Sink::Buffer(buffer) = &mut message.sink {
            early::fill(buffer, total as usize);
        }
        Ok(())
    }

    /// The bytes of message `message_id` in `at..to`, if they go straight into a posted buffer.
    pub(in crate::engine) fn part(&mut self, message_id: u64, at: u64, to: u64) -> Option<&mut [u8]> {
        match &mut self.messages.get_mut(&message_id)?.sink {
            Sink::ReceiveBuffer { place, .. } | Sink::Returned(place) => {
                place.bytes_mut().get_mut(at as usize..to as usize)
            }
            _ => None,
        }
    }

    /// How many bytes of message `message_id` are still to come on all lanes.
    pub(in crate::engine) fn to_come(&self, message_id: u64) -> u64 {
        let to_come = |message: &Arriving| {
            let aborted = message.parts.as_ref().and_then(|parts| parts.aborted);
            let most = aborted.map_or(message.message_header.total, |(bytes, _)| bytes);
            most.saturating_sub(message.received)
        };
        self.messages.get(&message_id).map_or(0, |message| to_come(message))
    }

    /// The sender sends no more of the refused message `message_id` than `bytes` in so many segments; other lanes may still
    /// bring some of them.
    pub(in crate::engine) fn abort(&mut self, message_id: u64, bytes: u64, segments: u64) -> Result<(), WireError> {
        match self.messages.get_mut(&message_id) {
            Some(message) if matches!(message.sink, Sink::Discard) => {
                let most = message.message_header.total;
                if bytes < message.received || bytes > most || segments < message.parts().segments {
                    return Err(WireError::TooLong { what: "what was sent before an abort", got: bytes, most });
                }
                message.parts().aborted = Some((bytes, segments));
                if message.is_all_here() {
                    self.messages.remove(&message_id);
                }
                Ok(())
            }
            Some(_) => Err(WireError::NoSuchMessage { what: "an abort", message_id }),
            // Complete before the sender knew: nothing is left to forget.
            None => Ok(()),
        }
    }

    /// Bytes of message `message_id` for the place from `at` on; not more than its lane was to bring.
    pub(in crate::engine) fn deliver_part(&mut self, message_id: u64, at: u64, bytes: &[u8]) {
        let Some(message) = self.messages.get_mut(&message_id) else { return };
        let range = at as usize..at as usize + bytes.len();
        match &mut message.sink {
            Sink::ReceiveBuffer { place, .. } | Sink::Returned(place) => {
                fill(place.bytes_mut().get_mut(range), bytes);
            }
            Sink::Buffer(buffer) => fill(buffer.get_mut(range), bytes),
            Sink::Discard | Sink::Envelope { .. } | Sink::Own { .. } => {}
        }
        message.received += bytes.len() as u64;
    }

    /// Bytes of a part that were read straight into the place.
    pub(in crate::engine) fn delivered_part(&mut self, message_id: u64, bytes: usize) {
        if let Some(message) = self.messages.get_mut(&message_id) {
            message.received += bytes as u64;
        }
    }
}

/// There is no such part in another message of the same number, which a peer has opened that does not keep to the protocol.
fn fill(part: Option<&mut [u8]>, bytes: &[u8]) {
    if let Some(part) = part {
        memory::copy(part, bytes);
    }
}
