//! A short collective with one message to wait for at most ([`Single`]), carried out by the thread that calls it: what it sends leaves,
//! the thread looks for the message some times, and does the rest. Neither the tables of collectives and operations nor a handle know of it.
//! One whose message does not come soon is begun like any other ([`Numbered`]).

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::awaited::Awaited;
use super::core::Core;
use super::help::{Arrived, Owning};
use super::{Kernel, Team};
use crate::buffer::copied::Copied;
use crate::buffer::{Element, ElementType};
use crate::collective::execute::{Fault, Numbered, Plan};
use crate::collective::plain::Buffers;
use crate::collective::schedule::Action;
use crate::collective::signature::Signature;
use crate::collective::single::Single;
use crate::engine::{OpId, Outcome};
use crate::error::Result;
use crate::ids::Rank;
use crate::observe::nanoseconds;
use crate::observe::regions::{self, Place};
use crate::operation::Operation;
use crate::wire::frame::MatchKey;

/// Looks for the message, with the core locked: some ten microseconds, in which that of a peer that calls at about the same time comes.
const LOOKS: u32 = 24;

/// What has become of a collective whose caller would carry it out.
pub(crate) enum Carried {
    /// It has ended.
    Over,
    /// It is to be begun; it has its number if something of it was carried out.
    Begins(Option<Numbered>),
}

/// What is called.
struct Asked<'a> {
    team: &'a Team,
    operation: Operation,
    signature: Signature,
    single: &'a Single,
}

/// What is carried out.
struct Carrying<'a> {
    team: &'a Team,
    buffers: &'a mut dyn Buffers,
    numbered: Numbered,
    /// When it was called, and in which region of the program.
    now: Duration,
    place: Option<Place>,
}

/// A message that is waited for.
struct Expected {
    from: Rank,
    key: MatchKey,
    element: ElementType,
    /// Its length.
    count: usize,
    bytes: usize,
}

impl Kernel {
    /// Carries out a collective of a team whose plan is a sequence, if nothing is in the way of that.
    ///
    /// # Errors
    /// What the job has failed with, or why no collective can be called any more.
    pub(crate) fn carry_out(
        &self,
        team: &Team,
        (operation, signature): (Operation, Signature),
        (plan, single): (&Plan, &Single),
        buffers: &mut dyn Buffers,
    ) -> Result<Carried> {
        if !self.help.spin.has_core() || !self.task_may_move() || self.observer.is_taped() {
            return Ok(Carried::Begins(None));
        }
        let asked = Asked { team, operation, signature, single };
        let carried = match single.awaited {
            Some(_) => self.send_and_wait(&asked, plan, buffers),
            None => self.send_out(&asked, plan, buffers),
        };
        carried.map_err(|error| error.during(operation))
    }

    /// Carries out one with a message to wait for.
    fn send_and_wait(&self, asked: &Asked<'_>, plan: &Plan, buffers: &mut dyn Buffers) -> Result<Carried> {
        let _arrived = Arrived::new(self);
        if !self.help.try_take() {
            return Ok(Carried::Begins(None));
        }
        let owning = Owning(self);
        let now = self.enters();
        let mut core = self.lock_to_help();
        (core.latest, core.waits) = (now, core.waits + 1);
        if core.is_time_for_others(1) {
            self.drive_others(&mut core);
        }
        if self.help.takes_telling() {
            core.acknowledge();
        } else {
            core.flush();
        }
        self.ownership.helper_takes(&self.poller);
        let carried =
            self.begin_carrying(&mut core, asked, buffers, now).map(|carrying| core.carry(carrying, asked.single));
        let mut left = self.ends(&carried, plan, now);
        // What came for others may let their collectives go on.
        if core.has_due() {
            core = self.carry_on(core);
            left = self.clock.now();
        }
        self.unlock(core);
        drop(owning);
        self.observer.leaves_wait(now, left, std::iter::once((OpId(0), asked.operation)));
        self.leaves(left);
        carried
    }

