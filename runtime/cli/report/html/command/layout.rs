//! What every command saves: its conclusion, and tables, curves and sentences in the order in which the terminal shows them.

use crate::report::html::figure::Figure;
use crate::report::html::section::{Piece, Section};
use crate::report::html::table::Grid;
use crate::report::results::{Chart, Part, Results, Table};

/// What stands on top.
pub(super) fn head(file: &str, results: &Results) -> Section {
    let mut section = Section::new(file, &results.title);
    section.verdict.clone_from(&results.verdict);
    section.meaning = results.meaning();
    section.conclusion.clone_from(&results.conclusion);
    section.warnings = results.warnings.join(" ");
    section.place = results.place();
    section
}

/// All of the layout. `after`: more figures behind the tables of a member.
pub(super) fn show(section: &mut Section, results: &Results, after: impl Fn(&str) -> Vec<Figure>) {
    let mut last: Option<&Table> = None;
    // Tables of parts of one member, such as one for each case, since the last chart: a chart behind several is of all.
    let mut parts = 0;
    let mut shown: Vec<&str> = Vec::new();
    for part in &results.layout {
        match part {
            Part::Text(text) => section.pieces.push(Piece::Text(text.clone())),
            Part::Chart(chart) => {
                section.figure(figure(chart, last.filter(|_| parts < 2)));
                parts = 0;
            }
            Part::Table(table) => {
                let grid = Grid::of(table, results);
                last = if grid.is_some() { Some(table) } else { last };
                parts += usize::from(grid.is_some() && table.common().is_some());
                section.pieces.extend(grid.map(Piece::Table));
                if let Some(member) = table.member().filter(|member| !shown.contains(member)) {
                    shown.push(member);
                    section.pieces.extend(after(member).into_iter().map(Piece::Figure));
                }
            }
        }
    }
    let notes = results.notes.join("; ");
    section.pieces.extend((!notes.is_empty()).then_some(Piece::Text(notes)));
}

/// A chart, with a title after the table that it stands behind.
fn figure(chart: &Chart, table: Option<&Table>) -> Option<Figure> {
    let (x, y) = chart.labels();
    let what = format!("{y} against {x}");
    let table = table.filter(|table| table.member() != Some("comparisons"));
    let of = table.and_then(|table| table.common().or(Some(table.title.as_str())));
    let of = of.and_then(|title| title.split(['(', '.', ',', ':', ';']).next()).map(str::trim);
    let title = match of {
        Some(of) if !of.is_empty() && of.len() < 60 => format!("{of}: {what}"),
        _ => what,
    };
    chart.drawn().map(|_| Figure::new(title, chart.clone()))
}
