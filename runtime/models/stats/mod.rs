//! What repeated measurements say: medians with intervals, exact comparisons of pairs, and the bootstrap.
//!
//! The methods are those that need no assumption about how times are distributed (Hoefler and Belli, *Scientific Benchmarking
//! of Parallel Computing Systems*, SC 2015, rules 5 to 8; Le Boudec, *Performance Evaluation*, section 2.2):
//!
//! | question | answer |
//! | --- | --- |
//! | where is the median of what would be measured? | [`median_interval`]: between two order statistics of what was |
//! | do two variants differ? | [`Comparison`]: ratios within pairs, and the exact [`sign_test`] |
//! | how sure is a number that follows from many samples, such as a fit? | [`bootstrap()`] |
//!
//! ```
//! use lathide_models::stats::{Comparison, median_interval};
//! let with = [1.02, 1.01, 1.05, 1.00, 1.03, 1.02];
//! let interval = median_interval(&with).unwrap();
//! assert_eq!((interval.low, interval.high), (1.00, 1.05));
//! let without = with.map(|time_s| 1.2 * time_s);
//! let comparison = Comparison::of(&without, &with).unwrap();
//! assert!(comparison.differs && (comparison.ratio - 1.2).abs() < 1e-9);
//! ```

mod bootstrap;
mod compare;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use bootstrap::{Draw, bootstrap};
pub use compare::{Comparison, LEVEL, sign_test};

/// Intervals hold what they are of with at least this probability.
pub const CONFIDENCE: f64 = 0.95;

/// The least number of samples with which the median has an interval: with fewer, not even the least and the greatest of
/// them hold it with [`CONFIDENCE`] between them.
pub const SAMPLES_MIN: usize = 6;

/// How an interval was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Between two order statistics of the samples: exact for the median of independent samples, however they are
    /// distributed.
    OrderStatistics,
    /// Percentiles of what resampled repetitions give: right for many samples.
    Bootstrap,
}

/// Where a value is, in its own unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which such an interval holds the value; of order statistics at least [`CONFIDENCE`].
    pub confidence: f64,
    /// How it was found.
    pub method: Method,
}

/// The median; of an even number of values the mean of the two in the middle. `None` if there are no values, or one of them
/// is not a finite number.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    Some(f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]))
}

/// The least of the values that `share` of them do not exceed: 0.5 gives the lower median, 0.99 the 99th percentile. `None` if
/// there are no values, or one of them is not a finite number; a share beyond 0 to 1 counts as the nearer of both.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let sorted = sorted(values)?;
    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The interval of the median by order statistics: from the k-th least to the k-th greatest sample, with the greatest k for
/// which such an interval holds the median with at least [`CONFIDENCE`], `1 - 2 P(Binomial(n, 1/2) < k)`. `None` with fewer than
/// [`SAMPLES_MIN`] samples, or if one of them is not a finite number.
pub fn median_interval(samples: &[f64]) -> Option<Interval> {
    let sorted = sorted(samples)?;
    let mut best = None;
    let mut below = 0.0;
    for k in 1..=sorted.len() / 2 {
        below += binomial_half(sorted.len(), k - 1);
        let confidence = 1.0 - 2.0 * below;
        if confidence < CONFIDENCE {
            break;
        }
        let (low, high) = (sorted[k - 1], sorted[sorted.len() - k]);
        best = Some(Interval { low, high, confidence, method: Method::OrderStatistics });
    }
    best
}

/// `P(Binomial(n, 1/2) = k)`.
fn binomial_half(n: usize, k: usize) -> f64 {
    // A sum of logarithms, since the factors alone are beyond all numbers.
    let choose: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
    (choose - n as f64 * std::f64::consts::LN_2).exp()
}

/// The values in ascending order, if there are any and all are finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}
