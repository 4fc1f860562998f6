//! What the core tells of messages: their posts, progress, arrivals and ends.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use lathide_sys::departure::Departure;

use super::Core;
use crate::collective::execute::Traffic;
use crate::engine::{OpId, Outcome, Progress};
use crate::ids::Rank;
use crate::kernel::completion::Completion;
use crate::kernel::observed::Observed;
use crate::observe::event::What;
use crate::observe::links::ANSWERS;
use crate::observe::nanoseconds;
use crate::observe::regions::Place;
use crate::operation::OperationKind;

/// How often both ends answer at the start, where a timeline is to be aligned.
const FIRST_ANSWERS: u32 = 16;

impl Core {
    /// Asks every peer for its clock, if there is to be a timeline.
    pub(in crate::kernel) fn ask_clocks(&mut self) {
        let Some(Observed { links, tape: Some(_), .. }) = &mut self.observed else { return };
        self.engine.take_notes();
        let now = nanoseconds(self.clock.now());
        for (peer, stamp) in links.ask_all(now) {
            self.engine.ping(peer, stamp, FIRST_ANSWERS);
        }
        self.flush();
    }

    /// An operation has just been posted, at `now`, and nothing of it is sent yet.
    pub(in crate::kernel) fn observe_post(&mut self, completion: &Completion, place: Option<Place>, now: Duration) {
        let operation = completion.operation();
        if operation.kind == OperationKind::Write {
            self.observe_write(completion.op, operation.peer, operation.bytes, place, now);
        } else if let Some(observed) = &mut self.observed {
            observed.regions.begins(completion.op, place, nanoseconds(now));
        }
        self.observe_progress(operation.peer);
    }

    pub(in crate::kernel) fn observe_write(
        &mut self,
        op: OpId,
        to: Rank,
        bytes: u64,
        place: Option<Place>,
        now: Duration,
    ) {
        let Some(observed) = &mut self.observed else { return };
        observed.regions.sends(op, place, (to, bytes), nanoseconds(now));
        let (stamp, asks) = observed.links.posts(nanoseconds(now), to, bytes);
        if let Some(stamp) = stamp {
            self.engine.stamp(to, op, stamp);
        }
        if let Some(stamp) = asks {
            self.engine.ping(to, stamp, ANSWERS);
        }
    }

    /// Collectives have posted messages of their own, of which nothing is sent yet, or received some; at `now`, if that is
    /// known.
    pub(in crate::kernel) fn observe_traffic(&mut self, now: Option<Duration>) {
        while let Some(message) = self.collectives.poll_traffic() {
            match message {
                Traffic::Sent { op, whole, to, bytes } => {
                    let place = self.observed.as_ref().and_then(|observed| observed.regions.place_of(whole));
                    self.observe_write(op, to, bytes, place, now.unwrap_or_else(|| self.clock.now()));
                }
                Traffic::Received { whole, from, bytes } => {
                    if let Some(observed) = &mut self.observed {
                        observed.links.receives(from, bytes);
                        let place = observed.regions.place_of(whole);
                        observed.regions.receives(place, (from, bytes), None);
                    }
                }
            }
        }
    }

    /// An operation has ended.
    pub(in crate::kernel) fn observe_end(&mut self, completion: &Completion, outcome: &mut Outcome) {
        let Some(observed) = &mut self.observed else { return };
        let posted = observed.regions.ends(completion.op);
        if completion.is_read()
            && let Outcome::Read(place, origin) = outcome
        {
            let bytes = place.bytes_mut().len() as u64;
            observed.links.receives(origin.from, bytes);
            // What a socket has brought, or this rank has written to itself.
            let took = |(_, posted_ns)| nanoseconds(self.latest).saturating_sub(posted_ns);
            let place = posted.map(|(place, _)| place);
            observed.regions.receives(place, (origin.from, bytes), posted.map(took));
        }
        self.tell_end(completion.op, matches!(outcome, Outcome::Failed(..) | Outcome::Abandoned(_)));
    }

    /// An operation has ended: for the timeline.
    pub(in crate::kernel) fn tell_end(&self, op: OpId, failed: bool) {
        if let Some(Observed { tape: Some(tape), .. }) = &self.observed {
            tape.tell(nanoseconds(self.clock.now()), What::Done { op: op.0, failed });
        }
    }

    /// Bytes have come from `peer`, perhaps with stamps.
    pub(in crate::kernel) fn observe_arrivals(&mut self, peer: Rank) {
        self.observe_progress(peer);
        while let Some(arrival) = self.engine.poll_arrival() {
            let Some(Observed { links, tape, .. }) = &mut self.observed else { continue };
            let now = nanoseconds(self.clock.now());
            if let Some(answer) = links.arrives(now, &arrival) {
                self.engine.ping(arrival.peer, answer, arrival.answers - 1);
            }
            if let (Some(tape), Some(offset)) = (tape, links.news(now, arrival.peer)) {
                tape.tell(now, What::Clock { peer: arrival.peer, offset });
            }
        }
    }

