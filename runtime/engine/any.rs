//! Reads of any origin: they wait beside the links, and meet the first message of their key, from whichever link it comes.
//!
//! Within a link messages of a key meet reads in the order of posting, whether these name the link or not: operations are
//! numbered as they are posted, so the lower number has the older read. Where several links have a message for a new read,
//! that one's turn comes whose messages have been taken longest ago; so none is passed over for ever.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

use super::OpId;
use super::arriving::Posted;
use crate::wire::frame::MatchKey;

/// What reads of any origin wait for.
pub(super) struct AnyReads {
    posted: HashMap<MatchKey, VecDeque<Posted>>,
    /// Messages that such reads have taken so far.
    taken: u64,
}

impl Default for AnyReads {
    fn default() -> Self {
        AnyReads { posted: HashMap::new(), taken: 0 }
    }
}

impl AnyReads {
    /// Whether no read waits.
    pub(super) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// The oldest read of `key` that waits.
    pub(super) fn front(&self, key: MatchKey) -> Option<&Posted> {
        self.posted.get(&key)?.front()
    }

    /// A read has found no message.
    pub(super) fn push(&mut self, key: MatchKey, read: Posted) {
        self.posted.entry(key).or_default().push_back(read);
    }

    /// Takes the oldest read of `key`.
    pub(super) fn take(&mut self, key: MatchKey) -> Option<Posted> {
        let queue = self.posted.get_mut(&key)?;
        let read = queue.pop_front();
        if queue.is_empty() {
            self.posted.remove(&key);
        }
        read
    }

    /// A message is taken: when, to be compared with other links' last ones.
    pub(super) fn count(&mut self) -> u64 {
        self.taken += 1;
        self.taken
    }

    /// Takes back a read that has met no message.
    pub(super) fn withdraw(&mut self, key: MatchKey, op: OpId) -> Option<Posted> {
        let queue = self.posted.get_mut(&key)?;
        let at = queue.binary_search_by_key(&op, |read| read.op).ok()?;
        let read = queue.remove(at);
        if queue.is_empty() {
            self.posted.remove(&key);
        }
        read
    }

    /// The keys that are waited for, in order.
    pub(super) fn keys(&self) -> Vec<MatchKey> {
        let mut keys: Vec<MatchKey> = self.posted.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// All that wait, in no order.
    pub(super) fn posted(&self) -> impl Iterator<Item = (MatchKey, &Posted)> {
        self.posted.iter().flat_map(|(key, queue)| queue.iter().map(|read| (*key, read)))
    }

    /// Ends all: returns them in the order of posting.
    pub(super) fn clear(&mut self) -> Vec<Posted> {
        let mut all: Vec<Posted> = self.posted.drain().flat_map(|(_, queue)| queue).collect();
        all.sort_unstable_by_key(|read| read.op);
        all
    }
}
