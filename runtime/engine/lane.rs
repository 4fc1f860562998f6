//! A link's lanes beside the first: what comes on them, and the engine's commands and events about any lane.

use std::io::{self, IoSlice, IoSliceMut};
use std::time::Duration;

use super::Engine;
use super::link::{Link, Shared};
use super::outgoing::LANES_MAX;
use super::receive::{Frames, Head, Parser};
use super::reception::{Due, Reception, two_numbers};
use super::transmit::{Batch, Sent};
use crate::error::WireError;
use crate::ids::{Path, Rank};
use crate::wire::frame::{Kind, MessageHeader, Stamp};

impl Engine {
    /// The link to `peer` is to have at least `count` lanes beside the first, at most [`LANES_MAX`]. New ones have no
    /// connection: [`Engine::resume`] tells of the first.
    pub(crate) fn open_lanes(&mut self, peer: Rank, count: u8) {
        self.links[peer.index()].open_lanes(count);
    }

    /// How many lanes the link to `peer` has beside the first.
    pub(crate) fn lanes(&self, peer: Rank) -> u8 {
        self.links[peer.index()].lanes.len() as u8
    }

    /// Asks `peer`, which is to open them, for so many lanes.
    pub(crate) fn wish_lanes(&mut self, peer: Rank, count: u8) {
        self.links[peer.index()].wish_lanes(count, &mut self.shared);
    }

    /// A peer that wishes for so many lanes.
    pub(crate) fn poll_wish(&mut self) -> Option<(Rank, u8)> {
        self.shared.wishes.pop()
    }

    /// Whether long messages to `peer` wait to be sent.
    pub(crate) fn has_bulk(&self, peer: Rank) -> bool {
        self.links[peer.index()].outgoing.has_bulk()
    }

    /// Bytes of long messages to `peer` that wait to be sent.
    pub(crate) fn bulk_bytes(&self, peer: Rank) -> u64 {
        self.links[peer.index()].outgoing.bulk_bytes()
    }

    /// Whether what comes on this lane must wait for something on another: nothing of it is to be read.
    pub(crate) fn waits(&self, path: Path) -> bool {
        let link = &self.links[path.peer.index()];
        let waits = |lane: usize| link.lanes[lane].waiting.is_some() && !link.is_parting();
        link.lane(path).is_some_and(waits)
    }

    /// Whether lanes are wished, `path` waits, or one that waited need not any more.
    pub(crate) fn has_lane_news(&self, path: Path) -> bool {
        !self.shared.wishes.is_empty() || !self.shared.unblocked.is_empty() || self.waits(path)
    }

    /// A lane that had to wait and may be read again.
    pub(crate) fn poll_unblocked(&mut self) -> Option<Path> {
        self.shared.unblocked.pop()
    }
}

impl Link {
    /// The lane among those beside the first.
    pub(super) fn lane(&self, path: Path) -> Option<usize> {
        (path.lane as usize).checked_sub(1).filter(|lane| *lane < self.lanes.len())
    }

    fn open_lanes(&mut self, count: u8) {
        self.outgoing.open_lanes(count);
        self.lanes.resize_with(self.outgoing.lanes.len(), Reception::default);
    }

    fn wish_lanes(&mut self, count: u8, shared: &mut Shared) {
        if !self.farewell.said {
            self.outgoing.wish_lanes(count.min(LANES_MAX));
            self.announce_output(shared);
        }
    }

    /// Has each lane with something to send named once.
    pub(super) fn announce_lanes(&mut self, shared: &mut Shared) {
        for lane in 0..self.lanes.len() {
            if !self.lanes[lane].is_pending && self.outgoing.lane_has_output(lane) {
                self.lanes[lane].is_pending = true;
                shared.pending.push_back(Path { peer: self.peer(), lane: lane as u8 + 1 });
            }
        }
    }

    /// A path of this link is not named any more. Returns whether it has output.
    pub(super) fn take_pending(&mut self, path: Path) -> bool {
        match self.lane(path) {
            None => {
                self.is_pending = false;
                self.outgoing.has_output()
            }
            Some(lane) => {
                self.lanes[lane].is_pending = false;
                self.outgoing.lane_has_output(lane)
            }
        }
    }

