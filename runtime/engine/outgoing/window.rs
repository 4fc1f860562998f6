//! What may go: a message within the receiver's credit at once; one beyond it is announced, and goes when it is granted or
//! the credit has come; who has too many to announce holds them.

use std::time::Duration;

use super::{Control, Express, HELD_ORDER_MIN, MESSAGE_COST, Message, Outgoing, Stage, WANTS_MAX, cost};
use crate::buffer::SendBuffer;
use crate::engine::OpId;
use crate::wire::frame::{HOLDING, Kind, MatchKey, MessageHeader};

impl Outgoing {
    /// Takes a message; it is sent, announced or held as the credit allows.
    pub(in crate::engine) fn post(
        &mut self,
        op: OpId,
        message_header: MessageHeader,
        source: Box<dyn SendBuffer>,
        since: Duration,
    ) {
        self.mixes(message_header.total);
        let message_id = self.next_message_id;
        self.next_message_id += 1;
        let key = message_header.key;
        let message = Message {
            op,
            message_id,
            message_header,
            source,
            since,
            sent: 0,
            stage: Stage::Held,
            stopped: None,
            stamp: None,
            parts: 0,
            said: 0,
        };
        let index = self.insert(message);
        let wanted = self.wants.contains_key(&key);
        if self.held.contains_key(&key) {
            self.hold(index);
        } else if cost(&message_header) <= self.credit {
            self.take_want(key);
            self.ready_by_credit(index);
        } else if wanted {
            self.take_want(key);
            self.announce(index, true);
        } else if self.envelopes < self.envelopes_max {
            self.announce(index, false);
        } else {
            self.hold(index);
        }
    }

    /// Whether a message of `bytes` would be ready when it is posted, and nothing but the socket could keep it from leaving.
    pub(in crate::engine) fn takes_at_once(&self, bytes: u64) -> bool {
        let has_credit = self.held.is_empty() && bytes.saturating_add(MESSAGE_COST) <= self.credit;
        has_credit && self.retention.has_room(0) && !self.is_down && !self.is_mute
    }

    /// A message leaves that [would be taken at once](Self::takes_at_once).
    pub(in crate::engine) fn takes_credit(&mut self, message_header: &MessageHeader) {
        self.take_want(message_header.key);
        self.credit -= cost(message_header);
    }

    /// The receiver has room again.
    pub(in crate::engine) fn credit(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
        let announced: Vec<usize> = self.announced.values().copied().collect();
        for index in announced {
            let message = self.message(index);
            if matches!(message.stage, Stage::Announced { sent: true, .. })
                && cost(&message.message_header) <= self.credit
            {
                self.credit -= cost(&message.message_header);
                self.leave_announced(index);
                self.make_ready(index, Stage::Ready { opened: true, charged: true });
            }
        }
        self.promote_held();
    }

    /// The receiver has a place for message `message_id`. A grant that crossed with credit finds nothing, rightly.
    /// `false`: it cannot know the message yet.
    pub(in crate::engine) fn grant(&mut self, message_id: u64) -> bool {
        let Some(&index) = self.announced.get(&message_id) else { return true };
        if matches!(self.message(index).stage, Stage::Announced { sent: false, .. }) {
            return false;
        }
        self.leave_announced(index);
        self.make_ready(index, Stage::Ready { opened: true, charged: false });
        self.promote_held();
        true
    }

    /// The receiver reads `key` and has nothing for it. `false`: more wants than any program posts reads.
    pub(in crate::engine) fn want(&mut self, key: MatchKey) -> bool {
        match self.held.get(&key).and_then(|queue| queue.front().copied()) {
            Some(index) => {
                self.unhold(key);
                self.announce(index, true);
                self.say_hold_ends();
            }
            None => {
                let wants = self.wants.entry(key).or_default();
                *wants = wants.saturating_add(1);
            }
        }
        self.wants.len() <= WANTS_MAX
    }

    /// Whether an envelope may still become an ordinary first fragment, because credit came meanwhile.
    pub(in crate::engine) fn envelope_can_go_as_message(&mut self, index: usize) -> bool {
        let cost = cost(&self.message(index).message_header);
        if cost > self.credit {
            return false;
        }
        self.credit -= cost;
        self.leave_announced(index);
        self.message_mut(index).stage = Stage::Ready { opened: false, charged: false };
        true
    }

    fn ready_by_credit(&mut self, index: usize) {
        self.credit -= cost(&self.message(index).message_header);
        self.make_ready(index, Stage::Ready { opened: false, charged: false });
    }

