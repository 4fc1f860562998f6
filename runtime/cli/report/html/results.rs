//! What a command has found out, as a part of the page.

use super::markup::{escaped, paragraph, table};
use super::section::Section;
use super::svg::{self, short, size, time};
use crate::report::format;
use crate::report::results::{Axis, Chart, Form, Look, Part, Results};

/// The section of a saved result.
pub(super) fn section(file: &str, results: &Results) -> Section {
    let mut body = paragraph(&results.place().join(" "));
    for part in &results.layout {
        match part {
            Part::Text(text) => body += &paragraph(text),
            Part::Chart(chart) => body += &curves(chart),
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

fn curves(chart: &Chart) -> String {
    let axis = |axis: &Axis| match (axis.is_log, axis.form) {
        (false, _) => svg::Axis::Linear,
        (true, Form::Bytes) => svg::Axis::Log(4),
        (true, Form::Seconds) => svg::Axis::Log(10),
        (true, _) => svg::Axis::Log(2),
    };
    let written = |form: Form| match form {
        Form::Bytes => size,
        Form::Seconds => time,
        Form::Rate => rate,
        _ => short,
    };
    let (x, y) = (&chart.x, &chart.y);
    let mut drawn = svg::Chart::new((&x.label, axis(x)), (&y.label, axis(y))).written(written(x.form), written(y.form));
    for series in &chart.series {
        let points = series.points.iter().copied();
        drawn = match series.look {
            Look::Points => drawn.points(&series.name, points),
            Look::Solid | Look::Dotted => drawn.line(&series.name, points.map(|[x, y, ..]| (x, y))),
        };
    }
    drawn.render()
}

fn rate(bytes_per_s: f64) -> String {
    format!("{} MB/s", short(1e-6 * bytes_per_s))
}
