//! What is found out about a link: plain data, as in the JSON object.

use crate::report::summary::Summary;
use lathide_models::fit::by_size::Errors;
use serde::Serialize;

/// One-way time of a message: half the round trip.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) bytes: usize,
    pub(super) raw_s: Summary,
    pub(super) raw_polled_s: Summary,
    pub(super) lathide_s: Summary,
    /// lathide over blocking raw TCP: Strumpen's penalty factor (Fig. 19).
    pub(super) penalty: Summary,
    /// lathide over polled raw TCP.
    pub(super) penalty_polled: Summary,
    /// Per repetition.
    pub(super) round_trips: u32,
    pub(super) repeats: usize,
}

/// How fast messages go one way, one after the other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Bandwidth {
    pub(super) bytes: usize,
    pub(super) raw_bytes_per_s: Summary,
    pub(super) raw_polled_bytes_per_s: Summary,
    pub(super) lathide_bytes_per_s: Summary,
    /// lathide over the better of both raw ways.
    pub(super) ratio: Summary,
    /// Per repetition.
    pub(super) messages: u32,
    pub(super) repeats: usize,
}

/// How many short messages go one way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Rate {
    pub(super) bytes: usize,
    pub(super) raw_per_s: Summary,
    pub(super) raw_polled_per_s: Summary,
    pub(super) lathide_per_s: Summary,
    /// lathide over the better of both raw ways, which make one write per message.
    pub(super) ratio: Summary,
    /// Per repetition.
    pub(super) messages: u32,
    pub(super) repeats: usize,
}

/// A message each way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) bytes: usize,
    /// One after the other, with lathide.
    pub(super) pingpong_s: Summary,
    /// Both at once, with lathide.
    pub(super) simultaneous_s: Summary,
    /// `pingpong_s / simultaneous_s` (Fig. 20).
    pub(super) speedup: Summary,
    /// Both at once over one raw connection that neither direction blocks.
    pub(super) raw_simultaneous_s: Summary,
    /// `simultaneous_s / raw_simultaneous_s`.
    pub(super) penalty: Summary,
    pub(super) repeats: usize,
}

/// A transfer behind a calculation. The slower of the two nodes counts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Overlap {
    pub(super) bytes: usize,
    pub(super) t_calc_s: Summary,
    pub(super) t_com_s: Summary,
    pub(super) t_total_s: Summary,
    /// `1 - (t_total_s - t_calc_s) / t_com_s`: the hidden part of the communication.
    pub(super) overlap: Summary,
    /// `t_calc_s` over the time of the same calculation while the transfer runs and both nodes calculate.
    pub(super) availability: Summary,
    /// The same while the other node only transfers, so that a core of the host may be free for the kernel's task.
    pub(super) availability_spare: Summary,
    /// The overlap, if lathide's own threads had to share the calculation's processor: their processor time counts as
    /// if the calculation were so much longer.
    pub(super) effective_overlap: Summary,
    /// Processor time of lathide's own threads per transfer.
    pub(super) own_cpu_s: Summary,
    pub(super) repeats: usize,
}

/// One-way times of 8 bytes, alone and beside a long message to the same rank: quantiles over all repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Loaded {
    /// Of the long message.
    pub(super) bytes: usize,
    pub(super) idle_p50_s: f64,
    pub(super) idle_p99_s: f64,
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
    /// `p50_s / idle_p50_s`.
    pub(super) p50_ratio: f64,
    /// `p99_s / idle_p99_s`.
    pub(super) p99_ratio: f64,
    pub(super) idle_samples: usize,
    pub(super) samples: usize,
}

/// Processor time, of both processes and all their threads.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Processor {
    /// Of the messages.
    pub(super) bytes: usize,
    pub(super) raw_s: Summary,
    pub(super) raw_polled_s: Summary,
    pub(super) lathide_s: Summary,
    /// lathide over blocking raw TCP.
    pub(super) ratio: Summary,
}

/// Processor time per 8-byte message of a ping-pong, and per MiB of a stream.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct ProcessorUse {
    pub(super) message: Option<Processor>,
    pub(super) mib: Option<Processor>,
}

/// The time of a message with fragments of one size (Fig. 11).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Fragments {
    pub(super) fragment_bytes: usize,
    /// Of the message.
    pub(super) bytes: usize,
    /// One way.
    pub(super) s: Summary,
    pub(super) repeats: usize,
}

/// A model of the one-way times.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Model<M> {
    #[serde(flatten)]
    pub(super) model: M,
    #[serde(flatten)]
    pub(super) errors: Errors,
}

impl<M> Model<M> {
    pub(super) fn fitted(found: Option<(M, Errors)>) -> Option<Self> {
        found.map(|(model, errors)| Model { model, errors })
    }
}
