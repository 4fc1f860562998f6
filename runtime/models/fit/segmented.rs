//! A service time of several slopes: an **extension**, not in any of the papers, to stand beside the hyperbolic model.
//!
//! Why: on today's TCP two parameters do not reach from 8 bytes to 16 MiB. A long message grows out of a cache,
//! the window of a connection grows while it is sent, a short one finds its reader polling and a longer one wakes it;
//! each of these changes the slope at some size. The hyperbola has one slope, reached from one side, and its time per
//! message dips below the straight line `a + b x` by up to a quarter, at `b x = a`.
//!
//! So: T is continuous and piecewise linear with at most [`KNOTS_MAX`] knots. It never falls: no slope is
//! negative. The number of knots is the one that the samples pay for (a Bayesian information criterion over the
//! median time of each size, capped so that an outlier buys no knot), and the knots lie where the error is least.
//! No knot at all is the straight line `a + b x`. Use it to predict; use a and b of
//! [`hyperbolic`](super::hyperbolic) to reason, since rules 1 to 4 need them.
//!
//! ```
//! use lathide_models::fit::{Sample, hyperbolic, segmented};
//! // 10 us and 0.1 ns/byte within the cache, five times as much beyond 256 KiB.
//! let time_s = |x: f64| 10e-6 + 0.1e-9 * x + 0.4e-9 * (x - 262_144.0).max(0.0);
//! let samples: Vec<Sample> =
//!     (3..=24).map(|e| Sample { bytes: 1 << e, time_s: time_s(2.0_f64.powi(e)) }).collect();
//! let two = hyperbolic::fit(&samples)?.quality.unwrap();
//! let more = segmented::fit(&samples)?.quality.unwrap();
//! assert!(two.p90_error > 0.10 && more.p90_error < 0.02);
//! # Ok::<(), lathide_models::fit::FitError>(())
//! ```

use serde::{Deserialize, Serialize};

use super::linear::{COLUMNS, Equation, Like, solve, solve_quickly};
use super::robust::{golden_section, quantile};
use super::series::{Row, Series};
use super::{BadParameter, FitError, Fitted, Sample};
use crate::{at_least_zero, representable};

/// The most knots: one slope more than there are. Each of four runs on loopback used up four, at different places of a bend
/// near 1.5 KiB, a jump near 64 KiB and the ends of caches.
pub const KNOTS_MAX: usize = COLUMNS - 2;

/// A continuous, piecewise linear service time that never falls.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Segmented {
    /// The time of an empty message, in seconds.
    pub start_s: f64,
    /// The slopes, by the size from which they hold. The first holds from 0, the last for ever.
    pub segments: Vec<Segment>,
}

/// One slope of a [`Segmented`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The size from which it holds: a knot, or 0.
    pub from_bytes: f64,
    /// Seconds for each byte beyond.
    pub s_per_byte: f64,
}

impl Segmented {
    /// The service time of a message.
    ///
    /// # Errors
    /// If a field is not a finite number of at least 0, or the result too large for a number.
    pub fn time_s(&self, bytes: u64) -> Result<f64, BadParameter> {
        at_least_zero("start_s", self.start_s)?;
        for segment in &self.segments {
            at_least_zero("from_bytes", segment.from_bytes)?;
            at_least_zero("s_per_byte", segment.s_per_byte)?;
        }
        representable("service time", self.seconds(bytes))
    }

    /// The same where all fields are known to be numbers.
    pub(crate) fn seconds(&self, bytes: u64) -> f64 {
        let ends = self.segments.iter().skip(1).map(|segment| segment.from_bytes).chain([f64::INFINITY]);
        let part = |(segment, end): (&Segment, f64)| segment.s_per_byte * within(bytes as f64, segment.from_bytes, end);
        self.start_s + self.segments.iter().zip(ends).map(part).sum::<f64>()
    }

    /// The sizes at which the slope changes.
    pub fn knots(&self) -> impl Iterator<Item = f64> {
        self.segments.iter().skip(1).map(|segment| segment.from_bytes)
    }
}

/// How much of 0 to `bytes` lies between two sizes.
fn within(bytes: f64, from: f64, to: f64) -> f64 {
    (bytes.min(to) - from).max(0.0)
}

/// Fits a service time of as many slopes as the samples show.
///
/// # Errors
/// If there are fewer than two samples, all of one size, or one of them takes no time or no finite one.
pub fn fit(samples: &[Sample]) -> Result<Fitted<Segmented>, FitError> {
    fit_with(samples, KNOTS_MAX)
}

