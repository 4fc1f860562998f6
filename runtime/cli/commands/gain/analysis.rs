//! From times to the gain: measured, ideal and by the model. Pure.

use crate::report::summary::Summary;
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
    /// The share of the calculation's time that other programs took, or by which it was unsteady: median.
    pub(super) disturbed: f64,
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
        disturbed: over(|r| r.disturbed)?.median,
    })
}

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

/// What a strip's calculation costs, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Costs {
    /// Per point, without substeps.
    pub(super) point_s: f64,
    /// Per point and substep.
    pub(super) substep_s: f64,
}

impl Costs {
    /// From the times of one step of this shape with two amounts of work.
    pub(super) fn fit(shape: Shape, few: (u32, f64), many: (u32, f64)) -> Self {
        let substep_s = (many.1 - few.1) / points(shape) / (f64::from(many.0) - f64::from(few.0));
        let substep_s = substep_s.max(LEAST_S);
        Costs { point_s: (few.1 / points(shape) - f64::from(few.0) * substep_s).max(LEAST_S), substep_s }
    }

    /// The columns and the work that make a step's calculation take `wanted_s`: as many columns as the bare
    /// stencil has time for, since more columns mean a greater f, and work for the rest of the time.
    pub(super) fn choose(&self, rows: usize, columns_max: usize, wanted_s: f64) -> Shape {
        // An interior needs a second column. A quarter of the time is left for work, to set the time with.
        let columns = (0.75 * wanted_s / (self.point_s * rows as f64)) as usize;
        self.set_work(Shape { rows, columns: columns.clamp(2, columns_max.max(2)), work: 0 }, wanted_s)
    }

    /// The shape with the work that makes a step's calculation take `wanted_s`.
    pub(super) fn set_work(&self, shape: Shape, wanted_s: f64) -> Shape {
        let rest_s = wanted_s / points(shape) - self.point_s;
        Shape { work: (rest_s / self.substep_s).round().clamp(0.0, f64::from(WORK_MAX)) as u32, ..shape }
    }

    /// What a step's calculation takes.
    pub(super) fn time_s(&self, shape: Shape) -> f64 {
        points(shape) * (self.point_s + f64::from(shape.work) * self.substep_s)
    }

    /// The costs by which this shape takes the `time_s` that it is seen to take.
    pub(super) fn seen(&self, shape: Shape, time_s: f64) -> Self {
        let (per_point_s, work) = (time_s / points(shape), f64::from(shape.work));
        // What most of the time is spent on.
        if shape.work > 0 && per_point_s > 2.0 * self.point_s {
            Costs { substep_s: (per_point_s - self.point_s) / work, ..*self }
        } else {
            Costs { point_s: (per_point_s - work * self.substep_s).max(LEAST_S), ..*self }
        }
    }
}

fn points(shape: Shape) -> f64 {
    (shape.rows * shape.columns) as f64
}

