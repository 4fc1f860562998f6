//! From times to the gain: measured, ideal and by the model. Pure.

use crate::report::summary::Summary;
use lathide_models::stats::{Interval, SAMPLES_MIN, median_interval};
use lathide_models::{BadParameter, gain};
use serde::Serialize;

use super::plan::{Measured, Round};
use super::reference::Reference;
use crate::commands::common::strip::Shape;
use crate::launch::failed::{Failed, Result};

/// Everything known about one granularity. Times are in seconds per time step; medians, with the least and the
/// greatest beside them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Point {
    /// Measured: `t_calc_s / t_com_s` within a repetition; the median.
    pub(super) gamma: f64,
    /// What was asked for.
    pub(super) gamma_wanted: f64,
    pub(super) t_calc_s: Summary,
    pub(super) t_com_s: Summary,
    pub(super) t_i1_s: Summary,
    pub(super) t_i2_s: Summary,
    pub(super) t_i3_s: Summary,
    /// Measured: the interior's part of the calculation.
    pub(super) f: Summary,
    /// Measured: what hiding costs, relative to the calculation. A difference of times, so it may be below 0.
    pub(super) omega: Summary,
    /// `t_i1_s / t_i2_s` within a repetition.
    pub(super) gain_blocking: Summary,
    /// `t_i1_s / t_i3_s` within a repetition.
    pub(super) gain: Summary,
    /// Where the median of these is; with fewer than six repetitions nobody knows.
    pub(super) gain_interval: Option<Interval>,
    /// `t_i1_s` over `t_i3_s`, the medians.
    pub(super) gain_of_medians: f64,
    /// Whether G is above eq. (1) by more than its interval: `gain` over eq. (1) at its gamma, within each repetition.
    pub(super) is_above_ideal: bool,
    /// Eq. (1) at the measured gamma.
    pub(super) gain_ideal: f64,
    /// Eq. (4) at the measured gamma, with the f and Omega fitted to the whole sweep.
    pub(super) gain_model: f64,
    /// Eq. (4) at the measured gamma, f and Omega.
    pub(super) gain_phases: f64,
    /// Eq. (4) at the measured gamma, with the f and Omega fitted to every other granularity.
    pub(super) gain_held_out: Option<f64>,
    /// `gain / gain_held_out - 1`.
    pub(super) model_error: Option<f64>,
    /// Two strips' calculation over a step's time: what two nodes bring against one.
    pub(super) speedup_i1: f64,
    pub(super) speedup_i2: f64,
    pub(super) speedup_i3: f64,
    #[serde(flatten)]
    pub(super) reference: Reference,
    #[serde(flatten)]
    pub(super) shape: Shape,
    pub(super) steps: u32,
    pub(super) repeats: usize,
    /// Repetitions left out because other programs disturbed them more than the others.
    pub(super) repeats_left_out: usize,
    /// Of those that count: how many were calm.
    pub(super) repeats_calm: usize,
    /// The greatest of the shares below, within a repetition: median.
    pub(super) disturbed: f64,
    /// Too few repetitions were calm.
    pub(super) is_disturbed: bool,
    /// The share of the calculation's time for which it had no processor: median.
    pub(super) waited: f64,
    /// By how much the same calculation differed within a repetition: median.
    pub(super) drift: f64,
    /// By rank, what other programs had of its host's processors, and what the host of its virtual machine: medians.
    pub(super) others: [f64; 2],
    pub(super) stolen: [f64; 2],
    /// The repetitions that count.
    #[serde(skip)]
    pub(super) rounds: Vec<Round>,
}

