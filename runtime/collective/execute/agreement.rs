//! Whether ranks call the same collectives, and what they say to each other when something is wrong.
//!
//! In the good case they say nothing: a collective's messages are matched by its number and a digest of its
//! signature, so that messages of calls that differ never meet. A rank *asks* another by telling how it has called a
//! collective: at once when a message of the same number and another digest comes, and after a while when one it
//! waits for does not come. Who is asked and has called it differently knows both sides, and *revokes*: it tells all
//! ranks, and from that number on every collective of every rank fails with these words. What fails on one
//! rank for another reason, such as an operator that panics, is revoked by that rank.
//!
//! Some ranks wait for nothing, such as the root of a broadcast. So a rank that calls no more collectives tells all
//! others a digest of all it has called, before it says goodbye, and each answers once it has called as many: it
//! agrees, or both find out where they differ.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::control::{Cause, Revocation};
use super::members::Members;
use crate::collective::signature::{Disagreement, SIGNATURE_BYTES, Signature};
use crate::error::Error;
use crate::ids::{Rank, Tag};

/// Signatures that are remembered after their collectives have begun.
const HISTORY_MAX: usize = 1024;
/// Numbers that a tag tells apart.
const NUMBERS: u64 = 1 << (32 - DIGEST_BITS);
/// Bits of a tag for the signature's digest.
const DIGEST_BITS: u32 = 20;

pub(super) struct Agreement {
    rank: Rank,
    /// The group, for the words of its errors; `None` for the whole job.
    group: Option<Arc<Members>>,
    /// The number of the first collective: 0, but for tests.
    first: u64,
    /// The number of the next collective.
    next: u64,
    /// The signatures of the last ones, the newest last, each with the chain of all up to it.
    history: VecDeque<(Signature, u64)>,
    /// This rank calls no more, and these have not said yet whether they have called the same.
    awaited: BTreeSet<Rank>,
    /// Ranks that call no more, and have called more than this one has by now.
    ahead: BTreeMap<Rank, Called>,
    /// Messages for collectives that have not begun here, by what the tag tells of the number.
    early: BTreeMap<u64, BTreeSet<(Rank, Tag)>>,
    /// How others have called collectives that have not begun here.
    announced: BTreeMap<u64, Vec<(Rank, Signature)>>,
    /// Whom this rank has asked about which.
    asked: BTreeSet<(u64, Rank)>,
    revocation: Option<Revocation>,
}

/// All that a rank has called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    pub(super) number: u64,
    pub(super) chain: u64,
    pub(super) last: Signature,
}

/// What the beginning of a collective shows.
pub(super) struct Begun {
    pub(super) number: u64,
    pub(super) tag: Tag,
    /// What others have said before, if they have said something.
    pub(super) heard: Option<Box<Heard>>,
}

/// What others have said of a collective before it begins here.
pub(super) struct Heard {
    /// These have sent messages of another signature.
    pub(super) ask: Vec<Rank>,
    /// This one has called it differently.
    pub(super) disagreement: Option<Disagreement>,
    /// With it this rank has called as many as these.
    pub(super) level: Vec<(Rank, Called)>,
}

impl Agreement {
    pub(super) fn new(rank: Rank) -> Self {
        Agreement {
            rank,
            group: None,
            first: 0,
            next: 0,
            history: VecDeque::new(),
            awaited: BTreeSet::new(),
            ahead: BTreeMap::new(),
            early: BTreeMap::new(),
            announced: BTreeMap::new(),
            asked: BTreeSet::new(),
            revocation: None,
        }
    }

    /// The same for a group.
    pub(super) fn of_group(rank: Rank, members: Arc<Members>) -> Self {
        Agreement { group: Some(members), ..Agreement::new(rank) }
    }

    #[cfg(test)]
    pub(super) fn begin_at(&mut self, number: u64) {
        (self.first, self.next) = (number, number);
    }

