//! One link's receiving side: posted reads, early arrivals, and matching them by (context, tag) in order.

mod early;
mod expecting;
mod leaving;
mod matching;
mod parts;
mod posted;
mod returning;
mod tables;
mod wanting;
mod whole;

use std::any::Any;
use std::collections::VecDeque;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::any::AnyReads;
use super::arriving::{Arriving, NO_MESSAGE, Posted, Sink, Unmatched};
use super::notes::{Notes, Progress};
#[cfg(test)]
use super::outgoing::MESSAGE_COST;
use super::outgoing::{Control, Written, cost};
use super::{Completed, Limits, OpId, Outcome};
use crate::buffer::{SendBuffer, memory};
use crate::error::WireError;
use crate::error::{Error, Misuse};
use crate::ids::Rank;
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::{Context, MatchKey, MessageHeader};
pub(super) use leaving::Orphan;
use posted::PostedReads;
#[cfg(test)]
use tables::IDLE_ENTRIES_MAX;
use tables::shrink;

pub(super) struct Incoming {
    /// Who receives and who sends, for errors.
    rank: Rank,
    peer: Rank,
    posted: PostedReads,
    /// Unmatched messages by key, in the order of their message headers.
    arrived: HashMap<MatchKey, Unmatched>,
    /// Boxed, so that the table is small however many messages nobody reads.
    messages: HashMap<u64, Box<Arriving>>,
    /// What the sender may still send unasked. Mirrors the sender's credit.
    allowance: u64,
    window_bytes: u64,
    /// Window that is free again and has not been given back yet.
    credit_due: u64,
    envelopes: u32,
    envelopes_max: u32,
    /// Envelopes that answered a want and have met no read after all.
    answers: u32,
    /// Wants sent that no envelope has answered.
    wants: u64,
    /// The sender holds messages that it cannot announce.
    holding: bool,
    /// Keys of which the sender has been asked for a message for no read of this link: for one of any origin, or for one
    /// that was withdrawn since.
    asked: HashSet<MatchKey>,
    /// When a read of any origin took a message of this link last, counted by such messages.
    pub(super) any_taken: u64,
    /// The last message, if it filled its read's buffer.
    last_filled: Option<MessageHeader>,
    /// What reads that met no message wait for, or waited, in the order of posting, each once in a row.
    posted_keys: VecDeque<MatchKey>,
    /// The message that was complete last, and its bytes.
    last_complete: Option<(u64, u64)>,
    /// Buffers that nobody wants any more, to be dropped when nothing is locked.
    pub(super) spent: Vec<Box<dyn Any + Send>>,
    pub(super) notes: Notes,
}