    /// Whether what comes on a lane is for nobody any more: the peer has said goodbye, for which it has waited until all of it
    /// had come, or this node has, and the peer has given up the rest.
    fn is_parting(&self) -> bool {
        self.farewell.heard || self.farewell.confirmed
    }

    /// Whether nothing of a lane is needed any more, since one end has said all.
    pub(super) fn lane_may_end(&self) -> bool {
        self.may_end() || self.farewell.heard || (self.farewell.said && self.outgoing.goodbye.is_none())
    }

    pub(super) fn receive_lane(
        &mut self,
        lane: usize,
        shared: &mut Shared,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        if self.is_parting() {
            // What still comes was on its way before the peer knew.
            return read(&mut [IoSliceMut::new(buffer)]).map(Ok);
        }
        if self.lanes[lane].waiting.is_some() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.with_lane(lane, shared, |parser, frames| parser.receive(frames, buffer, read));
        if let Ok(Ok(count)) = taken {
            let head_begun = self.lanes[lane].parser.head_begun();
            let acknowledgement = &mut self.outgoing.lanes[lane].acknowledgement;
            acknowledgement.receives(count, head_begun, shared.now);
            if acknowledgement.untold() > 0 && !self.lanes[lane].is_untold {
                self.lanes[lane].is_untold = true;
                shared.untold.push(Path { peer: self.peer(), lane: lane as u8 + 1 });
            }
            self.announce_output(shared);
        }
        taken
    }

    fn with_lane<T>(
        &mut self,
        lane: usize,
        shared: &mut Shared,
        run: impl FnOnce(&mut Parser, &mut Carried<'_>) -> T,
    ) -> T {
        let mut parser = std::mem::take(&mut self.lanes[lane].parser);
        let result = run(&mut parser, &mut Carried { link: self, lane, shared });
        self.lanes[lane].parser = parser;
        result
    }

    /// Messages may have been opened: lanes that wait for that go on.
    pub(super) fn unblock(&mut self, shared: &mut Shared) -> Result<(), WireError> {
        for lane in 0..self.lanes.len() {
            let Some(due) = self.lanes[lane].waiting.filter(|_| !self.is_parting()) else { continue };
            if !self.incoming.takes_parts(due.message_id) {
                continue;
            }
            self.lanes[lane].waiting = None;
            self.begin(lane, due)?;
            self.with_lane(lane, shared, |parser, frames| parser.go_on(frames))?;
            if self.lanes[lane].waiting.is_none() {
                shared.unblocked.push(Path { peer: self.peer(), lane: lane as u8 + 1 });
            }
        }
        Ok(())
    }

    /// A lane is about to bring part of a message, which is open.
    fn begin(&mut self, lane: usize, due: Due) -> Result<(), WireError> {
        let Due { message_id, at, to } = due;
        self.incoming.split(message_id, at, to - at)?;
        self.lanes[lane].due = Some(due);
        Ok(())
    }

    /// Has the peer told of what has come on `path`, if it is time at `now`. Returns when it will be.
    pub(super) fn acknowledge(&mut self, path: Path, now: Duration, shared: &mut Shared) -> Option<Duration> {
        let (acknowledgement, is_down) = match self.lane(path) {
            None => (&mut self.outgoing.acknowledgement, self.outgoing.is_down),
            Some(lane) => {
                let lane = &mut self.outgoing.lanes[lane];
                (&mut lane.acknowledgement, lane.is_down)
            }
        };
        // A new connection tells it at its beginning.
        let deadline = acknowledgement.deadline().filter(|_| !is_down && !self.farewell.closed)?;
        if deadline > now {
            return Some(deadline);
        }
        acknowledgement.is_wanted();
        self.announce_output(shared);
        None
    }

    /// The peer need not be told of anything on `path`.
    pub(super) fn is_told(&mut self, path: Path) {
        match self.lane(path) {
            None => self.is_untold = false,
            Some(lane) => self.lanes[lane].is_untold = false,
        }
    }

    /// What the first lane sends.
    pub(super) fn transmit(
        &mut self,
        batch: &mut Batch,
        shared: &mut Shared,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let sent = self.outgoing.transmit(batch, &mut shared.completions, write);
        self.collect_spent(shared);
        // Messages that have been opened are the other lanes' now.
        self.announce_lanes(shared);
        sent
    }

    /// What another sends.
    pub(super) fn transmit_lane(
        &mut self,
        lane: usize,
        shared: &mut Shared,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let sent = self.outgoing.transmit_lane(lane, &mut shared.completions, write);
        self.collect_spent(shared);
        // A message that was refused may have stopped, and goodbye may be due.
        self.announce_output(shared);
        sent
    }
}

/// A lane while its parser runs.
struct Carried<'a> {
    link: &'a mut Link,
    lane: usize,
    shared: &'a mut Shared,
}

