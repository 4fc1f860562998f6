//! The one-way times as the models have them: hyperbolic, and beside it the segmented extension. Pure.

use lathide::model::fit::{self, Fitted, Sample};

use super::results::{Errors, Hyperbolic, Segmented};

/// With fewer sizes an error on held-out sizes would say nothing.
const POINTS_MIN: usize = 4;

/// T(x; a, b) fitted to `points` (bytes, seconds). Its errors are at each size by a fit to the others.
pub(super) fn hyperbolic(points: &[(usize, f64)]) -> Option<Hyperbolic> {
    let fitted = fit::hyperbolic::fit(&samples(points)?).ok()?;
    let errors = errors(&fitted)?;
    Some(Hyperbolic { a_s: fitted.model.a_s, b_s_per_byte: fitted.model.b_s_per_byte, errors })
}

/// The piecewise linear time fitted to `points`, with as many pieces as predict held-out sizes best.
pub(super) fn segmented(points: &[(usize, f64)]) -> Option<Segmented> {
    let fitted = fit::segmented::fit(&samples(points)?).ok()?;
    let errors = errors(&fitted)?;
    Some(Segmented { model: fitted.model, errors })
}

fn samples(points: &[(usize, f64)]) -> Option<Vec<Sample>> {
    let sample = |&(bytes, time_s): &(usize, f64)| Sample { bytes: bytes as u64, time_s };
    (points.len() >= POINTS_MIN).then(|| points.iter().map(sample).collect())
}

fn errors<M>(fitted: &Fitted<M>) -> Option<Errors> {
    let quality = fitted.quality?;
    Some(Errors {
        median_error: quality.median_error,
        p90_error: quality.p90_error,
        held_out_bytes: fitted.held_out.iter().map(|held_out| held_out.bytes).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hyperbola_is_found_and_a_line_only_by_the_extension() {
        let points = |time: &dyn Fn(f64) -> f64| -> Vec<(usize, f64)> {
            (3..25).map(|power| (1 << power, time(f64::from(1 << power)))).collect()
        };
        let (a, b) = (1e-5, 1e-9);
        let curved = hyperbolic(&points(&|bytes| a * a / (a + b * bytes) + b * bytes)).unwrap();
        assert!((curved.a_s / a - 1.0).abs() < 1e-6 && curved.errors.p90_error < 1e-6, "{curved:?}");
        let straight = points(&|bytes| a + b * bytes);
        assert!(hyperbolic(&straight).unwrap().errors.p90_error > 0.05);
        let extended = segmented(&straight).unwrap();
        assert!(extended.errors.p90_error < 1e-6, "{extended:?}");
    }

    #[test]
    fn too_little_is_not_fitted() {
        assert_eq!(hyperbolic(&[(8, 1e-6), (64, 1e-6), (512, 1e-6)]), None);
        assert_eq!(segmented(&[]), None);
        assert_eq!(hyperbolic(&[(8, 0.0), (64, 1e-6), (512, 1e-6), (4096, 1e-6)]), None);
    }
}
