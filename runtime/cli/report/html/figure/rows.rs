//! Rows of marks along an axis, a label for each row: values side by side with their intervals, or pairs joined by a line.

use super::axes::{Across, BELOW, in_words, value};
use super::drawing::{Draw, Drawn};
use super::mark::{Key, class, legend, mark};
use super::text::{self, fitted};
use crate::report::axis::Range;
use crate::report::results::Axis;

/// Rows of marks.
pub(in super::super) struct Rows {
    pub(in super::super) axis: Axis,
    /// What the marks are, in their order.
    pub(in super::super) series: Vec<String>,
    pub(in super::super) rows: Vec<Row>,
    /// Whether the marks of a row are joined.
    pub(in super::super) is_joined: bool,
    /// A value that others are compared with.
    pub(in super::super) reference: Option<f64>,
}

/// A row: a mark for each series, if it has one: the value, and the least and the greatest.
pub(in super::super) struct Row {
    pub(in super::super) label: String,
    pub(in super::super) marks: Vec<Option<[f64; 3]>>,
}

impl Rows {
    /// Without what an axis cannot show; `None` if that is everything.
    pub(in super::super) fn shown(mut self) -> Option<Self> {
        let scale = self.axis.scale();
        for row in &mut self.rows {
            for mark in &mut row.marks {
                *mark = mark.filter(|ends| ends.iter().all(|end| scale.shows(*end)));
            }
        }
        self.rows.retain(|row| row.marks.iter().any(Option::is_some));
        (!self.rows.is_empty()).then_some(self)
    }

    fn range(&self) -> Option<Range> {
        let ends = self.rows.iter().flat_map(|row| row.marks.iter().flatten().flatten().copied());
        self.axis.scale().range(ends.chain(self.reference))
    }

    /// The marks of a row about this height.
    fn row(&self, row: &Row, y: f64, across: &Across<'_>) -> String {
        let mut svg = String::new();
        let places: Vec<f64> = row.marks.iter().flatten().map(|[at, ..]| across.place(*at)).collect();
        if let (true, Some(from), Some(to)) = (self.is_joined, places.first(), places.last()) {
            svg += &format!("<path class=\"joint\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>");
        }
        // Side by side, so that intervals do not hide each other.
        let step = if self.is_joined { 0.0 } else { 6.0 };
        let first = y - 0.5 * step * (row.marks.len().saturating_sub(1)) as f64;
        for (series, ends) in row.marks.iter().enumerate() {
            let Some([at, low, high]) = *ends else { continue };
            let y = first + step * series as f64;
            let name = self.series.get(series).map(String::as_str).unwrap_or_default();
            let name = if name.is_empty() { String::new() } else { format!(", {name}") };
            let mut tip = format!("{}{name}: {}", row.label, value(&self.axis, at));
            if high > low {
                let (from, to) = (across.place(low), across.place(high));
                svg += &format!(
                    "<path class=\"range {}\" d=\"M{from:.1} {y:.1}H{to:.1}M{from:.1} {:.1}v6M{to:.1} {:.1}v6\"/>",
                    class(series),
                    y - 3.0,
                    y - 3.0
                );
                tip += &format!(" ({} to {})", value(&self.axis, low), value(&self.axis, high));
            }
            svg += &mark(series, across.place(at), y, &tip);
        }
        svg
    }
}