/// Evaluates one granularity from the `repeats` repetitions that other programs disturbed least.
pub(super) fn evaluate(measured: &Measured, repeats: u32) -> Result<Point> {
    let (rounds, repeats_left_out) = measured.calmest(repeats as usize);
    let failed = |what: String| Failed::new(format!("{what}; the machine may be too busy, measure again"));
    let nothing = || failed(format!("no repetition was measured at gamma = {}", measured.gamma_wanted));
    let senseless = |error: BadParameter| failed(format!("the measured {error}"));
    let over = |value: fn(&Round) -> f64| Summary::of(rounds.iter().map(value)).ok_or_else(nothing);
    let [t_calc_s, t_com_s] = [over(|r| r.t_calc)?, over(|r| r.t_com)?];
    let [t_i1_s, t_i2_s, t_i3_s] = [over(|r| r.t_i1)?, over(|r| r.t_i2)?, over(|r| r.t_i3)?];
    let [f, omega] = [over(|r| r.interior / r.t_calc)?, over(|r| (r.busy - r.interior) / r.t_calc)?];
    // Ratios within a repetition, since the machine's speed drifts from one to the next.
    let gamma = over(|r| r.t_calc / r.t_com)?.median;
    let gain_phases = gain::with_overhead(1.0 / gamma, f.median, omega.median.max(0.0)).map_err(senseless)?;
    let gains: Vec<f64> = rounds.iter().map(|r| r.t_i1 / r.t_i3).collect();
    let repeats_calm = rounds.iter().filter(|round| round.is_calm()).count();
    let shares = |of: fn(&Round, usize) -> f64| -> Result<[f64; 2]> {
        let at = |rank| Summary::of(rounds.iter().map(|round| of(round, rank))).map(|it| it.median).ok_or_else(nothing);
        Ok([at(0)?, at(1)?])
    };
    let speedup = |time_s: Summary| 2.0 * t_calc_s.median / time_s.median;
    Ok(Point {
        gamma,
        gamma_wanted: measured.gamma_wanted,
        t_calc_s,
        t_com_s,
        t_i1_s,
        t_i2_s,
        t_i3_s,
        f,
        omega,
        gain_blocking: over(|r| r.t_i1 / r.t_i2)?,
        gain: over(|r| r.t_i1 / r.t_i3)?,
        gain_interval: median_interval(&gains),
        gain_of_medians: t_i1_s.median / t_i3_s.median,
        is_above_ideal: is_above_ideal(&rounds),
        gain_ideal: gain::ideal(gamma).map_err(senseless)?,
        // Until the whole sweep is known.
        gain_model: gain_phases,
        gain_phases,
        gain_held_out: None,
        model_error: None,
        speedup_i1: speedup(t_i1_s),
        speedup_i2: speedup(t_i2_s),
        speedup_i3: speedup(t_i3_s),
        reference: Reference::of(&rounds, &measured.rounds, t_calc_s).ok_or_else(nothing)?,
        shape: Shape { work: over(|r| f64::from(r.work))?.median.round() as u32, ..measured.shape },
        steps: measured.steps,
        repeats: rounds.len(),
        repeats_left_out,
        repeats_calm,
        disturbed: over(Round::disturbed)?.median,
        is_disturbed: repeats_calm < SAMPLES_MIN,
        waited: over(|r| r.waited)?.median,
        drift: over(|r| r.drift)?.median,
        others: shares(|round, rank| round.others[rank])?,
        stolen: shares(|round, rank| round.stolen[rank])?,
        rounds,
    })
}

/// Whether G is more than eq. (1) allows, by more than what repetitions differ: the lower end of the interval of their ratio;
/// with too few repetitions for one, the least of them.
fn is_above_ideal(rounds: &[Round]) -> bool {
    let over = |round: &Round| Some(round.t_i1 / round.t_i3 / gain::ideal(round.t_calc / round.t_com).ok()?);
    let ratios: Vec<f64> = rounds.iter().filter_map(over).collect();
    let least = median_interval(&ratios).map(|it| it.low).or_else(|| Some(Summary::of(ratios.iter().copied())?.min));
    least.is_some_and(|least| least > 1.0 + IMPOSSIBLE)
}

/// So much the edges of blocks may do, where the calculation is hidden perfectly.
const IMPOSSIBLE: f64 = 0.01;

/// The point of the greatest gain.
pub(super) fn best(points: &[Point]) -> Option<&Point> {
    points.iter().max_by(|a, b| a.gain.median.total_cmp(&b.gain.median))
}

/// The greatest G of a blocking write.
pub(super) fn best_blocking(points: &[Point]) -> f64 {
    points.iter().map(|point| point.gain_blocking.median).fold(f64::MIN, f64::max)
}

/// The disturbance of the point that was disturbed most.
pub(super) fn disturbed_max(points: &[Point]) -> f64 {
    points.iter().map(|point| point.disturbed).fold(0.0, f64::max)
}

/// The median over all points.
pub(super) fn typical(points: &[Point], value: fn(&Point) -> f64) -> f64 {
    Summary::of(points.iter().map(value)).map_or(0.0, |summary| summary.median)
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
