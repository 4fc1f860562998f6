//! What a link has sent and its peer has not acknowledged: kept, so that it can be sent again on another connection.
//!
//! Positions count the bytes of a link's frames from its beginning, over all its connections, in 64 bits. Frames follow each
//! other without gaps, so a position says exactly what has arrived, also in the middle of a frame: nothing is taken back at
//! either end when a connection breaks. Heads and small payloads are copied; longer payloads are named, as long as their
//! buffers are there ([`super::loan`]).

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use super::beside::Beside;
use super::loan::Loan;
use super::ranges::Ranges;
use crate::buffer::{SendBuffer, memory};
use crate::error::WireError;

/// What a link may have sent and not be acknowledged, if its path does not hold more.
pub(crate) const BOUND_BYTES: u64 = 1 << 20;
/// The same of a path of any length and rate.
pub(crate) const BOUND_BYTES_MAX: u64 = 64 << 20;
/// Payload bytes in one vectored call, but for long messages to a peer that reads beside this node.
pub(in crate::engine) const CALL_BYTES_MAX: usize = 256 << 10;
/// Memory that is kept for copies though there are none.
const SPARE_BYTES: usize = 16 << 10;

pub(in crate::engine) struct Retention {
    /// All before it is acknowledged.
    acknowledged: u64,
    /// Behind the last byte that a connection has taken.
    sent: u64,
    /// What goes next: `sent`, but for a new connection, which begins with what the last one has lost.
    next: u64,
    pieces: VecDeque<Piece>,
    /// The bytes of all copied pieces.
    copied: VecDeque<u8>,
    /// Messages that pieces name.
    messages: HashMap<u64, Kept>,
    /// What is kept at most, if the path does not hold more: see [`BOUND_BYTES`].
    bound: u64,
    /// That is not less than at first.
    bound_min: u64,
    /// The peer reads beside this node.
    beside: Option<Beside>,
    /// Sending has stopped at the bound since it was asked.
    was_full: bool,
    /// Bytes sent again so far.
    pub(in crate::engine) again: u64,
}

/// Some of the bytes sent, in order.
enum Piece {
    /// So many, copied.
    Copied(usize),
    /// These of a message.
    Payload(u64, Range<usize>),
}

/// A message of which pieces are kept.
#[derive(Default)]
struct Kept {
    pieces: usize,
    /// The payload that they are.
    ranges: Ranges,
    /// Once the message has ended: its buffer, and the number of this lane's part.
    loan: Option<(Arc<Loan>, usize)>,
}

impl Retention {
    /// `bound`: see [`BOUND_BYTES`].
    pub(in crate::engine) fn new(bound: u64) -> Self {
        Retention {
            acknowledged: 0,
            sent: 0,
            next: 0,
            pieces: VecDeque::new(),
            copied: VecDeque::new(),
            messages: HashMap::new(),
            bound,
            bound_min: bound,
            beside: None,
            was_full: false,
            again: 0,
        }
    }

    /// Behind the last byte that a connection has taken.
    pub(in crate::engine) fn sent(&self) -> u64 {
        self.sent
    }

    /// Before it, all is acknowledged.
    pub(in crate::engine) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Bytes that are not acknowledged.
    pub(in crate::engine) fn kept(&self) -> u64 {
        self.sent.wrapping_sub(self.acknowledged)
    }

    /// The peer reads beside this node, as fast as it writes.
    pub(in crate::engine) fn is_read_beside(&mut self, how: Beside) {
        self.beside = Some(how);
    }

    /// Whether messages of so many bytes are long to a peer that reads beside this node.
    pub(in crate::engine) fn is_long(&self, bytes: u64) -> bool {
        self.beside(bytes).is_some()
    }

    /// How messages of so many bytes go, if that is as long ones do to a peer that reads beside this node.
    fn beside(&self, bytes: u64) -> Option<Beside> {
        self.beside.filter(|beside| bytes >= beside.from_bytes)
    }

    /// The payload bytes of one call that begins with a message of `bytes`, at most; more than one call's are kept, so that a link need
    /// not stand still.
    pub(in crate::engine) fn call(&self, bytes: u64) -> usize {
        let most = self.beside(bytes).map_or(CALL_BYTES_MAX, |beside| beside.call);
        most.min((self.bound_for(bytes) / 4) as usize)
    }

