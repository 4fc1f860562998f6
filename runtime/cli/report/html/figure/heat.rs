//! A matrix of values: the deeper the colour, the greater the value, which also stands in each cell.

use super::drawing::{Draw, Drawn};
use super::text::{self, fitted, tip};
use crate::report::axis::{Range, Scale};
use crate::report::format::{self, Form};

/// A heat map.
pub(in super::super) struct Heat {
    /// What the values are.
    pub(in super::super) what: String,
    pub(in super::super) form: Form,
    /// What the rows and the columns are, and their names.
    pub(in super::super) down: (String, Vec<String>),
    pub(in super::super) across: (String, Vec<String>),
    pub(in super::super) cells: Vec<Vec<Cell>>,
}

/// A cell of it.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) enum Cell {
    /// There is nothing to know.
    None,
    Value(f64),
    /// What should be there is not, and why.
    Missing(String),
}

const HEIGHT: f64 = 28.0;
const HEAD: f64 = 44.0;

impl Heat {
    /// Itself, if it has a value or misses one.
    pub(in super::super) fn shown(mut self) -> Option<Self> {
        for cell in self.cells.iter_mut().flatten() {
            if matches!(cell, Cell::Value(value) if !Scale::Linear.shows(*value)) {
                *cell = Cell::None;
            }
        }
        self.cells.iter().flatten().any(|cell| *cell != Cell::None).then_some(self)
    }

    fn text(&self, value: f64) -> String {
        format::value(&value.into(), self.form)
    }

    /// What stands in a cell: a rate without its unit, which stands above.
    fn short(&self, value: f64) -> String {
        if self.form == Form::Rate { format::plain(1e-6 * value) } else { self.text(value) }
    }

    /// What stands above the columns.
    fn heading(&self) -> String {
        let unit = if self.form == Form::Rate { ", MB/s" } else { "" };
        format!("{} (cells: {}{unit})", self.across.0, self.what)
    }

    fn named(&self) -> impl Iterator<Item = (&str, &str, &Cell)> {
        let rows = self.down.1.iter().zip(&self.cells);
        rows.flat_map(|(row, cells)| self.across.1.iter().zip(cells).map(|(column, cell)| (&**row, &**column, cell)))
    }

    /// From which value to which the colour deepens: by ratios, since times and rates differ by those, and at least from the half of the
    /// greatest on, so that what is nearly the same looks so.
    fn range(&self) -> Option<Range> {
        let positive = self.cells.iter().flatten().filter_map(|cell| match cell {
            Cell::Value(value) if *value > 0.0 => Some(*value),
            _ => None,
        });
        let mut range = Scale::Log(2).range(positive)?;
        range.low = range.low.min(0.5 * range.high);
        Some(range)
    }

    /// `range`: of all cells.
    fn cell(
        &self,
        (row, column, cell): (&str, &str, &Cell),
        (x, y, width): (f64, f64, f64),
        range: Option<Range>,
    ) -> String {
        let (middle, line) = (x + 0.5 * width, y + 0.5 * HEIGHT + 4.0);
        let frame = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"");
        match cell {
            Cell::None => format!("<rect class=\"none\" {frame}/>\n"),
            Cell::Value(value) => {
                let text = self.text(*value);
                let tip = tip(&format!("{} {row}, {} {column}: {} {text}", self.down.0, self.across.0, self.what));
                let share = range.filter(|_| *value > 0.0).map_or(0.0, |range| range.share(*value).clamp(0.0, 1.0));
                let depth = 0.06 + 0.34 * share;
                format!(
                    "<rect class=\"cell\" fill-opacity=\"{depth:.2}\" {frame}>{tip}</rect>{}",
                    text::at("mid ink", middle, line, &self.short(*value))
                )
            }
            Cell::Missing(why) => {
                let tip = tip(&format!("{} {row}, {} {column}: {why}", self.down.0, self.across.0));
                let cross = format!("M{:.1} {:.1}l8 8m0 -8l-8 8", middle - 4.0, line - 8.0);
                format!(
                    "<rect class=\"none\" {frame} pointer-events=\"all\">{tip}</rect><path class=\"cross\" d=\"{cross}\"/>\n"
                )
            }
        }
    }
}

