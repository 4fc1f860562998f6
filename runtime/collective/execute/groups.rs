//! The groups of a rank, by its numbers.

use std::collections::BTreeMap;

use super::control::ControlMessage;
use super::team::Team;
use crate::ids::Rank;
use crate::wire::frame::{GROUP_BITS, MessageHeader};

/// What is kept for a group that is being founded; honest ranks send less, since their collectives wait for this one.
const EARLY_MAX: usize = 4096;

#[derive(Default)]
pub(super) struct Groups {
    pub(super) teams: BTreeMap<u32, Team>,
    /// Groups whose members are not known yet, and what has come for them.
    pub(super) founding: BTreeMap<u32, Vec<Early>>,
    /// The number that was given out last.
    last: u32,
    /// Groups that were dropped by a program that may be about to fail.
    pub(super) held: Vec<u32>,
    /// Groups that may have come to their end.
    pub(super) waning: Vec<u32>,
}

/// What has come for a group before it was founded here.
pub(super) enum Early {
    Stranger(Rank, MessageHeader),
    Word(Rank, ControlMessage),
}

impl Groups {
    pub(super) fn has_nothing_to_say(&self) -> bool {
        self.waning.is_empty()
    }

    /// Keeps what has come for a group that is being founded. For others nothing comes that matters.
    pub(super) fn keep(&mut self, group: u32, early: Early) {
        if let Some(kept) = self.founding.get_mut(&group).filter(|kept| kept.len() < EARLY_MAX) {
            kept.push(early);
        }
    }

    /// A number that no group has.
    pub(super) fn reserve(&mut self) -> u32 {
        loop {
            self.last = (self.last + 1) % (1 << GROUP_BITS);
            if self.last != 0 && !self.teams.contains_key(&self.last) && !self.founding.contains_key(&self.last) {
                self.founding.insert(self.last, Vec::new());
                return self.last;
            }
        }
    }
}
