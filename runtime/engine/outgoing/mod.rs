//! One link's sending side: which message goes next, under the receiver's credit.
//!
//! A message is *held* until it may be announced, *announced* by an envelope until a grant comes, and *ready*
//! when its bytes may go. Ready messages of one fragment and envelopes leave in the order of posting (`express`), which
//! keeps the order per tag; longer messages take turns (`bulk`), those of one key one after the other. So of many
//! posted at once the first is complete when its bytes have gone, and can be passed on while the others follow. A long
//! message whose key has something to say later in `express` is opened there first.

mod beside;
mod carrying;
mod control;
mod lane;
mod lanes;
mod loan;
mod partial;
mod ranges;
mod retention;
mod room;
mod stamps;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use super::acknowledgement::Acknowledgement;
use super::batch::Batch;
use super::notes::{Notes, Progress};

use super::{Completed, Limits, OpId, Outcome};
use crate::buffer::SendBuffer;
use crate::error::Error;
use crate::wire::frame::{Kind, MatchKey, MessageHeader, Stamp};
pub(in crate::engine) use beside::BESIDE;
#[cfg(test)]
pub(in crate::engine) use beside::Beside;
pub(super) use control::{Body, Control};
use lane::Lane;
pub(crate) use lanes::LANES_MAX;
use loan::Loan;
pub(crate) use loan::Written;
pub(super) use partial::Partial;
pub(in crate::engine) use retention::{BOUND_BYTES, CALL_BYTES_MAX, Retention};

/// What a message costs of the receiver's window beside its bytes: at least what the receiver keeps of it while no read
/// has met it, with the memory that its tables and the allocator take (`Incoming::footprint`, tested there).
pub(crate) const MESSAGE_COST: u64 = 256;
/// Fragments a long message sends before the next long message has its turn.
pub(super) const TURN_FRAGMENTS: usize = 4;
/// Completed writes that are remembered, in case the receiver refuses the message late.
const SENT_LOG_MAX: usize = 256;
/// Entries of the order of held messages that are always kept.
const HELD_ORDER_MIN: usize = 64;
/// Reads a peer may have asked for without a message at hand.
const WANTS_MAX: usize = 1 << 20;

/// What a message takes from the window.
pub(super) fn cost(message_header: &MessageHeader) -> u64 {
    message_header.total.saturating_add(MESSAGE_COST)
}

/// A message on its way out.
pub(super) struct Message {
    pub(super) op: OpId,
    pub(super) message_id: u64,
    pub(super) message_header: MessageHeader,
    pub(super) source: Box<dyn SendBuffer>,
    pub(super) since: Duration,
    /// Bytes that have been put into frames.
    pub(super) sent: u64,
    pub(super) stage: Stage,
    /// Set when the message must stop: what its operation fails with, once the frame under way is complete.
    pub(super) stopped: Option<Error>,
    /// Follows the message's last frame.
    pub(super) stamp: Option<Stamp>,
    /// Parts of it that lanes have taken and that have not left.
    pub(super) parts: u32,
    /// How often lanes have said that a segment of it comes.
    pub(super) said: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// May not even be announced yet.
    Held,
    /// Its envelope is out, or about to be; `answer` if it answers a want.
    Announced { answer: bool, sent: bool },
    /// Its bytes may go. `opened`: an envelope has opened it; `charged`: then the next frame says so.
    Ready { opened: bool, charged: bool },
}

/// What leaves in the order of posting.
#[derive(Clone, Copy, Debug)]
pub(super) enum Express {
    Envelope(usize),
    Message(usize),
}

impl Express {
    fn index(self) -> usize {
        match self {
            Express::Envelope(index) | Express::Message(index) => index,
        }
    }
}

