//! What the command tells its nodes and what rank 0 reports: plain data, sent as JSON.

use serde::{Deserialize, Serialize};

/// In a job everything is measured so often at least, beside once to warm up.
pub(super) const REPEATS_MIN: u32 = 2;

/// What nodes shall measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Messages to and fro in disjoint pairs.
    Pairs {
        /// So many pairs at once, one number after the other.
        pairs: Vec<u32>,
        bytes: Vec<usize>,
        /// About how long it may take.
        seconds: f64,
    },
    /// The papers' operations.
    Patterns {
        points: Vec<Point>,
        /// By these, barriers choose their algorithm.
        message: Message,
        seconds: f64,
    },
}

/// What a message takes one way: `a + b x`, and the part of a that is the processor's at each end.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) a_s: f64,
    pub(super) b_s_per_byte: f64,
    pub(super) overhead_s: f64,
}

/// An operation with one size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) pattern: Pattern,
    /// Of a block, a packet or a message.
    pub(super) bytes: usize,
}

/// Who sends to whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum Pattern {
    /// Everybody to rank 0, all at once.
    Simple,
    /// The same, so many at a time (Tam, Wang, Algorithm 1).
    Windowed { window: u32 },
    /// Packets, one after the other, each down the binomial tree (Tam, Wang, section 4).
    Packets { packets: u32 },
    /// A message down the binary tree (Stoica, Sultan, Keyes, Fig. 10).
    Tree,
    /// A message from rank 0 to one after another.
    Serial,
    /// A message to each of so many neighbours, all at once (section 3.3).
    Exchange { neighbours: u32 },
}

/// What rank 0 reports, one line of JSON each.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// Seconds of processor to send a short message or to receive one.
    Overhead(f64),
    /// A repetition in pairs.
    Pairs(Seen),
    /// A repetition of that point: seconds of the slowest rank.
    Timed(usize, f64),
}

/// Messages in pairs at once, as the slowest of them had it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) pairs: u32,
    /// Each rank sends while it receives.
    pub(super) both_ways: bool,
    pub(super) bytes: usize,
    /// Half of a round trip, or a message each way at once, in seconds.
    pub(super) time_s: f64,
}
