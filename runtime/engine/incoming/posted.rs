//! Reads that have met no message, by what they wait for.

use std::collections::VecDeque;

use foldhash::HashMap;

use crate::engine::OpId;
use crate::engine::arriving::Posted;
use crate::wire::frame::MatchKey;

/// Empty queues kept for tags that come again.
const IDLE_QUEUES_MAX: usize = 64;
/// The longest queue whose memory is kept for another key.
const SPARE_MAX: usize = 16;

/// The reads of each key in the order in which they were posted.
///
/// Most links have reads of one key at a time: those of a stream, or of one collective after the other. These are found without a
/// search.
#[derive(Default)]
pub(super) struct PostedReads {
    /// The key of `latest`.
    key: Option<MatchKey>,
    latest: VecDeque<Posted>,
    /// Those of other keys.
    others: HashMap<MatchKey, VecDeque<Posted>>,
    /// Memory for the next queue of a key that has none. Empty.
    spare: VecDeque<Posted>,
}

impl PostedReads {
    /// Puts `read` behind those of its key.
    pub(super) fn push(&mut self, key: MatchKey, read: Posted) {
        if self.key != Some(key) {
            if !self.latest.is_empty() {
                let queue = self.others.entry(key).or_insert_with(|| std::mem::take(&mut self.spare));
                return queue.push_back(read);
            }
            if !self.others.is_empty()
                && let Some(queue) = self.others.remove(&key)
            {
                self.spare = std::mem::replace(&mut self.latest, queue);
            }
            self.key = Some(key);
        }
        self.latest.push_back(read);
    }

    /// The oldest read of `key`.
    pub(super) fn front(&self, key: MatchKey) -> Option<&Posted> {
        if self.key == Some(key) { self.latest.front() } else { self.others.get(&key)?.front() }
    }

    /// The reads of `key`, perhaps none.
    pub(super) fn queue_mut(&mut self, key: MatchKey) -> Option<&mut VecDeque<Posted>> {
        if self.key == Some(key) { Some(&mut self.latest) } else { self.others.get_mut(&key) }
    }

    /// Takes the oldest read of `key`.
    pub(super) fn take_front(&mut self, key: MatchKey) -> Option<Posted> {
        if self.key == Some(key) {
            let front = self.latest.pop_front();
            if self.latest.is_empty() && self.latest.capacity() > SPARE_MAX {
                self.latest = VecDeque::new();
            }
            return front;
        }
        let front = self.others.get_mut(&key)?.pop_front();
        self.tidy(key);
        front
    }

    /// Takes the read `op` of `key`.
    pub(super) fn remove(&mut self, key: MatchKey, op: OpId) -> Option<Posted> {
        let queue = self.queue_mut(key)?;
        // It is in the order of operations.
        let at = queue.binary_search_by_key(&op, |read| read.op).ok()?;
        let read = queue.remove(at);
        self.tidy(key);
        read
    }

    /// Takes all.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (MatchKey, Posted)> + use<> {
        let PostedReads { key, latest, others, .. } = std::mem::take(self);
        let all = key.map(|key| (key, latest)).into_iter().chain(others);
        all.flat_map(|(key, queue)| queue.into_iter().map(move |read| (key, read)))
    }

    /// All, each with what it waits for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MatchKey, &Posted)> {
        let others = self.others.iter().map(|(key, queue)| (*key, queue));
        let all = self.key.map(|key| (key, &self.latest)).into_iter().chain(others);
        all.flat_map(|(key, queue)| queue.iter().map(move |read| (key, read)))
    }

    /// How many queues there are, also empty ones.
    #[cfg(test)]
    pub(super) fn queues(&self) -> usize {
        self.others.len() + usize::from(self.key.is_some())
    }

    /// A few empty queues stay for the next use; many would be a leak. Of one that goes the memory is kept for a queue of another key.
    fn tidy(&mut self, key: MatchKey) {
        let is_over = self.others.len() > IDLE_QUEUES_MAX && self.others.get(&key).is_some_and(VecDeque::is_empty);
        if is_over
            && let Some(queue) = self.others.remove(&key)
            && queue.capacity() <= SPARE_MAX
        {
            self.spare = queue;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::buffer::Element;
    use crate::ids::Tag;

    fn key(tag: u32) -> MatchKey {
        MatchKey::user(Tag(tag))
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// Whatever is posted, met and withdrawn, of few tags or many, each tag's reads are met in their order.
        #[test]
        fn each_keys_reads_are_in_the_order_of_posting(calls in prop::collection::vec((0u8..4, 0u32..100, 0u64..8), 0..600)) {
            let (mut posted, mut model, mut next) = (PostedReads::default(), BTreeMap::<u32, Vec<OpId>>::new(), 0);
            for (call, at, back) in calls {
                // Mostly a few tags, and now and then another.
                let tag = if at < 80 { at % 3 } else { at };
                let queue = model.entry(tag).or_default();
                match call {
                    0 | 1 => {
                        next += 1;
                        posted.push(key(tag), Posted::new(OpId(next), Box::new(vec![0u8; 1]), u8::TYPE, Duration::ZERO));
                        queue.push(OpId(next));
                    }
                    2 => {
                        let first = (!queue.is_empty()).then(|| queue.remove(0));
                        prop_assert_eq!(posted.front(key(tag)).map(|read| read.op), first);
                        prop_assert_eq!(posted.take_front(key(tag)).map(|read| read.op), first);
                    }
                    _ => {
                        let op = OpId(next.saturating_sub(back));
                        let at = queue.iter().position(|own| *own == op);
                        prop_assert_eq!(posted.remove(key(tag), op).map(|read| read.op), at.map(|at| queue.remove(at)));
                    }
                }
            }
            let all = |reads: Vec<(MatchKey, OpId)>| {
                let mut reads: Vec<(u32, OpId)> = reads.into_iter().map(|(key, op)| (key.tag.0, op)).collect();
                // Each key's keep their order.
                reads.sort_by_key(|(tag, _)| *tag);
                reads
            };
            let expected: Vec<_> = model.into_iter().flat_map(|(tag, ops)| ops.into_iter().map(move |op| (tag, op))).collect();
            prop_assert_eq!(&all(posted.iter().map(|(key, read)| (key, read.op)).collect()), &expected);
            prop_assert_eq!(&all(posted.drain().map(|(key, read)| (key, read.op)).collect()), &expected);
            prop_assert!(posted.iter().next().is_none());
        }
    }
}