    /// Carries out one that only sends: no wait, so whoever helps goes on with that.
    fn send_out(&self, asked: &Asked<'_>, plan: &Plan, buffers: &mut dyn Buffers) -> Result<Carried> {
        let now = self.enters();
        let mut core = self.lock();
        core.is_helped = self.help.is_held();
        core.latest = now;
        let carried = self.begin_carrying(&mut core, asked, buffers, now).map(|mut carrying| {
            carrying.numbered.gathers = self.gathers(&mut core, asked.operation.bytes, now);
            if carrying.numbered.gathers {
                return Carried::Begins(Some(carrying.numbered));
            }
            core.flush();
            core.carry(carrying, asked.single)
        });
        let left = self.ends(&carried, plan, now);
        self.unlock(core);
        self.observer.leaves_post(now, left, (OpId(0), asked.operation), false);
        self.leaves(left);
        carried
    }

    /// It has its number, and nothing of it is carried out yet.
    fn begin_carrying<'a>(
        &self,
        core: &mut Core,
        asked: &Asked<'a>,
        buffers: &'a mut dyn Buffers,
        now: Duration,
    ) -> Result<Carrying<'a>> {
        let &Asked { team, signature, .. } = asked;
        let numbered = core.collectives.number(&core.engine, team.number, signature)?;
        Ok(Carrying { team, buffers, numbered, now, place: regions::current(self.names.node) })
    }

    /// The program enters a call. Returns the time.
    fn enters(&self) -> Duration {
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        now
    }

    /// What was called at `began` has been carried out, as far as that goes. Returns the time.
    fn ends(&self, carried: &Result<Carried>, plan: &Plan, began: Duration) -> Duration {
        let now = self.clock.now();
        if matches!(carried, Ok(Carried::Over)) {
            plan.timed.took(now.saturating_sub(began));
        }
        now
    }

    /// The program has left a collective, and its call.
    fn leaves(&self, left: Duration) {
        self.calls.left.store(nanoseconds(left), Ordering::Relaxed);
        self.ownership.program_leaves(left);
    }
}

impl Core {
    /// Carries it out, as far as that goes at once.
    fn carry(&mut self, mut carrying: Carrying<'_>, single: &Single) -> Carried {
        if self.has_carried(&mut carrying, single) { Carried::Over } else { Carried::Begins(Some(carrying.numbered)) }
    }

    /// Returns whether all of it is done.
    fn has_carried(&mut self, carrying: &mut Carrying<'_>, single: &Single) -> bool {
        if carrying.numbered.has_heard || !self.send_first(carrying, &single.first) {
            return false;
        }
        if let Some(awaited) = &single.awaited {
            let Some(message) = self.receive_soon(carrying, awaited) else { return false };
            if let Action::Receive { into, .. } = *awaited {
                carrying.buffers.fill(into, &message);
            }
            self.spare_place = Some(message);
        }
        for action in &single.then {
            match action {
                Action::Send { .. } | Action::Signal { .. } => {
                    if !self.send_step(carrying, action) {
                        return false;
                    }
                }
                _ => carrying.buffers.apply(action),
            }
        }
        true
    }

    /// Sends what waits for nothing, if the first of it leaves at once. Returns whether it does, and the others can be sent.
    fn send_first(&mut self, carrying: &mut Carrying<'_>, first: &[Action]) -> bool {
        let Some((one, others)) = first.split_first() else { return true };
        if !self.leaves_at_once(carrying, one) {
            return false;
        }
        carrying.numbered.sent = first.len();
        others.iter().all(|action| self.send_step(carrying, action))
    }

    /// Returns whether the message of a step has left.
    fn leaves_at_once(&mut self, carrying: &Carrying<'_>, action: &Action) -> bool {
        let (to, key, element, bytes) = carrying.message(action);
        match self.write_at_once(carrying.now, to, key, element, bytes) {
            Ok(Some(op)) => {
                self.observe_write(op, to, bytes.len() as u64, carrying.place, carrying.now);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.write_failed(to.into(), &error);
                false
            }
        }
    }

