//! What the command tells nodes that measure contention, and what rank 0 reports: plain data, and what fits into the time. Pure.

use std::collections::BTreeSet;

use lathide_models::fit::contention::{Load, Observed};
use lathide_models::fit::flood::Flood;
use serde::{Deserialize, Serialize};

/// An answer, and the shortest message that is measured.
pub(in crate::commands::link) const ANSWER_BYTES: usize = 8;
/// Fewer cannot be fitted with an error.
pub(in crate::commands::link) const SIZES_MIN: usize = 4;

/// What the nodes shall do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::commands::link) struct Plan {
    /// By rank, the number of its host.
    pub(in crate::commands::link) hosts: Vec<u32>,
    /// Numbers of pairs, rising from 1.
    pub(super) pairs: Vec<u32>,
    /// Message sizes, rising from [`ANSWER_BYTES`].
    pub(super) bytes: Vec<usize>,
    /// What the senders of a flood send each, rising; none where nothing converges.
    pub(super) floods: Vec<usize>,
    /// About how many seconds it all may take.
    pub(super) seconds: f64,
    /// How often everything is measured, beside once to warm up; and how often at least.
    pub(super) repeats: [u32; 2],
    /// What a message takes one way: seconds for a short one, and for each byte.
    pub(super) message_s: [f64; 2],
}

/// So many pairs at once, each with messages of one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) pairs: u32,
    pub(super) bytes: usize,
    /// Messages of each pair.
    pub(super) count: u32,
}

/// What rank 0 reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::commands::link) struct Measured {
    pub(super) observed: Vec<Observed>,
    pub(super) loads: Vec<Load>,
    pub(super) floods: Vec<Flood>,
    /// How many hosts flooded another one.
    pub(super) flooding: u32,
}

impl Plan {
    /// What fits into the time. `bytes`: these sizes only, however long they take.
    pub(super) fn new(
        hosts: Vec<u32>,
        pairs: &[u32],
        bytes: Option<&BTreeSet<usize>>,
        (seconds, repeats): (f64, [u32; 2]),
        message_s: [f64; 2],
    ) -> Self {
        let pairs: BTreeSet<u32> = pairs.iter().copied().chain([1]).collect();
        let mut plan = Plan {
            hosts,
            pairs: pairs.into_iter().collect(),
            bytes: Vec::new(),
            floods: Vec::new(),
            seconds,
            repeats,
            message_s,
        };
        match bytes {
            Some(bytes) => plan.bytes = bytes.iter().copied().chain([ANSWER_BYTES]).collect(),
            None => {
                let rounds = f64::from(repeats[0] + 1);
                let mut left_s = (1.0 - FLOODS) * seconds / rounds;
                for bytes in SIZES {
                    let cost_s = plan.pairs.iter().map(|pairs| plan.block_s(*pairs, bytes)).sum::<f64>();
                    if cost_s <= left_s || plan.bytes.len() < SIZES_MIN {
                        left_s -= cost_s;
                        plan.bytes.push(bytes);
                    }
                }
            }
        }
        plan.bytes.sort_unstable();
        plan.bytes.dedup();
        let all_s = |bytes: usize| (plan.hosts.len() * bytes) as f64 * message_s[1] * f64::from(FLOOD_REPEATS);
        let mut left_s = FLOODS * seconds;
        let fits = |bytes: &usize| {
            left_s -= all_s(*bytes);
            left_s >= 0.0
        };
        plan.floods = FLOOD_SIZES.into_iter().take_while(fits).collect();
        plan
    }

    /// Everything once.
    pub(super) fn points(&self) -> Vec<Point> {
        let points = self.pairs.iter().flat_map(|pairs| self.bytes.iter().map(move |bytes| (*pairs, *bytes)));
        points.map(|(pairs, bytes)| Point { pairs, bytes, count: count(self.turn_s(pairs, bytes)) }).collect()
    }

    /// A message and its answer, if all pairs share one medium.
    fn turn_s(&self, pairs: u32, bytes: usize) -> f64 {
        let [start_s, byte_s] = self.message_s;
        2.0 * start_s + f64::from(pairs) * byte_s * bytes as f64
    }

    /// A block with what comes before it: one message to warm up, and agreeing on a moment.
    fn block_s(&self, pairs: u32, bytes: usize) -> f64 {
        let turn_s = self.turn_s(pairs, bytes);
        f64::from(count(turn_s) + 1) * turn_s + self.telling_s() * 3.0 + MEETING_S
    }

    /// How long it takes to tell all ranks something.
    pub(super) fn telling_s(&self) -> f64 {
        f64::from(1 + (self.hosts.len().max(1) as u32).ilog2()) * self.message_s[0]
    }
}

/// How often in a block, if once takes so long.
pub(super) fn count(turn_s: f64) -> u32 {
    (BLOCK_S / turn_s).ceil().clamp(1.0, COUNT_MAX) as u32
}

/// Message sizes, of which as many as fit are measured: what tells most comes first.
const SIZES: [usize; 13] = [
    ANSWER_BYTES,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    128 << 10,
    512 << 10,
    128,
    32 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];
/// What each sender of a flood sends.
const FLOOD_SIZES: [usize; 10] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20];
/// How often each flood.
pub(super) const FLOOD_REPEATS: u32 = 3;
/// The share of the time for floods.
const FLOODS: f64 = 0.2;
/// A block takes about so long, if messages let it.
const BLOCK_S: f64 = 0.03;
const COUNT_MAX: f64 = 1000.0;
/// To agree on a moment and to wait for it, beside messages.
const MEETING_S: f64 = 2e-3;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seconds: f64, byte_s: f64) -> Plan {
        Plan::new(vec![0, 1, 2, 3], &[2], None, (seconds, [5, 3]), [100e-6, byte_s])
    }

    #[test]
    fn one_pair_is_always_measured_and_sizes_fit() {
        let slow = plan(1.0, 1e-6);
        assert_eq!(slow.pairs, [1, 2]);
        assert!(slow.bytes.len() >= SIZES_MIN && slow.bytes[0] == ANSWER_BYTES, "{slow:?}");
        let long = plan(18.0, 1.6e-7);
        assert!(long.bytes.len() > slow.bytes.len() && long.bytes.last() >= Some(&(256 << 10)), "{long:?}");
        assert!(long.floods.len() > slow.floods.len(), "{long:?}");
        let all_s: f64 = long.points().iter().map(|point| long.block_s(point.pairs, point.bytes)).sum();
        assert!(all_s * 6.0 <= 18.0, "{all_s}");
        assert!(long.bytes.is_sorted(), "{long:?}");
    }

    #[test]
    fn who_names_sizes_gets_them() {
        let bytes = BTreeSet::from([1 << 20, 64, 512]);
        let plan = Plan::new(vec![0, 1], &[1], Some(&bytes), (0.1, [5, 3]), [1e-4, 1e-6]);
        assert_eq!(plan.bytes, [ANSWER_BYTES, 64, 512, 1 << 20]);
    }

    #[test]
    fn short_messages_go_often_and_long_ones_once() {
        assert_eq!([count(1e-4), count(1e-9), count(3.0)], [300, 1000, 1]);
    }
}
