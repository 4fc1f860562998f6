//! The hyperbolic service time from observed messages (Stoica, Sultan, Keyes 1994, sections 2.1 and 4).
//!
//! `T(x; a, b) = a^2/(a + b x) + b x`, eq. (3): a seconds for a message of nothing, b seconds per byte of a long one.
//! The paper takes a and b from the two limits, tiny and huge messages. Here all sizes take part, so that the error
//! is spread over them.
//!
//! ```
//! use lathide_models::{BadParameter, fit::{Sample, hyperbolic::{self, Hyperbolic}}};
//! let ethernet = Hyperbolic { a_s: 859.52e-6, b_s_per_byte: 1.42e-6 };
//! let samples: Vec<Sample> =
//!     (3..=20).map(|e| Ok(Sample { bytes: 1 << e, time_s: ethernet.time_s(1 << e)? })).collect::<Result<_, BadParameter>>()?;
//! let fitted = hyperbolic::fit(&samples)?;
//! assert!((fitted.model.a_s / ethernet.a_s - 1.0).abs() < 1e-9);
//! assert!((fitted.model.b_s_per_byte / ethernet.b_s_per_byte - 1.0).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde::{Deserialize, Serialize};

use super::robust::{self, golden_section, huber_loss, huber_weight, median};
use super::series::{Row, Series};
use super::{BadParameter, FitError, Fitted, Sample};
use crate::{above_zero, at_least_zero, representable};

/// The two parameters of the hyperbolic service time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hyperbolic {
    /// a: the time of a message in the limit of small ones, in seconds.
    pub a_s: f64,
    /// b: the time per byte in the limit of large ones, in seconds.
    pub b_s_per_byte: f64,
}

impl Hyperbolic {
    /// The service time of a message, eq. (3): `a^2/(a + b x) + b x`.
    ///
    /// # Errors
    /// If a or b is not a finite number of at least 0, or the result too large for a number.
    pub fn time_s(&self, bytes: u64) -> Result<f64, BadParameter> {
        at_least_zero("a", self.a_s)?;
        at_least_zero("b", self.b_s_per_byte)?;
        representable("T(x; a, b)", self.seconds(bytes))
    }

    /// The same where both are known to be numbers.
    pub(crate) fn seconds(&self, bytes: u64) -> f64 {
        let long_s = self.b_s_per_byte * bytes as f64;
        // Divided before it is multiplied: the square of a tiny a would be 0.
        let short_s = if self.a_s > 0.0 { self.a_s / (self.a_s + long_s) * self.a_s } else { 0.0 };
        short_s + long_s
    }

    /// `m`, the time per byte beyond each packet's own a, of the packet form that eq. (3) stands for:
    /// `b = a/p + m` with packets of `packet_bytes`. In seconds.
    ///
    /// # Errors
    /// If there is no packet size, or b is below `a/p`: then packets overlap, and a is not paid by each of them.
    pub fn beyond_packets_s_per_byte(&self, packet_bytes: u32) -> Result<f64, BadParameter> {
        let each = self.a_s / above_zero("p", packet_bytes.into())?;
        at_least_zero("m = b - a/p", self.b_s_per_byte - each)
    }
}

/// Fits a and b to samples of at least two sizes.
///
/// Starts from the least sum of absolute relative errors over the ratio b/a, which outliers cannot mislead, and goes
/// on with Huber's weights on the logarithm of measured over predicted time.
///
/// # Errors
/// If there are fewer than two samples, all of one size, or one of them takes no time or no finite one.
pub fn fit(samples: &[Sample]) -> Result<Fitted<Hyperbolic>, FitError> {
    Ok(Series::new(samples, 2)?.fit(fit_series, Hyperbolic::seconds))
}

fn fit_series(series: &Series) -> Hyperbolic {
    let start = start(&series.medians());
    let rows = series.rows();
    let residuals = |model: &Hyperbolic| -> Vec<(f64, f64)> {
        rows.iter().map(|row| ((row.time_s / model.seconds(row.bytes)).ln(), row.weight)).collect()
    };
    let scale = robust::scale(residuals(&start));
    let loss = |model: &Hyperbolic| residuals(model).iter().map(|(r, w)| w * huber_loss(*r, scale)).sum::<f64>();
    let mut model = start;
    let mut least = loss(&model);
    for _ in 0..ROUNDS {
        let (da, db) = step(&model, rows, scale);
        // The greatest part of the step that lowers the loss.
        let better = (0..20).map(|halvings| 0.5_f64.powi(halvings)).find_map(|part| {
            let tried =
                Hyperbolic { a_s: model.a_s * (part * da).exp(), b_s_per_byte: model.b_s_per_byte * (part * db).exp() };
            let loss = loss(&tried);
            (loss < least).then_some((tried, loss))
        });
        let Some((tried, loss)) = better else { break };
        (model, least) = (tried, loss);
    }
    model
}