/// No time is taken to be less than this, so that a disturbed measurement cannot ask for endless work.
const LEAST_S: f64 = 1e-12;
const WORK_MAX: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rounds: Vec<Round>) -> Measured {
        Measured { gamma_wanted: 1.0, shape: Shape { rows: 10, columns: 4, work: 7 }, steps: 2, rounds }
    }

    fn round(slower: f64) -> Round {
        Round {
            work: 7,
            t_calc: 1.0 * slower,
            interior: 0.9 * slower,
            t_com: 1.0 * slower,
            t_i1: 2.0 * slower,
            t_i2: 1.95 * slower,
            t_i3: 1.1 * slower,
            t_raw_exchange: 1.98 * slower,
            t_raw_pingpong: Some(3.0 * slower),
            busy: 0.95 * slower,
            disturbed: 0.0,
        }
    }

    #[test]
    fn a_point_by_hand() {
        let point = evaluate(&measured(vec![round(1.0), round(1.5), round(0.5)]), 5).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        close(point.gamma, 1.0);
        close(point.f.median, 0.9);
        close(point.omega.median, 0.05);
        close(point.gain.median, 2.0 / 1.1);
        close(point.gain_blocking.median, 2.0 / 1.95);
        close(point.gain_ideal, 2.0);
        // Eq. (4): 2 / (0.1 + max(0.95, 1)).
        close(point.gain_phases, 2.0 / 1.1);
        close(point.speedup_i1, 1.0);
        close(point.speedup_i3, 2.0 / 1.1);
        assert_eq!(point.t_i3_s, Summary { median: 1.1, min: 0.55, max: 1.1 * 1.5 });
    }

    #[test]
    fn a_negative_overhead_is_shown_but_not_fed_to_the_model() {
        let lucky = Round { busy: 0.85, ..round(1.0) };
        let point = evaluate(&measured(vec![lucky]), 5).unwrap();
        assert!((point.omega.median + 0.05).abs() < 1e-12);
        assert_eq!(point.gain_phases, gain::with_overhead(1.0, 0.9, 0.0).unwrap());
    }

    #[test]
    fn senseless_measurements_are_errors() {
        let nothing = evaluate(&measured(vec![]), 5).unwrap_err().message;
        assert!(nothing.starts_with("no repetition was measured at gamma = 1;"), "{nothing}");
        let broken = Round { t_com: 0.0, ..round(1.0) };
        assert!(evaluate(&measured(vec![broken]), 5).is_err(), "no division by zero gets out");
        let odd = Round { interior: 2.0, ..round(1.0) };
        assert_eq!(
            evaluate(&measured(vec![odd]), 5).unwrap_err().to_string(),
            "the measured f is 2, but must be between 0 and 1; the machine may be too busy, measure again"
        );
    }

    #[test]
    fn disturbed_repetitions_are_left_out_by_disturbance_alone() {
        let disturbed = |disturbed, t_i3| Round { disturbed, t_i3, ..round(1.0) };
        let rounds = vec![disturbed(0.3, 1.0), disturbed(0.0, 1.2), disturbed(0.01, 1.6), disturbed(0.2, 0.9)];
        let point = evaluate(&measured(rounds), 2).unwrap();
        assert_eq!((point.repeats, point.repeats_left_out), (2, 2));
        assert!((point.t_i3_s.median - 1.4).abs() < 1e-12, "of the two calm ones, fast or slow: {point:?}");
        assert!((point.disturbed - 0.005).abs() < 1e-12);
    }

    #[test]
    fn calibration_meets_the_time() {
        let costs = Costs { point_s: 2e-9, substep_s: 0.2e-9 };
        let time = |shape| costs.time_s(shape);
        let at = |columns, work| {
            let shape = Shape { rows: 1000, columns, work };
            (shape, time(shape))
        };
        let fitted = Costs::fit(at(4, 2).0, (2, at(4, 2).1), (66, at(4, 66).1));
        assert!((fitted.point_s / costs.point_s - 1.0).abs() < 1e-9);
        assert!((fitted.substep_s / costs.substep_s - 1.0).abs() < 1e-9);
        for wanted in [0.016, 0.065, 0.26] {
            let shape = costs.choose(100_000, 16, wanted);
            assert_eq!(shape.columns, 16);
            assert!((time(shape) / wanted - 1.0).abs() < 0.02, "{shape:?} takes {}", time(shape));
        }
        assert_eq!(
            costs.choose(100_000, 16, 1e-5),
            Shape { rows: 100_000, columns: 2, work: 0 },
            "as short as it goes"
        );
        let middle = costs.choose(100_000, 16, 1e-3);
        assert!(middle.columns == 3 && middle.work > 0, "{middle:?}");
        assert_eq!(costs.choose(100, 16, f64::INFINITY).work, WORK_MAX, "bounded");
        assert_eq!(costs.set_work(at(2, 5).0, 1e-9).work, 0, "never below nothing");
    }

    #[test]
    fn what_is_seen_sets_the_work() {
        let costs = Costs { point_s: 2e-9, substep_s: 0.2e-9 };
        // Mostly work, mostly the bare stencil, nothing else.
        for (work, wanted_s) in [(200, 0.065), (3, 0.005), (0, 0.004)] {
            let shape = Shape { rows: 100_000, columns: 16, work };
            for slower in [0.5, 1.0, 1.7] {
                let now = Costs { point_s: slower * costs.point_s, substep_s: slower * costs.substep_s };
                let seen = costs.seen(shape, now.time_s(shape));
                assert!((seen.time_s(shape) / now.time_s(shape) - 1.0).abs() < 1e-9);
                let set = seen.set_work(shape, wanted_s);
                assert!(
                    work < 200 || (now.time_s(set) / wanted_s - 1.0).abs() < 0.04,
                    "{set:?}, {slower} times as slow"
                );
                let again = seen.seen(set, now.time_s(set));
                let settled = again.set_work(set, wanted_s);
                let error = now.time_s(settled) / wanted_s - 1.0;
                assert!(error.abs() < 0.15 || settled.work == 0, "{settled:?}, {slower} times as slow: {error}");
            }
        }
        // What was extrapolated to double the cost.
        let off = Costs { substep_s: 2.0 * costs.substep_s, ..costs };
        let chosen = off.choose(100_000, 16, 0.065);
        let corrected = off.seen(chosen, costs.time_s(chosen)).set_work(chosen, 0.065);
        assert!((costs.time_s(corrected) / 0.065 - 1.0).abs() < 0.01, "{corrected:?}");
    }

    #[test]
    fn the_best_point() {
        let slow = evaluate(&measured(vec![Round { t_i3: 1.5, ..round(1.0) }]), 5).unwrap();
        let fast = evaluate(&measured(vec![round(1.0)]), 5).unwrap();
        assert_eq!(best(&[slow.clone(), fast.clone(), slow.clone()]).unwrap().gain, fast.gain);
        assert_eq!(best(&[]), None);
        assert_eq!(typical(&[slow.clone(), fast, slow], |point| point.gain.median), 2.0 / 1.5);
    }
}
