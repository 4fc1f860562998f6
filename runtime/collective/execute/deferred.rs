//! The agreement on the cost model, and the collectives that wait for it.
//!
//! Ranks exchange what they have observed while collectives go on, and adopt the result at a call of a fixed number. A
//! rank that calls that one before the exchange has ended *defers* it, and all later ones: the handle is there at once, and the
//! algorithm is selected when the exchange has ended. All ranks take part in the exchange with an earlier call, so
//! a deferred collective waits for nothing but calls of other ranks that come before it anyway.

use std::time::Duration;

use super::part::Part;
use super::start::{Deferred, Start};
use super::{Collectives, Entry};
use crate::collective::progress::Progress;
use crate::engine::{Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::Tag;
use crate::wire::frame::{Context, MatchKey};

impl Collectives {
    /// Begins the exchange with all ranks that goes with collective `number`, unless the job has failed. What it ends with
    /// is the work's own affair.
    pub(crate) fn calibrate(&mut self, engine: &mut Engine, now: Duration, number: u64, start: Start) -> Option<OpId> {
        // The one before has ended, but whoever has run its last part may not have put it back yet: nothing waits for it.
        self.check(engine, 0, true).ok()?;
        // So far apart, two of one tag are never under way.
        let key = MatchKey::new(Context::Calibration, Tag(number as u32));
        let members = self.job.members.clone();
        let (op, part) = (engine.new_op(), Part::new(Progress::new(start.schedule), start.work, members));
        self.entries.insert(op, Entry::new(key, part.into(), now));
        self.calibrating = Some((op, number));
        self.make_due(op);
        Some(op)
    }

    /// Whether collectives are deferred: then the next one is, too.
    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Begins a collective later: when the exchange under way has ended, after those that were deferred before.
    ///
    /// # Errors
    /// What the job has failed with, or why no collective can be called any more.
    pub(crate) fn defer(&mut self, engine: &mut Engine, now: Duration, deferred: Deferred) -> Result<OpId, Error> {
        self.check(engine, 0, true)?;
        let op = engine.new_op();
        let key = MatchKey::new(Context::Calibration, Tag(0));
        self.entries.insert(op, Entry::new(key, Part::deferred(deferred, self.job.members.clone()).into(), now));
        self.deferred.push_back(op);
        self.resume();
        Ok(op)
    }

    /// A deferred collective begins.
    pub(super) fn begin_deferred(
        &mut self,
        engine: &mut Engine,
        now: Duration,
        op: OpId,
        start: Result<Option<Start>, Error>,
    ) {
        self.deferred.retain(|deferred| *deferred != op);
        // It may have failed meanwhile.
        if self.entries.contains(op) {
            // Why the job has failed says more.
            let start = self.check(engine, 0, true).and(start.map_err(|error| self.or_lost(error)));
            match start.map(|start| start.map(|start| self.begin(engine, now, op, start))) {
                Ok(Some(Ok(()))) => {}
                Ok(None) => self.end(op, Outcome::Abandoned(None)),
                Ok(Some(Err(error))) | Err(error) => {
                    let (number, cause) = (self.job.agreement.next(), self.cause_of(&error));
                    self.end(op, Outcome::failed(error));
                    // The others wait for this rank in vain, unless they know.
                    if self.job.agreement.failure().is_none() && engine.failure().is_none() {
                        self.revoke(engine, now, 0, number, cause);
                    }
                }
            }
        }
        self.resume();
    }

    /// Lets the first deferred collective begin, if nothing is in its way.
    pub(super) fn resume(&mut self) {
        if self.calibrating.is_none()
            && let Some(&op) = self.deferred.front()
        {
            self.make_due(op);
        }
    }

    /// From collective `number` on all fail: those that have not begun with such a number will not, and an exchange that
    /// goes with one is for nothing.
    pub(super) fn give_up_deferred(&mut self, engine: &mut Engine, now: Duration, number: u64, error: &Error) {
        // What only changes how later ones are selected has no number: some more are given up later, when they begin.
        let first = number.saturating_sub(self.job.agreement.next()).min(self.deferred.len() as u64) as usize;
        for op in self.deferred.split_off(first) {
            self.end(op, Outcome::failed(error.clone()));
        }
        if self.calibrating.is_some_and(|(_, own)| own >= number) {
            self.give_up_exchange(engine, now, error.clone());
        }
        self.refuse_exchanges(engine, now);
    }

    /// A step of the exchange has failed: a rank that should take part in it has left, say. If it has called all that there
    /// is, no call waits for it. If one does, ranks do not call the same.
    pub(super) fn fail_exchange(&mut self, engine: &mut Engine, now: Duration, error: Error) {
        let Some((_, number)) = self.calibrating else { return };
        if self.deferred.is_empty() || engine.failure().is_some() {
            return self.give_up_exchange(engine, now, error);
        }
        let cause = self.cause_of(&error);
        self.revoke(engine, now, 0, number, cause);
        self.give_up_exchange(engine, now, error);
    }

    /// An exchange fails of which a rank has refused a message that has left without a word why: no word comes any more.
    pub(super) fn fail_refused(&mut self, engine: &Engine) {
        if let Some((op, peer)) = self.refused.filter(|(_, peer)| engine.has_left(*peer)) {
            self.refused = None;
            let cause = format!("rank {peer} has finished without the exchange that collectives wait for").into();
            self.failures.push((op, Error::PeerLost { peer, cause, operation: None }));
        }
    }

    /// The exchange under way does not end. Its messages would stay with their senders for ever, or take the window's room.
    pub(super) fn give_up_exchange(&mut self, engine: &mut Engine, now: Duration, error: Error) {
        let Some((op, number)) = self.calibrating else { return };
        self.given_up = Some((number, error.clone()));
        self.give_up(engine, op, error);
        self.refuse_exchanges(engine, now);
    }

    /// A deferred call cannot be planned. If the exchange that it needs has failed with a rank that is lost, that says more.
    fn or_lost(&self, error: Error) -> Error {
        match (&error, &self.given_up) {
            (Error::Collective { .. }, Some((_, lost @ Error::PeerLost { .. }))) => lost.clone(),
            _ => error,
        }
    }

    fn refuse_exchanges(&mut self, engine: &mut Engine, now: Duration) {
        self.refuse_all(engine, now, Context::Calibration, |key| self.is_exchange_in_vain(key.tag));
    }

    /// Whether an exchange with this tag is given up here, or goes with a collective that fails.
    pub(super) fn is_exchange_in_vain(&self, tag: Tag) -> bool {
        // Exchanges are so far from each other that the lower half says which is later.
        let is_from = |number: u64| tag.0.wrapping_sub(number as u32) < u32::MAX / 2;
        self.given_up.as_ref().is_some_and(|(number, _)| *number as u32 == tag.0)
            || self.job.agreement.revoked_from().is_some_and(is_from)
    }
}