    /// The link to `peer` has no connection any more.
    pub(in crate::kernel) fn observe_down(&mut self, peer: Rank, cause: &str) {
        let Some(Observed { links, tape, .. }) = &mut self.observed else { return };
        let now = nanoseconds(self.clock.now());
        links.goes_down(now, peer);
        if let Some(tape) = tape {
            tape.tell(now, What::LinkDown { peer, cause: cause.to_owned() });
        }
    }

    /// A checksum of what came from `peer` was wrong.
    pub(in crate::kernel) fn observe_damage(&mut self, peer: Rank) {
        if let Some(Observed { links, .. }) = &mut self.observed {
            links.is_damaged(peer);
        }
    }

    /// It goes on with another, on which so many bytes are sent again; or it is lost.
    pub(in crate::kernel) fn observe_up(&mut self, peer: Rank, again: Option<u64>) {
        let Some(Observed { links, tape, .. }) = &mut self.observed else { return };
        let now = nanoseconds(self.clock.now());
        links.is_down_no_more(now, peer);
        if let Some(tape) = tape {
            tape.tell(now, What::LinkUp { peer, again });
        }
    }

    /// Messages to or from `peer` may have come further.
    #[inline]
    pub(in crate::kernel) fn observe_progress(&mut self, peer: Rank) {
        if self.observed.as_ref().is_some_and(|observed| observed.tape.is_some() || observed.regions.times_sends()) {
            self.observe_notes(peer);
        }
    }

    fn observe_notes(&mut self, peer: Rank) {
        let Some(Observed { tape, regions, .. }) = &mut self.observed else { return };
        let mut sends = regions.sends_mut();
        let (mut notes, clock) = (self.engine.notes(peer).peekable(), self.clock);
        if notes.peek().is_none() {
            return;
        }
        let now = nanoseconds(clock.now());
        for note in notes {
            let (peer, message_id) = (note.peer, note.message_id);
            if let (Some(sends), Progress::Leaves(op)) = (&mut sends, note.progress) {
                sends.hands_over(op, peer.index(), self.written[peer.index()]);
            }
            let Some(tape) = tape else { continue };
            tape.tell(
                now,
                match note.progress {
                    Progress::Begins { bytes } => What::Begins { peer, message_id, bytes },
                    Progress::Arrives { bytes } => What::Arrives { peer, message_id, bytes },
                    Progress::Goes(op) => What::Goes { peer, message_id, op: op.0 },
                    Progress::Leaves(op) => What::Leaves { peer, message_id, op: op.0 },
                    Progress::Meets(op) => What::Meets { peer, message_id, op: op.0 },
                },
            );
        }
    }

    /// Has the system record when what is written leaves the host, if sending times are asked for.
    ///
    /// # Errors
    /// The system cannot.
    pub(in crate::kernel) fn record_departures(&mut self) -> io::Result<()> {
        let Some(observed) = &mut self.observed else { return Ok(()) };
        if !observed.regions.times_sends() {
            return Ok(());
        }
        self.engine.take_notes();
        // A message's last byte is to be the last of one connection.
        self.lanes_max = 0;
        let mut sockets = self.sockets.first();
        sockets.try_for_each(|socket| lathide_sys::departure::record(socket.stream.as_fd()))
    }

    /// Bytes to `peer` may have left the host.
    #[inline]
    pub(in crate::kernel) fn observe_departures(&mut self, peer: Rank) {
        if self.observed.as_ref().is_some_and(|observed| observed.regions.times_sends()) {
            self.observe_records(peer);
        }
    }

    fn observe_records(&mut self, peer: Rank) {
        let Some(Observed { regions, .. }) = &mut self.observed else { return };
        let Some(sends) = regions.sends_mut() else { return };
        let Some(socket) = self.sockets.get(peer.into()) else { return };
        let mut node_began = None;
        while let Ok(Some(Departure { byte, at })) = lathide_sys::departure::next(socket.stream.as_fd()) {
            // The node's clock began at this real time.
            let began =
                *node_began.get_or_insert_with(|| lathide_sys::clock::real_time().saturating_sub(self.clock.now()));
            sends.leaves(
                peer.index(),
                byte.wrapping_add(socket.taken_before as _),
                nanoseconds(at.saturating_sub(began)),
            );
        }
        if node_began.is_some() {
            regions.settle(false);
        }
    }
}
