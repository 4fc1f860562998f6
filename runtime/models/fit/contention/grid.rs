//! What was observed, by number of pairs and size: medians over repetitions, and how far single ones are off.

use std::collections::{BTreeMap, BTreeSet};

use super::data::Observed;
use crate::fit::robust::plain_median;

/// The repetitions at each number of pairs and each size: (repeat, seconds).
pub(super) struct Grid(BTreeMap<(u32, u64), Vec<(u32, f64)>>);

impl Grid {
    pub(super) fn new(observed: &[Observed]) -> Self {
        let mut grid: BTreeMap<(u32, u64), Vec<(u32, f64)>> = BTreeMap::new();
        observed.iter().for_each(|one| grid.entry((one.pairs, one.bytes)).or_default().push((one.repeat, one.time_s)));
        Grid(grid)
    }

    /// All sizes, rising.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let sizes: BTreeSet<u64> = self.0.keys().map(|(_, bytes)| *bytes).collect();
        sizes.into_iter().collect()
    }

    /// Measurements.
    pub(super) fn count(&self, pairs: u32) -> usize {
        self.0.iter().filter(|((n, _), _)| *n == pairs).map(|(_, times)| times.len()).sum()
    }

    /// The median time; 0 if there is none.
    pub(super) fn median_s(&self, pairs: u32, bytes: u64) -> f64 {
        plain_median(self.times(pairs, bytes).iter().map(|(_, time_s)| *time_s))
    }

    /// The medians by size, but for one.
    pub(super) fn medians(&self, pairs: u32, without: Option<u64>) -> Vec<(usize, f64)> {
        let sizes = self.0.keys().filter(|(n, bytes)| *n == pairs && Some(*bytes) != without);
        sizes.map(|(_, bytes)| (*bytes as usize, self.median_s(pairs, *bytes))).collect()
    }

    /// The sizes of which almost all of the time is a, and those of which it is b x; at least one of the least, and two of
    /// the greatest.
    pub(super) fn ends(&self, (a_s, b_s_per_byte): (f64, f64)) -> [Vec<u64>; 2] {
        let sizes = self.sizes();
        let short = sizes.iter().take_while(|bytes| **bytes as f64 * b_s_per_byte < CLEAR * a_s).count();
        let long = sizes.iter().rev().take_while(|bytes| **bytes as f64 * b_s_per_byte * CLEAR > a_s).count();
        let long = long.max(2).min(sizes.len());
        [sizes[..short.max(1).min(sizes.len())].to_vec(), sizes[sizes.len() - long..].to_vec()]
    }

    /// How many times as long messages of these sizes take as between one pair, within a repetition: the median, and its
    /// standard error.
    pub(super) fn slowdown(&self, pairs: u32, sizes: &[u64]) -> (f64, f64) {
        let ratios = sizes.iter().flat_map(|&bytes| {
            let alone = self.times(1, bytes);
            self.times(pairs, bytes)
                .iter()
                .filter_map(move |(repeat, time_s)| Some(time_s / alone.iter().find(|(other, _)| other == repeat)?.1))
        });
        spread(ratios.collect())
    }

    /// How far single measurements of these sizes are off a prediction: the standard error of their median, relative to it.
    pub(super) fn spread_over(&self, pairs: u32, sizes: &[u64], predicted_s: impl Fn(u64) -> f64) -> f64 {
        let off = |&bytes: &u64| {
            let predicted_s = predicted_s(bytes);
            self.times(pairs, bytes).iter().map(move |(_, time_s)| time_s / predicted_s)
        };
        spread(sizes.iter().flat_map(off).collect()).1
    }

    fn times(&self, pairs: u32, bytes: u64) -> &[(u32, f64)] {
        self.0.get(&(pairs, bytes)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The median, and its standard error, by the median distance from it.
fn spread(values: Vec<f64>) -> (f64, f64) {
    let middle = plain_median(values.iter().copied());
    let distance = plain_median(values.iter().map(|value| (value - middle).abs()));
    (middle, MEDIAN * NORMAL * distance / (values.len().max(1) as f64).sqrt())
}

/// One part of a time is clear of the other if it is four times as much.
pub(super) const CLEAR: f64 = 0.25;
/// From the median distance to the standard deviation of normal values.
const NORMAL: f64 = 1.4826;
/// From the error of a mean to that of a median.
const MEDIAN: f64 = 1.2533;