    /// This rank calls its next collective.
    ///
    /// # Errors
    /// Why no collective can be called any more.
    pub(super) fn begin(&mut self, signature: Signature) -> Result<Begun, Error> {
        let number = self.next;
        if let Some(error) = self.revoked(number) {
            return Err(error);
        }
        let chain = signature.chained(self.chain(number).unwrap_or(0));
        self.next += 1;
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back((signature, chain));
        if !self.asked.is_empty() {
            let oldest = self.oldest();
            self.asked.retain(|&(number, _)| number >= oldest);
        }
        let tag = tag(number, &signature);
        let has_heard = !(self.early.is_empty() && self.announced.is_empty() && self.ahead.is_empty());
        let heard = has_heard.then(|| self.heard(number, tag, signature).into());
        Ok(Begun { number, tag, heard })
    }

    /// What others have said of collective `number`, which begins: it is over now.
    fn heard(&mut self, number: u64, tag: Tag, signature: Signature) -> Heard {
        let early = self.early.remove(&(number % NUMBERS)).unwrap_or_default();
        let ask = early.into_iter().filter(|&(_, other)| other != tag).map(|(rank, _)| rank).collect();
        let announced = self.announced.remove(&number).unwrap_or_default();
        let disagreement = announced.into_iter().find_map(|theirs| self.between(signature, theirs));
        let is_level = |called: &Called| called.number == number + 1;
        let level =
            self.ahead.iter().filter(|(_, called)| is_level(called)).map(|(&rank, &called)| (rank, called)).collect();
        self.ahead.retain(|_, called| !is_level(called));
        Heard { ask, disagreement, level }
    }

    /// The number of the next collective.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// This rank calls no more collectives. Returns what to tell the `others`, if there is something to agree on: also that
    /// none was called, if `always`.
    pub(super) fn leave(&mut self, others: impl Iterator<Item = Rank>, always: bool) -> Option<Called> {
        let nothing = always.then(|| (Signature::decode(&[0; SIGNATURE_BYTES]), 0));
        let (last, chain) = self.history.back().copied().or(nothing).filter(|_| self.revocation.is_none())?;
        self.awaited = others.collect();
        Some(Called { number: self.next, chain, last })
    }