impl Carried<'_> {
    fn due(&mut self, message_id: u64) -> Option<&mut Due> {
        self.link.lanes[self.lane].due.as_mut().filter(|due| due.message_id == message_id)
    }

    fn segment(&mut self, message_id: u64, body: &[u8]) -> Result<(), WireError> {
        let (at, length) = two_numbers(body).ok_or(WireError::Handshake("a segment without its place"))?;
        let to =
            at.checked_add(length).ok_or(WireError::TooLong { what: "a segment", got: length, most: u64::MAX - at })?;
        let due = Due { message_id, at, to };
        if self.link.incoming.takes_parts(message_id) {
            return self.link.begin(self.lane, due);
        }
        self.link.lanes[self.lane].waiting = Some(due);
        Ok(())
    }
}

impl Frames for Carried<'_> {
    fn head(&mut self, head: Head) -> Result<(), WireError> {
        let Head { header, body, .. } = head;
        let message_id = header.message_id;
        match header.kind {
            Kind::Acknowledgement => {
                let position =
                    body.first_chunk().ok_or(WireError::Handshake("an acknowledgement without its position"))?;
                let lane = &mut self.link.outgoing.lanes[self.lane];
                lane.acknowledgement.was_one();
                lane.retention.acknowledge(u64::from_le_bytes(*position), &mut self.shared.spent)
            }
            Kind::Stamp => {
                let stamp = body.first_chunk().ok_or(WireError::Handshake("a stamp frame without its times"))?;
                self.link.hear_stamp(false, message_id, Stamp::decode(stamp), self.shared);
                Ok(())
            }
            Kind::Segment => self.segment(message_id, &body),
            Kind::Data if header.flags == 0 => Ok(()),
            _ => Err(WireError::NoSuchMessage { what: "a frame that is for the first lane", message_id }),
        }
    }

    fn settle(&mut self, message_id: u64) {
        self.link.incoming.settle(message_id, &mut self.shared.completions);
    }

    fn place(&mut self, message_id: u64) -> Option<&mut [u8]> {
        let Due { at, to, .. } = *self.due(message_id)?;
        self.link.incoming.part(message_id, at, to)
    }

    fn missing(&mut self, message_id: u64) -> Result<u64, WireError> {
        let due = self.due(message_id).map(|due| due.to - due.at);
        let due = due.ok_or(WireError::NoSuchMessage { what: "data on a lane", message_id })?;
        Ok(due.min(self.link.incoming.to_come(message_id)))
    }

    fn deliver(&mut self, message_id: u64, bytes: &[u8]) {
        let Some(due) = self.due(message_id) else { return };
        let at = due.at;
        due.at += bytes.len() as u64;
        self.link.incoming.deliver_part(message_id, at, bytes);
    }

    fn delivered(&mut self, message_id: u64, bytes: usize) {
        let Some(due) = self.due(message_id) else { return };
        due.at += bytes as u64;
        self.link.incoming.delivered_part(message_id, bytes);
    }

    /// A lane brings parts only.
    fn whole(&mut self, _: u64, _: &MessageHeader, _: &[u8]) -> bool {
        false
    }

    /// Which message comes next is not known before its segment.
    fn expected_bytes(&self) -> Option<u64> {
        None
    }

    fn expected(&mut self) -> Option<(MessageHeader, &mut [u8])> {
        None
    }

    fn waits(&mut self) -> bool {
        self.link.lanes[self.lane].waiting.is_some()
    }
}