/// Fits with at most `knots_max` knots; 0 gives the straight line `a + b x`.
///
/// # Errors
/// As [`fit`].
pub fn fit_with(samples: &[Sample], knots_max: usize) -> Result<Fitted<Segmented>, FitError> {
    let knots_max = knots_max.min(KNOTS_MAX);
    Ok(Series::new(samples, 2)?.fit(|series| fit_series(series, knots_max), Segmented::seconds))
}

/// The straight line `a + b x` of [`fit_with`], without its quality: that takes as many fits as there are sizes.
///
/// # Errors
/// As [`fit`].
pub fn line(samples: &[Sample]) -> Result<Segmented, FitError> {
    Ok(with_knots(Series::new(samples, 2)?.thinned().rows(), &[], solve))
}

fn fit_series(series: &Series, knots_max: usize) -> Segmented {
    let rows = series.medians();
    let times_s: Vec<f64> = rows.iter().map(|row| row.time_s).collect();
    let search = Search { likes: Like::all(&times_s), rows };
    with_knots(series.rows(), &search.choose(knots_max), solve)
}

/// The best service time with these knots, which are in ascending order.
fn with_knots(rows: &[Row], knots: &[f64], solve: impl Fn(&[Equation]) -> [f64; COLUMNS]) -> Segmented {
    let starts: Vec<f64> = std::iter::once(0.0).chain(knots.iter().copied()).collect();
    let equation = |row: &Row| {
        let mut columns = [0.0; COLUMNS];
        columns[0] = 1.0;
        for (index, from) in starts.iter().enumerate() {
            let to = starts.get(index + 1).copied().unwrap_or(f64::INFINITY);
            columns[index + 1] = within(row.bytes as f64, *from, to);
        }
        Equation { columns, fixed_s: 0.0, time_s: row.time_s, weight: row.weight }
    };
    let coefficients = solve(&rows.iter().map(equation).collect::<Vec<_>>());
    let segments = starts.iter().zip(&coefficients[1..]);
    Segmented {
        start_s: coefficients[0],
        segments: segments.map(|(&from_bytes, &s_per_byte)| Segment { from_bytes, s_per_byte }).collect(),
    }
}

/// The search for knots, over one row for each class of sizes.
struct Search {
    rows: Vec<Row>,
    likes: Vec<Like>,
}

impl Search {
    /// ln(measured / predicted) of each row.
    fn residuals(&self, knots: &[f64]) -> impl Iterator<Item = f64> {
        let model = with_knots(&self.rows, knots, |equations| solve_quickly(equations, &self.likes));
        self.rows.iter().map(move |row| {
            let predicted_s = model.seconds(row.bytes);
            // Nothing is predicted only where nothing was seen; then the prediction is as wrong as can be.
            if predicted_s > 0.0 { (row.time_s / predicted_s).ln() } else { 1e3 }
        })
    }

    /// The sum of absolute errors.
    fn loss(&self, knots: &[f64]) -> f64 {
        self.residuals(knots).map(f64::abs).sum()
    }

    /// How many knots, and where: from none on, each added where it helps most, all then moved about.
    fn choose(&self, knots_max: usize) -> Vec<f64> {
        let count = self.rows.len() as f64;
        // Four sizes must speak for each knot and slope, beside the two for the line itself.
        let most = (self.rows.len().saturating_sub(2) / 4).min(knots_max);
        let mut candidates: Vec<Vec<f64>> = vec![Vec::new()];
        let mut measured = Vec::new();
        while candidates.len() <= most {
            measured = self.exchange(self.add_knot(&measured));
            candidates.push(self.refine(measured.clone()));
        }
        // Least absolute errors pass through as many rows as there are parameters; the others show the noise.
        let errors = self.residuals(&candidates[most]).map(|residual| (residual.abs(), 1.0));
        let share = 0.5 * (1.0 + (2 + 2 * most) as f64 / count).min(2.0);
        let spread = (1.4826 * quantile(errors, share).unwrap_or(0.0)).max(NEGLIGIBLE);
        let price = |knots: &Vec<f64>| {
            let misfit = self
                .residuals(knots)
                .zip(&self.rows)
                .map(|(residual, row)| (residual / spread).powi(2).min(CAP * (row.samples * row.samples) as f64));
            misfit.sum::<f64>() + PER_KNOT * knots.len() as f64 * count.ln()
        };
        let prices: Vec<f64> = candidates.iter().map(price).collect();
        let cheapest = (0..=most).min_by(|a, b| prices[*a].total_cmp(&prices[*b])).unwrap_or(0);
        candidates.swap_remove(cheapest)
    }

