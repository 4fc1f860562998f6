//! The hyperbolic model fitted to one-way times, and its errors where it was not fitted. Pure.
//!
//! [`hyperbola`] is the one place that fits; the rest chooses what to fit and judges it.

use super::analysis::quantile;
use super::results::Hyperbolic;

/// With fewer sizes nothing could be held out.
const POINTS_MIN: usize = 4;

/// Fits T(x; a, b) to every second of the `points` (bytes, seconds; ascending) and the last, and judges it at the
/// others. `None` if there are too few.
pub(super) fn evaluate(points: &[(usize, f64)]) -> Option<Hyperbolic> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let is_fitted = |index: usize| index.is_multiple_of(2) || index + 1 == points.len();
    let part = |fitted: bool| -> Vec<(usize, f64)> {
        points.iter().enumerate().filter(|(index, _)| is_fitted(*index) == fitted).map(|(_, point)| *point).collect()
    };
    let (fitted, held_out) = (part(true), part(false));
    let samples: Vec<(f64, f64)> = fitted.iter().map(|(bytes, time_s)| (*bytes as f64, *time_s)).collect();
    let (a_s, b_s_per_byte) = hyperbola(&samples)?;
    let error = |(bytes, time_s): &(usize, f64)| (service_s(*bytes as f64, a_s, b_s_per_byte) / time_s - 1.0).abs();
    let mut errors: Vec<f64> = held_out.iter().map(error).collect();
    errors.sort_by(f64::total_cmp);
    Some(Hyperbolic {
        a_s,
        b_s_per_byte,
        median_error: quantile(&errors, 0.5)?,
        p90_error: quantile(&errors, 0.9)?,
        fitted_bytes: fitted.iter().map(|(bytes, _)| *bytes).collect(),
        held_out_bytes: held_out.iter().map(|(bytes, _)| *bytes).collect(),
    })
}

/// T(x; a, b) of Stoica, Sultan and Keyes, eq. (3).
pub(super) fn service_s(bytes: f64, a_s: f64, b_s_per_byte: f64) -> f64 {
    let transfer_s = b_s_per_byte * bytes;
    a_s * a_s / (a_s + transfer_s) + transfer_s
}

/// The a and b (seconds, seconds per byte) with the least sum of squared relative errors over `samples` (bytes,
/// seconds); `None` if no time is above 0, or no message has a byte.
///
/// Gauss-Newton steps in the logarithms of a and b, which keeps both above 0, damped until they help.
fn hyperbola(samples: &[(f64, f64)]) -> Option<(f64, f64)> {
    let longest = samples.iter().copied().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let least_s = samples.iter().map(|(_, time_s)| *time_s).fold(f64::INFINITY, f64::min);
    if !(least_s > 0.0 && longest.0 > 0.0 && longest.1.is_finite()) {
        return None;
    }
    let mut at = (least_s, longest.1 / longest.0);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let (step_a, step_b) = step(samples, at, damping)?;
        let next = (at.0 * step_a.exp(), at.1 * step_b.exp());
        if squares(samples, next) < squares(samples, at) {
            at = next;
            damping = (damping / 10.0).max(1e-12);
        } else {
            damping *= 10.0;
        }
        if damping > DAMPING_MAX {
            break;
        }
    }
    Some(at)
}

const STEPS_MAX: u32 = 200;
const DAMPING_MAX: f64 = 1e9;

/// The sum of the squared relative errors.
fn squares(samples: &[(f64, f64)], (a, b): (f64, f64)) -> f64 {
    samples.iter().map(|(bytes, time_s)| (service_s(*bytes, a, b) / time_s - 1.0).powi(2)).sum()
}

/// One damped step in ln a and ln b.
fn step(samples: &[(f64, f64)], (a, b): (f64, f64), damping: f64) -> Option<(f64, f64)> {
    let (mut aa, mut ab, mut bb, mut ea, mut eb) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (bytes, time_s) in samples {
        let (transfer, sum) = (b * bytes, a + b * bytes);
        let error = service_s(*bytes, a, b) / time_s - 1.0;
        let by_a = a * (a * a + 2.0 * a * transfer) / (sum * sum) / time_s;
        let by_b = transfer * (1.0 - a * a / (sum * sum)) / time_s;
        aa += by_a * by_a;
        ab += by_a * by_b;
        bb += by_b * by_b;
        ea += by_a * error;
        eb += by_b * error;
    }
    let (aa, bb) = (aa * (1.0 + damping), bb * (1.0 + damping) + f64::MIN_POSITIVE);
    let determinant = aa * bb - ab * ab;
    let steps = ((ab * eb - bb * ea) / determinant, (ab * ea - aa * eb) / determinant);
    (steps.0.is_finite() && steps.1.is_finite()).then_some((steps.0.clamp(-1.0, 1.0), steps.1.clamp(-1.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(a: f64, b: f64, off: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
        (3..25).map(|power| (1 << power, service_s(f64::from(1 << power), a, b) * off(power))).collect()
    }

    #[test]
    fn what_is_a_hyperbola_is_found() {
        for (a, b) in [(4.4e-6, 1.5e-10), (25e-3, 1.6e-7), (1e-4, 8e-7)] {
            let fit = evaluate(&points(a, b, |_| 1.0)).unwrap();
            assert!((fit.a_s / a - 1.0).abs() < 1e-6 && (fit.b_s_per_byte / b - 1.0).abs() < 1e-6, "{a} {b}: {fit:?}");
            assert!(fit.p90_error < 1e-6, "{fit:?}");
        }
    }

    #[test]
    fn errors_are_those_of_sizes_held_out() {
        // Only the held-out ones are off, by a tenth.
        let fit = evaluate(&points(1e-5, 1e-9, |power| if power % 2 == 0 && power < 24 { 1.1 } else { 1.0 })).unwrap();
        assert!((fit.a_s / 1e-5 - 1.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.median_error - (1.0 - 1.0 / 1.1)).abs() < 1e-6, "{fit:?}");
        assert!(fit.held_out_bytes.iter().all(|bytes| !fit.fitted_bytes.contains(bytes)));
        assert_eq!(fit.held_out_bytes.len() + fit.fitted_bytes.len(), 22);
    }

    #[test]
    fn noise_and_another_law_are_survived() {
        let noisy = evaluate(&points(1e-5, 1e-9, |power| 1.0 + 0.05 * (power as f64).sin())).unwrap();
        assert!((noisy.a_s / 1e-5 - 1.0).abs() < 0.1 && (noisy.b_s_per_byte / 1e-9 - 1.0).abs() < 0.1, "{noisy:?}");
        let linear: Vec<(usize, f64)> =
            (3..25).map(|power| (1 << power, 1e-5 + 1e-9 * f64::from(1 << power))).collect();
        let fit = evaluate(&linear).unwrap();
        assert!(fit.p90_error < 0.3, "{fit:?}");
    }

    #[test]
    fn too_little_is_not_fitted() {
        assert_eq!(evaluate(&[]), None);
        assert_eq!(evaluate(&[(8, 1e-6), (64, 1e-6), (512, 1e-6)]), None);
        assert_eq!(evaluate(&[(8, 0.0), (64, 1e-6), (512, 1e-6), (4096, 1e-6)]), None);
        let flat = evaluate(&[(8, 1e-3), (64, 1e-3), (512, 1e-3), (4096, 1e-3)]).unwrap();
        assert!(flat.p90_error < 0.05, "{flat:?}");
    }
}
