//! The protocol without I/O, clock or thread: posting, matching, fragments, credit.
//!
//! The methods come in four families. *Commands* come from the program (`initread`, `initwrite`, `withdraw`,
//! `goodbye`). *Events* come from the sockets (`receive`, `handle_bytes`, `handle_lost`). *Output* is asked for:
//! `transmit` while `pending` names a link, then `poll_completion` until it is empty. *Getters* change nothing.
//! Time is an argument. Whoever holds the engine may drive it: the kernel's task, a helping waiter, a test.

mod acknowledgement;
mod again;
mod any;
mod arriving;
mod batch;
mod by_op;
mod failing;
mod hearing;
mod incoming;
mod lane;
mod link;
mod notes;
mod operation;
mod outgoing;
mod receive;
mod reception;
mod resuming;
mod sealed;
#[cfg(test)]
mod sim;
mod snapshot;
mod spare;
mod transmit;
mod unbound;

use std::any::Any;
use std::io::{self, IoSlice, IoSliceMut};
use std::time::Duration;

use crate::buffer::{ElementType, ReceiveBuffer, SendBuffer};
use crate::error::{Error, Misuse};
use crate::ids::{Path, Rank, Tag};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::{Context, MatchKey, MessageHeader, Stamp};
pub(crate) use crate::wire::handshake::Limits;
pub(crate) use acknowledgement::DELAY as ACKNOWLEDGEMENT_DELAY;
use arriving::Posted;
pub(crate) use by_op::ByOp;
use link::{Link, Shared};
use notes::Notes;
pub(crate) use notes::{Arrival, Note, Progress};
pub(crate) use operation::{Completed, Failure, LateRefusal, OpId, Origin, Outcome, Unposted};
use outgoing::BESIDE;
pub(crate) use outgoing::{LANES_MAX, Written};
#[cfg(test)]
pub(crate) use sim::starts::Starts;
use transmit::Short;
pub(crate) use transmit::{COPY_BYTES_MAX, Sent};

/// Bytes read at a time when nothing is predicted: a message of 64 KiB that no read waits for takes one call, with its head and what
/// was told before it.
const READ_BYTES: usize = (64 << 10) + 4096;

pub(crate) struct Engine {
    rank: Rank,
    links: Vec<Link>,
    shared: Shared,
    next_op: u64,
    batch: transmit::Batch,
    read_buffer: Box<[u8]>,
    /// Once set, every further command fails with it.
    failure: Option<Error>,
}

impl Engine {
    /// An engine for `rank`. `limits` states what each rank said about itself, this one included; links to all
    /// start open.
    pub(crate) fn new(rank: Rank, limits: &[Limits]) -> Self {
        let own = &limits[rank.index()];
        let link = |(peer, theirs)| Link::new(rank, Rank(peer), own, theirs);
        Engine {
            rank,
            links: (0..).zip(limits).map(link).collect(),
            shared: Shared::default(),
            next_op: 0,
            batch: transmit::Batch::default(),
            read_buffer: vec![0; READ_BYTES].into(),
            failure: None,
        }
    }

    /// From now on each fragment travels alone.
    pub(crate) fn disable_batches(&mut self) {
        self.links.iter_mut().for_each(|link| link.outgoing.batch.disable());
    }

    /// The link to `peer` does not leave the host.
    pub(crate) fn stays_within_host(&mut self, peer: Rank) {
        self.links[peer.index()].outgoing.batch.stays_within_host();
    }

    /// `peer` reads beside this node: each has a core of its own.
    pub(crate) fn reads_beside(&mut self, peer: Rank) {
        self.links[peer.index()].outgoing.retention.is_read_beside(BESIDE);
    }

    /// Whether that is so.
    pub(crate) fn has_beside(&self, peer: Rank) -> bool {
        self.links[peer.index()].outgoing.retention.is_long(u64::MAX)
    }

