//! Messages that a read has met and nobody has taken: they go back, to be read in their place in the order.

use std::collections::VecDeque;
use std::time::Duration;

use super::Incoming;
use crate::buffer::ReceiveBuffer;
use crate::engine::any::AnyReads;
use crate::engine::arriving::{Arriving, NO_MESSAGE, Sink, Unmatched};
use crate::engine::outgoing::Control;
use crate::engine::{Completed, OpId, Origin, Outcome};
use crate::wire::frame::{MatchKey, MessageHeader};

impl Incoming {
    /// The read `op` is given up. If its message is arriving, that is for another read; returns whether it was.
    pub(in crate::engine) fn unmeet(
        &mut self,
        op: OpId,
        any: &mut AnyReads,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) -> bool {
        let is_met = |message: &Arriving| matches!(message.sink, Sink::ReceiveBuffer { op: met, .. } if met == op);
        let Some((&message_id, message)) = self.messages.iter_mut().find(|(_, message)| is_met(message)) else {
            return false;
        };
        let key = message.message_header.key;
        if let Sink::ReceiveBuffer { place, .. } = std::mem::replace(&mut message.sink, Sink::Discard) {
            message.sink = Sink::Returned(place);
        }
        completions.push_back(Completed { op, outcome: Outcome::Abandoned(None) });
        self.offer(key, message_id, any, control, completions);
        true
    }

    /// A message that was complete, in the buffer of its read, is for another read.
    pub(in crate::engine) fn put_back(
        &mut self,
        (key, origin): (MatchKey, Origin),
        mut place: Box<dyn ReceiveBuffer>,
        now: Duration,
        any: &mut AnyReads,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) {
        // A peer that names two messages alike breaks the protocol, and nothing more.
        if self.messages.contains_key(&origin.message_id) {
            return self.spent.push(place.into_any());
        }
        let total = place.bytes_mut().len() as u64;
        let message_header = MessageHeader { key, element: origin.element, total };
        let message =
            Arriving { received: total, at: total, ..Arriving::new(message_header, Sink::Returned(place), now) };
        self.messages.insert(origin.message_id, Box::new(message));
        self.offer(key, origin.message_id, any, control, completions);
    }

    /// A message is without a read again.
    fn offer(
        &mut self,
        key: MatchKey,
        message_id: u64,
        any: &mut AnyReads,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) {
        match self.take_oldest(key, any) {
            Some(read) => {
                if read.wanted {
                    self.asked.insert(key);
                }
                self.meet(message_id, read, control, completions);
            }
            None => self.insert_arrived(key, message_id),
        }
    }

    /// Message `message_id` waits for a read where it belongs: messages of a key are numbered in their order.
    fn insert_arrived(&mut self, key: MatchKey, message_id: u64) {
        let Some(queue) = self.arrived.get(&key).copied() else { return self.push_arrived(key, message_id) };
        if queue.last < message_id {
            return self.push_arrived(key, message_id);
        }
        let next = |message_id: &u64| self.messages.get(message_id).map(|message| message.next);
        let before = std::iter::successors(Some(queue.first), next).take_while(|&other| other < message_id).last();
        let after = match before {
            Some(before) => {
                let before = self.messages.get_mut(&before);
                before.map_or(NO_MESSAGE, |before| std::mem::replace(&mut before.next, message_id))
            }
            None => {
                self.arrived.insert(key, Unmatched { first: message_id, ..queue });
                queue.first
            }
        };
        if let Some(message) = self.messages.get_mut(&message_id) {
            message.next = after;
        }
    }
}