    /// Sends the message of a step, at once or when the link takes it. `false`: it cannot be sent, so the collective fails.
    fn send_step(&mut self, carrying: &mut Carrying<'_>, action: &Action) -> bool {
        if self.leaves_at_once(carrying, action) {
            return true;
        }
        let (to, key, element, bytes) = carrying.message(action);
        match self.engine.initwrite(carrying.now, to, key, element, Box::new(Copied::new(bytes))) {
            Ok(op) => {
                self.observe_write(op, to, bytes.len() as u64, carrying.place, carrying.now);
                self.flush();
                true
            }
            Err(unposted) => {
                carrying.numbered.fault = Some(Fault::Failed(unposted.error));
                false
            }
        }
    }

    /// The message that is waited for, if it comes soon and as it should be.
    #[expect(clippy::box_collection, reason = "as the engine takes it")]
    fn receive_soon(&mut self, carrying: &mut Carrying<'_>, action: &Action) -> Option<Box<Vec<u8>>> {
        let expected = carrying.expected(action)?;
        let (from, bytes) = (expected.from, expected.bytes);
        match self.look_for(&expected, carrying.now)? {
            Outcome::Read(place, _) => {
                let message = place.into_any().downcast::<Vec<u8>>().ok()?;
                if message.len() != bytes {
                    carrying.numbered.fault = Some(Fault::Length(from, expected.count as u64));
                    return None;
                }
                if let Some(observed) = &mut self.observed {
                    observed.links.receives(from, bytes as u64);
                    observed.regions.receives(carrying.place, (from, bytes as u64), None);
                }
                return Some(message);
            }
            Outcome::Failed(failure) => carrying.numbered.fault = Some(Fault::Failed(failure.error)),
            // Withdrawn.
            Outcome::Abandoned(place) => self.spare_place = place.and_then(|place| place.into_any().downcast().ok()),
            Outcome::Written(_) | Outcome::Made(_) => {}
        }
        None
    }

    /// Looks for a message some times. Returns how its read has ended; withdrawn, if it has not.
    fn look_for(&mut self, expected: &Expected, now: Duration) -> Option<Outcome> {
        let &Expected { from, key, element, bytes, .. } = expected;
        let mut place = self.spare_place.take().unwrap_or_default();
        place.resize(bytes, 0);
        // What is wrong here is so, too, when the collective is begun.
        let read = self.engine.initread(now, from, key, element, place).ok()?;
        self.awaited = Some(Awaited { read, outcome: None });
        // It may be here.
        self.hand_on();
        for _ in 0..LOOKS {
            if self.has_come() {
                break;
            }
            if self.read(from) > 0 {
                self.flush();
            }
        }
        if !self.has_come() {
            // One of which a part is here is for the read that the collective posts.
            if !self.engine.withdraw(from, key, read) {
                self.engine.unmeet(Some(from), read);
            }
            self.hand_on();
        }
        self.awaited.take()?.outcome
    }

    fn has_come(&self) -> bool {
        self.awaited.as_ref().is_none_or(|awaited| awaited.outcome.is_some())
    }
}

impl Carrying<'_> {
    /// What a step sends: to whom, what its message is matched by, the type of its elements, and the bytes.
    fn message(&self, action: &Action) -> (Rank, MatchKey, ElementType, &[u8]) {
        let (to, element, bytes) = match *action {
            Action::Send { to, from } => (to, self.buffers.element(), self.buffers.bytes(from)),
            Action::Signal { to } => (to, u8::TYPE, &[][..]),
            _ => unreachable!("{action:?} sends nothing"),
        };
        let members = &self.team.members;
        (members.rank(to), self.numbered.key().in_group(members.number(to)), element, bytes)
    }

    /// What a step waits for.
    fn expected(&self, action: &Action) -> Option<Expected> {
        let (from, element, count) = match *action {
            Action::Receive { from, into } => (from, self.buffers.element(), into.count as usize),
            Action::Await { from } => (from, u8::TYPE, 0),
            _ => return None,
        };
        let (from, key) = (self.team.members.rank(from), self.numbered.key().in_group(self.team.number));
        Some(Expected { from, key, element, count, bytes: count * self.buffers.element_bytes() })
    }
}
