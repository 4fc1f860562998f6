//! Which message probably comes next, so that it is read where it belongs.

use super::Incoming;
use crate::engine::any::AnyReads;
use crate::wire::frame::{MatchKey, MessageHeader};

/// Keys of reads that are remembered.
const KEYS_MAX: usize = 64;
/// Among so many of them the next message's is searched for.
const SEARCHED_MAX: usize = 4;

impl Incoming {
    /// A read of `key` has met no message.
    pub(super) fn remember(&mut self, key: MatchKey) {
        if self.posted_keys.back() != Some(&key) {
            self.posted_keys.push_back(key);
        }
        if self.posted_keys.len() > KEYS_MAX {
            self.posted_keys.pop_front();
        }
    }

    /// The bytes of the message that probably comes next: those of the last one, if that filled its buffer.
    pub(in crate::engine) fn expected_bytes(&self) -> Option<u64> {
        self.last_filled.map(|last| last.total)
    }

    /// The message that probably comes next, with the buffer it will go to: the last message filled its buffer, and another
    /// read waits with one that is as long.
    pub(in crate::engine) fn expected(&mut self, any: &AnyReads) -> Option<(MessageHeader, &mut [u8])> {
        let last = self.last_filled?;
        let key = self.expected_key(&last)?;
        let read = self.posted.queue_mut(key)?.front_mut()?;
        // An older read of any origin takes it.
        if !any.is_empty() && any.front(key).is_some_and(|other| other.op < read.op) {
            return None;
        }
        let (element, place) = (read.element, read.place.bytes_mut());
        let alike = place.len() as u64 == last.total && element == last.element;
        alike.then_some((MessageHeader { key, ..last }, place))
    }

    /// The key of the next message, if that is like the `last` one: the same, if a read of it waits, else that of one of the
    /// reads posted first. Collectives' messages have a key for each call.
    fn expected_key(&mut self, last: &MessageHeader) -> Option<MatchKey> {
        let front = |key: MatchKey| self.posted.front(key);
        if front(last.key).is_some() {
            return Some(last.key);
        }
        let mut at = 0;
        while let Some(key) = self.posted_keys.get(at).filter(|_| at < SEARCHED_MAX) {
            match front(*key) {
                None => _ = self.posted_keys.remove(at),
                Some(read) if read.capacity == last.total && read.element == last.element => return Some(*key),
                Some(_) => at += 1,
            }
        }
        None
    }
}
