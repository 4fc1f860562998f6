//! What a command has found out, as a part of the page.

use super::markup::{escaped, paragraph, table};
use super::section::Section;
use super::svg;
use crate::report::format;
use crate::report::results::{Column, Part, Results, Table};

/// The section of a saved result.
pub(super) fn section(file: &str, results: &Results) -> Section {
    let mut body = String::new();
    for text in [results.meaning(), results.warnings.join(" "), results.place().join(" ")] {
        body += &paragraph(&text);
    }
    for part in &results.layout {
        match part {
            Part::Text(text) => body += &paragraph(text),
            Part::Chart(chart) => body += &svg::render(chart),
            Part::Table(table) => body += &rows(table, results),
        }
    }
    body += &paragraph(&results.notes.join("; "));
    Section { title: format!("{}: {}", escaped(&results.title), escaped(file)), body }
}

/// A table of the results, if it has rows.
pub(super) fn rows(shown: &Table, results: &Results) -> String {
    let Some((title, rows)) = shown.filled(results) else { return String::new() };
    let mut titles: Vec<String> = Vec::new();
    for column in &shown.columns {
        titles.push(column.title.replace("-\n", "").replace('\n', " "));
        titles.extend(["min", "max"].into_iter().filter(|_| column.has_range).map(str::to_owned));
    }
    let cells = rows.into_iter().map(|row| {
        let cell = |column: &Column, end: &str| format::value(&row[format!("{}{end}", column.key)], column.form);
        let ends = |column: &Column| if column.has_range { &["", "_min", "_max"][..] } else { &[""] };
        shown.columns.iter().flat_map(|column| ends(column).iter().map(|end| cell(column, end))).collect()
    });
    paragraph(title) + &table(&titles, cells)
}
