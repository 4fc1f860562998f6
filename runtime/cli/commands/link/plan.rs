//! What the command tells its nodes, what rank 0 tells rank 1, and what they report: plain data, sent as JSON.

use std::net::SocketAddr;

use lathide_models::fit::cluster::Arrivals;
use lathide_models::fit::cluster::survey::Seen;
use serde::{Deserialize, Serialize};

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
        /// Bytes per message.
        bytes: usize,
        /// Round trips per repetition.
        round_trips: u32,
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
    },
}

impl Plan {
    /// The nodes it takes.
    pub(super) fn nodes(&self) -> u32 {
        match self {
            Plan::Link { .. } | Plan::Fragments { .. } => 2,
            Plan::Cluster { senders, .. } => senders + 1,
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

/// Where the two nodes meet for the raw connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct RawPlace {
    /// Rank 0 listens here.
    pub(super) listen: SocketAddr,
    /// Rank 1 connects to this: the same, or the emulated link that leads there.
    pub(super) connect: SocketAddr,
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
    /// These message sizes only, however long they take.
    pub(super) bytes: Option<Vec<usize>>,
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

/// One block of measurement, by both nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Messages to and fro.
    OneWay {
        /// Per message.
        bytes: usize,
        round_trips: u32,
    },
    /// The same with lathide alone, at those sizes and between them: what the models are fitted to.
    Alone {
        /// Per message.
        bytes: usize,
        round_trips: u32,
    },
    /// Messages one after the other from rank 0 to rank 1, several posted at a time.
    Stream {
        /// Per message.
        bytes: usize,
        messages: u32,
    },
    /// Short messages from rank 0 to rank 1, as many as will go.
    Rate { messages: u32 },
    /// Messages to and fro, then both at once.
    Exchange {
        /// Per message.
        bytes: usize,
        count: u32,
    },
    /// Messages behind a calculation.
    Overlap {
        direction: Direction,
        /// Per message.
        bytes: usize,
        steps: u32,
        /// How much is calculated per step.
        work: u32,
    },
    /// Short messages to and fro, beside nothing and beside a long one.
    Loaded {
        /// Of the long message.
        bytes: usize,
        /// Round trips beside nothing.
        idle: u32,
    },
    /// That was all.
    End,
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

/// What one node has found out, by its own clocks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Own {
    /// In the order of [`Variant::ALL`].
    Variants([Cost; 3]),
    /// With lathide.
    Alone(Cost),
    /// Per exchange.
    Exchange(Exchanged),
    /// Per step.
    Overlap(Hidden),
    /// One-way times of rank 0's messages.
    Loaded {
        idle_s: Vec<f64>,
        loaded_s: Vec<f64>,
    },
    Nothing,
}

/// What a block has cost.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cost {
    pub(super) wall_s: f64,
    /// Processor time of this node's process, all threads.
    pub(super) cpu_s: f64,
}

/// Who writes in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Direction {
    /// The nodes in turns.
    OneWay,
    /// Both at once.
    BothWays,
}

impl Direction {
    pub(super) const ALL: [Direction; 2] = [Direction::OneWay, Direction::BothWays];
}

/// A message each way: seconds per exchange.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Exchanged {
    /// One after the other, with lathide.
    pub(super) pingpong_s: f64,
    /// Both at once, with lathide.
    pub(super) simultaneous_s: f64,
    /// Both at once over the raw connection.
    pub(super) raw_simultaneous_s: f64,
}

/// A transfer behind a calculation: seconds per step.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Hidden {
    /// The calculation alone, before and after the others: mean.
    pub(super) calc_s: f64,
    /// The transfer alone.
    pub(super) com_s: f64,
    /// Both at once.
    pub(super) total_s: f64,
    /// Of `total_s`: the calculation.
    pub(super) busy_s: f64,
    /// Processor time of the process's other threads meanwhile.
    pub(super) own_cpu_s: f64,
    /// The calculation, while the other node only transfers.
    pub(super) spare_s: f64,
}

/// What rank 0 reports, one line of JSON each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// The first look at the link.
    Probed(Probe),
    /// A block is measured: by rank 0 and by rank 1.
    Measured(Order, Own, Own),
    /// A repetition of [`Plan::Fragments`]: seconds one way.
    Fragments(f64),
    /// A repetition of a trial of [`Plan::Cluster`] with one sender.
    Cluster(Seen),
    /// With more of them.
    Arrivals(Arrivals),
}

impl Order {
    /// What is measured, for people.
    pub(super) fn in_words(&self) -> String {
        match self {
            Order::OneWay { bytes, .. } | Order::Alone { bytes, .. } => format!("one-way time of {bytes} bytes"),
            Order::Stream { bytes, .. } => format!("bandwidth with messages of {bytes} bytes"),
            Order::Rate { .. } => "message rate".to_owned(),
            Order::Exchange { bytes, .. } => format!("simultaneous exchange of {bytes} bytes"),
            Order::Overlap { direction: Direction::OneWay, bytes, .. } => {
                format!("overlap with messages of {bytes} bytes")
            }
            Order::Overlap { direction: Direction::BothWays, bytes, .. } => {
                format!("overlap with exchanges of {bytes} bytes")
            }
            Order::Loaded { bytes, .. } => format!("short messages beside one of {bytes} bytes"),
            Order::End => "end".to_owned(),
        }
    }
}