/// One Gauss-Newton step in the logarithms of a and b.
fn step(model: &Hyperbolic, rows: &[Row], scale: f64) -> (f64, f64) {
    // T grows with a and b together as they do: if its logarithm's slope in ln b is e, the one in ln a is 1 - e.
    let (mut aa, mut ab, mut bb, mut ar, mut br) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for row in rows {
        let residual = (row.time_s / model.seconds(row.bytes)).ln();
        let weight = row.weight * huber_weight(residual, scale);
        let in_b = slope(model, row.bytes);
        let in_a = 1.0 - in_b;
        aa += weight * in_a * in_a;
        ab += weight * in_a * in_b;
        bb += weight * in_b * in_b;
        ar += weight * in_a * residual;
        br += weight * in_b * residual;
    }
    let determinant = aa * bb - ab * ab;
    let step = if determinant > 1e-14 * aa * bb {
        ((ar * bb - br * ab) / determinant, (br * aa - ar * ab) / determinant)
    } else if aa > 0.0 && bb == 0.0 {
        (ar / aa, 0.0) // b is 0: a constant
    } else if bb > 0.0 && aa == 0.0 {
        (0.0, br / bb) // a is 0: a straight line through the origin
    } else {
        (0.0, 0.0)
    };
    (step.0.clamp(-1.0, 1.0), step.1.clamp(-1.0, 1.0))
}

/// d ln T / d ln b.
fn slope(model: &Hyperbolic, bytes: u64) -> f64 {
    if model.b_s_per_byte == 0.0 {
        return 0.0;
    }
    if model.a_s == 0.0 {
        return 1.0;
    }
    let u = model.b_s_per_byte / model.a_s * bytes as f64;
    // u^2 (2 + u) / ((1 + u) (1 + u + u^2)), with both sides divided so that a great u stays finite.
    if u > 1.0 {
        (2.0 / u + 1.0) / ((1.0 / u + 1.0) * (1.0 / (u * u) + 1.0 / u + 1.0))
    } else {
        u * u * (2.0 + u) / ((1.0 + u) * (1.0 + u + u * u))
    }
}

/// The a and b of the least sum of absolute errors in ln T, one row for each class of sizes.
fn start(rows: &[Row]) -> Hyperbolic {
    let sizes = || rows.iter().map(|row| row.bytes as f64).filter(|bytes| *bytes > 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(1.0, f64::max));
    // With a given ratio b/a, the best ln a is a median.
    let of_ratio = |ratio: f64| {
        let shape = Hyperbolic { a_s: 1.0, b_s_per_byte: ratio };
        scaled(rows, shape)
    };
    // Beyond these ends one of the two is invisible: T is constant, or proportional to size.
    let (low, high) = ((1e-4 / most).ln(), (1e4 / least.min(most)).ln());
    let cells = ((high - low) / 0.1).ceil().max(1.0) as u32;
    let width = (high - low) / f64::from(cells);
    let place = |cell: u32| low + width * f64::from(cell);
    let loss_at = |place: f64| of_ratio(place.exp()).1;
    let coarse = (0..=cells).map(|cell| (place(cell), loss_at(place(cell)))).min_by(|a, b| a.1.total_cmp(&b.1));
    let (coarse, coarse_loss) = coarse.unwrap_or((low, f64::INFINITY));
    let (fine, fine_loss) = golden_section(coarse - width, coarse + width, 70, loss_at);
    let (best, best_loss) = if fine_loss <= coarse_loss { (fine, fine_loss) } else { (coarse, coarse_loss) };
    let constant = scaled(rows, Hyperbolic { a_s: 1.0, b_s_per_byte: 0.0 });
    let proportional = scaled(rows, Hyperbolic { a_s: 0.0, b_s_per_byte: 1.0 });
    let two = of_ratio(best.exp()).0;
    let enough = best_loss + 1e-9 * rows.len() as f64;
    [constant, proportional].into_iter().find(|(_, loss)| *loss <= enough).map_or(two, |(model, _)| model)
}

/// The shape scaled to the rows, and the sum of its absolute errors.
fn scaled(rows: &[Row], shape: Hyperbolic) -> (Hyperbolic, f64) {
    let logarithms: Vec<f64> = rows.iter().map(|row| (row.time_s / shape.seconds(row.bytes)).ln()).collect();
    if logarithms.iter().any(|logarithm| !logarithm.is_finite()) {
        return (shape, f64::INFINITY); // no time for no bytes, but some was measured
    }
    let middle = median(logarithms.iter().zip(rows).map(|(logarithm, row)| (*logarithm, row.weight)));
    let loss = logarithms.iter().zip(rows).map(|(logarithm, row)| row.weight * (logarithm - middle).abs()).sum();
    let factor = middle.exp();
    (Hyperbolic { a_s: shape.a_s * factor, b_s_per_byte: shape.b_s_per_byte * factor }, loss)
}

/// Steps converge in a handful; the rest is for samples that fit no hyperbola.
const ROUNDS: u32 = 60;

#[cfg(test)]
#[path = "hyperbolic_tests.rs"]
mod tests;
