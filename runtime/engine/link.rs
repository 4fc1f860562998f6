//! The session between two ranks: both directions, and what their control frames do to each other.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::any::AnyReads;
use super::arriving::Posted;
use super::incoming::{Incoming, Orphan};
use super::outgoing::{Body, Control, Ended, Outgoing};
use super::receive::Parser;
use super::reception::Reception;
use super::{Arrival, Completed, LateRefusal, Limits, OpId, Origin, Outcome, Unposted};
use crate::buffer::{ReceiveBuffer, SendBuffer};
use crate::error::{Error, Mismatch};
use crate::ids::{Path, Rank, Tag};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::{Context, FRAGMENT_BYTES_MAX, Kind, MatchKey, MessageHeader, Stamp};
use crate::wire::text;

/// What the links of an engine share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) now: Duration,
    pub(super) completions: VecDeque<Completed>,
    pub(super) refusals: VecDeque<LateRefusal>,
    /// Messages about and of collectives that have met no read.
    pub(super) strangers: VecDeque<(Rank, MessageHeader)>,
    /// Peers that have begun to hold messages which they cannot announce.
    pub(super) holders: Vec<Rank>,
    /// What windows are to read: a message of one of their two queues that has met no read, or, without a tag, whatever a
    /// peer holds.
    pub(super) requests: VecDeque<(Rank, Option<Tag>)>,
    /// Lanes with new output.
    pub(super) pending: VecDeque<Path>,
    /// The first peer that said it failed.
    pub(super) failed_peer: Option<(Rank, String)>,
    /// Stamps that have come; at most [`ARRIVALS_MAX`].
    pub(super) arrivals: Vec<Arrival>,
    /// Buffers that nobody wants any more.
    pub(super) spent: Vec<Box<dyn Any + Send>>,
    /// Reads of any origin that wait.
    pub(super) any: AnyReads,
    /// Lanes whose peers are to be told of what has come on them; each once.
    pub(super) untold: Vec<Path>,
    /// Peers that wish for lanes, and for how many.
    pub(super) wishes: Vec<(Rank, u8)>,
    /// Lanes that had to wait and may be read again.
    pub(super) unblocked: Vec<Path>,
}

impl Shared {
    /// A message has opened. One that met no read may need one, or may show that ranks disagree.
    pub(super) fn meet(&mut self, from: Rank, message_header: MessageHeader, is_met: bool) {
        if is_met {
            return;
        }
        let MatchKey { context, tag, .. } = message_header.key;
        if context.is_of_collectives() {
            self.strangers.push_back((from, message_header));
        } else if context == Context::Window {
            self.requests.push_back((from, Some(tag)));
        }
    }
}

/// Stamps kept until somebody asks; more come again and again.
const ARRIVALS_MAX: usize = 16;

/// How far the farewell has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Farewell {
    /// The peer has said goodbye.
    pub(super) heard: bool,
    /// It said that the job has failed: all operations are about to.
    pub(super) failed: bool,
    /// This node has.
    pub(super) said: bool,
    /// The peer has confirmed it.
    pub(super) confirmed: bool,
    /// The connection has ended.
    pub(super) closed: bool,
}

pub(super) struct Link {
    rank: Rank,
    peer: Rank,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    /// Not here while it runs. In a box, since that is moved for each read.
    pub(super) parser: Option<Box<Parser>>,
    pub(super) farewell: Farewell,
    /// Writes whose last bytes are in a record that the socket has not taken.
    pub(super) sealed: VecDeque<Completed>,
    /// The time of the last event before.
    pub(super) sealed_since: Duration,
    /// Whether `Shared::pending` names this link.
    pub(super) is_pending: bool,
    /// Whether `Shared::untold` does.
    pub(super) is_untold: bool,
    pub(super) next_own_slot: u64,
    /// What comes on the lanes beside the first; their sending sides are in `outgoing`.
    pub(super) lanes: Vec<Reception>,
}

impl Link {
    pub(super) fn new(rank: Rank, peer: Rank, own: &Limits, theirs: &Limits) -> Self {
        let fragment_bytes = (own.fragment_bytes as usize).clamp(1, FRAGMENT_BYTES_MAX);
        Link {
            rank,
            peer,
            outgoing: Outgoing::new(fragment_bytes, theirs),
            incoming: Incoming::new(rank, peer, own),
            parser: Some(Box::default()),
            farewell: Farewell::default(),
            sealed: VecDeque::new(),
            sealed_since: Duration::ZERO,
            is_pending: false,
            is_untold: false,
            next_own_slot: 0,
            lanes: Vec::new(),
        }
    }

