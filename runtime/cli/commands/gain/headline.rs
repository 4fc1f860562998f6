//! The one number of a sweep, G at gamma = 1, with its interval; and what differs from what, beside what does not. Pure.

use lathide_models::fit::gain::{Point as Sample, fit_model};
use lathide_models::stats::{Draw, Interval, SAMPLES_MIN, bootstrap, median};
use serde::Serialize;

use super::analysis::Point;
use super::plan::Round;
use crate::commands::common::compared::Compared;
use crate::report::format::plain;

/// G at gamma = 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Headline {
    pub(super) gain: f64,
    /// Of the fit, by the bootstrap over repetitions; of a point, by order statistics.
    pub(super) interval: Option<Interval>,
    pub(super) from: From,
}

/// Where the headline comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum From {
    /// Eq. (4), fitted to all points.
    Fit,
    /// The point that was measured nearest to gamma = 1.
    Point,
}

/// How often all is drawn again, and from which seed on.
const RESAMPLES: u32 = 400;
const SEED: u64 = 1994;
/// A point so near to gamma = 1 can stand for it.
const NEAR: f64 = 0.05;

/// G at gamma = 1, from the fit to all points; from the nearest one if they are too few. `None` if none is near.
pub(super) fn headline(points: &[Point]) -> Option<Headline> {
    let at_one = |samples: &[Sample]| fit_model(samples).ok()?.at(1.0).ok();
    let samples: Vec<Sample> = points.iter().map(|point| sample(point.gamma, point.gain.median)).collect();
    if let Some(gain) = at_one(&samples) {
        let is_enough = points.iter().all(|point| point.rounds.len() >= SAMPLES_MIN);
        let interval = is_enough.then_some(()).and_then(|()| {
            bootstrap(SEED, RESAMPLES, |draw| {
                let drawn: Option<Vec<Sample>> = points.iter().map(|point| drawn(draw, &point.rounds)).collect();
                at_one(&drawn?)
            })
        });
        return Some(Headline { gain, interval, from: From::Fit });
    }
    let nearest = points.iter().min_by(|a, b| (a.gamma - 1.0).abs().total_cmp(&(b.gamma - 1.0).abs()))?;
    let is_near = (nearest.gamma - 1.0).abs() <= NEAR;
    is_near.then_some(Headline { gain: nearest.gain.median, interval: nearest.gain_interval, from: From::Point })
}

fn sample(gamma: f64, gain: f64) -> Sample {
    Sample { x: 1.0 / gamma, gain }
}

/// A point as it would be by repetitions that are drawn from its own.
fn drawn(draw: &mut Draw, rounds: &[Round]) -> Option<Sample> {
    let drawn = draw.of(rounds);
    let of = |value: fn(&Round) -> f64| median(&drawn.iter().map(|round| value(round)).collect::<Vec<_>>());
    Some(sample(of(|round| round.t_calc / round.t_com)?, of(|round| round.t_i1 / round.t_i3)?))
}

impl Headline {
    /// As a sentence says it: "G = 1.88 at gamma = 1 (95 % interval 1.86 to 1.90, bootstrap)".
    pub(super) fn in_words(&self) -> String {
        let from = match self.from {
            From::Fit => "by the fit",
            From::Point => "as measured",
        };
        format!("G = {:.2} at gamma = 1 {from} ({})", self.gain, interval_in_words(self.interval.as_ref()))
    }
}

/// An interval with its probability and its method.
pub(super) fn interval_in_words(interval: Option<&Interval>) -> String {
    let Some(Interval { low, high, confidence, method }) = interval else {
        return "too few repetitions for an interval".to_owned();
    };
    let method = match method {
        lathide_models::stats::Method::OrderStatistics => "by order statistics",
        lathide_models::stats::Method::Bootstrap => "by bootstrap over repetitions",
    };
    format!("{} % interval {low:.2} to {high:.2}, {method}", plain((100.0 * confidence).floor()))
}

/// What I.1 is compared with, where it was measured twice: at the granularity nearest to 1. The first is I.1 beside itself.
pub(super) fn comparisons(points: &[Point]) -> Vec<Compared> {
    let Some(point) = points.iter().find(|point| point.rounds.iter().any(|round| round.t_i1_again.is_some())) else {
        return Vec::new();
    };
    let compared = |what: &str, second: fn(&Round) -> Option<f64>| {
        let pairs = point.rounds.iter().filter_map(|round| Some((round.t_i1, second(round)?)));
        Compared::of(format!("{what}, gamma = {:.2}", point.gamma), pairs)
    };
    let all = [
        compared("I.1 over I.1 again (A/A)", |round| round.t_i1_again),
        compared("I.1 over I.2", |round| Some(round.t_i2)),
        compared("I.1 over I.3, which is G", |round| Some(round.t_i3)),
        compared("I.1 over the raw exchange", |round| Some(round.t_raw_exchange)),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
