//! The bootstrap: how a number would vary if all were measured again, from what was measured.

use super::{CONFIDENCE, Interval, Method, sorted};

/// So many of all resamples must have a result.
const ENOUGH: f64 = 0.9;

/// Draws samples with replacement, in an order that a seed determines.
#[derive(Debug)]
pub struct Draw(fastrand::Rng);

impl Draw {
    /// As many of the samples as there are, some of them several times. None of none.
    pub fn of<'a, T>(&mut self, samples: &'a [T]) -> Vec<&'a T> {
        samples.iter().map(|_| &samples[self.0.usize(..samples.len())]).collect()
    }
}

/// The interval of a number by the percentile bootstrap. `statistic` computes that number from what it draws, or says that
/// there is none; it is called `resamples` times. The same seed gives the same interval. `None` if fewer than nine of ten
/// resamples have a finite result.
///
/// ```
/// use lathide_models::stats::bootstrap;
/// let samples: Vec<f64> = (0..100).map(f64::from).collect();
/// let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
/// let interval = bootstrap(7, 500, |draw| {
///     let drawn: Vec<f64> = draw.of(&samples).into_iter().copied().collect();
///     Some(mean(&drawn))
/// });
/// let interval = interval.unwrap();
/// assert!(interval.low < mean(&samples) && mean(&samples) < interval.high);
/// ```
pub fn bootstrap(seed: u64, resamples: u32, mut statistic: impl FnMut(&mut Draw) -> Option<f64>) -> Option<Interval> {
    let mut draw = Draw(fastrand::Rng::with_seed(seed));
    let values: Vec<f64> =
        (0..resamples).filter_map(|_| statistic(&mut draw)).filter(|value| value.is_finite()).collect();
    if (values.len() as f64) < ENOUGH * f64::from(resamples) {
        return None;
    }
    let sorted = sorted(&values)?;
    let beyond = ((1.0 - CONFIDENCE) / 2.0 * sorted.len() as f64).floor() as usize;
    let (low, high) = (sorted[beyond], sorted[sorted.len() - 1 - beyond]);
    Some(Interval { low, high, confidence: CONFIDENCE, method: Method::Bootstrap })
}