    pub(super) fn initread(
        &mut self,
        key: MatchKey,
        read: Posted,
        operation: Operation,
        shared: &mut Shared,
    ) -> Result<(), Unposted> {
        if self.is_own() {
            let mut control = VecDeque::new();
            self.incoming.post(key, read, &shared.any, &mut control, &mut shared.completions);
            self.hear_own(control, shared);
            return Ok(());
        }
        let op = read.op;
        self.incoming.post(key, read, &shared.any, &mut self.outgoing.control, &mut shared.completions);
        let in_vain = if self.has_left() { self.incoming.withdraw(key, op) } else { None };
        // Also then: a want that the read has made must not follow this node's goodbye.
        self.announce_output(shared);
        let unposted = |read: Posted| Unposted { error: self.left(operation), buffer: read.place.into_any() };
        in_vain.map_or(Ok(()), |read| Err(unposted(read)))
    }

    /// Grants within a node need no frames; a refusal concerns a write that is over.
    fn hear_own(&mut self, control: VecDeque<Control>, shared: &mut Shared) {
        self.incoming.settle_own_credit();
        self.collect_spent(shared);
        for refusal in control {
            if let Body::MessageHeaders(posted, message) = &refusal.body {
                self.hear_refusal(refusal.message_id, posted, message, shared);
            }
        }
    }

    /// A read of any origin waits for a message of `key`: asks for one, if the peer can announce none.
    pub(super) fn ask(&mut self, key: MatchKey, shared: &mut Shared) {
        if self.incoming.is_holding() {
            self.incoming.ask(key, &shared.any, &mut self.outgoing.control);
            self.announce_output(shared);
        }
    }

    /// The read `op` is given up. If its message is arriving, that is for another read; returns whether it was.
    pub(super) fn unmeet(&mut self, op: OpId, shared: &mut Shared) -> bool {
        let (mut own, is_own) = (VecDeque::new(), self.is_own());
        let control = if is_own { &mut own } else { &mut self.outgoing.control };
        let was_met = self.incoming.unmeet(op, &mut shared.any, control, &mut shared.completions);
        self.end_return(own, shared);
        was_met
    }

    /// A message that a read has met and nobody has taken is for another read.
    pub(super) fn put_back(
        &mut self,
        key: MatchKey,
        origin: Origin,
        place: Box<dyn ReceiveBuffer>,
        shared: &mut Shared,
    ) {
        let (mut own, is_own) = (VecDeque::new(), self.is_own());
        let control = if is_own { &mut own } else { &mut self.outgoing.control };
        let Shared { any, completions, now, .. } = shared;
        self.incoming.put_back((key, origin), place, *now, any, control, completions);
        self.end_return(own, shared);
    }

    fn end_return(&mut self, own: VecDeque<Control>, shared: &mut Shared) {
        if self.is_own() {
            self.hear_own(own, shared);
        } else {
            self.announce_output(shared);
        }
    }

    pub(super) fn initwrite(
        &mut self,
        op: OpId,
        message_header: MessageHeader,
        source: Box<dyn SendBuffer>,
        now: Duration,
        shared: &mut Shared,
    ) -> Result<(), Unposted> {
        if self.is_own() {
            let message_id = self.next_own_slot;
            self.next_own_slot += 1;
            self.outgoing.remember(message_id, op, message_header);
            let Shared { any, completions, .. } = shared;
            self.incoming.write_own((message_id, op, message_header), source, any, now, completions);
            self.incoming.settle_own_credit();
            self.collect_spent(shared);
            return Ok(());
        }
        if self.has_left() {
            let (kind, tag) = (OperationKind::Write, message_header.key.user_tag());
            let error = self.left(Operation::new(kind, self.rank, self.peer, tag, message_header.total));
            return Err(Unposted { error, buffer: source.into_any() });
        }
        self.outgoing.post(op, message_header, source, now);
        self.announce_output(shared);
        Ok(())
    }

    pub(super) fn stamp(&mut self, op: OpId, stamp: Stamp) {
        if !self.is_own() {
            self.outgoing.stamp(op, stamp);
        }
    }

    pub(super) fn ping(&mut self, stamp: Stamp, answers: u32, shared: &mut Shared) {
        if !self.is_own() && !self.farewell.said {
            self.outgoing.ping(stamp, answers);
            self.announce_output(shared);
        }
    }

