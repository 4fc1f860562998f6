//! Tables that shrink when what they held has gone.

use std::hash::Hash;

use foldhash::HashMap;

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