    /// The knots with one more, at the measured size where it lowers the error most.
    fn add_knot(&self, knots: &[f64]) -> Vec<f64> {
        let inner = 1..self.rows.len() - 1;
        // Of many sizes some are tried first, and then those about the best of them.
        let stride = inner.len().div_ceil(TRIED).max(1);
        let best_of = |indices: &mut dyn Iterator<Item = usize>| {
            let tried = indices.filter_map(|index| {
                let place = self.rows[index].bytes as f64;
                (place > 0.0 && !knots.contains(&place)).then(|| (self.loss(&with(knots, place)), index))
            });
            tried.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
        };
        let Some(coarse) = best_of(&mut inner.clone().step_by(stride)) else { return knots.to_vec() };
        let about = coarse.saturating_sub(stride).max(inner.start)..(coarse + stride).min(inner.end);
        let fine = if stride > 1 { best_of(&mut about.into_iter()) } else { None };
        with(knots, self.rows[fine.unwrap_or(coarse)].bytes as f64)
    }

    /// The knots, each taken out in turn and put in again at the measured size where it is worth most: what was best
    /// to begin with may not be once there are more of them.
    fn exchange(&self, mut knots: Vec<f64>) -> Vec<f64> {
        let mut least = self.loss(&knots);
        for _ in 0..EXCHANGES {
            let before = least;
            for index in 0..knots.len() {
                let mut others = knots.clone();
                others.remove(index);
                let moved = self.add_knot(&others);
                let found = self.loss(&moved);
                if found < least * 0.999 {
                    (knots, least) = (moved, found);
                }
            }
            // One knot is where it is best already.
            if knots.len() < 2 || least == before {
                break;
            }
        }
        knots
    }

    /// The knots moved, one after the other, to where the error is least between their neighbours.
    fn refine(&self, mut knots: Vec<f64>) -> Vec<f64> {
        let mut least = self.loss(&knots);
        for _ in 0..REFINEMENTS {
            let before = least;
            for index in 0..knots.len() {
                let (low, high) = self.room(&knots, index);
                if low >= high {
                    continue;
                }
                let moved = |place: f64| {
                    let mut moved = knots.clone();
                    moved[index] = place.exp();
                    self.loss(&moved)
                };
                let (place, found) = golden_section(low.ln(), high.ln(), 14, moved);
                // Between two neighbouring sizes many places may do; then the measured size is kept.
                if found < least - 0.1 * NEGLIGIBLE * self.rows.len() as f64 {
                    (knots[index], least) = (place.exp(), found);
                }
            }
            if least >= before * 0.999 {
                break;
            }
        }
        knots
    }

    /// Where a knot may move: as far as the next measured size on either side, and not across another knot.
    fn room(&self, knots: &[f64], index: usize) -> (f64, f64) {
        let sizes = || self.rows.iter().map(|row| row.bytes as f64);
        let knot = knots[index];
        let below = sizes().rev().find(|size| *size < knot * 0.999).unwrap_or(knot);
        let above = sizes().find(|size| *size > knot * 1.001).unwrap_or(knot);
        let after = if index > 0 { knots[index - 1] * 1.01 } else { 1.0 };
        let before = knots.get(index + 1).map_or(f64::INFINITY, |next| next / 1.01);
        (below.max(after).max(1.0), above.min(before))
    }
}

/// The knots with one more, in order.
fn with(knots: &[f64], place: f64) -> Vec<f64> {
    let mut more = knots.to_vec();
    more.push(place);
    more.sort_by(f64::total_cmp);
    more
}

/// Nobody needs a prediction better than this, so no knot is spent on it.
const NEGLIGIBLE: f64 = 1e-3;

/// A size that was measured once and is far off costs no more than one this many scales off, squared, so that it buys
/// few knots; repetitions that agree are believed.
const CAP: f64 = 25.0;

/// About how many sizes are tried for a new knot at first.
const TRIED: usize = 24;

/// A knot is a place and a slope, and was chosen among many: three parameters in the information criterion.
const PER_KNOT: f64 = 3.0;

/// How often all knots are put in anew.
const EXCHANGES: u32 = 3;

/// How often all knots are moved.
const REFINEMENTS: u32 = 2;

#[cfg(test)]
#[path = "segmented_tests.rs"]
mod tests;
