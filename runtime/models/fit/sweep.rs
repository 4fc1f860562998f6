//! Eq. (4) with one f and one Omega for a whole sweep over gamma, and its error at granularities it was not fitted to.

use serde::{Deserialize, Serialize};

use super::{gain, traffic};

/// The gain model of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sweep {
    /// Fitted to all points; `None` if they are too few.
    pub model: Option<gain::Gain>,
    /// For each point: G by a fit to the other half of the points; empty if they are too few.
    pub held_out: Vec<f64>,
    /// The error of these.
    pub error: Option<Errors>,
    /// Overhead that goes with the traffic, beside it.
    pub extension: Option<Extension>,
}

/// Eq. (4) with overhead that goes with the traffic: `Omega = omega_com / gamma`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Extension {
    /// Fitted to all points.
    pub f: f64,
    /// What hiding costs, relative to the communication.
    pub omega_com: f64,
    /// Its error, as that of eq. (4).
    pub error: Option<Errors>,
}

/// Relative errors of eq. (4): each point is predicted by a fit to every other granularity, its own not among them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Errors {
    /// The median.
    pub median: f64,
    /// Nine of ten are at most this; of fewer than ten points, all.
    pub p90: f64,
    /// The greatest.
    pub max: f64,
    /// Always: no error is that of a point the fit has seen.
    pub held_out: bool,
    /// How many points were predicted.
    pub points: usize,
}

/// Fits to one point for each granularity.
pub fn fit(points: &[gain::Point]) -> Sweep {
    let held_out = halves(points, |half| {
        let model = gain::fit(half).ok()?.model;
        Some(move |x| model.at(x).ok())
    });
    let held_out = held_out.unwrap_or_default();
    Sweep {
        model: gain::fit(points).ok().map(|fitted| fitted.model),
        error: Errors::between(&held_out, points),
        held_out,
        extension: Extension::of(points),
    }
}

impl Extension {
    fn of(points: &[gain::Point]) -> Option<Self> {
        let fitted = traffic::fit(points).ok()?;
        let held_out = halves(points, |half| {
            let model = traffic::fit(half).ok()?;
            Some(move |x| model.at(x).ok())
        });
        let error = held_out.and_then(|predicted| Errors::between(&predicted, points));
        Some(Extension { f: fitted.f, omega_com: fitted.omega_com, error })
    }
}

impl Errors {
    fn between(predicted: &[f64], measured: &[gain::Point]) -> Option<Self> {
        Errors::of(predicted.iter().zip(measured).map(|(g, point)| (point.gain / g - 1.0).abs()).collect())
    }

    fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let (count, max) = (errors.len(), *errors.last()?);
        let nearest = |share: f64| errors[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        let median = f64::midpoint(errors[(count - 1) / 2], errors[count / 2]);
        Some(Errors { median, p90: nearest(0.9), max, held_out: true, points: count })
    }
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
    use crate::gain::with_overhead;

    use super::*;

    /// Points as eq. (4) has them with f = 15/16 and Omega = 0.02.
    fn points(gammas: &[f64]) -> Vec<gain::Point> {
        let point = |gamma: &f64| {
            let x = 1.0 / gamma;
            gain::Point { x, gain: with_overhead(x, 15.0 / 16.0, 0.02).unwrap() }
        };
        gammas.iter().map(point).collect()
    }

    #[test]
    fn one_f_and_one_omega_explain_a_sweep_that_has_them() {
        let sweep = fit(&points(&[4.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]));
        let model = sweep.model.unwrap();
        assert!((model.f - 15.0 / 16.0).abs() < 1e-9 && (model.omega - 0.02).abs() < 1e-9, "{model:?}");
        let error = sweep.error.unwrap();
        assert!(error.held_out && error.points == 7 && error.max < 1e-9, "{error:?}");
        assert!((sweep.held_out[0] - with_overhead(0.25, 15.0 / 16.0, 0.02).unwrap()).abs() < 1e-9, "in their order");
    }

    #[test]
    fn overhead_that_goes_with_the_traffic_is_explained_by_the_extension() {
        let mut sweep = points(&[0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0]);
        for point in &mut sweep {
            point.gain = with_overhead(point.x, 0.86, 0.22 * point.x).unwrap();
        }
        let model = fit(&sweep);
        let extension = model.extension.unwrap();
        assert!((extension.f - 0.86).abs() < 1e-6 && (extension.omega_com - 0.22).abs() < 1e-6, "{extension:?}");
        assert!(extension.error.unwrap().max < 1e-6 && model.error.unwrap().max > 0.02, "{model:?}");
    }

    #[test]
    fn a_point_says_nothing_about_its_own_prediction() {
        let mut sweep = points(&[0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0]);
        let before = fit(&sweep);
        sweep[2].gain *= 1.5;
        let after = fit(&sweep);
        assert_eq!(before.held_out[2], after.held_out[2]);
        assert_eq!(before.held_out[4], after.held_out[4], "nor about those it is held out with");
        assert!(after.error.unwrap().max > 0.3, "its error shows: {after:?}");
    }

    #[test]
    fn errors_by_hand() {
        let error = Errors::of(vec![0.03, 0.01, 0.02, 0.04]).unwrap();
        assert_eq!((error.median, error.p90, error.max, error.points), (0.025, 0.04, 0.04, 4));
        let twenty = Errors::of((1..=20).map(f64::from).collect()).unwrap();
        assert_eq!((twenty.median, twenty.p90, twenty.max), (10.5, 18.0, 20.0));
        assert_eq!(Errors::of(vec![]), None);
    }

    #[test]
    fn too_few_points_are_not_fitted() {
        let one = fit(&points(&[1.0]));
        assert_eq!((one.model, one.error, one.held_out.len(), one.extension), (None, None, 0, None));
        let two = fit(&points(&[0.5, 2.0]));
        assert_eq!((two.model.is_some(), two.error), (true, None), "none is left to hold out");
    }
}
