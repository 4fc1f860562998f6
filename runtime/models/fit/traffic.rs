//! An extension of the gain model: overhead that goes with the traffic, not with the calculation.
//!
//! Eq. (4) of Strumpen 1994 has one Omega relative to t_calc. Where bytes are moved by the computing core itself
//! (packets, copies, wake-ups), what a step loses grows with what it sends: then `Omega = omega_com * t_com / t_calc`,
//! with `omega_com` the overhead relative to t_com, and a step with hiding takes, in units of t_calc,
//! `(1 - f) + max(f + omega_com x, x)` with `x = t_com / t_calc = 1/gamma`. On a link of 100 Mbit/s both forms say
//! nearly the same; on one of 1 Gbit/s only this one holds over a sweep of gamma.
//!
//! ```
//! use lathide_models::fit::gain::Point;
//! use lathide_models::fit::traffic;
//! // f = 0.9; moving the bytes takes a fifth of t_com away from the calculation.
//! let points = [0.25, 0.5, 1.0, 2.0, 4.0].map(|x: f64| Point { x, gain: (1.0 + x) / (0.1 + (0.9 + 0.2 * x).max(x)) });
//! let fitted = traffic::fit(&points)?;
//! assert!((fitted.f - 0.9).abs() < 1e-9 && (fitted.omega_com - 0.2).abs() < 1e-9);
//! assert!((fitted.at(3.0)? - 4.0 / 3.1).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde::{Deserialize, Serialize};

use super::FitError;
use super::gain::{Point, check_points};
use crate::{BadParameter, gain};

/// The parameters of eq. (4) with overhead that goes with the traffic.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// The fraction of the calculation that can hide communication.
    pub f: f64,
    /// The overhead of hiding, relative to the communication.
    pub omega_com: f64,
}

impl Traffic {
    /// G at `x = t_com / t_calc`: eq. (4) with `Omega = omega_com x`.
    ///
    /// # Errors
    /// If x is not a finite number of at least 0, or a parameter is not one of eq. (4)'s.
    pub fn at(&self, x: f64) -> Result<f64, BadParameter> {
        gain::with_overhead(x, self.f, self.omega_com * x)
    }

    /// ln of measured over predicted step.
    fn residual(&self, point: &Point) -> f64 {
        let step = (1.0 - self.f) + (self.f + self.omega_com * point.x).max(point.x);
        (point.step() / step).ln()
    }
}

/// Fits f and omega_com to one point for each granularity: the least sum of relative errors, so that single disturbed
/// points do not count much.
///
/// # Errors
/// If there are fewer than two points, all at one x, or one is not between 1e-9 and 1e9.
pub fn fit(points: &[Point]) -> Result<Traffic, FitError> {
    check_points(points)?;
    let loss = |model: &Traffic| points.iter().map(|point| model.residual(point).abs()).sum::<f64>();
    let mut best = Traffic { f: 1.0, omega_com: 0.0 };
    let mut least = loss(&best);
    // First a grid over all that is possible, then ever finer ones around the best.
    let (mut centre, mut width) = (Traffic { f: 0.5, omega_com: 0.5 }, 0.5);
    while width > FINEST {
        for (at_f, at_omega) in (0..=GRID).flat_map(|f| (0..=GRID).map(move |omega| (f, omega))) {
            let around =
                |centre: f64, at: u32| (centre + width * (2.0 * f64::from(at) / f64::from(GRID) - 1.0)).clamp(0.0, 1.0);
            let tried = Traffic { f: around(centre.f, at_f), omega_com: around(centre.omega_com, at_omega) };
            let loss = loss(&tried);
            // What nothing speaks for stays ideal: rounding must not decide.
            if loss < least - 1e-13 {
                (best, least) = (tried, loss);
            }
        }
        (centre, width) = (best, width * 0.5);
    }
    Ok(best)
}

/// Steps of the grid in each direction, and how fine it gets.
const GRID: u32 = 20;
const FINEST: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    fn points(f: f64, omega_com: f64) -> Vec<Point> {
        let model = Traffic { f, omega_com };
        [0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 4.0].map(|x| Point { x, gain: model.at(x).unwrap() }).into()
    }

    #[test]
    fn parameters_are_found_again() {
        for (f, omega_com) in [(1.0, 0.0), (0.86, 0.22), (0.98, 0.03), (0.5, 0.4), (0.7, 0.0)] {
            let found = fit(&points(f, omega_com)).unwrap();
            assert!((found.f - f).abs() < 1e-6 && (found.omega_com - omega_com).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn one_disturbed_point_does_not_count_much() {
        let mut disturbed = points(0.86, 0.22);
        disturbed[5].gain *= 0.8;
        let found = fit(&disturbed).unwrap();
        assert!((found.f - 0.86).abs() < 0.01 && (found.omega_com - 0.22).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn bad_points_are_refused() {
        let point = |x, gain| Point { x, gain };
        assert!(matches!(fit(&[point(1.0, 1.5)]), Err(FitError::TooFewSamples { samples: 1, parameters: 2 })));
        assert!(matches!(fit(&[point(1.0, 1.5), point(1.0, 1.6)]), Err(FitError::OneValue { .. })));
        for (x, gain) in [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert!(matches!(fit(&[point(2.0, 1.0), point(x, gain)]), Err(FitError::BadSample { index: 1, .. })));
        }
        assert!(Traffic { f: 0.9, omega_com: 0.1 }.at(f64::NAN).is_err());
        assert!(Traffic { f: 1.5, omega_com: 0.1 }.at(1.0).is_err());
    }
}
