//! Fits to repetitions at several sizes, and their error at each size by a fit to the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::robust::{plain_median, quantile};
use super::{FitError, Fitted, HeldOut, Sample};

/// With fewer sizes an error on held-out sizes would say nothing.
const SIZES_MIN: usize = 4;

/// How well a model predicts sizes that it was not fitted to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Errors {
    /// Relative errors, each size predicted by a fit to the others: the median.
    pub median_error: f64,
    /// The same: p90.
    pub p90_error: f64,
    /// The sizes.
    pub held_out_bytes: Vec<u64>,
}

/// A model, and how well it predicts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judged<M> {
    /// Fitted to all sizes.
    #[serde(flatten)]
    pub model: M,
    /// Its errors.
    #[serde(flatten)]
    pub errors: Errors,
}

/// Fits with `fit` to `points` (bytes, seconds), repetitions among them. `None` if there are fewer than four sizes, or they
/// cannot be fitted.
pub fn fit<M>(
    points: &[(usize, f64)],
    fit: impl FnOnce(&[Sample]) -> Result<Fitted<M>, FitError>,
) -> Option<Judged<M>> {
    let fitted = fit(&middle(points)?).ok()?;
    let errors = errors(&fitted)?;
    Some(Judged { model: fitted.model, errors })
}

/// The repetitions of each size but for the fastest and the slowest fifth: what disturbs only prolongs, so a fit to all
/// of them would lie above their medians.
fn middle(points: &[(usize, f64)]) -> Option<Vec<Sample>> {
    let mut sizes: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    points.iter().for_each(|(bytes, time_s)| sizes.entry(*bytes).or_default().push(*time_s));
    if sizes.len() < SIZES_MIN {
        return None;
    }
    let mut samples = Vec::new();
    for (bytes, mut times) in sizes {
        times.sort_by(f64::total_cmp);
        let cut = times.len() / 5;
        let middle = &times[cut..times.len() - cut];
        samples.extend(middle.iter().map(|time_s| Sample { bytes: bytes as u64, time_s: *time_s }));
    }
    Some(samples)
}

/// At each size, of the median over its repetitions: what a single one is off by is no fault of the model.
fn errors<M>(fitted: &Fitted<M>) -> Option<Errors> {
    let (mut errors, mut held_out_bytes) = (Vec::new(), Vec::new());
    for same in fitted.held_out.chunk_by(|one, other| one.bytes == other.bytes) {
        let measured_s = plain_median(same.iter().map(|held_out| held_out.measured_s));
        errors.push(HeldOut { measured_s, ..same[0] }.error().ok()?);
        held_out_bytes.push(same[0].bytes);
    }
    let at = |share| quantile(errors.iter().map(|error| (*error, 1.0)), share);
    Some(Errors { median_error: at(0.5)?, p90_error: at(0.9)?, held_out_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{hyperbolic, segmented};

    fn hyperbolic(points: &[(usize, f64)]) -> Option<Judged<hyperbolic::Hyperbolic>> {
        fit(points, hyperbolic::fit)
    }

    fn segmented(points: &[(usize, f64)]) -> Option<Errors> {
        Some(fit(points, segmented::fit)?.errors)
    }

    #[test]
    fn a_hyperbola_is_found_and_a_line_only_by_the_extension() {
        let points = |time: &dyn Fn(f64) -> f64| -> Vec<(usize, f64)> {
            (3..25).map(|power| (1 << power, time(f64::from(1 << power)))).collect()
        };
        let (a, b) = (1e-5, 1e-9);
        let Judged { model, errors } = hyperbolic(&points(&|bytes| a * a / (a + b * bytes) + b * bytes)).unwrap();
        assert!((model.a_s / a - 1.0).abs() < 1e-6 && errors.p90_error < 1e-6, "{model:?}");
        let straight = points(&|bytes| a + b * bytes);
        assert!(hyperbolic(&straight).unwrap().errors.p90_error > 0.05);
        let extended = segmented(&straight).unwrap();
        assert!(extended.p90_error < 1e-6, "{extended:?}");
    }

    #[test]
    fn a_size_is_judged_by_its_median() {
        let line = |bytes: usize| 1e-5 + 1e-9 * bytes as f64;
        // Of five repetitions, one takes half as long again and one a third longer.
        let points: Vec<(usize, f64)> = (3..25)
            .flat_map(|power| [1.0, 1.5, 1.0, 1.3, 1.0].map(|slower| (1 << power, slower * line(1 << power))))
            .collect();
        let extended = segmented(&points).unwrap();
        assert_eq!(extended.held_out_bytes.len(), 22, "each size once");
        assert!(extended.p90_error < 0.05, "{extended:?}");
    }

    #[test]
    fn too_little_is_not_fitted() {
        assert_eq!(segmented(&[(8, 1e-6); 9]), None, "repetitions are no sizes");
        assert_eq!(hyperbolic(&[(8, 1e-6), (64, 1e-6), (512, 1e-6)]), None);
        assert_eq!(segmented(&[]), None);
        assert_eq!(hyperbolic(&[(8, 0.0), (64, 1e-6), (512, 1e-6), (4096, 1e-6)]), None);
    }
}
