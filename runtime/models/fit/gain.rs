//! f and Omega of the gain model from measured phases (Strumpen 1994, eq. (4)).
//!
//! A measurement at one granularity gives `x = t_com / t_calc = 1/gamma` and `G = t_i1 / t_i3`. Eq. (4) says
//! `G = (1 + x) / ((1 - f) + max(f + Omega, x))`. So a step with hiding takes, in units of t_calc, `(1 + x)/G`: it is
//! `1 + Omega` where calculation is long enough (`x < f + Omega`), which shows Omega, and `1 - f + x` where it is not,
//! which shows f. A sweep over gamma that spans both sides determines both; [`Gain::f_points`] and
//! [`Gain::omega_points`] say how many points spoke for each.
//!
//! ```
//! use lathide_models::fit::gain::{self, Phases};
//! // Per step 10 ms of communication; 90 % of the calculation can hide, at 4 % overhead.
//! let steps: Vec<Phases> = [0.004, 0.008, 0.012, 0.02, 0.05]
//!     .map(|t_calc_s| Phases {
//!         t_calc_s,
//!         t_com_s: 0.010,
//!         t_i1_s: t_calc_s + 0.010,
//!         t_i3_s: 0.1 * t_calc_s + (0.94 * t_calc_s).max(0.010),
//!     })
//!     .into();
//! let fitted = gain::fit_phases(&steps)?;
//! assert!((fitted.model.f - 0.9).abs() < 1e-9 && (fitted.model.omega - 0.04).abs() < 1e-9);
//! assert!(fitted.quality.unwrap().p90_error < 0.01);
//! # Ok::<(), lathide_models::fit::FitError>(())
//! ```

use serde::{Deserialize, Serialize};

use super::robust::{huber_loss, huber_weight, plain_median, scale};
use super::series::quality;
use super::{FitError, Quality, checked_time};
use crate::{BadParameter, above_zero, gain};

/// The phases of a time step at one granularity, in seconds per step.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phases {
    /// The calculation alone.
    pub t_calc_s: f64,
    /// The communication alone.
    pub t_com_s: f64,
    /// A step without hiding (version I.1).
    pub t_i1_s: f64,
    /// A step with hiding (version I.3).
    pub t_i3_s: f64,
}

/// A measured gain at one granularity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// `t_com / t_calc`, which is 1/gamma.
    pub x: f64,
    /// `t_i1 / t_i3`.
    pub gain: f64,
}

/// The parameters of eq. (4).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gain {
    /// The fraction of the calculation that can hide communication.
    pub f: f64,
    /// The overhead of hiding, relative to the calculation.
    pub omega: f64,
    /// How many points show f: those with `x > f + Omega`. If none does, f is 1, the ideal.
    pub f_points: usize,
    /// How many points show Omega: those with `x <= f + Omega`. If none does, Omega is 0, the ideal.
    pub omega_points: usize,
}

/// A fitted gain model, and how well it does on points it has not seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FittedGain {
    /// The model, fitted to all points.
    pub model: Gain,
    /// Its error on held-out points; `None` with fewer than three points, where none can be left out.
    pub quality: Option<Quality>,
    /// What eq. (4) gives for each point, fitted to the other points, in the order of the input.
    pub held_out: Vec<HeldOutGain>,
}

/// A point beside its prediction by a fit to the others.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeldOutGain {
    /// `t_com / t_calc`.
    pub x: f64,
    /// The G that was measured.
    pub measured: f64,
    /// The G that a fit without this point predicts.
    pub predicted: f64,
}

impl Phases {
    /// gamma, the software's granularity: `t_calc / t_com`.
    ///
    /// # Errors
    /// If it is not a finite number above 0.
    pub fn gamma(&self) -> Result<f64, BadParameter> {
        above_zero("gamma = t_calc / t_com", self.t_calc_s / self.t_com_s)
    }

