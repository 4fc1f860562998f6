//! What a command has found out, as a part of the page.

use super::markup::{escaped, paragraph, table};
use super::section::Section;
use super::svg;
use crate::report::format;
use crate::report::results::{Part, Results};

/// The section of a saved result.
pub(super) fn section(file: &str, results: &Results) -> Section {
    let mut body = paragraph(&results.place().join(" "));
    for part in &results.layout {
        match part {
            Part::Text(text) => body += &paragraph(text),
            Part::Chart(chart) => body += &svg::render(chart),
            Part::Table(rows) => {
                let Some((title, filled)) = rows.filled(results) else { continue };
                body += &paragraph(title);
                let mut titles: Vec<String> = Vec::new();
                for column in &rows.columns {
                    titles.push(column.title.replace('\n', " "));
                    titles.extend(["min", "max"].into_iter().filter(|_| column.has_range).map(str::to_owned));
                }
                let cells = filled.into_iter().map(|row| {
                    let ends = |has_range| if has_range { &["", "_min", "_max"][..] } else { &[""] };
                    let of = |key: &str, end: &str, form| format::value(&row[format!("{key}{end}")], form);
                    let columns = rows.columns.iter();
                    columns
                        .flat_map(|column| ends(column.has_range).iter().map(|end| of(&column.key, end, column.form)))
                        .collect()
                });
                body += &table(&titles, cells);
            }
        }
    }
    for text in [&results.conclusion, &results.warnings.join(" "), &results.notes.join("; ")] {
        body += &paragraph(text);
    }
    Section { title: format!("{}: {}", escaped(&results.title), escaped(file)), body }
}
