//! What the engine tells of messages beside their outcomes: stamps that have come, and notes for a timeline.

use std::collections::HashSet;

use super::operation::OpId;
use crate::ids::Rank;
use crate::wire::frame::Stamp;

/// A stamp has come: with the end of a message, or by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub(crate) peer: Rank,
    /// The message's bytes, if it was a message's.
    pub(crate) bytes: Option<u64>,
    pub(crate) stamp: Stamp,
    /// How often the peer wants to be answered in turn.
    pub(crate) answers: u32,
}

/// How far a message has come, for a timeline. A message of one frame only leaves, and only arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// The first bytes of a message for a read, or for none yet, are here.
    Begins { bytes: u64 },
    /// All of it is.
    Arrives { bytes: u64 },
    /// The first bytes of this write are handed to the socket. Told again if they are taken back.
    Goes(OpId),
    /// All of them are.
    Leaves(OpId),
    /// This read and the message have met.
    Meets(OpId),
}

/// A message's progress. `message_id` names it on both sides of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    pub(crate) peer: Rank,
    pub(crate) message_id: u64,
    pub(crate) progress: Progress,
}

/// Where the two sides of a link take notes, if anybody wants them.
#[derive(Default)]
pub(super) struct Notes {
    taken: Option<Vec<(u64, Progress)>>,
    /// Messages whose beginning is told and whose end is not.
    begun: HashSet<u64>,
}

impl Notes {
    pub(super) fn wanted() -> Self {
        Notes { taken: Some(Vec::new()), begun: HashSet::new() }
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.taken.is_some()
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, Progress)> {
        self.taken.iter_mut().flat_map(|notes| notes.drain(..))
    }

    pub(super) fn take(&mut self, message_id: u64, progress: Progress) {
        if let Some(notes) = &mut self.taken {
            if matches!(progress, Progress::Arrives { .. }) {
                self.begun.remove(&message_id);
            }
            notes.push((message_id, progress));
        }
    }

    /// Of a message that this is told of already, until something else is, it is not told again.
    pub(super) fn take_once(&mut self, message_id: u64, progress: Progress) {
        if let Some(notes) = &mut self.taken
            && self.begun.insert(message_id)
        {
            notes.push((message_id, progress));
        }
    }
}
