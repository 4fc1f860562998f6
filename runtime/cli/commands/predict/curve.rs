//! Curves over a range of values. Pure.

use crate::report::plot::{Chart, Stroke};

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

/// A curve to be drawn.
pub(super) struct Series {
    pub(super) name: String,
    /// At the values that were asked for.
    pub(super) points: Vec<(f64, f64)>,
}

/// More cannot be told apart.
const SERIES_MAX: usize = 6;
const SIGNS: [char; SERIES_MAX] = ['*', 'o', '+', 'x', '#', '@'];

/// The chart of these curves, if there are values enough. Up to two are lines, more are signs, which can be told apart
/// without colour.
pub(super) fn chart_of(x_label: &str, y_label: &str, series: Vec<Series>) -> Option<Chart> {
    let values = series.iter().flat_map(|series| &series.points).map(|(x, _)| *x);
    let label = match series.len() {
        all if all > SERIES_MAX => format!("{x_label} (the first {SERIES_MAX} of {all} curves)"),
        _ => x_label.to_owned(),
    };
    let mut chart = chart_over(values, &label, y_label)?;
    let lines = series.len() <= 2;
    for ((number, Series { name, points }), sign) in series.into_iter().enumerate().zip(SIGNS) {
        let points = ascending(points);
        chart = match number {
            0 if lines => chart.curve(name, Stroke::Solid, points),
            _ if lines => chart.curve(name, Stroke::Dotted, points),
            _ => chart.points(name, sign, points),
        };
    }
    Some(chart)
}

/// Puts points (series, x, y) that belong to the same series together, in the order of their first points.
pub(super) fn grouped(points: impl IntoIterator<Item = (String, f64, f64)>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (name, x, y) in points {
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push((x, y)),
            None => all.push(Series { name, points: vec![(x, y)] }),
        }
    }
    all
}

/// Values at equal ratios from the least to the greatest.
pub(super) fn dense(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let positive = values.filter(|value| *value > 0.0 && value.is_finite());
    let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let samples = if low <= high { SAMPLES + 1 } else { 0 };
    (0..samples).map(move |sample| low * (high / low).powf(f64::from(sample) / f64::from(SAMPLES)))
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
    fn many_curves_are_signs() {
        let points = |names: &[&str]| -> Vec<(String, f64, f64)> {
            let of = |name: &&str| (1..4).map(|x| (name.to_string(), f64::from(x), 1.0)).collect::<Vec<_>>();
            names.iter().flat_map(of).collect()
        };
        let two = chart_of("x", "y", grouped(points(&["tree", "serial"]))).unwrap().render(false);
        assert!(two.contains("tree") && two.contains("serial") && !two.contains('*'), "{two}");
        let three = chart_of("x", "y", grouped(points(&["1", "2", "3"]))).unwrap().render(false);
        assert!(three.contains("+ 3"), "{three}");
        let many = chart_of("x", "y", grouped(points(&["1", "2", "3", "4", "5", "6", "7"]))).unwrap().render(false);
        assert!(many.contains("@ 6") && !many.contains(" 7\n"), "{many}");
        assert!(many.contains("the first 6 of 7 curves"), "{many}");
        assert!(chart_of("x", "y", Vec::new()).is_none());
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
