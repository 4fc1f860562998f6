//! Windows: memory of each rank that others read and write by themselves (one-sided communication). Pure: whoever drives the
//! engine drives this with it, the kernel's task while the program computes, so that a rank's part of a window is read and
//! written without a call there.
//!
//! An operation is a request to its target ([`codec`]). Short operands travel with it; long ones, and what it brings back,
//! are messages of their own, in chunks. The target carries out the requests of one rank in their order ([`target`]), and
//! answers those that bring something back. What changes memory is not answered: the buffer is free when it has left, and a
//! flush, which is a request like the others, comes back when all before it have been carried out.
//!
//! A request that cannot be carried out is refused, by a message of its own; the flush that follows says how many were, so
//! that none is overlooked. Reads for requests and refusals are posted when these have come, so that none waits for nothing;
//! only a peer that holds messages which it cannot announce is asked for them by a read that waits.

mod buffers;
mod codec;
mod origin;
mod posts;
mod serve;
#[cfg(test)]
mod sim_tests;
mod target;
mod update;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use self::buffers::{Gather, Gathered, Memory};
pub(crate) use self::codec::{INLINE_BYTES_MAX, Request};
use self::codec::{REFUSAL_BYTES, REFUSALS, REQUESTS, Refusal};
pub(crate) use self::origin::Late;
use self::origin::Origin;
use self::posts::{Messages, Purpose};
pub(crate) use self::serve::OwnPart;
use self::target::Target;
pub use self::update::Update;
use crate::buffer::SendBuffer;
use crate::engine::{Completed, Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::{Context, MatchKey};

/// The windows of a rank: its own parts, what others ask of them, and what it asks of others.
pub(crate) struct Windows {
    messages: Messages,
    origin: Origin,
    target: Target,
    /// Whether the program has made one.
    is_used: bool,
    /// Reads for refusals that are posted, by the rank that they come from.
    refusals: BTreeMap<Rank, usize>,
    /// Peers that hold messages which they cannot announce, or did.
    holders: Vec<Rank>,
}

impl Windows {
    pub(crate) fn new(rank: Rank) -> Self {
        Windows {
            messages: Messages::new(),
            origin: Origin::new(rank),
            target: Target::new(rank),
            is_used: false,
            refusals: BTreeMap::new(),
            holders: Vec::new(),
        }
    }

    /// Adds this rank's part of a window; others may use it from now on. Returns the window's number: windows are made in
    /// the same order on all ranks.
    pub(crate) fn add(&mut self, engine: &mut Engine, now: Duration, part: OwnPart) -> u32 {
        if !std::mem::replace(&mut self.is_used, true) {
            for holder in self.holders.clone() {
                self.ask_holder(engine, now, holder);
            }
        }
        self.target.add(part)
    }

    /// This rank's part of a window is gone: what others ask of it is refused.
    pub(crate) fn remove(&mut self, engine: &mut Engine, now: Duration, window: u32) -> Option<OwnPart> {
        let part = self.target.remove(window);
        self.serve(engine, now);
        part
    }

    /// Goes on with what waited for memory that the program had.
    pub(crate) fn serve(&mut self, engine: &mut Engine, now: Duration) {
        self.target.serve_blocked(&mut self.messages.posts(engine, now));
    }

    /// Begins a request that brings elements back, which `gather` puts together; its operands travel with it.
    ///
    /// # Errors
    /// What the job has failed with, that there is no such rank, or that it has left.
    pub(crate) fn begin_gather(
        &mut self,
        (engine, now): (&mut Engine, Duration),
        to: Rank,
        request: Request,
        operands: &[u8],
        gather: Box<dyn Gather>,
    ) -> Result<OpId, Error> {
        self.origin.begin_gather(&mut self.messages.posts(engine, now), to, request, operands, gather)
    }

    /// Begins a request whose operands are all of `source`.
    ///
    /// # Errors
    /// As [`Windows::begin_gather`].
    pub(crate) fn begin_write(
        &mut self,
        (engine, now): (&mut Engine, Duration),
        to: Rank,
        request: Request,
        source: Box<dyn SendBuffer>,
    ) -> Result<OpId, Error> {
        self.origin.begin_write(&mut self.messages.posts(engine, now), to, request, source)
    }

    /// Begins to wait until all earlier requests to `to` have been carried out.
    ///
    /// # Errors
    /// As [`Windows::begin_gather`].
    pub(crate) fn begin_flush(
        &mut self,
        (engine, now): (&mut Engine, Duration),
        to: Rank,
        request: Request,
    ) -> Result<OpId, Error> {
        self.origin.begin_flush(&mut self.messages.posts(engine, now), to, request)
    }

    /// Whether some messages are windows' own. Where none are, [`Windows::complete`] has nothing to take.
    pub(crate) fn awaits_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Takes the end of a message; gives back what is none of windows.
    pub(crate) fn complete(&mut self, engine: &mut Engine, now: Duration, completed: Completed) -> Option<Completed> {
        let Completed { op, outcome } = completed;
        let Some(purpose) = self.messages.take(op) else { return Some(Completed { op, outcome }) };
        let mut posts = self.messages.posts(engine, now);
        match purpose {
            Purpose::Leaves => {}
            Purpose::Own { op } => self.origin.complete(&mut posts, op, outcome),
            Purpose::Operands { from, number, chunk } => {
                self.target.take_operands(&mut posts, from, (number, chunk), outcome);
            }
            Purpose::Refusal { from } => self.take_refusal_of(engine, now, from, outcome),
            Purpose::Reply { to, bytes } => self.target.take_reply(&mut posts, to, bytes),
            Purpose::Request { from, number } => self.target.take_request(&mut posts, from, number, outcome),
        }
        None
    }

    /// Reads what has come.
    pub(crate) fn meet(&mut self, engine: &mut Engine, now: Duration) {
        while let Some((from, tag)) = engine.poll_request().or_else(|| self.messages.own.pop_front()) {
            match tag.map(|tag| MatchKey::new(Context::Window, tag)) {
                Some(REQUESTS) => self.target.meet(&mut self.messages.posts(engine, now), from),
                Some(REFUSALS) => self.read_refusal(engine, now, from),
                // Chunks are read in their turn.
                Some(_) => {}
                None if self.holders.contains(&from) => {}
                None => {
                    self.holders.push(from);
                    if self.is_used {
                        self.ask_holder(engine, now, from);
                    }
                }
            }
        }
    }

    fn ask_holder(&mut self, engine: &mut Engine, now: Duration, holder: Rank) {
        self.target.meet_holder(&mut self.messages.posts(engine, now), holder);
        self.read_refusal(engine, now, holder);
    }

    /// Reads a refusal from `from`.
    fn read_refusal(&mut self, engine: &mut Engine, now: Duration, from: Rank) {
        let place = Box::new(vec![0u8; REFUSAL_BYTES]);
        let mut posts = self.messages.posts(engine, now);
        if posts.read(from, REFUSALS, place, Purpose::Refusal { from }).is_ok() {
            *self.refusals.entry(from).or_default() += 1;
        }
    }

    /// A read for a refusal has ended.
    fn take_refusal_of(&mut self, engine: &mut Engine, now: Duration, from: Rank, outcome: Outcome) {
        let reads = self.refusals.entry(from).or_default();
        *reads -= 1;
        let is_last = *reads == 0;
        let Outcome::Read(mut place, _) = outcome else { return };
        if let Some(refusal) = Refusal::decode(place.bytes_mut()) {
            self.origin.hear(&mut self.messages.posts(engine, now), from, &refusal);
        }
        if is_last && self.holders.contains(&from) {
            self.read_refusal(engine, now, from);
        }
    }

    /// Whether something is to be told or has come.
    pub(crate) fn has_news(&self) -> bool {
        !self.messages.own.is_empty() || self.origin.has_news() || self.target.has_refusals()
    }

    /// Ends what waits for no read, if the job has failed: all else has failed with its messages.
    pub(crate) fn fail_with(&mut self, engine: &Engine) {
        if self.origin.awaits_refusals()
            && let Some(error) = engine.failure()
        {
            self.origin.fail_flushes(error);
        }
    }

    /// Whether something is to leave that was posted since this was asked last.
    pub(crate) fn take_has_output(&mut self) -> bool {
        std::mem::take(&mut self.messages.has_output)
    }

    /// The next refusal of a write that was complete: if its handle cannot return it, it is to be kept.
    pub(crate) fn poll_late(&mut self) -> Option<Late> {
        self.origin.poll_late()
    }

    /// Keeps the refusal of a write of this rank for the next flush: no handle returns it. Gives back what is none, and what
    /// is said of a window that there has never been, of which no flush comes.
    pub(crate) fn keep(&mut self, error: Error) -> Option<Error> {
        match &error {
            Error::Window(refusal) if !self.target.has_made(refusal.window) => Some(error),
            _ => self.origin.keep(error),
        }
    }

    /// The next operation that has ended: once all late refusals are seen to.
    pub(crate) fn poll_completion(&mut self) -> Option<Completed> {
        self.origin.poll_completion()
    }

    /// The next request of another rank that this one has refused.
    pub(crate) fn poll_refusal(&mut self) -> Option<Error> {
        self.target.poll_refusal()
    }

    /// A refusal of this rank's own requests that no flush has returned.
    pub(crate) fn take_untold(&mut self) -> Option<Error> {
        self.origin.take_refusal()
    }

    /// When operation `op` began, if it is under way.
    pub(crate) fn since(&self, op: OpId) -> Option<Duration> {
        self.origin.since(op)
    }

    /// Whether nothing is asked of this rank that it can do now.
    pub(crate) fn is_idle(&self) -> bool {
        self.target.is_idle()
    }

    /// Whether something is to be dropped once nothing is locked.
    pub(crate) fn has_spent(&self) -> bool {
        self.origin.has_spent()
    }

    /// What is to be dropped once nothing is locked.
    pub(crate) fn take_spent(&mut self) -> impl Send + use<> {
        self.origin.take_spent()
    }
}
