//! What is left of a peer that has said goodbye: messages that are here as a whole stay, the rest never comes.

use std::any::Any;

use foldhash::HashSet;

use super::Incoming;
use super::tables::shrink;
use crate::engine::OpId;
use crate::engine::arriving::{Arriving, NO_MESSAGE, Sink, Unmatched};
use crate::engine::outgoing::cost;
use crate::wire::frame::{MatchKey, MessageHeader};

impl Arriving {
    /// Whether some of it is still to come. What is complete and has met a read is gone.
    fn is_unfinished(&self) -> bool {
        match self.sink {
            Sink::Buffer(_) | Sink::Returned(_) => self.received < self.message_header.total,
            Sink::Own { .. } => false,
            Sink::ReceiveBuffer { .. } | Sink::Envelope { .. } | Sink::Discard => true,
        }
    }
}

/// A read that nothing ends any more, and its buffer.
pub(in crate::engine) struct Orphan {
    pub(in crate::engine) op: OpId,
    pub(in crate::engine) key: MatchKey,
    /// The most that it could have read; of one under way, the message's bytes.
    pub(in crate::engine) bytes: u64,
    pub(in crate::engine) buffer: Box<dyn Any + Send>,
}

impl Incoming {
    /// The peer sends nothing more. Ends the reads that wait, and those whose messages are not all here: a peer that keeps to
    /// the protocol has left none, but nobody is to wait for ever for one that does not. Messages that no read has met and
    /// that are not all here are forgotten, so that no read meets them.
    pub(in crate::engine) fn orphan(&mut self) -> Vec<Orphan> {
        let posted = self.posted.drain();
        let of_posted = |(key, read): (MatchKey, super::Posted)| Orphan {
            op: read.op,
            key,
            bytes: read.capacity,
            buffer: read.place.into_any(),
        };
        let mut orphans: Vec<Orphan> = posted.map(of_posted).collect();
        let unfinished = self.messages.iter().filter(|(_, message)| message.is_unfinished());
        let unfinished: HashSet<u64> = unfinished.map(|(message_id, _)| *message_id).collect();
        if !unfinished.is_empty() {
            self.relink_without(&unfinished);
        }
        for message_id in unfinished {
            let Some(message) = self.messages.remove(&message_id) else { continue };
            let Arriving { message_header, sink, .. } = *message;
            orphans.extend(self.give_up(message_header, sink));
        }
        shrink(&mut self.messages);
        orphans.sort_unstable_by_key(|orphan| orphan.op);
        orphans
    }

    /// Takes messages out of the queues of those that no read has met.
    fn relink_without(&mut self, message_ids: &HashSet<u64>) {
        let queues = std::mem::take(&mut self.arrived);
        for (key, Unmatched { first, .. }) in queues {
            let mut next = first;
            while let Some(message) = self.messages.get_mut(&next) {
                let message_id = std::mem::replace(&mut next, message.next);
                message.next = NO_MESSAGE;
                if !message_ids.contains(&message_id) {
                    self.push_arrived(key, message_id);
                }
            }
        }
    }

    /// A message that is not all here will not come.
    fn give_up(&mut self, message_header: MessageHeader, sink: Sink) -> Option<Orphan> {
        match sink {
            Sink::ReceiveBuffer { op, mut place } => {
                place.unmeet();
                let (key, bytes) = (message_header.key, message_header.total);
                return Some(Orphan { op, key, bytes, buffer: place.into_any() });
            }
            Sink::Returned(place) => self.spent.push(place.into_any()),
            Sink::Buffer(_) => self.credit_due += cost(&message_header),
            Sink::Envelope { answer } => self.forget_envelope(answer),
            // A node says no goodbye to itself.
            Sink::Discard | Sink::Own { .. } => {}
        }
        None
    }
}