    /// The ranks that have not said yet whether they have called the same as this one, which calls no more.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Rank> {
        let awaited = self.revocation.is_none().then_some(&self.awaited);
        awaited.into_iter().flatten().copied()
    }

    /// Another rank calls no more. Returns whether this one has called the same; `None`: not yet as many.
    pub(super) fn compare(&mut self, from: Rank, called: Called) -> Option<bool> {
        if called.number > self.next {
            self.ahead.insert(from, called);
            return None;
        }
        // What is too long ago has met no objection since.
        let is_alike = self.chain(called.number).is_none_or(|chain| chain == called.chain);
        if is_alike {
            self.awaited.remove(&from);
        }
        Some(is_alike)
    }

    /// `from` has called the same as this rank up to `number`.
    pub(super) fn agrees(&mut self, from: Rank, number: u64) {
        if number >= self.next {
            self.awaited.remove(&from);
        }
    }

    /// The number of the oldest signature that is remembered.
    pub(super) fn oldest(&self) -> u64 {
        self.next - self.history.len() as u64
    }

    /// Whether there are collectives whose signatures are not remembered any more.
    pub(super) fn has_forgotten(&self) -> bool {
        self.oldest() > self.first
    }

    /// The chain of the first `number` collectives.
    fn chain(&self, number: u64) -> Option<u64> {
        let Some(last) = number.checked_sub(1) else { return Some(0) };
        self.history.get(last.checked_sub(self.oldest())? as usize).map(|&(_, chain)| chain)
    }

    /// A message of a collective has come that no read waits for. Returns the number to ask its sender about.
    pub(super) fn meet(&mut self, from: Rank, tag: Tag) -> Option<u64> {
        let number = self.number(tag);
        match self.signature(number) {
            Some(signature) => (self::tag(number, signature) != tag).then_some(number),
            None => {
                self.early.entry(number % NUMBERS).or_default().insert((from, tag));
                None
            }
        }
    }

    /// Whether `peer` is to be asked about collective `number`: once is enough. Returns what to tell it.
    pub(super) fn ask(&mut self, number: u64, peer: Rank) -> Option<Signature> {
        let signature = *self.signature(number)?;
        self.asked.insert((number, peer)).then_some(signature)
    }

    /// Another rank tells how it has called collective `number`.
    pub(super) fn hear(&mut self, from: Rank, number: u64, theirs: Signature) -> Option<Disagreement> {
        if number >= self.next {
            // A rank tells once of each, and tags tell no more apart: who tells more breaks the rules.
            let announced = self.announced.entry(number).or_default();
            if announced.iter().all(|&(rank, _)| rank != from) {
                announced.push((from, theirs));
            }
            while self.announced.len() as u64 > NUMBERS {
                self.announced.pop_last();
            }
            return None;
        }
        self.differs(number, (from, theirs))
    }

    /// From `revocation.number` on nothing goes any more. Returns whether that is news.
    pub(super) fn revoke(&mut self, revocation: Revocation) -> bool {
        let is_news = self.revocation.as_ref().is_none_or(|known| revocation.number < known.number);
        if is_news {
            self.revocation = Some(revocation);
        }
        is_news
    }

    /// The error of collective `number`, if it is revoked.
    pub(super) fn revoked(&self, number: u64) -> Option<Error> {
        let revocation = self.revocation.as_ref().filter(|revocation| revocation.number <= number)?;
        Some(revocation.error(self.group.as_deref()))
    }

    /// The number of the first collective that fails, if some do.
    pub(super) fn revoked_from(&self) -> Option<u64> {
        self.revocation.as_ref().map(|revocation| revocation.number)
    }

    /// The error of all collectives that fail, if there are such.
    pub(super) fn failure(&self) -> Option<Error> {
        self.revocation.as_ref().map(|revocation| revocation.error(self.group.as_deref()))
    }

    /// Whether messages of this tag will not be read any more.
    pub(super) fn is_in_vain(&self, tag: Tag) -> bool {
        let number = self.number(tag);
        self.revocation.as_ref().is_some_and(|revocation| revocation.number <= number)
    }

    /// The number that a tag means: one of the last that have begun, or one of the next.
    fn number(&self, tag: Tag) -> u64 {
        let low = u64::from(tag.0 >> DIGEST_BITS);
        let ahead = low.wrapping_sub(self.next) % NUMBERS;
        let behind = NUMBERS - ahead;
        if behind <= self.history.len() as u64 { self.next - behind } else { self.next + ahead }
    }

    fn signature(&self, number: u64) -> Option<&Signature> {
        self.history.get(number.checked_sub(self.oldest())? as usize).map(|(signature, _)| signature)
    }

    /// How this rank and another have called collective `number` differently.
    pub(super) fn differs(&self, number: u64, theirs: (Rank, Signature)) -> Option<Disagreement> {
        self.between(*self.signature(number)?, theirs)
    }

    fn between(&self, own: Signature, theirs: (Rank, Signature)) -> Option<Disagreement> {
        let (mut one, mut other) = ((self.rank, own), theirs);
        if other.0 < one.0 {
            std::mem::swap(&mut one, &mut other);
        }
        Disagreement::between(one, other)
    }
}

/// What the messages of a collective are matched by.
fn tag(number: u64, signature: &Signature) -> Tag {
    Tag(((number % NUMBERS) as u32) << DIGEST_BITS | signature.digest())
}

impl Revocation {
    /// What a handle says of a collective of the whole job, or of a group.
    pub(super) fn error(&self, group: Option<&Members>) -> Error {
        // People count from one.
        let number = self.number + 1;
        let named = |words: &str| match group {
            Some(members) => format!("{words} ({members})").into(),
            None => words.into(),
        };
        match &self.cause {
            Cause::Disagreement(found) => {
                let ranks = (found.one.0, found.other.0);
                Error::Disagreement { number, ranks, cause: named(&found.to_string()) }
            }
            Cause::Failed { rank, words } => Error::Collective { number, rank: *rank, cause: named(words) },
            Cause::Lost { peer, words } => {
                Error::PeerLost { peer: *peer, cause: words.as_str().into(), operation: None }
            }
        }
    }
}
