//! What ranks say to each other when a collective does not go on: who called what, and why all fail.

use std::time::Duration;

use super::agreement::Called;
use super::control::{Cause, ControlMessage, Revocation, WORD_BYTES_MAX};
use super::{Collectives, Entry, WORDS};
use crate::buffer::Element;
use crate::engine::{Engine, OpId, Outcome};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::{Context, MatchKey};

impl Collectives {
    /// Collectives that have not moved for `patience` may wait for ranks that called something else: these are asked.
    pub(crate) fn ask(&mut self, engine: &mut Engine, now: Duration, patience: Duration) {
        let mut about = Vec::new();
        for entry in self.entries.values() {
            if let Some(number) = entry.number
                && now.saturating_sub(entry.moved) >= patience
            {
                let reads = entry.under_way.values().filter(|(_, is_read)| *is_read);
                about.extend(reads.map(|&(peer, _)| (number, peer)));
            }
        }
        for (number, peer) in about {
            self.ask_about(engine, now, number, peer);
        }
    }

    pub(super) fn hear(&mut self, engine: &mut Engine, now: Duration, from: Rank, word: ControlMessage) {
        match word {
            ControlMessage::Ask { number, signature } => {
                if let Some(disagreement) = self.agreement.hear(from, number, signature) {
                    self.revoke(engine, now, number, Cause::Disagreement(disagreement));
                }
            }
            ControlMessage::Revoke(revocation) => self.spread(engine, now, revocation, from),
            ControlMessage::Leave { number, history, last } => {
                self.compare(engine, now, from, Called { number, chain: history, last });
            }
            ControlMessage::Agree { number } => self.agreement.agrees(from, number),
        }
    }

    /// This rank calls no more collectives: the others are asked whether they have called the same.
    pub(crate) fn leave(&mut self, engine: &mut Engine, now: Duration) {
        // An exchange is for later calls.
        self.give_up_exchange(engine, now, Error::Shutdown { rank: self.rank });
        let Some(Called { number, chain, last }) = self.agreement.leave(self.ranks) else { return };
        for peer in (0..self.ranks).map(Rank).filter(|peer| *peer != self.rank) {
            say(engine, now, peer, &ControlMessage::Leave { number, history: chain, last });
        }
    }

    /// Whether all others have said that they have called the same as this rank, which has left; or are gone, or it is
    /// known that ranks differ.
    pub(crate) fn is_agreed(&self, engine: &Engine) -> bool {
        self.agreement.awaited().all(|peer| engine.has_left(peer))
    }

