//! Results in a terminal. Pure.

use serde_json::Value;

use super::format::{self, TimeUnit};
use super::plot;
use super::results::{Column, Form, Part, Results};
use super::table;
use super::wrap;

/// A longer table is thinned out; JSON has every row.
const ROWS_MAX: usize = 40;

/// Title, place, tables, curves, conclusion and warnings, in lines of [`WIDTH`](super::WIDTH) columns where words allow it.
pub(crate) fn text(results: &Results, colour: bool) -> String {
    let mut head = vec![wrap(&format!("{}.", results.title))];
    head.extend(results.place().iter().map(|line| wrap(line)));
    let mut parts = vec![head.join("\n")];
    for part in &results.layout {
        match part {
            Part::Text(paragraph) => parts.push(wrap(paragraph)),
            Part::Table(table) => parts.extend(table.filled(results).map(|(title, rows)| {
                let table = of_rows(&table.columns, &rows);
                if title.is_empty() { table } else { format!("{}\n\n{table}", wrap(title)) }
            })),
            Part::Chart(chart) => parts.push(plot::render(chart, colour)),
        }
    }
    parts.push(wrap(&results.meaning()));
    parts.push(wrap(&results.warnings.join(" ")));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn of_rows(columns: &[Column], rows: &[&Value]) -> String {
    let units: Vec<Option<TimeUnit>> = columns.iter().map(|column| unit(column, rows)).collect();
    let mut titles = Vec::new();
    for (column, unit) in columns.iter().zip(&units) {
        let unit = match (unit, column.form) {
            (Some(unit), _) => unit.name,
            (None, Form::Percent(_) | Form::SignedPercent(_)) => "%",
            (None, Form::Rate) => "MB/s",
            _ => "",
        };
        titles.push(format!("{}\n{unit}", column.title).trim_end().to_owned());
        titles.extend(column.has_range.then(|| "\nmin .. max".to_owned()));
    }
    // What was measured has fewer digits that count.
    let digits = if columns.iter().any(|column| column.has_range) { 3 } else { 4 };
    let mut table = table::Table::new(titles);
    for row in thinned(rows) {
        let mut cells = Vec::new();
        for (column, unit) in columns.iter().zip(&units) {
            let cell = |end: &str| cell(&row[format!("{}{end}", column.key)], column, *unit, digits);
            cells.push(cell(""));
            cells.extend(column.has_range.then(|| format!("{} .. {}", cell("_min"), cell("_max"))));
        }
        table.row(cells);
    }
    match rows.len().saturating_sub(ROWS_MAX) {
        0 => table.to_string(),
        missing => format!("{table}\n({missing} of {} rows are left out here; --json has all)", rows.len()),
    }
}

/// All rows, or some at equal distances, with the first and the last.
fn thinned<'a>(all: &'a [&'a Value]) -> impl Iterator<Item = &'a Value> {
    let rows = all.len();
    let shown = rows.min(ROWS_MAX);
    let place = move |at: usize| if shown < 2 { at } else { (at * (rows - 1) + (shown - 1) / 2) / (shown - 1) };
    (0..shown).map(move |at| all[place(at)])
}

/// The unit that suits a column of times: that of its median.
fn unit(column: &Column, rows: &[&Value]) -> Option<TimeUnit> {
    if column.form != Form::Seconds {
        return None;
    }
    let times = rows.iter().filter_map(|row| row[&column.key].as_f64());
    let mut times: Vec<f64> = times.map(f64::abs).filter(|s| *s > 0.0).collect();
    times.sort_by(f64::total_cmp);
    Some(TimeUnit::of(times.get(times.len() / 2).copied().unwrap_or(1.0)))
}

/// A value below its column's title, which has the unit.
fn cell(value: &Value, column: &Column, unit: Option<TimeUnit>, digits: usize) -> String {
    match (value.as_f64(), unit, column.form) {
        (Some(seconds), Some(unit), _) => format::figures(seconds * unit.per_second, digits),
        (Some(share), _, Form::Percent(decimals)) => format!("{:.decimals$}", 100.0 * share),
        (Some(share), _, Form::SignedPercent(decimals)) => format!("{:+.decimals$}", 100.0 * share),
        (Some(rate), _, Form::Rate) => format::figures(rate / 1e6, digits),
        (_, _, form) => format::value(value, form),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
