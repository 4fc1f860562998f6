//! The groups of a rank: their numbers, how they are founded, and when they are forgotten.
//!
//! A group is founded by one small collective in which its members tell each other their numbers of it. What comes for a group
//! before this rank knows who its members are is kept until it does.
//!
//! A rank that has dropped a group, and whose collectives of it have ended, tells the other members what it has called. It
//! remembers the group, for the sake of those that have called something else, until all others have said the same: then
//! nothing can come any more that carries the number, and it is free.

use std::sync::Arc;
use std::time::Duration;

use super::failing::refuse;
use super::groups::Early;
use super::members::Members;
use super::part::Part;
use super::start::Start;
use super::team::Team;
use super::{Collectives, Entry};
use crate::collective::progress::Progress;
use crate::engine::{Engine, OpId};
use crate::error::Error;
use crate::wire::frame::{Context, MatchKey};

impl Collectives {
    /// A number for a group that is to be founded: [`Collectives::establish`] or [`Collectives::release`] must follow.
    pub(crate) fn reserve(&mut self) -> u32 {
        self.release_held();
        self.groups.reserve()
    }

    /// Begins what the ranks of `members` do by themselves to found a group: an allgather, matched by `key`.
    ///
    /// # Errors
    /// What the job has failed with.
    pub(crate) fn found(
        &mut self,
        engine: &mut Engine,
        now: Duration,
        start: Start,
        (members, key): (Arc<Members>, MatchKey),
    ) -> Result<OpId, Error> {
        self.check(engine, start.group, false)?;
        let (op, part) = (engine.new_op(), Part::new(Progress::new(start.schedule), start.work, members));
        self.insert(op, Entry { group: start.group, ..Entry::new(key, part.into(), now) });
        Ok(op)
    }

    /// The group with this number is founded: these are its members.
    pub(crate) fn establish(&mut self, engine: &mut Engine, now: Duration, group: u32, members: Arc<Members>) {
        let early = self.groups.founding.remove(&group).unwrap_or_default();
        self.groups.teams.insert(group, Team::of_group(members, self.rank));
        for early in early {
            match early {
                Early::Stranger(from, opening) => self.meet(engine, now, from, &opening),
                Early::Word(from, word) => self.hear(engine, now, (from, group), word),
            }
        }
    }

    /// The program has dropped the group with this number. One that was not founded after all keeps its number: others may
    /// have founded it, and still send.
    pub(crate) fn release(&mut self, group: u32) {
        if let Some(team) = self.groups.teams.get_mut(&group) {
            team.is_dropped = true;
            self.groups.waning.push(group);
        }
    }

    /// The program has dropped the group with this number, and may be about to fail: why says more than that it calls no more.
    /// If it goes on, it calls something else, or leaves.
    pub(crate) fn hold(&mut self, group: u32) {
        self.groups.held.push(group);
    }

    /// The program goes on.
    pub(super) fn release_held(&mut self) {
        for group in std::mem::take(&mut self.groups.held) {
            self.release(group);
        }
    }

    /// How many groups are remembered.
    #[cfg(test)]
    pub(crate) fn group_count(&self) -> usize {
        self.groups.teams.len() + self.groups.founding.len()
    }

    /// An operation of a group has ended.
    pub(super) fn has_ended(&mut self, group: u32) {
        if let Some(team) = self.groups.teams.get_mut(&group) {
            team.under_way -= 1;
            if team.is_dropped && team.under_way == 0 {
                self.groups.waning.push(group);
            }
        }
    }

    /// Leaves groups that this rank needs no more, and forgets those that nobody does. Returns whether there may have been such.
    pub(super) fn forget_groups(&mut self, engine: &mut Engine, now: Duration) -> bool {
        let waning = std::mem::take(&mut self.groups.waning);
        for &group in &waning {
            if self.groups.teams.get(&group).is_some_and(|team| team.is_dropped && team.under_way == 0) {
                self.leave_team(engine, now, group);
            }
            if self.groups.teams.get(&group).is_some_and(|team| team.is_over(engine)) {
                self.groups.teams.remove(&group);
                // Exchanges that this rank has not called: the next group of this number must not meet them.
                for context in [Context::Collective, Context::Neighbour] {
                    self.refuse_all(engine, now, context, |key| key.group() == group);
                }
            }
        }
        !waning.is_empty()
    }

    /// Refuses the unread messages whose keys are such.
    pub(super) fn refuse_all(
        &self,
        engine: &mut Engine,
        now: Duration,
        context: Context,
        is_in_vain: impl Fn(MatchKey) -> bool,
    ) {
        for (from, key, count) in engine.unmatched(context) {
            if is_in_vain(key) {
                (0..count).for_each(|_| refuse(engine, now, from, key));
            }
        }
    }
}
