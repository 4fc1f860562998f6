//! Results in a terminal. Pure.

use serde_json::Value;

use super::format::{self, TimeUnit};
use super::plot;
use super::results::{self, Column, Form, Part, Results};
use super::screen::{Meaning, Screen};
use super::table;
use super::verdict::Verdict;

/// A longer table is thinned out; JSON has every row.
const ROWS_MAX: usize = 40;

/// Title, place, tables, curves, conclusion and warnings, in lines that fit the screen where words allow it.
pub(crate) fn shown(results: &Results, screen: Screen) -> String {
    let wrap = |paragraph: &str| screen.wrap(paragraph, 0);
    let mut head = vec![wrap(&format!("{}.", results.title))];
    head.extend(results.place().iter().map(|line| wrap(line)));
    let mut parts = vec![head.join("\n")];
    for part in &results.layout {
        match part {
            Part::Text(paragraph) => parts.push(wrap(paragraph)),
            Part::Table(table) => parts.extend(table.filled(results).map(|(title, rows)| {
                let table = of_rows(&table.columns, &rows, screen.width);
                if title.is_empty() { table } else { format!("{}\n\n{table}", wrap(title)) }
            })),
            Part::Chart(chart) => parts.push(plot::render(chart, screen)),
        }
    }
    let meaning =
        if results.verdict.as_ref().is_none_or(Verdict::is_valid) { Meaning::Verdict } else { Meaning::Warning };
    parts.push(screen.paint(&wrap(&results.meaning()), meaning));
    parts.push(screen.paint(&wrap(&results.warnings.join(" ")), Meaning::Warning));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// A table with rows of its own, by itself; nothing without rows.
pub(crate) fn table(table: &results::Table, screen: Screen) -> String {
    let rows: Vec<&Value> = table.own_rows().iter().collect();
    if rows.is_empty() { String::new() } else { of_rows(&table.columns, &rows, screen.width) }
}

/// Results where there is no terminal, for tests.
#[cfg(any(test, fuzzing))]
pub(crate) fn text(results: &Results, colour: bool) -> String {
    shown(results, Screen { colour, ..Screen::PLAIN })
}

/// A column of texts below its title.
struct Texts {
    title: String,
    cells: Vec<String>,
    /// Whether it belongs to the column before it.
    continues: bool,
}

/// The rows as a table. What is wider than the screen continues below, behind the columns that tell the rows apart.
fn of_rows(columns: &[Column], rows: &[&Value], width: usize) -> String {
    let texts = texts(columns, rows);
    let parts: Vec<String> = parts(&texts, width).iter().map(|part| table_of(part).to_string()).collect();
    let table = parts.join("\n\n");
    match rows.len().saturating_sub(ROWS_MAX) {
        0 => table,
        missing => format!("{table}\n({missing} of {} rows are left out here; --json has all)", rows.len()),
    }
}

fn table_of(part: &[&Texts]) -> table::Table {
    let mut table = table::Table::new(part.iter().map(|texts| texts.title.as_str()));
    for row in 0..part.first().map_or(0, |texts| texts.cells.len()) {
        table.row(part.iter().map(|texts| texts.cells[row].as_str()));
    }
    table
}

/// The columns in parts that fit the width, each with those that tell the rows apart in front.
fn parts(all: &[Texts], width: usize) -> Vec<Vec<&Texts>> {
    let fits = |part: &[&Texts]| table_of(part).width() <= width;
    let whole: Vec<&Texts> = all.iter().collect();
    if fits(&whole) {
        return vec![whole];
    }
    let (keys, rest) = all.split_at(keys(all, width));
    let mut parts: Vec<Vec<&Texts>> = Vec::new();
    for together in rest.chunk_by(|_, next| next.continues) {
        match parts.last_mut() {
            Some(part) if fits(&part.iter().copied().chain(together).collect::<Vec<_>>()) => part.extend(together),
            _ => parts.push(keys.iter().chain(together).collect()),
        }
    }
    parts
}

/// How many of the first columns tell the rows apart; one where that would take more than half of the width.
fn keys(all: &[Texts], width: usize) -> usize {
    let tells = |count: usize| {
        let row = |at: usize| all[..count].iter().map(|texts| texts.cells[at].as_str()).collect::<Vec<_>>();
        let rows = all[0].cells.len();
        (0..rows).map(row).collect::<std::collections::BTreeSet<_>>().len() == rows
    };
    let count = (1..all.len()).find(|count| tells(*count)).unwrap_or(1);
    let is_narrow = table_of(&all[..count].iter().collect::<Vec<_>>()).width() <= width / 2;
    if is_narrow && !all[count].continues { count } else { 1 }
}

/// Titles and cells, each column in its unit.
fn texts(columns: &[Column], rows: &[&Value]) -> Vec<Texts> {
    // What was measured has fewer digits that count.
    let digits = if columns.iter().any(|column| column.has_range) { 3 } else { 4 };
    let mut all = Vec::new();
    for column in columns {
        let unit = unit(column, rows);
        let unit_name = match (unit, column.form) {
            (Some(unit), _) => unit.name,
            (None, Form::Percent(_) | Form::SignedPercent(_)) => "%",
            (None, Form::Rate) => "MB/s",
            _ => "",
        };
        let cell = |row: &Value, end: &str| cell(&row[format!("{}{end}", column.key)], column, unit, digits);
        let title = format!("{}\n{unit_name}", column.title).trim_end().to_owned();
        all.push(Texts { title, cells: thinned(rows).map(|row| cell(row, "")).collect(), continues: false });
        if column.has_range {
            let range = |row: &Value| format!("{} .. {}", cell(row, "_min"), cell(row, "_max"));
            let cells = thinned(rows).map(range).collect();
            all.push(Texts { title: "\nmin .. max".to_owned(), cells, continues: true });
        }
    }
    all
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