impl Incoming {
    pub(super) fn new(rank: Rank, peer: Rank, limits: &Limits) -> Self {
        Incoming {
            rank,
            peer,
            posted: PostedReads::default(),
            arrived: HashMap::new(),
            messages: HashMap::new(),
            allowance: limits.window_bytes,
            window_bytes: limits.window_bytes,
            credit_due: 0,
            envelopes: 0,
            envelopes_max: limits.envelopes_max,
            answers: 0,
            wants: 0,
            holding: false,
            asked: HashSet::new(),
            any_taken: 0,
            last_filled: None,
            posted_keys: VecDeque::new(),
            last_complete: None,
            spent: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Takes a read: it meets the oldest unmatched message of its key, or waits.
    pub(super) fn post(
        &mut self,
        key: MatchKey,
        mut read: Posted,
        any: &AnyReads,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) {
        if let Some(message_id) = self.take_arrived(key) {
            return self.meet(message_id, read, control, completions);
        }
        if self.holding {
            read.wanted = self.takes_over_want(key, any);
        }
        self.posted.push(key, read);
        self.remember(key);
        if self.holding {
            self.want(key, control);
        }
    }

    /// A message opens with data behind it. Returns whether it has met a read.
    pub(super) fn open(
        &mut self,
        message_id: u64,
        message_header: MessageHeader,
        any: &mut AnyReads,
        now: Duration,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) -> Result<bool, WireError> {
        self.check_new(message_id, &message_header)?;
        self.charge(&message_header)?;
        let read = self.take_read(message_header.key, any);
        let is_met = read.is_some();
        let sink = match read {
            Some(read) => {
                self.credit_due += cost(&message_header);
                self.assign(message_id, &message_header, read, control, completions)
            }
            None => {
                self.push_arrived(message_header.key, message_id);
                Sink::Buffer(Vec::new())
            }
        };
        self.messages.insert(message_id, Box::new(Arriving::new(message_header, sink, now)));
        if self.holding {
            self.ask(message_header.key, any, control);
        }
        Ok(is_met)
    }

    /// A message is announced. Returns whether it has met a read.
    pub(super) fn envelope(
        &mut self,
        (message_id, message_header, answer): (u64, MessageHeader, bool),
        any: &mut AnyReads,
        now: Duration,
        control: &mut VecDeque<Control>,
        completions: &mut VecDeque<Completed>,
    ) -> Result<bool, WireError> {
        self.check_new(message_id, &message_header)?;
        if answer && self.wants > 0 {
            self.wants -= 1;
            self.answers += 1;
        } else if answer || self.envelopes == self.envelopes_max {
            let (got, most) = (u64::from(self.envelopes) + 1, u64::from(self.envelopes_max));
            return Err(WireError::TooLong { what: "a number of envelopes", got, most });
        } else {
            self.envelopes += 1;
        }
        self.messages.insert(message_id, Box::new(Arriving::new(message_header, Sink::Envelope { answer }, now)));
        let read = self.take_read(message_header.key, any);
        let is_met = read.is_some();
        match read {
            Some(read) => self.meet(message_id, read, control, completions),
            None => self.push_arrived(message_header.key, message_id),
        }
        if self.holding {
            self.ask(message_header.key, any, control);
        }
        Ok(is_met)
    }

    /// Data for an announced message came without a grant, by credit.
    pub(super) fn charged(&mut self, message_id: u64) -> Result<(), WireError> {
        let Some(message) = self.messages.get(&message_id) else {
            return Err(WireError::NoSuchMessage { what: "data", message_id });
        };
        let message_header = message.message_header;
        self.charge(&message_header)?;
        let Some(message) = self.messages.get_mut(&message_id) else { return Ok(()) };
        if let Sink::Envelope { answer } = message.sink {
            message.sink = Sink::Buffer(Vec::new());
            self.forget_envelope(answer);
        } else {
            self.credit_due += cost(&message_header);
        }
        Ok(())
    }

    /// Where the next bytes of message `message_id` go, if straight into a posted buffer: the rest of the place.
    pub(super) fn place(&mut self, message_id: u64) -> Option<&mut [u8]> {
        let message = self.messages.get_mut(&message_id)?;
        // What is read in vain beyond these bytes would be put where another lane's are already.
        if message.is_split() {
            return None;
        }
        let (from, to) = (message.at() as usize, message.message_header.total as usize);
        match &mut message.sink {
            Sink::ReceiveBuffer { place, .. } | Sink::Returned(place) => Some(&mut place.bytes_mut()[from..to]),
            _ => None,
        }
    }

    /// How much of message `message_id` is missing.
    pub(super) fn missing(&self, message_id: u64) -> Result<u64, WireError> {
        match self.messages.get(&message_id) {
            Some(message) if !matches!(message.sink, Sink::Envelope { .. } | Sink::Own { .. }) => {
                Ok(message.message_header.total - message.at())
            }
            _ => Err(WireError::NoSuchMessage { what: "data", message_id }),
        }
    }

    /// Bytes of message `message_id`; not more than are missing.
    pub(super) fn deliver(&mut self, message_id: u64, bytes: &[u8]) {
        let Some(message) = self.messages.get_mut(&message_id) else { return };
        let (from, is_split) = (message.at() as usize, message.is_split());
        match &mut message.sink {
            Sink::ReceiveBuffer { place, .. } | Sink::Returned(place) => {
                memory::copy(&mut place.bytes_mut()[from..from + bytes.len()], bytes);
            }
            Sink::Buffer(buffer) if is_split => memory::copy(&mut buffer[from..from + bytes.len()], bytes),
            Sink::Buffer(buffer) => {
                let (total, needed) = (message.message_header.total as usize, from + bytes.len());
                if needed > buffer.capacity() {
                    early::grow(buffer, needed, total);
                }
                memory::append(buffer, bytes);
            }
            Sink::Discard | Sink::Envelope { .. } | Sink::Own { .. } => {}
        }
        message.add(bytes.len());
    }

    /// Bytes that were read straight into the place.
    pub(super) fn delivered(&mut self, message_id: u64, bytes: usize) {
        if let Some(message) = self.messages.get_mut(&message_id) {
            message.add(bytes);
        }
    }

    /// A frame of message `message_id` has ended: completes the message if that was all of it.
    pub(super) fn settle(&mut self, message_id: u64, completions: &mut VecDeque<Completed>) {
        let Some(message) = self.messages.get(&message_id) else { return };
        let bytes = message.message_header.total;
        if !message.is_all_here() {
            return self.notes.take_once(message_id, Progress::Begins { bytes });
        }
        self.notes.take(message_id, Progress::Arrives { bytes });
        self.last_complete = Some((message_id, bytes));
        self.finish(message_id, completions);
    }

    /// Completes message `message_id`, if all of it is here and a read has met it.
    fn finish(&mut self, message_id: u64, completions: &mut VecDeque<Completed>) {
        let Some(message) = self.messages.get(&message_id) else { return };
        if !message.is_all_here() || matches!(message.sink, Sink::Buffer(_) | Sink::Returned(_)) {
            return;
        }
        let removed = self.messages.remove(&message_id).map(|message| *message);
        shrink(&mut self.messages);
        if let Some(Arriving { sink: Sink::ReceiveBuffer { op, place }, message_header, .. }) = removed {
            self.fill(message_id, &message_header, (op, place), completions);
        }
    }

    /// The bytes of message `message_id`, if it was the last to be complete.
    pub(super) fn complete_bytes(&self, message_id: u64) -> Option<u64> {
        self.last_complete.filter(|(last, _)| *last == message_id).map(|(_, bytes)| bytes)
    }

    /// Withdraws a read that has met no message. `None`: it has, and runs to its end.
    pub(super) fn withdraw(&mut self, key: MatchKey, op: OpId) -> Option<Posted> {
        let read = self.posted.remove(key, op)?;
        if read.wanted {
            self.asked.insert(key);
        }
        Some(read)
    }

    /// Credit to give back now, if it is worth a frame, or if the sender waits for it.
    pub(super) fn take_credit(&mut self) -> Option<u64> {
        let waits = self.holding || self.envelopes > 0 || self.answers > 0;
        if self.credit_due == 0 || (self.credit_due < self.window_bytes / 8 && !waits) {
            return None;
        }
        self.allowance += self.credit_due;
        Some(std::mem::take(&mut self.credit_due))
    }

    /// Takes a message of the node to itself. It completes when it is copied into the window, or read.
    pub(super) fn write_own(
        &mut self,
        (message_id, op, message_header): (u64, OpId, MessageHeader),
        source: Box<dyn SendBuffer>,
        any: &mut AnyReads,
        now: Duration,
        completions: &mut VecDeque<Completed>,
    ) {
        let Some(bytes) = source.all().filter(|bytes| bytes.len() as u64 == message_header.total) else {
            let outcome = Outcome::failed_with(self.broken(&message_header), source.into_any());
            return completions.push_back(Completed { op, outcome });
        };
        // Within the window it is needed now; beyond it, or if its read waits, when it is read.
        let has_read = self.has_posted(message_header.key) || any.front(message_header.key).is_some();
        let copies = cost(&message_header) <= self.allowance && !has_read;
        let copy = copies.then(|| early::copy_of(bytes));
        let sink = Sink::Own { op, source };
        let message = Arriving { received: message_header.total, ..Arriving::new(message_header, sink, now) };
        self.messages.insert(message_id, Box::new(message));
        if let Some(read) = self.take_read(message_header.key, any) {
            return self.meet(message_id, read, &mut VecDeque::new(), completions);
        }
        self.push_arrived(message_header.key, message_id);
        if let Some(copy) = copy
            && self.charge(&message_header).is_ok()
            && let Some(message) = self.messages.get_mut(&message_id)
            && let Sink::Own { op, source } = std::mem::replace(&mut message.sink, Sink::Buffer(copy))
        {
            completions.push_back(Completed { op, outcome: Outcome::Written(Written::whole(source)) });
        }
    }

    /// Whether a read of `key` waits.
    fn has_posted(&self, key: MatchKey) -> bool {
        self.posted.front(key).is_some()
    }

    /// What a write of the node to itself fails with whose buffer does not give its bytes.
    fn broken(&self, message_header: &MessageHeader) -> Error {
        let (kind, tag) = (OperationKind::Write, message_header.key.user_tag());
        Misuse::Buffer { operation: Operation::new(kind, self.rank, self.peer, tag, message_header.total) }.into()
    }

    /// Gives the node its own credit back at once: nobody has to be told.
    pub(super) fn settle_own_credit(&mut self) {
        self.allowance += std::mem::take(&mut self.credit_due);
    }

    /// Ends all reads, also those under way: returns their operations and buffers.
    pub(super) fn clear(&mut self) -> Vec<(OpId, Box<dyn Any + Send>)> {
        let posted = self.posted.drain();
        let mut ended: Vec<_> = posted.map(|(_, read)| (read.op, read.place.into_any())).collect();
        self.arrived.clear();
        ended.extend(self.messages.drain().filter_map(|(_, message)| match message.sink {
            Sink::ReceiveBuffer { op, mut place } => {
                place.unmeet();
                Some((op, place.into_any()))
            }
            Sink::Own { op, source } => Some((op, source.into_any())),
            _ => None,
        }));
        ended.sort_unstable_by_key(|(op, _)| *op);
        ended
    }

    /// Reads that have met no message.
    pub(super) fn posted(&self) -> impl Iterator<Item = (MatchKey, &Posted)> {
        self.posted.iter()
    }

    /// The messages of `context` that have met no read: how many of each key.
    pub(super) fn unmatched(&self, context: Context) -> impl Iterator<Item = (MatchKey, usize)> {
        let of_context = self.arrived.iter().filter(move |(key, _)| key.context == context);
        let next = |message_id: &u64| {
            self.messages.get(message_id).map(|message| message.next).filter(|&next| next != NO_MESSAGE)
        };
        of_context.map(move |(key, queue)| (*key, std::iter::successors(Some(queue.first), next).count()))
    }

    /// Messages that have been opened.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Arriving> {
        self.messages.values().map(|message| &**message)
    }

    /// The memory that messages take which no read has met, and the tables that name them: what the allocator takes for it.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> u64 {
        let allocated = |bytes: usize| if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) };
        let of = |message: &Arriving| match &message.sink {
            Sink::Buffer(buffer) => allocated(size_of::<Arriving>()) + allocated(buffer.capacity()),
            Sink::Envelope { .. } => allocated(size_of::<Arriving>()),
            _ => 0,
        };
        let table = |capacity: usize, entry: usize| (capacity * 8).div_ceil(7).next_power_of_two() * (entry + 1);
        let tables = table(self.messages.capacity(), size_of::<(u64, Box<Arriving>)>())
            + table(self.arrived.capacity(), size_of::<(MatchKey, Unmatched)>());
        (self.messages().map(of).sum::<usize>() + tables) as u64
    }

    /// What the footprint may be: what is charged for, as many envelopes as there are, and room in tables without need.
    #[cfg(test)]
    pub(super) fn footprint_max(&self) -> u64 {
        let charged = self.window_bytes - self.allowance - self.credit_due;
        charged + u64::from(self.envelopes + self.answers) * MESSAGE_COST + 4 * 48 * IDLE_ENTRIES_MAX as u64
    }

    /// Bytes held in the window's memory.
    #[cfg(test)]
    pub(super) fn buffered_bytes(&self) -> u64 {
        let buffered = |message: &Arriving| match &message.sink {
            Sink::Buffer(buffer) => buffer.capacity() as u64,
            _ => 0,
        };
        self.messages().map(buffered).sum()
    }

    #[cfg(test)]
    pub(super) fn envelopes(&self) -> u32 {
        self.envelopes
    }

    #[cfg(test)]
    pub(super) fn allowance(&self) -> u64 {
        self.allowance
    }

    #[cfg(test)]
    pub(super) fn credit_due(&self) -> u64 {
        self.credit_due
    }

    #[cfg(test)]
    pub(super) fn posted_queues(&self) -> usize {
        self.posted.queues()
    }

    /// Whether no trace of a message or a read is left.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let no_posted = self.posted.iter().next().is_none();
        no_posted && self.arrived.is_empty() && self.messages.is_empty() && (self.envelopes, self.answers) == (0, 0)
    }

    fn charge(&mut self, message_header: &MessageHeader) -> Result<(), WireError> {
        let (got, most) = (cost(message_header), self.allowance);
        self.allowance = most.checked_sub(got).ok_or(WireError::TooLong { what: "unasked data", got, most })?;
        Ok(())
    }

    /// A message is opened once, or another one's operation would be lost.
    fn check_new(&self, message_id: u64, message_header: &MessageHeader) -> Result<(), WireError> {
        if self.messages.contains_key(&message_id) {
            return Err(WireError::Twice { message_id, tag: message_header.key.tag });
        }
        Ok(())
    }
}