impl Draw for Rows {
    fn draw(&self, width: f64) -> Drawn {
        let Some(range) = self.range() else { return Drawn { width, height: 0.0, body: String::new() } };
        let longest = self.rows.iter().map(|row| text::width(&row.label)).fold(0.0, f64::max);
        // Long labels stand above their rows.
        let is_beside = longest <= if width > 500.0 { 0.45 } else { 0.3 } * width;
        let marks = if self.is_joined { 18.0 } else { 14.0 + 6.0 * self.series.len() as f64 };
        let (left, height) = if is_beside { (longest + 12.0, marks) } else { (8.0, marks + text::LINE) };
        let (top, bottom) = (6.0, 10.0 + height * self.rows.len() as f64);
        let across = Across { axis: &self.axis, range: range.with_room(), left, right: width - 10.0 };
        let mut body = across.draw(top, bottom, width);
        if let Some(reference) = self.reference {
            body += &format!("<path class=\"axis\" d=\"M{0:.1} {top}V{bottom:.1}\"/>", across.place(reference));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let from = top + height * at as f64;
            let y = from + height - 0.5 * marks;
            let label = fitted(&row.label, if is_beside { longest + 1.0 } else { width - left });
            body += &if is_beside {
                text::at("end ink", left - 8.0, y + 4.0, &label)
            } else {
                text::at("ink over", left, from + 13.0, &label)
            };
            body += &self.row(row, y, &across);
        }
        let name = |(series, name): (usize, &String)| Key { series, name: name.clone(), line: None, has_mark: true };
        let named = self.series.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let (keys, height) = legend(&named.map(name).collect::<Vec<_>>(), bottom + BELOW, width);
        Drawn { width, height: bottom + BELOW + height, body: body + &keys }
    }

    fn about(&self) -> String {
        let Some(range) = self.range() else { return String::new() };
        let mut parts = vec![in_words("Across", &self.axis, &range)];
        for row in self.rows.iter().take(12) {
            let marks = row.marks.iter().enumerate().filter_map(|(series, mark)| {
                let name = self.series.get(series).map(String::as_str).unwrap_or_default();
                Some(format!("{name} {}", value(&self.axis, (*mark)?[0])).trim().to_owned())
            });
            parts.push(format!("{}: {}", row.label, marks.collect::<Vec<_>>().join(", ")));
        }
        let rest = self.rows.len().saturating_sub(12);
        parts.extend((rest > 0).then(|| format!("and {rest} more rows")));
        format!("{}.", parts.join("; "))
    }

    fn values(&self) -> Vec<Vec<String>> {
        let mut lines = vec![["row", "series", "value", "min", "max"].map(str::to_owned).to_vec()];
        for row in &self.rows {
            for (series, ends) in row.marks.iter().enumerate() {
                let name = self.series.get(series).cloned().unwrap_or_default();
                lines.extend(ends.map(|ends| {
                    [row.label.clone(), name].into_iter().chain(ends.map(|end| end.to_string())).collect()
                }));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::format::Form;

    fn rows(is_joined: bool) -> Rows {
        let row = |label: &str, marks: &[f64]| Row {
            label: label.to_owned(),
            marks: marks.iter().map(|at| Some([*at, 0.9 * at, 1.1 * at])).collect(),
        };
        let rows = vec![
            row("pair 1", &[2.0, 1.0]),
            row("pair 2", &[3.0, 2.0]),
            row("a pair with a label that is longer than a third", &[f64::NAN]),
        ];
        Rows {
            axis: Axis::linear("time", Form::Seconds),
            series: vec!["off".into(), "on".into()],
            rows,
            is_joined,
            reference: None,
        }
    }

    #[test]
    fn pairs_are_joined_and_others_have_their_intervals() {
        for is_joined in [true, false] {
            let rows = rows(is_joined).shown().unwrap();
            assert_eq!(rows.rows.len(), 2, "what is no number is left out");
            let Drawn { body, .. } = rows.draw(360.0);
            assert_eq!(body.matches("class=\"joint\"").count(), if is_joined { 2 } else { 0 });
            assert!(body.contains("<title>pair 2, on: 2 s (1.8 s to 2.2 s)</title>"), "{body}");
            assert!(body.matches("class=\"range").count() == 4 && body.matches("tick-x").count() >= 3, "{body}");
            assert!(rows.about().contains("pair 1: off 2 s, on 1 s"), "{}", rows.about());
            assert_eq!(rows.values()[1], ["pair 1", "off", "2", "1.8", "2.2"]);
        }
    }

    #[test]
    fn nothing_is_no_figure() {
        let mut none = rows(true);
        none.rows.truncate(0);
        assert!(none.shown().is_none());
    }
}