    /// Whether such a call may be made before some is acknowledged, and the batch of fragments by which it may be more. 0 `bytes`: it
    /// begins with no long message.
    pub(in crate::engine) fn has_room(&self, bytes: u64) -> bool {
        let bound = self.bound_for(bytes);
        self.kept() + bound / 4 + bound / 16 <= bound
    }

    fn bound_for(&self, bytes: u64) -> u64 {
        self.beside(bytes).map_or(self.bound, |beside| beside.bound.max(self.bound))
    }

    /// Something was not sent for want of room.
    pub(in crate::engine) fn is_full(&mut self) {
        self.was_full = true;
    }

    /// Whether that has happened since the last time.
    pub(in crate::engine) fn take_full(&mut self) -> bool {
        std::mem::take(&mut self.was_full)
    }

    /// What may be kept from now on, if the path holds twice as much less.
    pub(in crate::engine) fn set_bound(&mut self, bytes: u64) {
        self.bound = bytes.clamp(self.bound_min, BOUND_BYTES_MAX);
    }

    pub(in crate::engine) fn bound(&self) -> u64 {
        self.bound
    }

    /// These bytes were sent.
    pub(in crate::engine) fn copy(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.copied.extend(bytes);
        match self.pieces.back_mut() {
            Some(Piece::Copied(count)) => *count += bytes.len(),
            _ => self.pieces.push_back(Piece::Copied(bytes.len())),
        }
        self.add(bytes.len());
    }

    /// These bytes of a message were sent, which is there until it ends.
    pub(in crate::engine) fn name(&mut self, message_id: u64, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let kept = self.messages.entry(message_id).or_default();
        kept.pieces += 1;
        kept.ranges.add(range.clone());
        self.add(range.len());
        self.pieces.push_back(Piece::Payload(message_id, range));
    }

    fn add(&mut self, count: usize) {
        debug_assert_eq!(self.next, self.sent, "what is new follows what is sent again");
        self.sent = self.sent.wrapping_add(count as u64);
        self.next = self.sent;
    }

    /// Whether bytes of a message are kept.
    pub(in crate::engine) fn keeps(&self, message_id: u64) -> bool {
        self.messages.contains_key(&message_id)
    }

    /// A message has ended: from now on its bytes are in `loan`.
    pub(super) fn borrow(&mut self, message_id: u64, loan: &Arc<Loan>) {
        if let Some(kept) = self.messages.get_mut(&message_id) {
            kept.loan = Some((loan.clone(), loan.keep(kept.ranges.clone())));
        }
    }

    /// The peer has received all before `position`. Buffers that nobody wants any more go to `spent`.
    pub(in crate::engine) fn acknowledge(
        &mut self,
        position: u64,
        spent: &mut Vec<Box<dyn Any + Send>>,
    ) -> Result<(), WireError> {
        if self.acknowledged.wrapping_sub(position) < 1 << 63 {
            // One that was sent again: a new connection has said more.
            return Ok(());
        }
        // What is not sent again yet cannot have come, though the connection before may have taken it.
        self.check(position, self.next)?;
        self.drop_before(position, spent);
        Ok(())
    }

    fn check(&self, got: u64, to: u64) -> Result<(), WireError> {
        let from = self.acknowledged;
        if got.wrapping_sub(from) > to.wrapping_sub(from) {
            return Err(WireError::Position { got, from, to });
        }
        Ok(())
    }

    fn drop_before(&mut self, position: u64, spent: &mut Vec<Box<dyn Any + Send>>) {
        let mut count = position.wrapping_sub(self.acknowledged);
        self.acknowledged = position;
        let mut copied = 0;
        while count > 0 {
            let Some(piece) = self.pieces.front_mut() else { break };
            let length = piece.len() as u64;
            if length > count {
                copied += piece.cut(count as usize, &mut self.messages);
                break;
            }
            count -= length;
            match self.pieces.pop_front() {
                Some(Piece::Copied(length)) => copied += length,
                Some(Piece::Payload(message_id, range)) => self.forget(message_id, range.end, spent),
                None => break,
            }
        }
        self.copied.drain(..copied);
        if self.copied.is_empty() && self.copied.capacity() > SPARE_BYTES {
            self.copied = VecDeque::new();
        }
    }

    /// A piece of a message, which ends at `to`, is acknowledged.
    fn forget(&mut self, message_id: u64, to: usize, spent: &mut Vec<Box<dyn Any + Send>>) {
        let Some(kept) = self.messages.get_mut(&message_id) else { return };
        kept.pieces -= 1;
        kept.ranges.drop_before(to);
        if let Some((loan, part)) = &kept.loan {
            loan.acknowledged(*part, to);
        }
        if kept.pieces == 0
            && let Some(Kept { loan: Some((loan, part)), .. }) = self.messages.remove(&message_id)
        {
            loan.release(part);
            spent.extend(Loan::end(loan));
        }
    }

