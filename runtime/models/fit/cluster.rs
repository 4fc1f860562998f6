//! The cluster model's parameters by the paper's procedures (Tam, Wang, section 3.2).
//!
//! | parameter | procedure | function |
//! | --- | --- | --- |
//! | `O_s` | the processor's time engaged in sending one message | [`send_time`] |
//! | `g_s` | streams of messages: the time each further one takes | [`send_gap`] |
//! | `g_r` | streams of several senders at one receiver: the least time between arrivals | [`receive_gap`] |
//! | `O_r` | a calculation slowed by messages that arrive meanwhile | [`asynchronous_receive`] |
//! | `U_r` | the receiving process's time after the arrival | [`user_receive`] |
//! | `L` | round trips, less everything else, also of several pairs at once | [`transfer`](fn@transfer) |
//! | `M` | copies within and between caches and memory | [`memory_copy`] |
//!
//! [`survey`] goes through all of them. Each cost is `startup + slope * m`. Table 1 has one set up to 40 bytes and one beyond; where that is wanted, fit the
//! two ranges one after the other.
//!
//! ```
//! use lathide_models::fit::cluster::{Stream, send_gap};
//! // 10 us to start, then 2 us and 1 ns/byte for every message.
//! let stream = |bytes: u64, packets: u32| {
//!     let each_s = 2e-6 + 1e-9 * bytes as f64;
//!     Stream { bytes, packets, time_s: 10e-6 + f64::from(packets) * each_s }
//! };
//! let streams: Vec<Stream> =
//!     [64, 512, 4096, 32_768].iter().flat_map(|&bytes| [stream(bytes, 32), stream(bytes, 128)]).collect();
//! let gap = send_gap(&streams)?.model;
//! assert!((gap.startup_s - 2e-6).abs() < 1e-12 && (gap.s_per_byte - 1e-9).abs() < 1e-15);
//! # Ok::<(), lathide_models::fit::FitError>(())
//! ```

pub mod survey;
mod transfer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::linear::{COLUMNS, Equation, solve};
use super::robust::plain_median;
use super::series::Series;
use super::{BadParameter, FitError, Fitted, Sample, checked_count, checked_time};
use crate::{at_least_zero, representable};

pub use transfer::{RoundTrip, Saturation, Transfer, transfer};

/// A cost as a function of a message's size m: `startup + slope * m` (section 3.2).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// What every message costs, in seconds.
    pub startup_s: f64,
    /// What each of its bytes costs, in seconds.
    pub s_per_byte: f64,
}

impl Cost {
    /// The cost of one message.
    ///
    /// # Errors
    /// If a field is not a finite number of at least 0, or the result too large for a number.
    pub fn time_s(&self, bytes: u64) -> Result<f64, BadParameter> {
        at_least_zero("startup_s", self.startup_s)?;
        at_least_zero("s_per_byte", self.s_per_byte)?;
        representable("cost", self.seconds(bytes))
    }

    /// The same where both are known to be numbers.
    pub(crate) fn seconds(&self, bytes: u64) -> f64 {
        self.startup_s + self.s_per_byte * bytes as f64
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { startup_s: self.startup_s + other.startup_s, s_per_byte: self.s_per_byte + other.s_per_byte }
    }
}

/// A stream of messages of one size from one sender, as fast as they are accepted.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stream {
    /// The size of each.
    pub bytes: u64,
    /// How many.
    pub packets: u32,
    /// From before the first until after the last was accepted, in seconds.
    pub time_s: f64,
}

/// Streams of several senders that arrive at one receiver.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Arrivals {
    /// The size of each message.
    pub bytes: u64,
    /// How many senders.
    pub senders: u32,
    /// How many messages arrived from all of them together, at least 2.
    pub packets: u32,
    /// From the first arrival to the last, in seconds.
    pub time_s: f64,
}

/// A calculation with and without messages that arrive meanwhile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Slowed {
    /// The size of each message.
    pub bytes: u64,
    /// How many arrived.
    pub packets: u32,
    /// The calculation's time alone, in seconds.
    pub alone_s: f64,
    /// The same calculation's time while they arrived, in seconds.
    pub slowed_s: f64,
}

/// `O_s(m)` from the time that the processor was engaged in sending one message of m bytes.
///
/// # Errors
/// If there are fewer than two samples, all of one size, or one of them takes no time or no finite one.
pub fn send_time(engaged: &[Sample]) -> Result<Fitted<Cost>, FitError> {
    line(engaged)
}

/// `U_r(m)` from the time that the receiving process spent on a message of m bytes after it had arrived.
///
/// # Errors
/// As [`send_time`].
pub fn user_receive(spent: &[Sample]) -> Result<Fitted<Cost>, FitError> {
    line(spent)
}