pub(super) struct Outgoing {
    messages: Vec<Option<Message>>,
    free: Vec<usize>,
    pub(super) express: VecDeque<Express>,
    /// Bytes sent from `express` since `bulk` had a turn.
    pub(super) express_run: usize,
    /// So many long messages go like others, even to a peer that reads beside: short ones have come while such were under way, and
    /// would wait behind more.
    mixed: u32,
    /// A short message has left since anything was read.
    pub(super) has_sent_short: bool,
    /// Long messages by key; the front's key has its turn.
    pub(super) bulk: VecDeque<usize>,
    /// Bytes the front's key has sent in its turn.
    pub(super) turn: usize,
    announced: BTreeMap<u64, usize>,
    held: BTreeMap<MatchKey, VecDeque<usize>>,
    /// Held messages in the order of posting; entries of messages that are no longer held are skipped.
    held_order: VecDeque<(MatchKey, u64)>,
    /// The length at which `held_order` is cleared of entries of messages that are no longer held.
    held_order_max: usize,
    wants: BTreeMap<MatchKey, u32>,
    envelopes: u32,
    envelopes_max: u32,
    credit: u64,
    pub(super) control: VecDeque<Control>,
    pub(super) goodbye: Option<Control>,
    /// The stamp of the message whose last frame was just taken: it is the next frame.
    pub(super) stamp_due: Option<Control>,
    /// Frames taken so far; the next frame's number.
    pub(super) number: u32,
    /// The rest of a frame that the socket took only in part.
    pub(super) partial: Option<Partial>,
    pub(super) next_message_id: u64,
    sent_log: VecDeque<(u64, OpId, MessageHeader)>,
    /// A message whose buffer does not give its bytes: the node fails.
    pub(super) broken: Option<MessageHeader>,
    /// Half a frame has left that cannot be finished: nothing can follow it.
    pub(super) is_mute: bool,
    /// What was sent and may have to be sent again.
    pub(super) retention: Retention,
    /// What the peer is to be told that it need not keep.
    pub(super) acknowledgement: Acknowledgement,
    /// Behind the answer to the peer's goodbye, once that is sent.
    answered: Option<u64>,
    /// There is no connection now, but there may be one again.
    pub(super) is_down: bool,
    /// The lanes beside the first, which is all of the above.
    pub(super) lanes: Vec<Lane>,
    /// Messages of which lanes have taken parts, and not all: the rest goes that way too.
    for_lanes: VecDeque<usize>,
    pub(super) fragment_bytes: usize,
    /// How many fragments share a header.
    pub(super) batch: Batch,
    pub(super) notes: Notes,
}

/// A message that has been ended before all of it was sent.
pub(super) struct Ended {
    pub(super) op: OpId,
    pub(super) message_header: MessageHeader,
    /// The receiver has refused it.
    pub(super) refused: Option<Error>,
    pub(super) source: Box<dyn SendBuffer>,
}

impl Outgoing {
    /// `peer`: the limits the receiver stated.
    pub(super) fn new(fragment_bytes: usize, peer: &Limits) -> Self {
        Outgoing {
            messages: Vec::new(),
            free: Vec::new(),
            express: VecDeque::new(),
            express_run: 0,
            mixed: 0,
            has_sent_short: false,
            bulk: VecDeque::new(),
            turn: 0,
            announced: BTreeMap::new(),
            held: BTreeMap::new(),
            held_order: VecDeque::new(),
            held_order_max: HELD_ORDER_MIN,
            wants: BTreeMap::new(),
            envelopes: 0,
            envelopes_max: peer.envelopes_max,
            credit: peer.window_bytes,
            control: VecDeque::new(),
            goodbye: None,
            stamp_due: None,
            number: 0,
            partial: None,
            next_message_id: 0,
            sent_log: VecDeque::new(),
            broken: None,
            is_mute: false,
            retention: Retention::new(BOUND_BYTES),
            acknowledgement: Acknowledgement::new(BOUND_BYTES),
            answered: None,
            is_down: false,
            lanes: Vec::new(),
            for_lanes: VecDeque::new(),
            fragment_bytes,
            batch: Batch::new(fragment_bytes),
            notes: Notes::default(),
        }
    }

    /// The receiver refuses message `message_id`: stops it with `error`. If the write is over already, returns its operation, as
    /// far as that is remembered, and the error.
    pub(super) fn refuse(
        &mut self,
        message_id: u64,
        error: Error,
        completions: &mut VecDeque<Completed>,
    ) -> Option<(Option<OpId>, Error)> {
        let Some(index) = self.announced.get(&message_id).copied().or_else(|| self.find_ready(message_id)) else {
            // Its last frame may be under way, or all of it gone.
            let leaving = self.messages().find(|message| message.message_id == message_id).map(|message| message.op);
            let gone = self.sent_log.iter().find(|(sent, ..)| *sent == message_id).map(|(_, op, _)| *op);
            return Some((leaving.or(gone), error));
        };
        if matches!(self.message(index).stage, Stage::Announced { .. }) {
            self.leave_announced(index);
        }
        self.bulk.retain(|&other| other != index);
        self.express.retain(|entry| entry.index() != index);
        self.for_lanes.retain(|&other| other != index);
        if let Message { message_header, stage: Stage::Ready { charged: true, .. }, .. } = self.message(index) {
            // The receiver will never see the frame that takes this credit.
            self.credit = self.credit.saturating_add(cost(message_header));
        }
        self.take_from_lanes(index);
        self.message_mut(index).stopped = Some(error);
        // Frames under way must end before the abort.
        self.end_if_gone(index, completions);
        self.promote_held();
        None
    }

    fn is_under_way(&self, index: usize) -> bool {
        self.partial.as_ref().and_then(|partial| partial.payload.as_ref()).is_some_and(|(other, _)| *other == index)
    }