    /// The repetitions of one granularity as a point: medians of ratios within a repetition, since the machine's
    /// speed drifts from one to the next. `None` without repetitions.
    ///
    /// # Errors
    /// If a time is not a finite number above 0.
    pub fn point(repetitions: &[Phases]) -> Result<Option<Point>, FitError> {
        for (index, phases) in repetitions.iter().enumerate() {
            phases.check(index)?;
        }
        let over = |value: fn(&Phases) -> f64| plain_median(repetitions.iter().map(value));
        let point = Point { x: over(|p| p.t_com_s / p.t_calc_s), gain: over(|p| p.t_i1_s / p.t_i3_s) };
        Ok((!repetitions.is_empty()).then_some(point))
    }

    fn check(&self, index: usize) -> Result<(), FitError> {
        for (name, time_s) in
            [("t_calc_s", self.t_calc_s), ("t_com_s", self.t_com_s), ("t_i1_s", self.t_i1_s), ("t_i3_s", self.t_i3_s)]
        {
            checked_time(index, name, time_s)?;
        }
        Ok(())
    }
}

impl Gain {
    /// G at `x = t_com / t_calc`, eq. (4).
    ///
    /// # Errors
    /// If x is not a finite number of at least 0.
    pub fn at(&self, x: f64) -> Result<f64, BadParameter> {
        gain::with_overhead(x, self.f, self.omega)
    }

    /// `(1 + x)/G`: a step with hiding in units of t_calc.
    fn step(&self, x: f64) -> f64 {
        (1.0 - self.f) + (self.f + self.omega).max(x)
    }

    /// ln of measured over predicted step; the logarithm of predicted over measured G.
    fn residual(&self, point: &Point) -> f64 {
        (point.step() / self.step(point.x)).ln()
    }
}

impl Point {
    /// `(1 + x)/G`: the measured step with hiding in units of t_calc.
    pub(super) fn step(&self) -> f64 {
        (1.0 + self.x) / self.gain
    }

    fn check(&self, index: usize) -> Result<(), FitError> {
        let bad = |cause| FitError::BadSample { index, cause };
        for (name, value) in [("x = t_com / t_calc", self.x), ("G", self.gain)] {
            super::super::check(name, value, RATIO.contains(&value), "between 1e-9 and 1e9").map_err(bad)?;
        }
        Ok(())
    }
}

/// Fits f and Omega to one set of phases for each granularity.
///
/// # Errors
/// As [`fit`]; also if a time is not a finite number above 0.
pub fn fit_phases(phases: &[Phases]) -> Result<FittedGain, FitError> {
    let mut points = Vec::with_capacity(phases.len());
    for (index, phases) in phases.iter().enumerate() {
        phases.check(index)?;
        points.push(Point { x: phases.t_com_s / phases.t_calc_s, gain: phases.t_i1_s / phases.t_i3_s });
    }
    fit(&points)
}

/// Fits f and Omega to one point for each granularity; the error is taken by leaving out each point in turn.
///
/// # Errors
/// If there are fewer than two points, all at one x, or one is not between 1e-9 and 1e9.
pub fn fit(points: &[Point]) -> Result<FittedGain, FitError> {
    check_points(points)?;
    let model = fit_points(points);
    if points.len() < 3 {
        return Ok(FittedGain { model, quality: None, held_out: Vec::new() });
    }
    let without = |left_out: usize| {
        let others: Vec<Point> =
            points.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, point)| *point).collect();
        let Point { x, gain: measured } = points[left_out];
        HeldOutGain { x, measured, predicted: (1.0 + x) / fit_points(&others).step(x) }
    };
    let held_out: Vec<HeldOutGain> = (0..points.len()).map(without).collect();
    let errors: Vec<(f64, f64)> = held_out.iter().map(|pair| (pair.error().unwrap_or(f64::MAX), 1.0)).collect();
    Ok(FittedGain { model, quality: quality(&errors), held_out })
}

/// Fits f and Omega to one point for each granularity, without an error: for who fits very often, as a bootstrap does.
///
/// # Errors
/// As [`fit`].
pub fn fit_model(points: &[Point]) -> Result<Gain, FitError> {
    check_points(points)?;
    Ok(fit_points(points))
}