    /// The connection is gone, and the peer has received all before `position` on it.
    pub(in crate::engine) fn rewind(
        &mut self,
        position: u64,
        spent: &mut Vec<Box<dyn Any + Send>>,
    ) -> Result<(), WireError> {
        self.check(position, self.sent)?;
        self.next = position;
        self.drop_before(position, spent);
        Ok(())
    }

    /// Bytes that a connection has lost and the next one has not taken.
    pub(in crate::engine) fn unsent(&self) -> u64 {
        self.sent.wrapping_sub(self.next)
    }

    /// The next of them, at most `most`; `under_way` has the buffers of messages that have not ended. `Err`: such a buffer does not
    /// give its bytes.
    pub(in crate::engine) fn lost<'a>(
        &self,
        most: usize,
        under_way: impl Fn(u64) -> Option<&'a (dyn SendBuffer + 'static)>,
    ) -> Result<Vec<u8>, u64> {
        let mut bytes = Vec::new();
        let (mut skip, mut at) = (self.next.wrapping_sub(self.acknowledged) as usize, 0);
        for piece in &self.pieces {
            let length = piece.len();
            let from = skip.min(length);
            let now = (length - from).min(most - bytes.len());
            match piece {
                Piece::Copied(_) => bytes.extend(self.copied.range(at + from..at + from + now)),
                Piece::Payload(message_id, range) if now > 0 => {
                    let part = range.start + from..range.start + from + now;
                    let loan = self.messages.get(message_id).and_then(|kept| kept.loan.as_ref());
                    let is_there = match loan {
                        Some((loan, of_lane)) => loan.copy(*of_lane, part, &mut bytes),
                        None => under_way(*message_id)
                            .and_then(|source| source.part(part))
                            .map(|part| memory::append(&mut bytes, part))
                            .is_some(),
                    };
                    if !is_there {
                        return Err(*message_id);
                    }
                }
                Piece::Payload(..) => {}
            }
            if let Piece::Copied(length) = piece {
                at += length;
            }
            skip -= from;
            if bytes.len() == most {
                break;
            }
        }
        Ok(bytes)
    }

    /// So many of them are taken.
    pub(in crate::engine) fn sent_again(&mut self, count: usize) {
        self.next = self.next.wrapping_add(count as u64);
        self.again += count as u64;
    }

    /// The link is over: nothing is sent again.
    pub(in crate::engine) fn clear(&mut self, spent: &mut Vec<Box<dyn Any + Send>>) {
        for (loan, part) in self.messages.drain().filter_map(|(_, kept)| kept.loan) {
            loan.release(part);
            spent.extend(Loan::end(loan));
        }
        self.pieces.clear();
        self.copied = VecDeque::new();
        (self.acknowledged, self.next) = (self.sent, self.sent);
    }

    /// Memory that it takes: copies, those of buffers that went back among them.
    #[cfg(test)]
    pub(in crate::engine) fn memory(&self) -> usize {
        let loans = self.messages.values().filter_map(|kept| kept.loan.as_ref());
        self.copied.len() + loans.map(|(loan, part)| loan.copied(*part)).sum::<usize>()
    }

    /// As [`Retention::set_bound`], without a limit.
    #[cfg(test)]
    pub(in crate::engine) fn force_bound(&mut self, bytes: u64) {
        self.bound = bytes;
    }

    /// Both counters begin here; nothing has been sent.
    #[cfg(test)]
    pub(in crate::engine) fn begin_at(&mut self, position: u64) {
        (self.acknowledged, self.sent, self.next) = (position, position, position);
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Copied(count) => *count,
            Piece::Payload(_, range) => range.len(),
        }
    }

    /// Takes `count` bytes off the front, of which there are more. Returns how many of them were copied.
    fn cut(&mut self, count: usize, messages: &mut HashMap<u64, Kept>) -> usize {
        match self {
            Piece::Copied(length) => {
                *length -= count;
                count
            }
            Piece::Payload(message_id, range) => {
                range.start += count;
                if let Some(kept) = messages.get_mut(message_id) {
                    kept.ranges.drop_before(range.start);
                    if let Some((loan, part)) = &kept.loan {
                        loan.acknowledged(*part, range.start);
                    }
                }
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::outgoing::Written;
    use crate::engine::outgoing::beside::BESIDE;

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let mut retention = Retention::new(BOUND_BYTES);
        for _ in 0..64 {
            if retention.has_room(0) {
                retention.copy(&[7; 256 << 10]);
            }
        }
        assert!(retention.kept() <= BOUND_BYTES && retention.kept() > BOUND_BYTES / 2, "{}", retention.kept());
    }

    #[test]
    fn more_is_kept_of_long_messages_to_a_peer_that_reads_beside() {
        for (bytes, most, call) in
            [(BESIDE.from_bytes - 1, BOUND_BYTES, CALL_BYTES_MAX), (BESIDE.from_bytes, BESIDE.bound, BESIDE.call)]
        {
            let mut retention = Retention::new(BOUND_BYTES);
            retention.is_read_beside(BESIDE);
            assert_eq!(retention.call(bytes), call);
            let mut at = 0;
            while retention.has_room(bytes) {
                retention.name(1, at..at + call);
                at += call;
            }
            assert!(retention.kept() <= most && retention.kept() > most / 2, "{bytes}: {}", retention.kept());
        }
    }

    #[test]
    fn a_buffer_that_is_taken_leaves_just_what_is_not_acknowledged() {
        for acknowledged in [0, 1, 999, 1000, 1001, 1999] {
            let bytes: Vec<u8> = (0..2000).map(|at| (at % 251) as u8).collect();
            let (mut retention, mut spent) = (Retention::new(BOUND_BYTES), Vec::new());
            retention.name(1, 0..1000);
            retention.name(1, 1000..2000);
            let loan = Loan::new(Box::new(bytes.clone()));
            retention.borrow(1, &loan);
            let written = Written::lent(loan);
            retention.acknowledge(acknowledged, &mut spent).unwrap();
            assert_eq!(written.take().bytes(), bytes);
            assert_eq!(retention.memory(), 2000 - acknowledged as usize);
            retention.rewind(acknowledged, &mut spent).unwrap();
            assert_eq!(retention.lost(4000, |_| None).unwrap(), bytes[acknowledged as usize..]);
        }
    }

    #[test]
    fn a_buffer_that_can_be_shared_is_not_copied() {
        let bytes: std::sync::Arc<[u8]> = [7; 1000].into();
        let sources: [(Box<dyn SendBuffer>, bool); 2] = [(Box::new(bytes.to_vec()), true), (Box::new(bytes), false)];
        for (source, is_copied) in sources {
            let mut retention = Retention::new(BOUND_BYTES);
            retention.name(1, 0..1000);
            let loan = Loan::new(source);
            retention.borrow(1, &loan);
            let written = Written::lent(loan);
            assert_eq!((written.is_copied(), written.unacknowledged()), (is_copied, 1000));
            assert_eq!(written.take().bytes(), [7; 1000]);
            assert_eq!(retention.memory(), if is_copied { 1000 } else { 0 });
        }
    }

    /// Lanes take turns with a message: what each keeps of it has gaps, which the others fill.
    #[test]
    fn a_lane_keeps_a_copy_of_what_it_has_sent_and_not_of_what_others_have() {
        let bytes: Vec<u8> = (0..9000).map(|at| (at % 251) as u8).collect();
        let (mut lanes, mut spent) = ([0; 3].map(|_| Retention::new(BOUND_BYTES)), Vec::new());
        for part in 0..9 {
            lanes[part % 3].name(1, 1000 * part..1000 * (part + 1));
        }
        let loan = Loan::new(Box::new(bytes.clone()));
        for (lane, acknowledged) in lanes.iter_mut().zip([500, 1000, 2500]) {
            lane.borrow(1, &loan);
            lane.acknowledge(acknowledged, &mut spent).unwrap();
        }
        assert_eq!(Written::lent(loan).take().bytes(), bytes);
        for (at, (lane, acknowledged)) in lanes.iter_mut().zip([500, 1000, 2500]).enumerate() {
            assert_eq!(lane.memory(), 3000 - acknowledged as usize);
            let sent: Vec<u8> = (0..3).flat_map(|turn| &bytes[1000 * (3 * turn + at)..][..1000]).copied().collect();
            lane.rewind(acknowledged + 100, &mut spent).unwrap();
            assert_eq!(lane.lost(4000, |_| None).unwrap(), sent[acknowledged as usize + 100..]);
        }
    }
}
