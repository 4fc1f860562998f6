//! What ranks say to each other when a collective does not go on: who called what, and why all fail.

use std::time::Duration;

use super::agreement::Called;
use super::control::{Cause, ControlMessage, Revocation, WORD_BYTES_MAX};
use super::groups::Early;
use super::{Collectives, Entry, Step, WORDS};
use crate::buffer::Element;
use crate::engine::{Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::{Context, MatchKey, MessageHeader};

impl Collectives {
    /// Collectives that have not moved for `patience` may wait for ranks that called something else: these are asked.
    pub(crate) fn ask(&mut self, engine: &mut Engine, now: Duration, patience: Duration) {
        let awaited = self.steps.values().filter(|step| step.is_read).filter_map(|step| {
            let entry = self.entries.get(step.whole)?;
            let is_stuck = now.saturating_sub(entry.moved) >= patience;
            Some((entry.group, entry.number.filter(|_| is_stuck)?, step.peer))
        });
        let mut about: Vec<(u32, u64, Rank)> = awaited.collect();
        about.sort_unstable();
        about.dedup();
        for (group, number, peer) in about {
            self.ask_about(engine, now, group, number, peer);
        }
        self.fail_refused(engine);
    }

    /// `from` says something of a group, by this rank's number of it.
    pub(super) fn hear(&mut self, engine: &mut Engine, now: Duration, about: (Rank, u32), word: ControlMessage) {
        let ((from, group), (own, is_leaving)) = (about, (self.rank, self.is_leaving));
        let Some(team) = self.team(group) else { return self.groups.keep(group, Early::Word(from, word)) };
        if team.members.find(from).is_none() {
            return;
        }
        match word {
            ControlMessage::Ask { number, signature } => {
                if let Some(disagreement) = team.agreement.hear(from, number, signature) {
                    self.revoke(engine, now, group, number, Cause::Disagreement(disagreement));
                }
            }
            // Others wait for this rank, which has finished: no error of its own calls.
            ControlMessage::Revoke(Revocation { cause: Cause::Lost { peer, .. }, .. }) if peer == own && is_leaving => {
            }
            ControlMessage::Revoke(revocation) => self.spread(engine, now, group, revocation, from),
            ControlMessage::Leave { number, history, last } => {
                self.compare(engine, now, group, from, Called { number, chain: history, last });
            }
            ControlMessage::Agree { number } => team.agreement.agrees(from, number),
        }
    }

    /// This rank calls no more collectives: the others are asked whether they have called the same.
    pub(crate) fn leave(&mut self, engine: &mut Engine, now: Duration) {
        self.is_leaving = true;
        // An exchange is for later calls.
        self.give_up_exchange(engine, now, Error::Shutdown { rank: self.rank });
        self.leave_team(engine, now, 0);
        let groups: Vec<u32> = self.groups.teams.keys().copied().collect();
        groups.into_iter().for_each(|group| self.leave_team(engine, now, group));
    }

    /// Whether all others have said that they have called the same as this rank, which has left; or are gone, or it is
    /// known that ranks differ.
    pub(crate) fn is_agreed(&self, engine: &Engine) -> bool {
        let mut teams = std::iter::once(&self.job).chain(self.groups.teams.values());
        teams.all(|team| team.agreement.awaited().all(|peer| engine.has_left(peer)))
    }

    /// Another rank has called all that it will. Who disagrees tells how it has called each, and so the first
    /// difference is found by both.
    pub(super) fn compare(&mut self, engine: &mut Engine, now: Duration, group: u32, from: Rank, called: Called) {
        let Called { number, last, .. } = called;
        let Some(team) = self.team(group) else { return };
        match team.agreement.compare(from, called) {
            None => {}
            Some(true) if group != 0 => self.has_gone(engine, now, group, from, number),
            Some(true) => say(engine, now, (from, 0), &ControlMessage::Agree { number }),
            Some(false) if team.agreement.failure().is_some() => {}
            Some(false) => {
                let (oldest, has_forgotten) = (team.agreement.oldest(), team.agreement.has_forgotten());
                // Of nothing, no honest rank tells another history.
                let Some(before) = number.checked_sub(1) else { return };
                let differs = team.agreement.differs(before, (from, last));
                (oldest..number).for_each(|number| self.ask_about(engine, now, group, number, from));
                // Who is gone does not answer, and what is not remembered cannot be asked about.
                if engine.has_left(from) || has_forgotten {
                    match differs {
                        Some(differs) => self.revoke(engine, now, group, before, Cause::Disagreement(differs)),
                        None => self.unanswered.push((group, before, from)),
                    }
                }
            }
        }
    }

    /// Reads any word: another than the one that was announced may come to it.
    pub(super) fn read_word(&mut self, engine: &mut Engine, now: Duration, from: Rank) {
        let place = Box::new(vec![0u8; WORD_BYTES_MAX]);
        if let Ok(op) = engine.initread(now, from, WORDS, u8::TYPE, place) {
            self.words.insert(op, from);
        }
    }

    /// Sees to messages that no read waits for.
    pub(crate) fn meet_strangers(&mut self, engine: &mut Engine, now: Duration) {
        while let Some(holder) = engine.poll_holder() {
            if self.holders.insert(holder) {
                self.read_word(engine, now, holder);
            }
        }
        while let Some((from, opening)) = engine.poll_stranger() {
            match opening.key.context {
                // A read for another key would meet nothing, and stay.
                Context::Agreement if opening.key == WORDS => self.read_word(engine, now, from),
                Context::Collective => self.meet(engine, now, from, &opening),
                Context::Calibration if self.is_exchange_in_vain(opening.key.tag) => {
                    refuse(engine, now, from, opening.key);
                }
                _ => {}
            }
        }
    }

    /// A message of a collective has come that no read waits for.
    pub(super) fn meet(&mut self, engine: &mut Engine, now: Duration, from: Rank, opening: &MessageHeader) {
        let (group, tag) = (opening.key.group(), opening.key.tag);
        let Some(team) = self.team(group) else { return self.groups.keep(group, Early::Stranger(from, *opening)) };
        if team.agreement.is_in_vain(tag) {
            refuse(engine, now, from, opening.key);
        } else if team.members.find(from).is_some()
            && let Some(number) = team.agreement.meet(from, tag)
        {
            self.ask_other(engine, now, group, number, from);
        }
    }

    /// Ends the collectives whose messages have failed, once all words that have come are heard: who has left may have
    /// said before why. Returns whether there were such.
    pub(crate) fn fail_late(&mut self, engine: &mut Engine, now: Duration) -> bool {
        let (failures, unanswered) = (std::mem::take(&mut self.failures), std::mem::take(&mut self.unanswered));
        let are_there = !failures.is_empty() || !unanswered.is_empty();
        for (group, number, peer) in unanswered {
            let has_failed = self.get_team(group).is_none_or(|team| team.agreement.failure().is_some());
            // A job that has failed says why itself.
            if !has_failed && engine.failure().is_none() {
                let words =
                    format!("it has called another collective than rank {}, and tells no more which", self.rank);
                self.revoke(engine, now, group, number, Cause::Failed { rank: peer, words });
            }
        }
        for (op, error) in failures {
            self.fail(engine, now, op, error);
        }
        self.forget_groups(engine, now) || are_there
    }

    /// What all collectives of the job fail with, or of a group, if they do.
    pub(crate) fn failure(&self) -> Option<Error> {
        let mut teams = std::iter::once(&self.job).chain(self.groups.teams.values());
        teams.find_map(|team| team.agreement.failure())
    }

    pub(super) fn ask_about(&mut self, engine: &mut Engine, now: Duration, group: u32, number: u64, peer: Rank) {
        let signature = self.team(group).and_then(|team| team.agreement.ask(number, peer));
        if let (Some(signature), Some(to)) = (signature, self.address(group, peer)) {
            say(engine, now, to, &ControlMessage::Ask { number, signature });
        }
    }

    /// `peer` has called collective `number` differently, as the digest of its message shows: it is to say how, unless it
    /// has left.
    pub(super) fn ask_other(&mut self, engine: &mut Engine, now: Duration, group: u32, number: u64, peer: Rank) {
        self.ask_about(engine, now, group, number, peer);
        if engine.has_left(peer) {
            self.unanswered.push((group, number, peer));
        }
    }

    /// A step of a collective has failed.
    fn fail(&mut self, engine: &mut Engine, now: Duration, op: OpId, error: Error) {
        if self.is_exchange(op) {
            return self.fail_exchange(engine, now, error);
        }
        let Some(entry) = self.entries.get(op) else { return };
        let number = entry.number;
        // If the job has failed every rank knows, and nothing can be said any more.
        let Some(number) = number.filter(|_| engine.failure().is_none()) else {
            return self.give_up(engine, op, error);
        };
        let (cause, group) = (self.cause_of(&error), entry.group);
        self.give_up(engine, op, error);
        self.revoke(engine, now, group, number, cause);
    }

    pub(super) fn cause_of(&self, error: &Error) -> Cause {
        match error {
            Error::PeerLost { peer, cause, .. } => Cause::Lost { peer: *peer, words: cause.to_string() },
            other => Cause::Failed { rank: self.rank, words: other.to_string() },
        }
    }

    /// A collective has failed by this rank's own doing.
    pub(super) fn fail_here(&mut self, engine: &mut Engine, now: Duration, op: OpId, words: String) {
        let Some(&Entry { group, number, .. }) = self.entries.get(op) else { return };
        match number {
            Some(number) => self.revoke(engine, now, group, number, Cause::Failed { rank: self.rank, words }),
            None => {
                let error = Error::Collective { number: 0, rank: self.rank, cause: words.into() };
                self.give_up(engine, op, error);
            }
        }
    }

    /// This rank cannot tell any more which of its calls of a group others have matched: all its collectives that are not
    /// complete fail, and all to come.
    pub(crate) fn fail_all(&mut self, engine: &mut Engine, now: Duration, group: u32, words: String) {
        let of_group = self.entries.values().filter(|entry| entry.group == group);
        let under_way = of_group.filter_map(|entry| entry.number).min();
        let next = self.get_team(group).map_or(0, |team| team.agreement.next());
        let number = under_way.unwrap_or(next);
        self.revoke(engine, now, group, number, Cause::Failed { rank: self.rank, words });
    }

    /// From collective `number` of a group on all fail; its other ranks are told.
    pub(super) fn revoke(&mut self, engine: &mut Engine, now: Duration, group: u32, number: u64, cause: Cause) {
        self.spread(engine, now, group, Revocation { number, cause }, self.rank);
    }

    /// Tells all others what is news; so nobody sees this rank leave before it hears why.
    fn spread(&mut self, engine: &mut Engine, now: Duration, group: u32, revocation: Revocation, from: Rank) {
        let word = ControlMessage::Revoke(revocation.clone());
        if !self.take_revocation(engine, now, group, revocation) {
            return;
        }
        if let Some(members) = self.get_team(group).map(|team| team.members.clone()) {
            members.others().filter(|(peer, _)| *peer != from).for_each(|peer| say(engine, now, peer, &word));
        }
    }

    /// Returns whether it was news.
    fn take_revocation(&mut self, engine: &mut Engine, now: Duration, group: u32, revocation: Revocation) -> bool {
        let number = revocation.number;
        let Some(team) = self.team(group) else { return false };
        if !team.agreement.revoke(revocation) {
            return false;
        }
        let Some(error) = team.agreement.failure() else { return false };
        let is_from = |own: u64| own >= number;
        let is_revoked = |entry: &Entry| entry.group == group && entry.number.is_some_and(is_from);
        let revoked = self.entries.iter().filter_map(|(op, entry)| is_revoked(entry).then_some(op));
        for op in revoked.collect::<Vec<OpId>>() {
            self.give_up(engine, op, error.clone());
        }
        if group == 0 {
            self.give_up_deferred(engine, now, number, &error);
        }
        // Their messages would stay with their senders for ever, or take the window's room.
        let agreement = self.get_team(group).map(|team| &team.agreement);
        let is_in_vain = |key: MatchKey| agreement.is_some_and(|agreement| agreement.is_in_vain(key.tag));
        self.refuse_all(engine, now, Context::Collective, |key| key.group() == group && is_in_vain(key));
        true
    }

    /// Ends a collective with `error`.
    pub(super) fn give_up(&mut self, engine: &mut Engine, op: OpId, error: Error) {
        let Some(entry) = self.entries.get(op) else { return };
        let of_it = self.steps.iter().filter(|(_, step)| step.whole == op);
        let under_way: Vec<(OpId, Step)> = of_it.map(|(message, step)| (message, *step)).collect();
        for (message, Step { peer, is_read, .. }) in under_way {
            self.steps.remove(message);
            if is_read {
                engine.withdraw(peer, entry.key, message);
            }
        }
        self.end(op, Outcome::failed(error));
    }
}

/// Sends a word about a group to a rank that knows it by this number. To a rank that has left there is nothing to say, and who
/// has left says nothing.
pub(super) fn say(engine: &mut Engine, now: Duration, (to, group): (Rank, u32), word: &ControlMessage) {
    if engine.is_leaving() {
        return;
    }
    let _ = engine.initwrite(now, to, WORDS, u8::TYPE, Box::new(word.encode(group)));
}

/// Has the sender keep a message that nobody will read. One that has no bytes is read.
pub(super) fn refuse(engine: &mut Engine, now: Duration, from: Rank, key: MatchKey) {
    let _ = engine.initread(now, from, key, u8::TYPE, Box::new(Vec::<u8>::new()));
}
