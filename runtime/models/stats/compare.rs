//! Whether two variants that were measured in pairs differ.

use serde::{Deserialize, Serialize};

use super::{Interval, binomial_half, median, median_interval};

/// A difference is claimed where chance alone shows one as clear in at most this share of all comparisons.
pub const LEVEL: f64 = 0.05;

/// Two variants, measured in pairs: the first over the second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The median of the ratios within pairs. What slows a machine for a while slows both of a pair, and drops out.
    pub ratio: f64,
    /// The interval of that median; `None` with fewer than six pairs.
    pub interval: Option<Interval>,
    /// The ratio of both medians. It agrees with `ratio` where nothing drifts.
    pub ratio_of_medians: f64,
    /// The probability with which chance alone shows a difference as clear, by the exact sign test.
    pub p: f64,
    /// Whether there is a difference: `p` is at most [`LEVEL`].
    pub differs: bool,
    /// How many pairs there are.
    pub pairs: usize,
}

impl Comparison {
    /// Compares `first[i]` with `second[i]`. `None` without pairs, with lists of different lengths, or if a value is not a
    /// finite number above 0.
    pub fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let is_time = |value: &f64| value.is_finite() && *value > 0.0;
        if first.len() != second.len() || !first.iter().chain(second).all(is_time) {
            return None;
        }
        let ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| first / second).collect();
        let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
        let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
        let p = sign_test(above, below);
        Some(Comparison {
            ratio: median(&ratios)?,
            interval: median_interval(&ratios),
            ratio_of_medians: median(first)? / median(second)?,
            p,
            differs: p <= LEVEL,
            pairs: ratios.len(),
        })
    }
}

/// The exact two-sided sign test: the probability with which fair coins fall as unevenly as `above` to `below`, or more so. Pairs
/// without a difference count for neither side. 1 if there are none that count.
pub fn sign_test(above: usize, below: usize) -> f64 {
    let (all, fewer) = (above + below, above.min(below));
    let tail: f64 = (0..=fewer).map(|k| binomial_half(all, k)).sum();
    (2.0 * tail).min(1.0)
}
