//! Curves and points over an axis, with intervals.

use super::axes::{Across, BELOW, Upwards, in_words, value};
use super::drawing::{Draw, Drawn};
use super::mark::{Key, class, legend, mark};
use super::text::tip;
use crate::report::results::{Chart, Look, Series};

impl Draw for Chart {
    fn draw(&self, width: f64) -> Drawn {
        let nothing = Drawn { width, height: 0.0, body: String::new() };
        let Some((series, x, y)) = self.drawn() else { return nothing };
        let plot = (0.5 * width).clamp(200.0, 300.0);
        let (top, bottom) = (34.0, 34.0 + plot);
        let upwards = Upwards { axis: &self.y, range: y.with_room(), top, bottom };
        let across = Across { axis: &self.x, range: x.with_room(), left: upwards.room(), right: width - 8.0 };
        let mut body = upwards.draw(across.left, across.right) + &across.draw(top, bottom, width);
        let places = numbered(&series);
        for (series, number) in series.iter().zip(&places).filter(|(series, _)| series.look != Look::Points) {
            body += &self.line(series, *number, &across, &upwards);
        }
        let crowd: Vec<&Series> = series.iter().filter(|series| series.look == Look::Points).collect();
        for (series, number) in series.iter().zip(&places).filter(|(series, _)| series.look == Look::Points) {
            for point in &series.points {
                let at = across.place(point[0]) + aside(&crowd, series, point[0]);
                body += &self.point((&series.name, *number), point, at, &upwards);
            }
        }
        let (keys, height) = legend(&keys(&series, &places), bottom + BELOW, width);
        Drawn { width, height: bottom + BELOW + height, body: body + &keys }
    }

    fn about(&self) -> String {
        let Some((series, x, y)) = self.drawn() else { return String::new() };
        let mut parts = vec![in_words("Across", &self.x, &x), in_words("upwards", &self.y, &y)];
        for one in series.iter().filter(|one| !one.name.is_empty()) {
            let of = |pick: fn(f64, f64) -> f64| {
                one.points.iter().map(|point| point[1]).reduce(pick).map(|y| value(&self.y, y))
            };
            if let (Some(low), Some(high)) = (of(f64::min), of(f64::max)) {
                let what =
                    if one.look == Look::Points { format!("{} points", one.points.len()) } else { "a line".to_owned() };
                parts.push(format!("{}: {what} from {low} to {high}", one.name));
            }
        }
        format!("{}.", parts.join("; "))
    }

    fn values(&self) -> Vec<Vec<String>> {
        let mut lines = vec![["series", "x", "y", "y_min", "y_max"].map(str::to_owned).to_vec()];
        let all: Vec<Series> = self.drawn().map(|(series, ..)| series).unwrap_or_default();
        for (at, series) in all.iter().enumerate() {
            // A curve without a name belongs to the points behind it.
            let next = all.get(at + 1).filter(|_| series.name.is_empty()).map(|next| format!("{} (curve)", next.name));
            let name = next.unwrap_or_else(|| series.name.clone());
            lines.extend(
                series
                    .points
                    .iter()
                    .map(|point| std::iter::once(name.clone()).chain(point.iter().map(f64::to_string)).collect()),
            );
        }
        lines
    }
}

impl Chart {
    fn line(&self, series: &Series, number: usize, across: &Across<'_>, upwards: &Upwards<'_>) -> String {
        let place = |[x, y, ..]: &[f64; 4]| format!("{:.1} {:.1}", across.place(*x), upwards.place(*y));
        let path: Vec<String> = series.points.iter().map(place).collect();
        if path.is_empty() {
            return String::new();
        }
        let dotted = if series.look == Look::Dotted { " dotted" } else { "" };
        let tip = if series.name.is_empty() { String::new() } else { tip(&series.name) };
        format!("<path class=\"line{dotted} {}\" d=\"M{}\">{tip}</path>\n", class(number), path.join("L"))
    }

    /// A point with its interval.
    fn point(&self, (name, number): (&str, usize), point: &[f64; 4], at: f64, upwards: &Upwards<'_>) -> String {
        let [x, y, low, high] = *point;
        let mut tip = format!("{name}: {} at {}", value(&self.y, y), value(&self.x, x));
        let mut svg = String::new();
        if high > low {
            let (from, to) = (upwards.place(low), upwards.place(high));
            svg = format!(
                "<path class=\"range {}\" d=\"M{at:.1} {from:.1}V{to:.1}M{:.1} {from:.1}h6M{:.1} {to:.1}h6\"/>",
                class(number),
                at - 3.0,
                at - 3.0
            );
            tip += &format!(" ({} to {})", value(&self.y, low), value(&self.y, high));
        }
        svg + &mark(number, at, upwards.place(y), &tip)
    }
}

