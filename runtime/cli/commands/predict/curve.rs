//! Curves over a range of values. Pure.

use crate::report::plot::SIGNS;
pub(super) use crate::report::results::dense;
use crate::report::results::{Axis, Chart, Form, Look};

/// With fewer values the table says it all.
const VALUES_MIN: usize = 3;

/// An empty chart, if there are values enough. Its x axis is logarithmic, so only values above 0 count.
pub(super) fn chart_over(values: impl Iterator<Item = f64>, x: (&str, Form), y: (&str, Form)) -> Option<Chart> {
    let mut values: Vec<f64> = values.filter(|value| *value > 0.0 && value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    (values.len() >= VALUES_MIN).then(|| Chart::new(Axis::log(x.0, x.1), Axis::linear(y.0, y.1)))
}

/// The chart of these curves, if there are values enough. Up to two are lines, more are signs, which can be told apart
/// without colour.
pub(super) fn chart_of(x: (&str, Form), y: (&str, Form), series: Vec<(String, Vec<(f64, f64)>)>) -> Option<Chart> {
    let values = series.iter().flat_map(|(_, points)| points).map(|(x, _)| *x);
    let label = match series.len() {
        all if all > SIGNS.len() => format!("{} (the first {} of {all} curves)", x.0, SIGNS.len()),
        _ => x.0.to_owned(),
    };
    let mut chart = chart_over(values, (&label, x.1), y)?;
    let lines = series.len() <= 2;
    for (number, (name, points)) in series.into_iter().enumerate().take(SIGNS.len()) {
        let points = ascending(points);
        chart = match number {
            0 if lines => chart.curve(name, Look::Solid, points),
            _ if lines => chart.curve(name, Look::Dotted, points),
            _ => chart.points(name, points.into_iter().map(|(x, y)| [x, y, y, y]).collect()),
        };
    }
    Some(chart)
}

/// Puts points (series, x, y) that belong to the same series together, in the order of their first points.
pub(super) fn grouped(points: impl IntoIterator<Item = (String, f64, f64)>) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut all: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (name, x, y) in points {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((x, y)),
            None => all.push((name, vec![(x, y)])),
        }
    }
    all
}

/// Points in the order of x, as curves need them.
pub(super) fn ascending(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: (&str, Form) = ("x", Form::Plain);
    const Y: (&str, Form) = ("y", Form::Plain);

    #[test]
    fn a_range_has_a_curve() {
        let chart = |values: &[f64]| chart_over(values.iter().copied(), X, Y).is_some();
        assert!(chart(&[1.0, 2.0, 3.0]));
        assert!(!chart(&[1.0, 2.0, 2.0, 0.0, f64::NAN]), "two of them can be drawn");
    }

    #[test]
    fn many_curves_are_signs() {
        let drawn = |names: &[&str]| {
            let of = |name: &&str| (1..4).map(|x| (name.to_string(), f64::from(x), 1.0)).collect::<Vec<_>>();
            let mut results = crate::report::results::Results::new("", "", &());
            results.chart(chart_of(X, Y, grouped(names.iter().flat_map(of))).unwrap());
            crate::report::text::text(&results, false)
        };
        let two = drawn(&["tree", "serial"]);
        assert!(two.contains("tree") && two.contains("serial") && !two.contains('*'), "{two}");
        let three = drawn(&["1", "2", "3"]);
        assert!(three.contains("+ 3"), "{three}");
        let many = drawn(&["1", "2", "3", "4", "5", "6", "7"]);
        assert!(many.contains("@ 6") && !many.contains(" 7\n"), "{many}");
        assert!(many.contains("the first 6 of 7 curves"), "{many}");
        assert!(chart_of(X, Y, Vec::new()).is_none());
    }

    #[test]
    fn points_are_put_in_order() {
        assert_eq!(ascending(vec![(2.0, 1.0), (1.0, 5.0)]), [(1.0, 5.0), (2.0, 1.0)]);
    }
}