    /// A frame of a message has left, or the message is to stop: ends it if nothing of it is under way or to come.
    pub(super) fn end_if_gone(&mut self, index: usize, completions: &mut VecDeque<Completed>) {
        let message = self.message(index);
        if message.parts > 0 || self.is_under_way(index) {
            return;
        }
        if message.stopped.is_some() {
            self.stop(index, completions);
        } else if message.sent == message.message_header.total && matches!(message.stage, Stage::Ready { .. }) {
            self.complete(index, completions);
        }
    }

    /// A message has ended: its buffer, of which lanes keep what the peer has not acknowledged.
    fn written(&mut self, message_id: u64, source: Box<dyn SendBuffer>) -> Written {
        let lanes = self.lanes.iter().map(|lane| &lane.retention);
        if !std::iter::once(&self.retention).chain(lanes).any(|retention| retention.keeps(message_id)) {
            return Written::whole(source);
        }
        let loan = Loan::new(source);
        self.retention.borrow(message_id, &loan);
        self.lanes.iter_mut().for_each(|lane| lane.retention.borrow(message_id, &loan));
        Written::lent(loan)
    }

    /// Ends a refused message: the receiver learns that no more of it comes.
    pub(super) fn stop(&mut self, index: usize, completions: &mut VecDeque<Completed>) {
        let message = self.remove(index);
        let source = self.written(message.message_id, message.source).take();
        let Some(error) = message.stopped else { return };
        let body = Body::Numbers(message.sent, message.said.into());
        self.control.push_back(Control { body, ..Control::about(Kind::Abort, message.message_id) });
        let outcome = Outcome::failed_with(error, source.into_any());
        completions.push_back(Completed { op: message.op, outcome });
    }

    /// All of the message has left.
    pub(super) fn complete(&mut self, index: usize, completions: &mut VecDeque<Completed>) {
        let message = self.remove(index);
        self.remember(message.message_id, message.op, message.message_header);
        self.notes.take(message.message_id, Progress::Leaves(message.op));
        let is_copy = message.source.is_copy();
        let written = self.written(message.message_id, message.source);
        if is_copy {
            return;
        }
        completions.push_back(Completed { op: message.op, outcome: Outcome::Written(written) });
    }

    /// Remembers a write that is over, in case the receiver refuses the message late.
    pub(super) fn remember(&mut self, message_id: u64, op: OpId, message_header: MessageHeader) {
        if self.sent_log.len() == SENT_LOG_MAX {
            self.sent_log.pop_front();
        }
        self.sent_log.push_back((message_id, op, message_header));
    }

    /// What is remembered of a write that is over.
    pub(super) fn remembered(&self, op: OpId) -> Option<&MessageHeader> {
        self.sent_log.iter().rev().find(|(_, sent, _)| *sent == op).map(|(.., message_header)| message_header)
    }

    /// The same by the message.
    pub(super) fn remembered_id(&self, message_id: u64) -> Option<MessageHeader> {
        self.sent_log.iter().find(|(sent, ..)| *sent == message_id).map(|(.., message_header)| *message_header)
    }

    /// Some of a frame was sent: its head, which has these bytes there, and this of its message's payload.
    pub(super) fn keep(&mut self, head: &[u8], payload: Option<(usize, Range<usize>)>) {
        self.retention.copy(head);
        if let Some((index, range)) = payload {
            self.retention.name(self.message(index).message_id, range);
        }
    }

    /// The answer to the peer's goodbye is about to be sent, in so many bytes.
    pub(super) fn answers(&mut self, bytes: usize) {
        self.answered = Some(self.retention.sent().wrapping_add(bytes as u64));
    }

    /// Whether the peer has acknowledged the answer to its goodbye: then it waits for nothing more.
    pub(super) fn is_answer_acknowledged(&self) -> bool {
        self.answered.is_some_and(|answered| self.retention.acknowledged().wrapping_sub(answered) < 1 << 63)
    }

    /// The peer is to have credit for so much more. What it has not read yet of earlier credit grows instead of piling up.
    pub(super) fn owe(&mut self, bytes: u64) {
        match self.control.back_mut() {
            Some(Control { kind: Kind::Credit, body: Body::Number(owed), .. }) => *owed = owed.saturating_add(bytes),
            _ => self.control.push_back(Control::credit(bytes)),
        }
    }

    /// Whether anything waits to be sent, and may be now.
    pub(super) fn has_output(&self) -> bool {
        if self.is_mute || self.is_down {
            return false;
        }
        self.retention.unsent() > 0 || self.acknowledgement.is_due(false) || (self.has_frames() && self.has_room())
    }