/// `M(m)` from copies of m bytes: `M_ctc`, `M_ctm` or `M_mtm`, by where the copies were made.
///
/// # Errors
/// As [`send_time`].
pub fn memory_copy(copies: &[Sample]) -> Result<Fitted<Cost>, FitError> {
    line(copies)
}

/// `g_s(m)` from streams: how much longer a stream takes for each further message. Every size needs streams of two
/// lengths, so that what the send queue takes at once drops out.
///
/// # Errors
/// As [`send_time`]; also if a stream is empty, a size has streams of one length only, or longer ones of it take no
/// more time.
pub fn send_gap(streams: &[Stream]) -> Result<Fitted<Cost>, FitError> {
    let mut by_size: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for (index, stream) in streams.iter().enumerate() {
        let packets = checked_count(index, "packets", stream.packets, 1)?;
        let time_s = checked_time(index, "time_s", stream.time_s)?;
        by_size.entry(stream.bytes).or_default().push((packets.into(), time_s));
    }
    let mut gaps = Vec::with_capacity(by_size.len());
    for (bytes, streams) in by_size {
        let one = FitError::OneValue { what: "number of packets at a size", value: streams[0].0 };
        let time_s = median_slope(&streams).ok_or(one)?;
        gaps.push(seen("the send gap g_s", bytes, time_s)?);
    }
    line(&gaps)
}

/// The median of the slopes of all pairs (Theil and Sen); `None` if no two differ.
fn median_slope(points: &[(f64, f64)]) -> Option<f64> {
    let pairs = points.iter().enumerate().flat_map(|(index, a)| points[..index].iter().map(move |b| (a, b)));
    let slopes: Vec<f64> = pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (a.1 - b.1) / (a.0 - b.0)).collect();
    (!slopes.is_empty()).then(|| plain_median(slopes))
}

/// `g_r(m)` from streams that converge on one receiver: per size, the least of the times between arrivals that the
/// different numbers of senders came to (the median over repetitions of each).
///
/// # Errors
/// As [`send_time`]; also if there are no senders or fewer than two messages.
pub fn receive_gap(arrivals: &[Arrivals]) -> Result<Fitted<Cost>, FitError> {
    let mut by_size: BTreeMap<u64, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for (index, run) in arrivals.iter().enumerate() {
        let senders = checked_count(index, "senders", run.senders, 1)?;
        let gaps = checked_count(index, "packets", run.packets, 2)? - 1;
        let gap_s = checked_time(index, "time_s", run.time_s)? / f64::from(gaps);
        by_size.entry(run.bytes).or_default().entry(senders).or_default().push(gap_s);
    }
    let mut gaps = Vec::with_capacity(by_size.len());
    for (bytes, by_senders) in by_size {
        let medians = by_senders.into_values().map(plain_median);
        gaps.push(seen("the receive gap g_r", bytes, medians.fold(f64::INFINITY, f64::min))?);
    }
    line(&gaps)
}

/// `O_r(m)` from a calculation slowed by arriving messages: its added time for each of them, the median per size.
///
/// # Errors
/// As [`send_time`]; also if no messages arrived, or the calculation was not slowed at some size.
pub fn asynchronous_receive(runs: &[Slowed]) -> Result<Fitted<Cost>, FitError> {
    let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        let packets = checked_count(index, "packets", run.packets, 1)?;
        let alone_s = checked_time(index, "alone_s", run.alone_s)?;
        let slowed_s = checked_time(index, "slowed_s", run.slowed_s)?;
        by_size.entry(run.bytes).or_default().push((slowed_s - alone_s) / f64::from(packets));
    }
    let mut costs = Vec::with_capacity(by_size.len());
    for (bytes, added) in by_size {
        costs.push(seen("the receive overhead O_r", bytes, plain_median(added))?);
    }
    line(&costs)
}

/// A cost that is a difference or a quotient, if it can be seen at all.
fn seen(what: &'static str, bytes: u64, time_s: f64) -> Result<Sample, FitError> {
    // The same bound as for what is measured directly.
    if super::TIME_S.contains(&time_s) {
        Ok(Sample { bytes, time_s })
    } else {
        Err(FitError::Drowned { what, bytes, value_s: time_s })
    }
}

/// Startup and slope of the least relative error, and that error on held-out sizes.
fn line(samples: &[Sample]) -> Result<Fitted<Cost>, FitError> {
    Ok(Series::new(samples, 2)?.fit(line_of, Cost::seconds))
}

fn line_of(series: &Series) -> Cost {
    let equation = |bytes: u64, time_s: f64, weight: f64| {
        let mut columns = [0.0; COLUMNS];
        (columns[0], columns[1]) = (1.0, bytes as f64);
        Equation { columns, fixed_s: 0.0, time_s, weight }
    };
    let equations: Vec<_> = series.rows().iter().map(|row| equation(row.bytes, row.time_s, row.weight)).collect();
    let [startup_s, s_per_byte, ..] = solve(&equations);
    Cost { startup_s, s_per_byte }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
