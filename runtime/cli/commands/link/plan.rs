//! What the command tells its nodes, what rank 0 tells rank 1, and what they report: plain data, sent as JSON.

use std::collections::BTreeSet;

use lathide_models::fit::cluster::Arrivals;
use lathide_models::fit::cluster::survey::Seen;
use serde::{Deserialize, Serialize};

use super::contention::plan::{Measured, Plan as Pairs};
use super::sending::plan::{Plan as Sending, Sent};
use crate::commands::common::raw::RawPlace;

/// A short message: one that is measured, or one that only says that something may begin.
pub(super) const SIGNAL_BYTES: usize = 8;

/// What the two nodes shall do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Everything but the fragment sweep.
    Link {
        /// Where the raw connection is; between hosts it is where rank 0 says.
        raw: Option<RawPlace>,
        /// How much is to be measured.
        options: Options,
    },
    /// One-way times with the fragments that the nodes' environment sets.
    Fragments {
        /// Of [`Kind::Alone`].
        order: Order,
        /// Repetitions beside the one that warms up.
        repeats: u32,
    },
    /// The cluster model's parameters: all that one sender shows, or what further ones add.
    Cluster {
        /// Nodes that send to rank 0.
        senders: u32,
        /// One for each size.
        trials: Vec<Trial>,
        /// Repetitions beside the one that warms up.
        repeats: u32,
        /// When it is over, in seconds since the nodes began.
        deadline_s: Option<f64>,
    },
    /// Several pairs at once.
    Contention(Pairs),
    /// Until messages have left the host.
    Sending(Sending),
}

impl Plan {
    /// The nodes it takes.
    pub(super) fn nodes(&self) -> u32 {
        match self {
            Plan::Link { .. } | Plan::Fragments { .. } => 2,
            Plan::Cluster { senders, .. } => senders + 1,
            Plan::Contention(pairs) => pairs.hosts.len() as u32,
            Plan::Sending(plan) => plan.hosts.len() as u32,
        }
    }
}

/// What the nodes do with messages of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) bytes: usize,
    pub(super) round_trips: u32,
    /// Messages of a short stream; a long one has three times as many.
    pub(super) packets: u32,
}

/// How much is to be measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Options {
    /// About how many seconds it all may take.
    pub(super) seconds: f64,
    /// How often everything is measured.
    pub(super) repeats: u32,
    /// How often at least, if the time is over.
    pub(super) repeats_min: u32,
    /// When it is over, in seconds since the nodes began, however little was measured; `None` if the repetitions count, not the
    /// time.
    pub(super) deadline_s: Option<f64>,
    /// These message sizes only.
    pub(super) bytes: Option<BTreeSet<usize>>,
    /// Both directions of the link share one capacity.
    pub(super) shared: bool,
    /// A relay, or the other node, needs this processor too, so whoever polls lets it have some.
    pub(super) yields: bool,
}

/// What a message costs by the first look at the link: the slowest of all variants.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Probe {
    /// Seconds one way for 8 bytes.
    pub(super) start_s: f64,
    /// Seconds for each byte beyond.
    pub(super) byte_s: f64,
}

impl Probe {
    /// About how many seconds a message takes one way.
    pub(super) fn one_way_s(&self, bytes: usize) -> f64 {
        self.start_s + self.byte_s * bytes as f64
    }
}

/// What is measured in a block. The nodes find out numbers, in seconds, each by its own clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Messages to and fro: the time of each variant, then its processor time of this process, all threads; then at rank 0 of
    /// each variant the median, the 99th percentile and the greatest of half its round trips.
    OneWay,
    /// The same with lathide alone, twice: both times. They show what no difference looks like.
    Twice,
    /// The same with lathide alone, at those sizes and between them, what the models are fitted to: its time.
    Alone,
    /// Messages one after the other from rank 0 to rank 1, several posted at a time: numbers as of `OneWay`.
    Stream,
    /// The same with short messages, as many as will go.
    Rate,
    /// Messages to and fro, then both at once, then those over the raw connection: the time of an exchange, of each.
    Exchange,
    /// Messages behind a calculation, which the nodes write in turns: per step, the calculation alone (the mean of before and
    /// after); the transfer alone; both at once, and of that the calculation; the processor time of the process's other threads
    /// meanwhile; the calculation while the other node only transfers.
    Overlap,
    /// The same with both nodes writing at once.
    ExchangeOverlap,
    /// Short messages to and fro, beside nothing and beside a long one: the one-way time of each, at rank 0.
    Loaded,
}

impl Kind {
    /// What is done with so many bytes, for people.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Kind::OneWay | Kind::Alone | Kind::Twice => "one-way time of",
            Kind::Stream => "bandwidth with messages of",
            Kind::Rate => "rate of messages of",
            Kind::Exchange => "simultaneous exchange of",
            Kind::Overlap => "overlap with messages of",
            Kind::ExchangeOverlap => "overlap with exchanges of",
            Kind::Loaded => "short messages beside one of",
        }
    }
}

/// One block of measurement, by both nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) kind: Kind,
    /// Per message; of [`Kind::Loaded`], of the long one.
    pub(super) bytes: usize,
    /// Round trips, messages, exchanges or steps; of [`Kind::Loaded`], the round trips beside nothing.
    pub(super) count: u32,
    /// How much is calculated per step, if anything is.
    pub(super) work: u32,
}

/// A block, and what both nodes have found out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) order: Order,
    /// Rank 0's numbers, as [`Kind`] has them.
    pub(super) mine: Vec<f64>,
    /// Rank 1's.
    pub(super) theirs: Vec<f64>,
}

impl Block {
    /// The first numbers of both nodes, put together. What a node has not found out is no number.
    pub(super) fn both<const N: usize>(&self, of: fn(f64, f64) -> f64) -> [f64; N] {
        let number = |own: &[f64], index| own.get(index).copied().unwrap_or(f64::NAN);
        std::array::from_fn(|index| of(number(&self.mine, index), number(&self.theirs, index)))
    }
}

/// Rank 0 tells rank 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) order: Order,
    /// The variants in the opposite order, so that none is always the first.
    pub(super) is_reversed: bool,
    /// How long a message travels, in seconds: by so much rank 1 starts later where both start at once.
    pub(super) travel_s: f64,
}

/// How bytes get from one node to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Variant {
    /// TCP, blocking.
    Raw,
    /// TCP, asking again and again.
    RawPolled,
    Lathide,
}

impl Variant {
    pub(super) const ALL: [Variant; 3] = [Variant::Raw, Variant::RawPolled, Variant::Lathide];
}

/// What a block has cost this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) wall_s: f64,
    /// Processor time of this node's process, all threads.
    pub(super) cpu_s: f64,
}

/// What rank 0 reports, one line of JSON each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// The first look at the link.
    Probed(Probe),
    /// A repetition of a block.
    Measured(Block),
    /// A repetition of a trial of [`Plan::Cluster`] with one sender.
    Cluster(Seen),
    /// With more of them.
    Arrivals(Arrivals),
    /// All of [`Plan::Contention`].
    Contention(Measured),
    /// Sending times.
    Sending(Vec<Sent>),
}