    /// Says goodbye once every message has left.
    pub(super) fn goodbye(&mut self, cause: Option<(Rank, &str)>, shared: &mut Shared) {
        if !self.is_own() && !self.farewell.said {
            self.farewell.said = true;
            self.outgoing.goodbye = Some(Control::goodbye(cause));
            self.announce_output(shared);
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.farewell.said
    }

    pub(super) fn is_drained(&self) -> bool {
        let holds_no_writes = self.sealed.is_empty() && self.lanes.iter().all(|lane| lane.sealed.is_empty());
        (self.outgoing.is_drained() && holds_no_writes) || self.farewell.closed
    }

    pub(super) fn is_farewelled(&self) -> bool {
        // Who has heard the peer's goodbye stays until the peer knows: it waits for that, and would come again in vain.
        let Farewell { confirmed, heard, failed, closed, .. } = self.farewell;
        self.is_own() || closed || (confirmed && (failed || !heard || self.outgoing.is_answer_acknowledged()))
    }

    #[cfg(test)]
    pub(super) fn is_closed(&self) -> bool {
        self.farewell.closed
    }

    /// The connection has ended for good. Returns whether it might: after goodbye.
    pub(super) fn close(&mut self, shared: &mut Shared) -> bool {
        self.release_sealed(&mut shared.completions);
        self.forget_sent(shared);
        let known = self.farewell.closed;
        self.farewell.closed = true;
        known || self.farewell.heard || self.farewell.confirmed
    }

    /// Ends every operation with `error`.
    pub(super) fn fail(&mut self, error: &Error, shared: &mut Shared) {
        self.release_sealed(&mut shared.completions);
        let (reads, writes) = (self.incoming.clear(), self.outgoing.clear());
        // Who fails goes on with no other connection.
        self.forget_sent(shared);
        self.collect_spent(shared);
        let fail = |op, error, buffer| Completed { op, outcome: Outcome::failed_with(error, buffer) };
        let reads = reads.into_iter().map(|(op, buffer)| fail(op, error.clone(), buffer));
        let writes = writes.into_iter().map(|Ended { op, refused, source, .. }| {
            fail(op, refused.unwrap_or_else(|| error.clone()), source.into_any())
        });
        shared.completions.extend(reads.chain(writes));
    }

    /// Nothing is sent again.
    fn forget_sent(&mut self, shared: &mut Shared) {
        let lanes = self.outgoing.lanes.iter_mut().map(|lane| &mut lane.retention);
        std::iter::once(&mut self.outgoing.retention).chain(lanes).for_each(|kept| kept.clear(&mut shared.spent));
    }

    /// Bytes still to come of the message that was heard of last.
    pub(super) fn to_come(&self) -> u64 {
        // Asked for also after a panic, which may have left none.
        let last = self.parser.as_ref().and_then(|parser| parser.last);
        last.and_then(|(message_id, _)| self.incoming.missing(message_id).ok()).unwrap_or(0)
    }

    /// Frames sent and received.
    #[cfg(test)]
    pub(super) fn frames(&self) -> (u32, u32) {
        (self.outgoing.number, self.parser().number)
    }

    /// Whether something waits to be sent, and the peer is there.
    pub(super) fn has_output(&self) -> bool {
        let on_lanes = (0..self.lanes.len()).any(|lane| self.outgoing.lane_has_output(lane));
        !self.farewell.closed && (self.outgoing.has_output() || on_lanes)
    }

    /// What has failed is to be dropped by who holds no lock.
    pub(super) fn collect_spent(&mut self, shared: &mut Shared) {
        if !self.incoming.spent.is_empty() {
            shared.spent.append(&mut self.incoming.spent);
        }
    }

    pub(super) fn announce_output(&mut self, shared: &mut Shared) {
        self.collect_spent(shared);
        if let Some(bytes) = self.incoming.take_credit() {
            self.outgoing.owe(bytes);
        }
        if self.farewell.said && self.outgoing.goodbye.is_none() {
            // Goodbye has left: credit, grants and wants for reads that nobody waits for must not follow it.
            self.outgoing.control.retain(|control| control.kind == Kind::GoodbyeAck);
        }
        if !self.is_pending && self.outgoing.has_output() {
            self.is_pending = true;
            shared.pending.push_back(self.peer.into());
        }
        if !self.lanes.is_empty() {
            self.announce_lanes(shared);
        }
    }

    pub(super) fn peer(&self) -> Rank {
        self.peer
    }

    /// Whether messages may be sent to another rank.
    pub(super) fn is_open(&self) -> bool {
        !self.is_own() && !self.has_left() && !self.farewell.closed && !self.farewell.said
    }

    fn is_own(&self) -> bool {
        self.rank == self.peer
    }

    /// Whether the peer has finished in order.
    pub(super) fn has_left(&self) -> bool {
        self.farewell.heard && !self.farewell.failed
    }

    fn left(&self, operation: Operation) -> Error {
        let cause = format!("rank {} has finished; it will send and read nothing more", self.peer);
        Error::PeerLost { peer: self.peer, cause: cause.into(), operation: Some(operation) }
    }

    /// The peer has said goodbye: what it has not sent or read by now it never will.
    pub(super) fn hear_goodbye(&mut self, failed: Option<Rank>, words: &[u8], shared: &mut Shared) {
        self.farewell.heard = true;
        if let Some(culprit) = failed {
            self.farewell.failed = true;
            self.outgoing.control.push_back(Control::about(Kind::GoodbyeAck, 0));
            let words = text::printable(&String::from_utf8_lossy(words));
            shared.failed_peer.get_or_insert((culprit, words));
            return;
        }
        // What it has not read by now it never will: of the lanes nothing is left to say.
        let lanes = self.outgoing.lanes.iter_mut();
        lanes.for_each(|lane| lane.retention.clear(&mut shared.spent));
        for Ended { op, message_header, refused, source } in self.outgoing.clear() {
            let lost = || {
                let tag = message_header.key.user_tag();
                let operation = Operation::new(OperationKind::Write, self.rank, self.peer, tag, message_header.total);
                let cause = format!("rank {} has finished without reading this message", self.peer);
                Error::PeerLost { peer: self.peer, cause: cause.into(), operation: Some(operation) }
            };
            let outcome = Outcome::failed_with(refused.unwrap_or_else(lost), source.into_any());
            shared.completions.push_back(Completed { op, outcome });
        }
        self.outgoing.control.push_back(Control::about(Kind::GoodbyeAck, 0));
        for Orphan { op, key, bytes, buffer } in self.incoming.orphan() {
            let operation = Operation::new(OperationKind::Read, self.rank, self.peer, key.user_tag(), bytes);
            let outcome = Outcome::failed_with(self.left(operation), buffer);
            shared.completions.push_back(Completed { op, outcome });
        }
    }

    /// The peer has heard this node's goodbye, and has given up what it had not sent: no read ends any more.
    pub(super) fn hear_confirmation(&mut self, shared: &mut Shared) {
        self.farewell.confirmed = self.farewell.said;
        // The peer stays until it knows that this has arrived.
        self.outgoing.acknowledgement.is_wanted();
        if self.farewell.confirmed {
            let error = Error::Shutdown { rank: self.rank };
            let end = |(op, buffer)| Completed { op, outcome: Outcome::failed_with(error.clone(), buffer) };
            shared.completions.extend(self.incoming.clear().into_iter().map(end));
        }
    }

    pub(super) fn hear_stamp(&mut self, is_ping: bool, message_id: u64, stamp: Stamp, shared: &mut Shared) {
        let (bytes, answers) = match is_ping {
            true => (None, message_id.try_into().unwrap_or(0)),
            false => (self.incoming.complete_bytes(message_id), 0),
        };
        if (is_ping || bytes.is_some()) && shared.arrivals.len() < ARRIVALS_MAX {
            shared.arrivals.push(Arrival { peer: self.peer, bytes, stamp, answers });
        }
    }

    /// The peer's read, `posted`, does not fit the `message`.
    pub(super) fn hear_refusal(
        &mut self,
        message_id: u64,
        posted: &MessageHeader,
        message: &MessageHeader,
        shared: &mut Shared,
    ) {
        let error = Error::Mismatch(Arc::new(Mismatch {
            from: self.rank,
            to: self.peer,
            tag: posted.key.tag,
            sent: (message.total, message.element),
            posted: (posted.total, posted.element),
        }));
        // Who refuses a message of a collective says why: it has failed.
        let is_heard_otherwise = posted.key.context.is_of_collectives();
        if let Some((op, error)) = self.outgoing.refuse(message_id, error, &mut shared.completions)
            && !is_heard_otherwise
        {
            shared.refusals.push_back(LateRefusal { op, error });
        }
    }
}