    /// Whether frames wait to be sent, acknowledgements not counted.
    pub(super) fn has_frames(&self) -> bool {
        self.partial.is_some()
            || self.stamp_due.is_some()
            || !self.control.is_empty()
            || !self.express.is_empty()
            || (!self.bulk.is_empty() && !self.has_lanes())
            || self.goodbye_is_due()
    }

    /// Goodbye goes last, after every message.
    pub(super) fn goodbye_is_due(&self) -> bool {
        // It is to come after all messages, also those that take another way.
        self.goodbye.is_some() && self.is_drained() && self.lanes.iter().all(Lane::is_settled)
    }

    /// Whether every message has left.
    pub(super) fn is_drained(&self) -> bool {
        self.free.len() == self.messages.len()
    }

    pub(super) fn message(&self, index: usize) -> &Message {
        self.messages[index].as_ref().expect("queues name messages that exist")
    }

    pub(super) fn message_mut(&mut self, index: usize) -> &mut Message {
        self.messages[index].as_mut().expect("queues name messages that exist")
    }

    /// All messages under way, in no order.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().flatten()
    }

    /// Ends every message and returns their operations, with the error of those that were refused. A frame under way is still finished: whatever follows
    /// it, such as a goodbye, must stay readable. Refusals stay: the peer's writes are over, and it is to know of them
    /// before it hears that its goodbye was heard.
    pub(super) fn clear(&mut self) -> Vec<Ended> {
        if let Some(mut partial) = self.partial.take() {
            let rest = match &partial.payload {
                Some((index, range)) => self.message(*index).source.part(range.clone()),
                None => Some(&[][..]),
            };
            match rest.map(<[u8]>::to_vec) {
                Some(rest) => {
                    partial.detach(rest);
                    self.partial = Some(partial);
                }
                None => self.is_mute = true,
            }
        }
        self.clear_lanes();
        let mut ended = Vec::new();
        let messages = std::mem::take(&mut self.messages);
        for Message { op, message_id, message_header, stopped, source, .. } in messages.into_iter().flatten() {
            let source = self.written(message_id, source).take();
            ended.push(Ended { op, message_header, refused: stopped, source });
        }
        self.free.clear();
        self.express.clear();
        self.bulk.clear();
        self.announced.clear();
        self.held.clear();
        self.held_order.clear();
        self.wants.clear();
        self.control.retain(|control| control.kind == Kind::Refuse);
        self.stamp_due = None;
        ended
    }

    #[cfg(test)]
    pub(super) fn begin_at(&mut self, position: u64) {
        self.retention.begin_at(position);
        self.acknowledgement.begin_at(position);
    }

    #[cfg(test)]
    pub(super) fn credit_left(&self) -> u64 {
        self.credit
    }

    /// Whether no trace of a message is left.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.is_drained()
            && !self.has_output()
            && self.announced.is_empty()
            && self.held.is_empty()
            && self.held_order.is_empty()
            && self.envelopes == 0
    }

    #[cfg(test)]
    pub(super) fn held_order_len(&self) -> usize {
        self.held_order.len()
    }

    /// Puts a long message behind those of its key, or at the end. Messages of one key stand together and leave one
    /// after the other: they are read in that order, and a receiver that fills one buffer at a time need not
    /// sort them. Returns where it stands.
    pub(super) fn push_bulk(&mut self, index: usize) -> usize {
        let key = self.message(index).message_header.key;
        let at = self.bulk.iter().rposition(|&other| self.message(other).message_header.key == key);
        let at = at.map_or(self.bulk.len(), |at| at + 1);
        self.bulk.insert(at, index);
        at
    }

    /// Gives the next key its turn. Returns how many messages went to the end; none if there is no other key.
    pub(super) fn rotate_bulk(&mut self) -> usize {
        let key = |index: Option<&usize>| index.map(|&index| self.message(index).message_header.key);
        let front = key(self.bulk.front());
        if key(self.bulk.back()) == front {
            return 0;
        }
        let group = self.bulk.iter().take_while(|index| key(Some(index)) == front).count();
        self.bulk.rotate_left(group);
        group
    }

    fn find_ready(&self, message_id: u64) -> Option<usize> {
        let express = self.express.iter().filter_map(|entry| match entry {
            Express::Message(index) => Some(*index),
            Express::Envelope(_) => None,
        });
        let on_lanes = self.lanes.iter().flat_map(Lane::messages);
        let mut ready = self.bulk.iter().chain(&self.for_lanes).copied().chain(express).chain(on_lanes);
        ready.find(|&index| self.message(index).message_id == message_id)
    }

    fn insert(&mut self, message: Message) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.messages[index] = Some(message);
                index
            }
            None => {
                self.messages.push(Some(message));
                self.messages.len() - 1
            }
        }
    }

    fn remove(&mut self, index: usize) -> Message {
        self.free.push(index);
        self.messages[index].take().expect("queues name messages that exist")
    }
}
