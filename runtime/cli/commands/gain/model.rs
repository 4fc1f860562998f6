//! Eq. (4) with one f and one Omega for the whole sweep, and its error on granularities it was not fitted to. Pure.

use lathide_models::fit::{gain, traffic};
use serde::Serialize;

use super::analysis::{Point, typical};

/// The gain model of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Model {
    /// Fitted to all points; where there are too few, as measured inside the step.
    pub(super) f: f64,
    pub(super) omega: f64,
    pub(super) is_fitted: bool,
    /// For each point: G by a fit to the other half of the points; empty if they are too few.
    pub(super) held_out: Vec<f64>,
    pub(super) error: Option<ModelError>,
    pub(super) extension: Option<Extension>,
}

/// Eq. (4) with overhead that goes with the traffic: `Omega = omega_com / gamma`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Extension {
    /// Fitted to all points.
    pub(super) f: f64,
    pub(super) omega_com: f64,
    pub(super) error: Option<ModelError>,
}

/// Relative errors of eq. (4): each point is predicted by a fit to every other granularity, its own not among them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct ModelError {
    pub(super) median: f64,
    /// Nine of ten are at most this; of fewer than ten points, all.
    pub(super) p90: f64,
    pub(super) max: f64,
    /// Always: no error is that of a point the fit has seen.
    pub(super) held_out: bool,
    pub(super) points: usize,
}

impl Model {
    pub(super) fn of(points: &[Point]) -> Self {
        let all: Vec<gain::Point> = points.iter().map(sample).collect();
        let (f, omega, is_fitted) = match gain::fit(&all) {
            Ok(fitted) => (fitted.model.f, fitted.model.omega, true),
            Err(_) => {
                (typical(points, |point| point.f.median), typical(points, |point| point.omega.median).max(0.0), false)
            }
        };
        let held_out = halves(&all, |half| {
            let model = gain::fit(half).ok()?.model;
            Some(move |x| model.at(x).ok())
        });
        let held_out = held_out.unwrap_or_default();
        let error = ModelError::between(&held_out, &all);
        Model { f, omega, is_fitted, held_out, error, extension: Extension::of(&all) }
    }
}

impl Extension {
    fn of(points: &[gain::Point]) -> Option<Self> {
        let fitted = traffic::fit(points).ok()?;
        let held_out = halves(points, |half| {
            let model = traffic::fit(half).ok()?;
            Some(move |x| model.at(x).ok())
        });
        let error = held_out.and_then(|predicted| ModelError::between(&predicted, points));
        Some(Extension { f: fitted.f, omega_com: fitted.omega_com, error })
    }
}

impl ModelError {
    fn between(predicted: &[f64], measured: &[gain::Point]) -> Option<Self> {
        ModelError::of(predicted.iter().zip(measured).map(|(g, point)| (point.gain / g - 1.0).abs()).collect())
    }

    fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let (count, max) = (errors.len(), *errors.last()?);
        let nearest = |share: f64| errors[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        let median = f64::midpoint(errors[(count - 1) / 2], errors[count / 2]);
        Some(ModelError { median, p90: nearest(0.9), max, held_out: true, points: count })
    }
}

fn sample(point: &Point) -> gain::Point {
    gain::Point { x: 1.0 / point.gamma, gain: point.gain.median }
}

/// G at every point, in their order: every other granularity is fitted and the rest predicted, then the other way
/// round. `None` if a half cannot be fitted.
fn halves<M>(points: &[gain::Point], fit: impl Fn(&[gain::Point]) -> Option<M>) -> Option<Vec<f64>>
where
    M: Fn(f64) -> Option<f64>,
{
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a].x.total_cmp(&points[*b].x));
    let half = |odd: usize| {
        let half: Vec<gain::Point> = order.iter().skip(odd).step_by(2).map(|at| points[*at]).collect();
        fit(&half)
    };
    let fits = [half(0)?, half(1)?];
    let mut predicted = vec![0.0; points.len()];
    for (place, at) in order.iter().enumerate() {
        predicted[*at] = fits[1 - place % 2](points[*at].x)?;
    }
    Some(predicted)
}

#[cfg(test)]
mod tests {
    use lathide_models::gain::with_overhead;

    use super::super::results::tests::points;
    use super::*;

    #[test]
    fn one_f_and_one_omega_explain_a_sweep_that_has_them() {
        let model = Model::of(&points(&[4.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]));
        assert!((model.f - 15.0 / 16.0).abs() < 1e-9 && (model.omega - 0.02).abs() < 1e-9, "{model:?}");
        let error = model.error.unwrap();
        assert!(model.is_fitted && error.held_out && error.points == 7 && error.max < 1e-9, "{error:?}");
        assert!((model.held_out[0] - with_overhead(0.25, 15.0 / 16.0, 0.02).unwrap()).abs() < 1e-9, "in their order");
    }

    #[test]
    fn overhead_that_goes_with_the_traffic_is_explained_by_the_extension() {
        let mut sweep = points(&[0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0]);
        for point in &mut sweep {
            point.gain.median = with_overhead(1.0 / point.gamma, 0.86, 0.22 / point.gamma).unwrap();
        }
        let model = Model::of(&sweep);
        let extension = model.extension.unwrap();
        assert!((extension.f - 0.86).abs() < 1e-6 && (extension.omega_com - 0.22).abs() < 1e-6, "{extension:?}");
        assert!(extension.error.unwrap().max < 1e-6 && model.error.unwrap().max > 0.02, "{model:?}");
    }

    #[test]
    fn a_point_says_nothing_about_its_own_prediction() {
        let mut sweep = points(&[0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0]);
        let before = Model::of(&sweep);
        sweep[2].gain.median *= 1.5;
        let after = Model::of(&sweep);
        assert_eq!(before.held_out[2], after.held_out[2]);
        assert_eq!(before.held_out[4], after.held_out[4], "nor about those it is held out with");
        assert!(after.error.unwrap().max > 0.3, "its error shows: {after:?}");
    }

    #[test]
    fn errors_by_hand() {
        let error = ModelError::of(vec![0.03, 0.01, 0.02, 0.04]).unwrap();
        assert_eq!((error.median, error.p90, error.max, error.points), (0.025, 0.04, 0.04, 4));
        let twenty = ModelError::of((1..=20).map(f64::from).collect()).unwrap();
        assert_eq!((twenty.median, twenty.p90, twenty.max), (10.5, 18.0, 20.0));
        assert_eq!(ModelError::of(vec![]), None);
    }

    #[test]
    fn too_few_points_are_not_fitted() {
        let one = Model::of(&points(&[1.0]));
        assert_eq!((one.is_fitted, one.error, one.held_out.len(), one.extension), (false, None, 0, None));
        assert!((one.f - 15.0 / 16.0).abs() < 1e-9, "as measured: {one:?}");
        let two = Model::of(&points(&[0.5, 2.0]));
        assert_eq!((two.is_fitted, two.error), (true, None), "none is left to hold out");
    }
}