    fn make_ready(&mut self, index: usize, stage: Stage) {
        self.message_mut(index).stage = stage;
        // A message that takes credit goes in order too: the receiver counts its envelope until it starts, and
        // an envelope sent in its stead must not come first.
        let granted = matches!(stage, Stage::Ready { opened: true, charged: false });
        let total = self.message(index).message_header.total as usize;
        let is_new = matches!(stage, Stage::Ready { opened: false, .. });
        if granted && total > self.fragment_bytes {
            self.push_bulk(index);
        } else if is_new && total > self.batch.bytes() && self.express.is_empty() && !self.has_lanes() {
            // Nothing of its key comes before it there.
            self.push_bulk(index);
        } else {
            if is_new {
                self.open_before(self.message(index).message_header.key);
            }
            self.express.push_back(Express::Message(index));
        }
    }

    /// Something of `key` is about to leave in the order of posting: what was posted before it is opened first.
    fn open_before(&mut self, key: MatchKey) {
        if self.bulk.is_empty() {
            return;
        }
        let Outgoing { bulk, express, messages, .. } = self;
        bulk.retain(|&index| {
            let message = messages[index].as_ref().expect("queues name messages that exist");
            let waits =
                message.message_header.key == key && matches!(message.stage, Stage::Ready { opened: false, .. });
            if waits {
                express.push_back(Express::Message(index));
            }
            !waits
        });
    }

    fn announce(&mut self, index: usize, answer: bool) {
        self.envelopes += u32::from(!answer);
        self.open_before(self.message(index).message_header.key);
        let message = self.message_mut(index);
        message.stage = Stage::Announced { answer, sent: false };
        let message_id = message.message_id;
        self.announced.insert(message_id, index);
        self.express.push_back(Express::Envelope(index));
    }

    pub(super) fn leave_announced(&mut self, index: usize) {
        let message = self.message(index);
        if let Stage::Announced { answer: false, .. } = message.stage {
            self.envelopes -= 1;
        }
        let message_id = self.message(index).message_id;
        self.announced.remove(&message_id);
    }

    fn hold(&mut self, index: usize) {
        let message = self.message(index);
        let (key, message_id) = (message.message_header.key, message.message_id);
        if self.held.is_empty() {
            self.control.push_back(Control { flags: HOLDING, ..Control::about(Kind::Hold, 0) });
        }
        self.held.entry(key).or_default().push_back(index);
        self.held_order.push_back((key, message_id));
        if self.held_order.len() > self.held_order_max {
            // Entries go out of date only from the front of their key's queue.
            let mut order = std::mem::take(&mut self.held_order);
            order.retain(|(key, message_id)| {
                let oldest = self.held.get(key).and_then(|queue| queue.front());
                oldest.is_some_and(|&index| *message_id >= self.message(index).message_id)
            });
            self.held_order_max = (2 * order.len()).max(HELD_ORDER_MIN);
            self.held_order = order;
        }
    }

    /// Takes the oldest held message of `key` out of the queue.
    fn unhold(&mut self, key: MatchKey) {
        let queue = self.held.get_mut(&key).expect("a held message has a queue");
        queue.pop_front();
        if queue.is_empty() {
            self.held.remove(&key);
        }
    }

    /// Sends or announces held messages in the order of posting, as far as it goes.
    pub(super) fn promote_held(&mut self) {
        while let Some(&(key, message_id)) = self.held_order.front() {
            let oldest = self.held.get(&key).and_then(|queue| queue.front().copied());
            let Some(index) = oldest.filter(|&index| self.message(index).message_id == message_id) else {
                self.held_order.pop_front();
                continue;
            };
            let by_credit = cost(&self.message(index).message_header) <= self.credit;
            if !by_credit && self.envelopes >= self.envelopes_max {
                return;
            }
            self.held_order.pop_front();
            self.unhold(key);
            if by_credit {
                self.ready_by_credit(index);
            } else {
                self.announce(index, false);
            }
            self.say_hold_ends();
        }
    }

    fn say_hold_ends(&mut self) {
        if self.held.is_empty() {
            self.held_order.clear();
            self.control.push_back(Control::about(Kind::Hold, 0));
        }
    }

    fn take_want(&mut self, key: MatchKey) {
        if self.wants.is_empty() {
            return;
        }
        if let Some(count) = self.wants.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.wants.remove(&key);
            }
        }
    }
}
