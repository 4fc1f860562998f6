//! Curves over a range of values. Pure.

use lathide::report::plot::Chart;

/// With fewer values the table says it all.
const VALUES_MIN: usize = 3;
/// How finely a curve is drawn that is cheap to compute.
const SAMPLES: u32 = 400;

/// An empty chart, if there are values enough. Its x axis is logarithmic, so only values above 0 count.
pub(super) fn chart_over(values: impl Iterator<Item = f64>, x_label: &str, y_label: &str) -> Option<Chart> {
    let mut values: Vec<f64> = values.filter(|value| *value > 0.0 && value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    (values.len() >= VALUES_MIN).then(|| Chart::new(x_label, y_label))
}

/// Values at equal ratios from the least to the greatest.
pub(super) fn dense(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let positive = values.filter(|value| *value > 0.0 && value.is_finite());
    let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let samples = if low <= high { 0..=SAMPLES } else { 1..=0 };
    samples.map(move |sample| low * (high / low).powf(f64::from(sample) / f64::from(SAMPLES)))
}

/// Points in the order of x, as curves need them.
pub(super) fn ascending(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_curve() {
        let chart = |values: &[f64]| chart_over(values.iter().copied(), "x", "y").is_some();
        assert!(chart(&[1.0, 2.0, 3.0]));
        assert!(!chart(&[1.0, 2.0, 2.0, 0.0, f64::NAN]), "two of them can be drawn");
    }

    #[test]
    fn samples_go_from_end_to_end() {
        let samples: Vec<f64> = dense([4.0, 0.25, 1.0].into_iter()).collect();
        assert_eq!(samples.len(), SAMPLES as usize + 1);
        assert!((samples[0], samples[200]) == (0.25, 1.0) && (samples[400] - 4.0).abs() < 1e-12);
        assert_eq!(dense([f64::NAN].into_iter()).count(), 0);
        assert_eq!(ascending(vec![(2.0, 1.0), (1.0, 5.0)]), [(1.0, 5.0), (2.0, 1.0)]);
    }
}