/// Whether two parameters can be fitted to `points`.
pub(super) fn check_points(points: &[Point]) -> Result<(), FitError> {
    for (index, point) in points.iter().enumerate() {
        point.check(index)?;
    }
    let Some(first) = points.first().filter(|_| points.len() >= 2) else {
        return Err(FitError::TooFewSamples { samples: points.len(), parameters: 2 });
    };
    if points.iter().all(|point| point.x == first.x) {
        return Err(FitError::OneValue { what: "t_com / t_calc", value: first.x });
    }
    Ok(())
}

impl HeldOutGain {
    /// `|predicted / measured - 1|`.
    ///
    /// # Errors
    /// If a G is not a finite number (the measured one above 0), or the result is too large for a number.
    pub fn error(&self) -> Result<f64, BadParameter> {
        super::deviation(("measured", self.measured), ("predicted", self.predicted))
    }
}

fn fit_points(points: &[Point]) -> Gain {
    let start = start(points);
    let scale = scale(points.iter().map(|point| (start.residual(point), 1.0)));
    let loss = |model: &Gain| points.iter().map(|point| huber_loss(model.residual(point), scale)).sum::<f64>();
    let (mut model, mut least) = (start, loss(&start));
    for _ in 0..ROUNDS {
        let whole = improve(&model, points, scale);
        // The greatest part of the step that lowers the loss: a whole one may carry points across x = f + Omega.
        let better = (0..20).map(|halvings| 0.5_f64.powi(halvings)).find_map(|part| {
            let between = |from: f64, to: f64| from + part * (to - from);
            let tried = Gain { f: between(model.f, whole.f), omega: between(model.omega, whole.omega), ..model };
            let loss = loss(&tried);
            (loss < least).then_some((tried, loss))
        });
        let Some((tried, loss)) = better else { break };
        (model, least) = (tried, loss);
    }
    let f_points = points.iter().filter(|point| point.x > model.f + model.omega).count();
    Gain { f_points, omega_points: points.len() - f_points, ..model }
}

/// One Gauss-Newton step with Huber's weights. The points on either side of `x = f + Omega` speak for one
/// parameter each.
fn improve(model: &Gain, points: &[Point], scale: f64) -> Gain {
    let mut short = (0.0, 0.0);
    let mut long = (0.0, 0.0);
    for point in points {
        let residual = model.residual(point);
        let weight = huber_weight(residual, scale);
        if point.x > model.f + model.omega {
            let slope = -1.0 / model.step(point.x);
            long = (long.0 + weight * slope * residual, long.1 + weight * slope * slope);
        } else {
            let slope = 1.0 / (1.0 + model.omega);
            short = (short.0 + weight * slope * residual, short.1 + weight * slope * slope);
        }
    }
    let moved = |value: f64, (sum, weight): (f64, f64)| if weight > 0.0 { value + sum / weight } else { value };
    Gain { f: moved(model.f, long).clamp(0.0, 1.0), omega: moved(model.omega, short).max(0.0), ..*model }
}

/// The f and Omega of the least sum of absolute errors: each shown exactly by some point, or ideal.
fn start(points: &[Point]) -> Gain {
    // More points than any sweep has are thinned; what they start is then fitted to all of them.
    let stride = points.len().div_ceil(STARTS);
    let picked = || points.iter().step_by(stride);
    let fs: Vec<f64> = [1.0].into_iter().chain(picked().map(|p| (1.0 + p.x - p.step()).clamp(0.0, 1.0))).collect();
    let omegas: Vec<f64> = [0.0].into_iter().chain(picked().map(|p| (p.step() - 1.0).max(0.0))).collect();
    let mut best = Gain { f: 1.0, omega: 0.0, f_points: 0, omega_points: 0 };
    let mut least = f64::INFINITY;
    for f in fs {
        for &omega in &omegas {
            let tried = Gain { f, omega, ..best };
            let loss: f64 = picked().map(|point| tried.residual(point).abs()).sum();
            // What nothing speaks for stays ideal, which is tried first: rounding must not decide.
            if loss < least - 1e-12 {
                (best, least) = (tried, loss);
            }
        }
    }
    best
}

/// The ratios that are accepted.
const RATIO: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
const ROUNDS: u32 = 50;
const STARTS: usize = 32;

#[cfg(test)]
#[path = "gain_tests.rs"]
mod tests;
