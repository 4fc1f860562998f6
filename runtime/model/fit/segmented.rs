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
//! use lathide::model::fit::{Sample, hyperbolic, segmented};
//! // 10 us and 0.1 ns/byte within the cache, five times as much beyond 256 KiB.
//! let time_s = |x: f64| 10e-6 + 0.1e-9 * x + 0.4e-9 * (x - 262_144.0).max(0.0);
//! let samples: Vec<Sample> =
//!     (3..=24).map(|e| Sample { bytes: 1 << e, time_s: time_s(2.0_f64.powi(e)) }).collect();
//! let two = hyperbolic::fit(&samples)?.quality.unwrap();
//! let more = segmented::fit(&samples)?.quality.unwrap();
//! assert!(two.p90_error > 0.10 && more.p90_error < 0.02);
//! # Ok::<(), lathide::model::fit::FitError>(())
//! ```

use serde::{Deserialize, Serialize};

use super::linear::{COLUMNS, Equation, solve, solve_quickly};
use super::robust::{golden_section, quantile};
use super::series::{Row, Series};
use super::{FitError, Fitted, Sample};

/// The most knots: one slope more than there are.
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
    pub fn time_s(&self, bytes: u64) -> f64 {
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
    Ok(Series::new(samples, 2)?.fit(|series| fit_series(series, knots_max), Segmented::time_s))
}

fn fit_series(series: &Series, knots_max: usize) -> Segmented {
    let medians = series.medians();
    let knots = choose(&medians, knots_max);
    with_knots(series.rows(), &knots, solve)
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

/// ln(measured / predicted) of each row.
fn residuals(rows: &[Row], knots: &[f64]) -> Vec<f64> {
    let model = with_knots(rows, knots, solve_quickly);
    let residual = |row: &Row| {
        let predicted_s = model.time_s(row.bytes);
        // Nothing is predicted only where nothing was seen; then the prediction is as wrong as can be.
        if predicted_s > 0.0 { (row.time_s / predicted_s).ln() } else { 1e3 }
    };
    rows.iter().map(residual).collect()
}

/// The sum of absolute errors.
fn loss(rows: &[Row], knots: &[f64]) -> f64 {
    residuals(rows, knots).iter().map(|residual| residual.abs()).sum()
}

/// How many knots, and where: from none on, each added where it helps most, all then moved about.
fn choose(rows: &[Row], knots_max: usize) -> Vec<f64> {
    // Four samples must speak for each knot and slope, beside the two for the line itself.
    let most = (rows.len().saturating_sub(2) / 4).min(knots_max);
    let mut candidates: Vec<Vec<f64>> = vec![Vec::new()];
    let mut measured = Vec::new();
    while candidates.len() <= most {
        measured = exchange(rows, add_knot(rows, &measured));
        candidates.push(refine(rows, measured.clone()));
    }
    // Least absolute errors pass through as many rows as there are parameters; the others show the noise.
    let parameters = 2 + 2 * most;
    let errors = residuals(rows, &candidates[most]).into_iter().map(|residual| (residual.abs(), 1.0));
    let share = 0.5 * (1.0 + parameters as f64 / rows.len() as f64).min(2.0);
    let spread = (1.4826 * quantile(errors, share).unwrap_or(0.0)).max(NEGLIGIBLE);
    let price = |knots: &Vec<f64>| {
        let misfit: f64 = residuals(rows, knots).iter().map(|r| (r / spread).powi(2).min(CAP)).sum();
        misfit + PER_KNOT * knots.len() as f64 * (rows.len() as f64).ln()
    };
    let prices = candidates.iter().map(price).collect::<Vec<_>>();
    let cheapest = (0..=most).min_by(|a, b| prices[*a].total_cmp(&prices[*b])).unwrap_or(0);
    candidates.swap_remove(cheapest)
}

/// The knots with one more, at the measured size where it lowers the error most.
fn add_knot(rows: &[Row], knots: &[f64]) -> Vec<f64> {
    let places = rows[1..rows.len() - 1].iter().map(|row| row.bytes as f64).filter(|place| !knots.contains(place));
    let with = |place: f64| {
        let mut more = knots.to_vec();
        more.push(place);
        more.sort_by(f64::total_cmp);
        more
    };
    let tried = places.filter(|place| *place > 0.0).map(|place| (loss(rows, &with(place)), place));
    let best = tried.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or_else(|| knots.to_vec(), |(_, place)| with(place))
}

/// The knots, each taken out in turn and put in again at the measured size where it is worth most: what was best to
/// begin with may not be once there are more of them.
fn exchange(rows: &[Row], mut knots: Vec<f64>) -> Vec<f64> {
    let mut least = loss(rows, &knots);
    for _ in 0..EXCHANGES {
        let before = least;
        for index in 0..knots.len() {
            let mut others = knots.clone();
            others.remove(index);
            let moved = add_knot(rows, &others);
            let found = loss(rows, &moved);
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
fn refine(rows: &[Row], mut knots: Vec<f64>) -> Vec<f64> {
    let sizes: Vec<f64> = rows.iter().map(|row| row.bytes as f64).collect();
    let mut least = loss(rows, &knots);
    for _ in 0..REFINEMENTS {
        let before = least;
        for index in 0..knots.len() {
            // As far as the next measured size on either side, and not across another knot.
            let below = sizes.iter().rev().copied().find(|size| *size < knots[index] * 0.999);
            let above = sizes.iter().copied().find(|size| *size > knots[index] * 1.001);
            let low = below.unwrap_or(knots[index]).max(1.0).max(if index > 0 { knots[index - 1] * 1.01 } else { 0.0 });
            let high =
                above.unwrap_or(knots[index]).min(knots.get(index + 1).map_or(f64::INFINITY, |next| next / 1.01));
            if low >= high {
                continue;
            }
            let moved = |place: f64| {
                let mut moved = knots.clone();
                moved[index] = place.exp();
                loss(rows, &moved)
            };
            let (place, found) = golden_section(low.ln(), high.ln(), 14, moved);
            // Between two neighbouring sizes many places may do; then the measured size is kept.
            if found < least - 0.1 * NEGLIGIBLE * rows.len() as f64 {
                (knots[index], least) = (place.exp(), found);
            }
        }
        if least >= before * 0.999 {
            break;
        }
    }
    knots
}

/// Nobody needs a prediction better than this, so no knot is spent on it.
const NEGLIGIBLE: f64 = 1e-3;

/// A sample far off costs no more than one three scales off, so that it buys no knot of its own.
const CAP: f64 = 9.0;

/// A knot is a place and a slope, and was chosen among many: three parameters in the information criterion.
const PER_KNOT: f64 = 3.0;

/// How often all knots are put in anew.
const EXCHANGES: u32 = 3;

/// How often all knots are moved.
const REFINEMENTS: u32 = 2;

#[cfg(test)]
#[path = "segmented_tests.rs"]
mod tests;