    /// Posts a read of the next message of `key` from `from`.
    pub(crate) fn initread(
        &mut self,
        now: Duration,
        from: Rank,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
    ) -> Result<OpId, Unposted> {
        if let Err(error) = self.check(from) {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        let op = self.new_op();
        let read = Posted::new(op, place, element, now);
        let operation = Operation::new(OperationKind::Read, self.rank, from, key.user_tag(), read.capacity);
        self.links[from.index()].initread(key, read, operation, &mut self.shared)?;
        Ok(op)
    }

    /// Posts a write of a message of `key` to `to`.
    pub(crate) fn initwrite(
        &mut self,
        now: Duration,
        to: Rank,
        key: MatchKey,
        element: ElementType,
        source: Box<dyn SendBuffer>,
    ) -> Result<OpId, Unposted> {
        if let Err(error) = self.check(to) {
            return Err(Unposted { error, buffer: source.into_any() });
        }
        let Some(total) = source.all().map(|bytes| bytes.len() as u64) else {
            let operation = Operation::new(OperationKind::Write, self.rank, to, key.user_tag(), 0);
            return Err(Unposted { error: Misuse::Buffer { operation }.into(), buffer: source.into_any() });
        };
        let message_header = MessageHeader { key, element, total };
        let op = self.new_op();
        self.links[to.index()].initwrite(op, message_header, source, now, &mut self.shared)?;
        Ok(op)
    }

    /// Sends a message of `key` to `to` at once, if it is short and nothing is before it on that link: what [`Engine::initwrite`] and
    /// [`Engine::transmit`] do, without a queue between. Returns the operation, which is over, and whether all of it has left or the
    /// rest waits for room. `None`: nothing was sent, and it is to be posted.
    ///
    /// # Errors
    /// What `write` fails with, to be handled as a lost peer. The message is to be posted all the same.
    pub(crate) fn write_at_once(
        &mut self,
        to: Rank,
        (key, element): (MatchKey, ElementType),
        bytes: &[u8],
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Option<(OpId, Sent)>> {
        if self.failure.is_some() {
            return Ok(None);
        }
        let op = self.new_op();
        let Some(link) = self.links.get_mut(to.index()).filter(|link| link.is_open()) else { return Ok(None) };
        let message_header = MessageHeader { key, element, total: bytes.len() as u64 };
        let short = Short { op, message_header, bytes };
        let Some(sent) = link.outgoing.send_unposted(&short, &mut self.batch.scratch, write)? else { return Ok(None) };
        if sent == Sent::Blocked {
            link.announce_output(&mut self.shared);
        }
        Ok(Some((op, sent)))
    }

    /// Whether a message of `bytes` to `to` would leave with the next call that the socket takes.
    pub(crate) fn takes_at_once(&self, to: Rank, bytes: u64) -> bool {
        self.links[to.index()].outgoing.takes_at_once(bytes)
    }

    /// Has the write `op`, just posted to `to`, tell the receiver when that was; if its time on the way says something
    /// about the link.
    pub(crate) fn stamp(&mut self, to: Rank, op: OpId, stamp: Stamp) {
        self.links[to.index()].stamp(op, stamp);
    }

    /// Tells `to` what the time is, to be answered `answers` times in turn.
    pub(crate) fn ping(&mut self, to: Rank, stamp: Stamp, answers: u32) {
        self.links[to.index()].ping(stamp, answers, &mut self.shared);
    }

    /// Withdraws a read, if it has not met its message. Returns whether it had not.
    pub(crate) fn withdraw(&mut self, from: Rank, key: MatchKey, op: OpId) -> bool {
        let read = self.links[from.index()].incoming.withdraw(key, op);
        self.end_withdrawn(read)
    }

    fn end_withdrawn(&mut self, read: Option<Posted>) -> bool {
        let Some(Posted { op, place, .. }) = read else { return false };
        self.shared.completions.push_back(Completed { op, outcome: Outcome::Abandoned(Some(place)) });
        true
    }

    /// Says goodbye on every link, after all messages. `cause`: the job failed, by which rank's fault, and why.
    pub(crate) fn goodbye(&mut self, cause: Option<(Rank, &str)>) {
        for link in &mut self.links {
            link.goodbye(cause, &mut self.shared);
        }
    }

    /// Whether `peer` has finished in order.
    pub(crate) fn has_left(&self, peer: Rank) -> bool {
        self.links[peer.index()].has_left()
    }

    /// Whether this node has said goodbye, or is about to: it can write nothing more.
    pub(crate) fn is_leaving(&self) -> bool {
        self.links.iter().any(Link::is_leaving)
    }

    /// Whether every write has left its buffer for the sockets, towards peers that are there.
    pub(crate) fn is_drained(&self) -> bool {
        self.links.iter().all(|link| link.is_drained())
    }

    /// Whether every peer has confirmed this node's goodbye, or is gone itself.
    pub(crate) fn is_farewelled(&self) -> bool {
        self.links.iter().all(|link| link.is_farewelled())
    }

    /// Reads once from `from` by `read`, a non-blocking vectored read. Returns the bytes read; 0 is the end.
    ///
    /// # Errors
    /// What `read` fails with, to be handled as a lost peer; bytes that break the protocol have failed the link.
    pub(crate) fn receive(
        &mut self,
        now: Duration,
        from: impl Into<Path>,
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let from = from.into();
        self.shared.now = now;
        if self.failure.is_some() {
            // Nothing can come of it any more; but the peer must not block on us.
            return read(&mut [IoSliceMut::new(&mut self.read_buffer)]);
        }
        let link = &mut self.links[from.peer.index()];
        let taken = match link.lane(from) {
            None => link.receive(&mut self.shared, &mut self.read_buffer, read)?,
            Some(lane) => link.receive_lane(lane, &mut self.shared, &mut self.read_buffer, read)?,
        };
        match taken {
            Ok(count) => Ok(count),
            Err(cause) => {
                self.handle_protocol_error(from.peer, cause);
                Ok(0)
            }
        }
    }

    /// Takes bytes from `from`, in pieces of any size.
    #[cfg(test)]
    pub(crate) fn handle_bytes(&mut self, now: Duration, from: Rank, bytes: &[u8]) {
        self.shared.now = now;
        let link = &mut self.links[from.index()];
        if let Err(cause) = link.feed(&mut self.shared, bytes) {
            self.handle_protocol_error(from, cause);
        }
    }

    /// Sends to `to` as much as `write`, a non-blocking vectored write, takes.
    ///
    /// # Errors
    /// What `write` fails with, to be handled as a lost peer.
    pub(crate) fn transmit(
        &mut self,
        to: impl Into<Path>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let path = to.into();
        let to = path.peer;
        let link = &mut self.links[to.index()];
        let sent = match link.lane(path) {
            None => link.transmit(&mut self.batch, &mut self.shared, write),
            Some(lane) => link.transmit_lane(lane, &mut self.shared, write),
        };
        if let Some(message_header) = link.outgoing.broken.take() {
            let tag = message_header.key.user_tag();
            let operation = Operation::new(OperationKind::Write, self.rank, to, tag, message_header.total);
            self.fail(Misuse::Buffer { operation }.into());
        }
        sent
    }

    /// Whether [`Engine::take_spent`] has something to take.
    pub(crate) fn has_spent(&self) -> bool {
        !self.shared.spent.is_empty()
    }

    /// Buffers that nobody wants any more. Their types may be the program's own: they are to be dropped while nothing is
    /// locked.
    pub(crate) fn take_spent(&mut self) -> Vec<Box<dyn Any + Send>> {
        std::mem::take(&mut self.shared.spent)
    }

    /// A lane that has got something to send since it was last sent to; each is named once.
    pub(crate) fn poll_pending(&mut self) -> Option<Path> {
        while let Some(path) = self.shared.pending.pop_front() {
            if self.links[path.peer.index()].take_pending(path) {
                return Some(path);
            }
        }
        None
    }

    /// Whether there may be such a link.
    pub(crate) fn has_pending(&self) -> bool {
        !self.shared.pending.is_empty()
    }

    /// The next operation that has ended.
    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        self.shared.completions.pop_front()
    }

    /// Bytes still to come of the message that `peer` sent from last.
    pub(crate) fn to_come(&self, peer: Rank) -> u64 {
        self.links.get(peer.index()).map_or(0, Link::to_come)
    }

    /// Whether an operation has ended and was not asked for yet.
    pub(crate) fn has_completions(&self) -> bool {
        !self.shared.completions.is_empty()
    }

    /// Whether there is something to be handed on: what has ended or failed, or has come and was not asked for.
    pub(crate) fn has_news(&self) -> bool {
        let is_quiet = self.shared.refusals.is_empty() && self.shared.failed_peer.is_none() && self.failure.is_none();
        !is_quiet || self.has_completions() || self.has_strangers() || self.has_requests()
    }

    /// The next stamp that has come.
    pub(crate) fn poll_arrival(&mut self) -> Option<Arrival> {
        self.shared.arrivals.pop()
    }

    /// Has notes of every message's progress taken from now on; they must be asked for.
    pub(crate) fn take_notes(&mut self) {
        for link in &mut self.links {
            link.outgoing.notes = Notes::wanted();
            link.incoming.notes = Notes::wanted();
        }
    }

    /// The notes taken of the link to `peer` since they were asked for last.
    pub(crate) fn notes(&mut self, peer: Rank) -> impl Iterator<Item = Note> {
        let link = &mut self.links[peer.index()];
        let taken = [&mut link.outgoing.notes, &mut link.incoming.notes].into_iter().flat_map(Notes::drain);
        taken.map(move |(message_id, progress)| Note { peer, message_id, progress })
    }

    /// The next refusal of a message whose write was over already.
    pub(crate) fn poll_refusal(&mut self) -> Option<LateRefusal> {
        self.shared.refusals.pop_front()
    }

    /// The next message about or of a collective that has met no read.
    pub(crate) fn poll_stranger(&mut self) -> Option<(Rank, MessageHeader)> {
        self.shared.strangers.pop_front()
    }

    /// A peer that has begun to hold messages which it cannot announce: it is to be asked for those one would read.
    pub(crate) fn poll_holder(&mut self) -> Option<Rank> {
        self.shared.holders.pop()
    }

    /// Whether there is a stranger or a holder.
    pub(crate) fn has_strangers(&self) -> bool {
        !self.shared.strangers.is_empty() || !self.shared.holders.is_empty()
    }

    /// What windows are to read next: a message of this tag that has come from this rank, or, without a tag, whatever it
    /// holds that it cannot announce.
    pub(crate) fn poll_request(&mut self) -> Option<(Rank, Option<Tag>)> {
        self.shared.requests.pop_front()
    }

    /// Whether there is something that windows are to read.
    pub(crate) fn has_requests(&self) -> bool {
        !self.shared.requests.is_empty()
    }

    /// The messages of `context` that have met no read, in order: from whom, and how many of each key.
    pub(crate) fn unmatched(&self, context: Context) -> Vec<(Rank, MatchKey, usize)> {
        let of = |link: &Link| {
            let peer = link.peer();
            let mut keys: Vec<_> = link.incoming.unmatched(context).map(|(key, count)| (peer, key, count)).collect();
            keys.sort_unstable();
            keys
        };
        self.links.iter().flat_map(of).collect()
    }

    /// Whether something waits to be sent to a peer that is there, and may be.
    pub(crate) fn has_any_output(&self) -> bool {
        self.links.iter().any(Link::has_output)
    }

    /// Whether something waits to be sent on `path`.
    #[cfg(test)]
    pub(crate) fn has_output(&self, path: impl Into<Path>) -> bool {
        let path = path.into();
        let link = &self.links[path.peer.index()];
        link.lane(path).map_or(link.outgoing.has_output(), |lane| link.outgoing.lane_has_output(lane))
    }

    /// Whose engine it is.
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    #[cfg(test)]
    pub(crate) fn buffered_bytes(&self) -> u64 {
        self.links.iter().map(|link| link.incoming.buffered_bytes()).sum()
    }

    #[cfg(test)]
    pub(crate) fn envelopes(&self) -> u32 {
        self.links.iter().map(|link| link.incoming.envelopes()).max().unwrap_or(0)
    }

    fn check(&self, peer: Rank) -> Result<(), Error> {
        let rank = self.rank;
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if peer.index() >= self.links.len() {
            return Err(Misuse::NoSuchRank { rank, peer, size: self.links.len() as u32 }.into());
        }
        Ok(())
    }

    /// A name for an operation that the engine does not carry out itself.
    pub(crate) fn new_op(&mut self) -> OpId {
        self.next_op += 1;
        OpId(self.next_op)
    }
}
