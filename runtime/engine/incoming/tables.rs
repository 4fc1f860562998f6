//! Tables that shrink when what they held has gone.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;

use crate::engine::OpId;
use crate::engine::arriving::Posted;
use crate::wire::frame::MatchKey;

/// Empty queues kept for tags that come again.
pub(super) const IDLE_QUEUES_MAX: usize = 64;
/// The longest queue whose memory is kept for another key.
const SPARE_MAX: usize = 16;
/// Entries that a table may have room for without need.
pub(super) const IDLE_ENTRIES_MAX: usize = 1024;

/// Gives memory back that many messages took and few need: what `MESSAGE_COST` reckons with is a table two fifths full.
pub(in crate::engine) fn shrink<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    let capacity = table.capacity();
    if capacity <= IDLE_ENTRIES_MAX {
        return;
    }
    // What was removed may still count against the capacity: the table itself is a power of two, seven eighths of which count.
    let all = (capacity * 8).div_ceil(7).next_power_of_two() / 8 * 7;
    if 12 * table.len() < 5 * all {
        table.shrink_to(table.len() / 8 * 9);
    }
}

/// Takes the front of `key`'s queue. A few empty queues stay for the next use; many would be a leak. Of one that goes the memory
/// becomes `spare`, for a queue of another key: those of collectives follow each other.
pub(super) fn take_front(
    queues: &mut HashMap<MatchKey, VecDeque<Posted>>,
    spare: &mut VecDeque<Posted>,
    key: MatchKey,
) -> Option<Posted> {
    let queue = queues.get_mut(&key)?;
    let front = queue.pop_front();
    if queue.is_empty() && queues.len() > IDLE_QUEUES_MAX {
        let gone = queues.remove(&key);
        if let Some(queue) = gone.filter(|queue| queue.capacity() <= SPARE_MAX) {
            *spare = queue;
        }
    }
    front
}

/// Takes the read `op` out of `key`'s queue, which is in the order of operations.
pub(super) fn remove_read(queues: &mut HashMap<MatchKey, VecDeque<Posted>>, key: MatchKey, op: OpId) -> Option<Posted> {
    let queue = queues.get_mut(&key)?;
    let at = queue.binary_search_by_key(&op, |read| read.op).ok()?;
    let read = queue.remove(at);
    if queue.is_empty() && queues.len() > IDLE_QUEUES_MAX {
        queues.remove(&key);
    }
    read
}