impl Draw for Heat {
    fn draw(&self, width: f64) -> Drawn {
        let (rows, columns) = (&self.down.1, &self.across.1);
        let texts = self.cells.iter().flatten().map(|cell| match cell {
            Cell::Value(value) => text::width(&self.short(*value)),
            _ => 0.0,
        });
        let least = texts.fold(44.0, f64::max) + 8.0;
        let names = columns.iter().map(|name| text::width(name)).fold(0.0, f64::max) + 8.0;
        let left =
            rows.iter().map(|name| text::width(name)).fold(text::width(&self.down.0), f64::max).min(160.0) + 10.0;
        let room = (width - left - 2.0) / columns.len().max(1) as f64;
        // What does not fit scrolls; where there is room, names are not shortened, and cells no wider than they need.
        let cell = room.clamp(least, names.max(least).max(90.0));
        let mut body = text::at("", 0.0, 32.0, &fitted(&self.down.0, left - 8.0))
            + &text::at("", left, 13.0, &fitted(&self.heading(), width - left));
        for (at, name) in columns.iter().enumerate() {
            body += &text::at("mid ink", left + cell * (at as f64 + 0.5), 32.0, &fitted(name, cell - 4.0));
        }
        for (at, name) in rows.iter().enumerate() {
            body +=
                &text::at("end ink", left - 8.0, HEAD + HEIGHT * (at as f64 + 0.5) + 4.0, &fitted(name, left - 10.0));
        }
        let range = self.range();
        for (at, named) in self.named().enumerate() {
            let (row, column) = (at / columns.len().max(1), at % columns.len().max(1));
            body += &self.cell(named, (left + cell * column as f64, HEAD + HEIGHT * row as f64, cell - 1.0), range);
        }
        let wide = left + cell * columns.len() as f64 + 2.0;
        Drawn { width: width.max(wide), height: HEAD + HEIGHT * rows.len() as f64 + 6.0, body }
    }

    fn about(&self) -> String {
        let cells = self.named().filter_map(|(row, column, cell)| match cell {
            Cell::None => None,
            Cell::Value(value) => Some(format!("{row}, {column}: {}", self.text(*value))),
            Cell::Missing(why) => Some(format!("{row}, {column}: {why}")),
        });
        let cells: Vec<String> = cells.collect();
        let rest = if cells.len() > 40 { format!("; and {} more", cells.len() - 40) } else { String::new() };
        format!(
            "{} by {} and {}. {}{rest}.",
            self.what,
            self.down.0,
            self.across.0,
            cells[..cells.len().min(40)].join("; ")
        )
    }

    fn values(&self) -> Vec<Vec<String>> {
        let mut lines =
            vec![vec![self.down.0.clone(), self.across.0.clone(), self.what.clone(), "why_missing".to_owned()]];
        for (row, column, cell) in self.named() {
            let (value, why) = match cell {
                Cell::None => continue,
                Cell::Value(value) => (value.to_string(), String::new()),
                Cell::Missing(why) => (String::new(), why.clone()),
            };
            lines.push(vec![row.to_owned(), column.to_owned(), value, why]);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_colours_and_what_is_missing() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let cells =
            vec![vec![Cell::None, Cell::Value(1e-3)], vec![Cell::Missing("refused".to_owned()), Cell::Value(4e-3)]];
        let heat = Heat {
            what: "round trip".into(),
            form: Form::Seconds,
            down: ("from".into(), names.clone()),
            across: ("to".into(), names),
            cells,
        };
        let heat = heat.shown().unwrap();
        let Drawn { body, width, .. } = heat.draw(360.0);
        assert!(
            body.contains(">1 ms<") && body.contains("from b, to a: refused") && body.contains("class=\"cross\""),
            "{body}"
        );
        assert!(body.contains("fill-opacity=\"0.06\"") && body.contains("fill-opacity=\"0.40\""), "{body}");
        assert_eq!(width, 360.0);
        assert_eq!(heat.values()[2], ["b", "a", "", "refused"]);
        assert!(heat.about().contains("b, a: refused"));
    }

    #[test]
    fn many_columns_take_more_width() {
        let names: Vec<String> = (0..20).map(|at| format!("host{at}")).collect();
        let cells = vec![vec![Cell::Value(1.0); 20]; 20];
        let heat = Heat {
            what: "x".into(),
            form: Form::Seconds,
            down: ("from".into(), names.clone()),
            across: ("to".into(), names),
            cells,
        };
        assert!(heat.draw(360.0).width > 900.0);
    }
}