/// How far a mark stands beside its place, so that marks and intervals of other series at the same `x` do not hide it.
fn aside(crowd: &[&Series], own: &Series, x: f64) -> f64 {
    let here: Vec<_> = crowd.iter().filter(|series| series.points.iter().any(|point| point[0] == x)).collect();
    let place = here.iter().position(|series| std::ptr::eq(**series, own)).unwrap_or(0);
    let step = if here.len() > 3 { 4.0 } else { 5.0 };
    step * (place as f64 - 0.5 * (here.len().max(1) - 1) as f64)
}

/// The number of each series. A curve without a name belongs to the points behind it, and has their number.
fn numbered(series: &[Series]) -> Vec<usize> {
    let mut next = 0;
    series
        .iter()
        .map(|one| {
            let number = next;
            next += usize::from(!one.name.is_empty());
            number
        })
        .collect()
}

fn keys(series: &[Series], numbers: &[usize]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let mut line = None;
    for (one, number) in series.iter().zip(numbers).filter(|(one, _)| !one.points.is_empty()) {
        let own = (one.look != Look::Points).then_some(one.look == Look::Dotted);
        if one.name.is_empty() {
            line = own;
            continue;
        }
        keys.push(Key {
            series: *number,
            name: one.name.clone(),
            line: own.or(line.take()),
            has_mark: one.look == Look::Points,
        });
    }
    keys
}

#[cfg(test)]
fn has_ticks(range: crate::report::axis::Range) -> bool {
    (3..9).all(|most| (3..=most.max(3)).contains(&range.ticks(most).len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::axis::Scale;
    use crate::report::format::Form;
    use crate::report::results::Axis;

    #[test]
    fn a_chart_has_axes_curves_intervals_and_a_legend() {
        let chart = Chart::new(Axis::log("gamma", Form::Plain), Axis::linear("G <measured>", Form::Seconds))
            .curve("", Look::Dotted, [(0.25, 1.2), (1.0, 1.9), (4.0, 1.2)])
            .points("seen", vec![[1.0, 1.8, 1.7, 1.85], [f64::NAN, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]])
            .curve("model", Look::Solid, [(0.25, 1.2), (4.0, 1.2)]);
        for width in [360.0, 720.0] {
            let Drawn { body, .. } = chart.draw(width);
            assert!(body.contains("class=\"line dotted s0\"") && body.contains("class=\"range s0\""), "{body}");
            assert!(body.contains("class=\"line s1\"") && body.contains("G &lt;measured&gt;"), "{body}");
            assert!(body.contains("<title>seen: 1.8 s at 1 (1.7 s to 1.85 s)</title>"), "{body}");
            assert!(body.matches("tick-x").count() >= 3 && body.matches("tick-y").count() >= 3, "{body}");
            assert_eq!(body.matches("class=\"mark").count(), 2, "a point and its key: {body}");
            assert!(!body.contains("NaN"), "{body}");
        }
        assert!(chart.about().contains("seen: 1 points from 1.8 s to 1.8 s"), "{}", chart.about());
        let values = chart.values();
        assert_eq!((values.len(), &values[1][0], &values[4][0]), (7, &"seen (curve)".to_owned(), &"seen".to_owned()));
    }

    #[test]
    fn every_range_has_three_ticks_or_more() {
        for (low, high) in
            [(1.0, 1.1), (0.93, 1.07), (1e-6, 3e-6), (0.4, 2.3), (8.0, 1e6), (1e-9, 1e9), (5.0, 5.0), (33.0, 35.0)]
        {
            for scale in [Scale::Linear, Scale::Log(2), Scale::Log(4), Scale::Log(10)] {
                let range = scale.range([low, high].into_iter()).unwrap().with_room();
                assert!(has_ticks(range), "{scale:?} {low} {high}");
            }
        }
        assert!(has_ticks(Scale::Linear.range([-3.0, 7.0].into_iter()).unwrap().with_room()));
    }

    #[test]
    fn one_value_is_drawn_and_none_is_nothing() {
        for axis in [Axis::linear("x", Form::Plain), Axis::log("x", Form::Seconds)] {
            let empty = Chart::new(axis.clone(), axis);
            assert!(empty.draw(360.0).body.is_empty() && empty.about().is_empty());
            let body = empty.curve("one", Look::Solid, [(3.0, 3.0)]).draw(360.0).body;
            assert!(body.contains("class=\"line s0\"") && !body.contains("NaN") && !body.contains("inf"), "{body}");
        }
    }
}
