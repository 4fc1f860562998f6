//! Ranks that call no more collectives of a job or a group: they say so, and what they have called.

use std::time::Duration;

use super::Collectives;
use super::agreement::Called;
use super::control::{Cause, ControlMessage};
use super::failing::say;
use super::team::Team;
use crate::engine::Engine;
use crate::ids::Rank;

impl Collectives {
    /// The team that this rank knows by this number; 0 is the whole job.
    pub(super) fn team(&mut self, group: u32) -> Option<&mut Team> {
        if group == 0 { Some(&mut self.job) } else { self.groups.teams.get_mut(&group) }
    }

    pub(super) fn get_team(&self, group: u32) -> Option<&Team> {
        if group == 0 { Some(&self.job) } else { self.groups.teams.get(&group) }
    }

    /// This rank calls no more collectives of a team: the others are asked whether they have called the same.
    pub(super) fn leave_team(&mut self, engine: &mut Engine, now: Duration, group: u32) {
        let Some(team) = self.team(group) else { return };
        if std::mem::replace(&mut team.has_left, true) {
            return;
        }
        let members = team.members.clone();
        let others = members.others().map(|(rank, _)| rank);
        let Some(Called { number, chain, last }) = team.agreement.leave(others, group != 0) else { return };
        for (peer, theirs) in members.others() {
            say(engine, now, (peer, theirs), &ControlMessage::Leave { number, history: chain, last });
        }
    }

    /// `from` has called as many collectives of a group as it says, and all the same; it calls no more.
    pub(super) fn has_gone(&mut self, engine: &mut Engine, now: Duration, group: u32, from: Rank, number: u64) {
        let Some(team) = self.groups.teams.get_mut(&group) else { return };
        team.gone.insert(from, number);
        let is_answered = team.has_left;
        let last = team.agreement.next().checked_sub(1);
        if let Some(last) = last {
            self.check_gone(engine, now, group, last);
        }
        if !is_answered && let Some(to) = self.address(group, from) {
            // Once this rank has left too, its own leave says so.
            say(engine, now, to, &ControlMessage::Agree { number });
        }
        self.groups.waning.push(group);
    }

    /// This rank has called collective `number` of a group: fails it if another will not call as many.
    pub(super) fn check_gone(&mut self, engine: &mut Engine, now: Duration, group: u32, number: u64) {
        let Some(team) = self.groups.teams.get(&group) else { return };
        let fewer = team.gone.iter().filter(|(_, called)| **called <= number).min_by_key(|(_, called)| **called);
        if let Some((&rank, &called)) = fewer {
            let words = format!("it has left the group after {called} collectives, and others call more");
            self.revoke(engine, now, group, called, Cause::Failed { rank, words });
        }
    }

    /// A member of a group, and by which number it knows the group.
    pub(super) fn address(&self, group: u32, rank: Rank) -> Option<(Rank, u32)> {
        let members = &self.get_team(group)?.members;
        Some((rank, members.number(members.find(rank)?)))
    }
}