    /// Another rank has called all that it will. Who disagrees tells how it has called each, and so the first
    /// difference is found by both.
    pub(super) fn compare(&mut self, engine: &mut Engine, now: Duration, from: Rank, called: Called) {
        let Called { number, last, .. } = called;
        match self.agreement.compare(from, called) {
            None => {}
            Some(true) => say(engine, now, from, &ControlMessage::Agree { number }),
            Some(false) if self.failure().is_some() => {}
            Some(false) => {
                let oldest = self.agreement.oldest();
                (oldest..number).for_each(|number| self.ask_about(engine, now, number, from));
                // Who is gone does not answer, and what is not remembered cannot be asked about.
                if engine.has_left(from) || self.agreement.has_forgotten() {
                    match self.agreement.differs(number - 1, (from, last)) {
                        Some(differs) => self.revoke(engine, now, number - 1, Cause::Disagreement(differs)),
                        None => self.unanswered.push((number - 1, from)),
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
                Context::Collective if self.agreement.is_in_vain(opening.key.tag) => {
                    refuse(engine, now, from, opening.key);
                }
                Context::Collective => {
                    if let Some(number) = self.agreement.meet(from, opening.key.tag) {
                        self.ask_other(engine, now, number, from);
                    }
                }
                Context::Calibration if self.is_exchange_in_vain(opening.key.tag) => {
                    refuse(engine, now, from, opening.key);
                }
                Context::Agreement | Context::Calibration | Context::Neighbour | Context::User | Context::Window => {}
            }
        }
    }

    /// Ends the collectives whose messages have failed, once all words that have come are heard: who has left may have
    /// said before why. Returns whether there were such.
    pub(crate) fn fail_late(&mut self, engine: &mut Engine, now: Duration) -> bool {
        let (failures, unanswered) = (std::mem::take(&mut self.failures), std::mem::take(&mut self.unanswered));
        let are_there = !failures.is_empty() || !unanswered.is_empty();
        for (number, peer) in unanswered {
            // A job that has failed says why itself.
            if self.failure().is_none() && engine.failure().is_none() {
                let words =
                    format!("it has called another collective than rank {}, and tells no more which", self.rank);
                self.revoke(engine, now, number, Cause::Failed { rank: peer, words });
            }
        }
        for (op, error) in failures {
            self.fail(engine, now, op, error);
        }
        are_there
    }

    /// What all collectives fail with, if they do.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.agreement.failure()
    }

    pub(super) fn ask_about(&mut self, engine: &mut Engine, now: Duration, number: u64, peer: Rank) {
        if let Some(signature) = self.agreement.ask(number, peer) {
            say(engine, now, peer, &ControlMessage::Ask { number, signature });
        }
    }

    /// `peer` has called collective `number` differently, as the digest of its message shows: it is to say how, unless it
    /// has left.
    pub(super) fn ask_other(&mut self, engine: &mut Engine, now: Duration, number: u64, peer: Rank) {
        self.ask_about(engine, now, number, peer);
        if engine.has_left(peer) {
            self.unanswered.push((number, peer));
        }
    }

    /// A step of a collective has failed.
    fn fail(&mut self, engine: &mut Engine, now: Duration, op: OpId, error: Error) {
        if self.is_exchange(op) {
            return self.fail_exchange(engine, now, error);
        }
        let Some(entry) = self.entries.get(&op) else { return };
        let number = entry.number;
        // If the job has failed every rank knows, and nothing can be said any more.
        let Some(number) = number.filter(|_| engine.failure().is_none()) else {
            return self.give_up(engine, op, error);
        };
        let cause = self.cause_of(&error);
        self.give_up(engine, op, error);
        self.revoke(engine, now, number, cause);
    }

    pub(super) fn cause_of(&self, error: &Error) -> Cause {
        match error {
            Error::PeerLost { peer, cause, .. } => Cause::Lost { peer: *peer, words: cause.to_string() },
            other => Cause::Failed { rank: self.rank, words: other.to_string() },
        }
    }

    /// A collective has failed by this rank's own doing.
    pub(super) fn fail_here(&mut self, engine: &mut Engine, now: Duration, op: OpId, words: String) {
        let number = self.entries.get(&op).and_then(|entry| entry.number);
        match number {
            Some(number) => self.revoke(engine, now, number, Cause::Failed { rank: self.rank, words }),
            None => {
                let error = Error::Collective { number: 0, rank: self.rank, cause: words.into() };
                self.give_up(engine, op, error);
            }
        }
    }

    /// This rank cannot tell any more which of its calls others have matched: all collectives that are not complete fail,
    /// and all to come.
    pub(crate) fn fail_all(&mut self, engine: &mut Engine, now: Duration, words: String) {
        let under_way = self.entries.values().filter_map(|entry| entry.number).min();
        let number = under_way.unwrap_or_else(|| self.agreement.next());
        self.revoke(engine, now, number, Cause::Failed { rank: self.rank, words });
    }

    /// From collective `number` on all fail; the other ranks are told.
    pub(super) fn revoke(&mut self, engine: &mut Engine, now: Duration, number: u64, cause: Cause) {
        self.spread(engine, now, Revocation { number, cause }, self.rank);
    }

    /// Tells all others what is news; so nobody sees this rank leave before it hears why.
    fn spread(&mut self, engine: &mut Engine, now: Duration, revocation: Revocation, from: Rank) {
        let word = ControlMessage::Revoke(revocation.clone());
        if self.take_revocation(engine, now, revocation) {
            for peer in (0..self.ranks).map(Rank).filter(|peer| ![self.rank, from].contains(peer)) {
                say(engine, now, peer, &word);
            }
        }
    }

    /// Returns whether it was news.
    fn take_revocation(&mut self, engine: &mut Engine, now: Duration, revocation: Revocation) -> bool {
        let number = revocation.number;
        if !self.agreement.revoke(revocation) {
            return false;
        }
        let is_revoked = |(op, entry): (&OpId, &Entry)| entry.number.is_some_and(|own| own >= number).then_some(*op);
        let revoked: Vec<OpId> = self.entries.iter().filter_map(is_revoked).collect();
        for op in revoked {
            if let Some(error) = self.agreement.failure() {
                self.give_up(engine, op, error);
            }
        }
        if let Some(error) = self.agreement.failure() {
            self.give_up_deferred(engine, now, number, &error);
        }
        // Their messages would stay with their senders for ever, or take the window's room.
        for (from, key, count) in engine.unmatched(Context::Collective) {
            if self.agreement.is_in_vain(key.tag) {
                (0..count).for_each(|_| refuse(engine, now, from, key));
            }
        }
        true
    }

    /// Ends a collective with `error`.
    pub(super) fn give_up(&mut self, engine: &mut Engine, op: OpId, error: Error) {
        let Some(entry) = self.entries.get(&op) else { return };
        for (&message, &(peer, is_read)) in &entry.under_way {
            self.steps.remove(&message);
            if is_read {
                engine.withdraw(peer, entry.key, message);
            }
        }
        self.end(op, Outcome::Failed(error));
    }
}

/// Sends a word; to a rank that has left there is nothing to say, and who has left says nothing.
fn say(engine: &mut Engine, now: Duration, to: Rank, word: &ControlMessage) {
    if engine.is_leaving() {
        return;
    }
    let _ = engine.initwrite(now, to, WORDS, u8::TYPE, Box::new(word.encode()));
}

/// Has the sender keep a message that nobody will read. One that has no bytes is read.
pub(super) fn refuse(engine: &mut Engine, now: Duration, from: Rank, key: MatchKey) {
    let _ = engine.initread(now, from, key, u8::TYPE, Box::new(Vec::<u8>::new()));
}
