//! Stacked bars: what parts a whole has, a bar for each row.

use super::axes::{Across, BELOW, in_words, value};
use super::drawing::{Draw, Drawn};
use super::mark::{Key, class, legend};
use super::text::{self, fitted, tip};
use crate::report::axis::{Range, Scale};
use crate::report::results::Axis;

/// Stacked bars, from 0 on.
pub(in super::super) struct Bars {
    pub(in super::super) axis: Axis,
    /// What the parts are, in their order.
    pub(in super::super) parts: Vec<String>,
    /// Each row's label, and its parts' values.
    pub(in super::super) rows: Vec<(String, Vec<f64>)>,
}

const HEIGHT: f64 = 15.0;

impl Bars {
    /// Without rows that are no numbers; `None` if that is everything.
    pub(in super::super) fn shown(mut self) -> Option<Self> {
        self.rows.retain(|(_, parts)| {
            parts.iter().all(|part| *part >= 0.0 && Scale::Linear.shows(*part)) && parts.iter().sum::<f64>() > 0.0
        });
        (!self.rows.is_empty()).then_some(self)
    }

    fn range(&self) -> Option<Range> {
        let totals = self.rows.iter().map(|(_, parts)| parts.iter().sum());
        Scale::Linear.range(std::iter::once(0.0).chain(totals))
    }
}

impl Draw for Bars {
    fn draw(&self, width: f64) -> Drawn {
        let Some(range) = self.range() else { return Drawn { width, height: 0.0, body: String::new() } };
        let longest = self.rows.iter().map(|(label, _)| text::width(label)).fold(0.0, f64::max);
        let left = longest.min(0.4 * width) + 12.0;
        let step = HEIGHT + 6.0;
        let (top, bottom) = (4.0, 8.0 + step * self.rows.len() as f64);
        let across = Across { axis: &self.axis, range, left, right: width - 10.0 };
        let mut body = across.draw(top, bottom, width);
        for (at, (label, parts)) in self.rows.iter().enumerate() {
            let (y, mut from) = (top + 4.0 + step * at as f64, 0.0);
            body += &text::at("end ink", left - 8.0, y + 12.0, &fitted(label, left - 10.0));
            for (part, length) in parts.iter().enumerate().filter(|(_, length)| **length > 0.0) {
                let (x, to) = (across.place(from), across.place(from + length));
                from += length;
                let name = self.parts.get(part).map(String::as_str).unwrap_or_default();
                let tip = tip(&format!("{label}, {name}: {}", value(&self.axis, *length)));
                body += &format!(
                    "<rect class=\"bar {}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\">{tip}</rect>\n",
                    class(part),
                    (to - x).max(0.4)
                );
                body += &hatched(part, x, y, to - x);
            }
        }
        let name = |(series, name): (usize, &String)| Key { series, name: name.clone(), line: None, has_mark: true };
        let (keys, height) =
            legend(&self.parts.iter().enumerate().map(name).collect::<Vec<_>>(), bottom + BELOW, width);
        Drawn { width, height: bottom + BELOW + height, body: body + &keys }
    }

    fn about(&self) -> String {
        let Some(range) = self.range() else { return String::new() };
        let mut parts = vec![in_words("Across", &self.axis, &range)];
        for (label, values) in self.rows.iter().take(12) {
            let of = self.parts.iter().zip(values).map(|(name, part)| format!("{name} {}", value(&self.axis, *part)));
            parts.push(format!("{label}: {}", of.collect::<Vec<_>>().join(", ")));
        }
        let rest = self.rows.len().saturating_sub(12);
        parts.extend((rest > 0).then(|| format!("and {rest} more rows")));
        format!("{}.", parts.join("; "))
    }

    fn values(&self) -> Vec<Vec<String>> {
        let mut lines = vec![std::iter::once("row".to_owned()).chain(self.parts.iter().cloned()).collect::<Vec<_>>()];
        lines.extend(
            self.rows
                .iter()
                .map(|(label, parts)| std::iter::once(label.clone()).chain(parts.iter().map(f64::to_string)).collect()),
        );
        lines
    }
}

/// The shape of the part's key in the middle of its bar, where it has room: colour is not all that tells parts apart.
fn hatched(part: usize, x: f64, y: f64, width: f64) -> String {
    if width < 16.0 { String::new() } else { super::mark::mark(part, x + 0.5 * width, y + 0.5 * HEIGHT, "") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::format::Form;

    #[test]
    fn parts_follow_each_other_and_have_tooltips() {
        let rows = vec![
            ("rank 0".to_owned(), vec![1.0, 2.0]),
            ("rank 1".to_owned(), vec![0.0, 0.0]),
            ("rank 2".to_owned(), vec![f64::NAN, 1.0]),
        ];
        let bars = Bars {
            axis: Axis::linear("time", Form::Seconds),
            parts: vec!["calculating".into(), "waiting".into()],
            rows,
        };
        let bars = bars.shown().unwrap();
        assert_eq!(bars.rows.len(), 1, "what has no length is left out");
        let Drawn { body, .. } = bars.draw(360.0);
        assert_eq!(body.matches("<rect").count(), 2, "{body}");
        assert!(body.contains("<title>rank 0, waiting: 2 s</title>") && body.matches("tick-x").count() >= 3, "{body}");
        assert!(bars.about().contains("rank 0: calculating 1 s, waiting 2 s"));
        assert_eq!(bars.values()[1], ["rank 0", "1", "2"]);
    }
}
