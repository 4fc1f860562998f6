//! What a model answers: parameters, a table, a curve, a sentence. Pure.

use serde_json::{Map, Value, json};

use super::curve::{chart_of, grouped};
use crate::report::format;
pub(super) use crate::report::results::{Chart, Form, row};
use crate::report::results::{Results, Table};

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-predict-2";

/// The answer to one `lathide predict`.
#[derive(Debug)]
pub(super) struct Answer {
    /// Paper, equation and formula.
    pub(super) equation: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) columns: Vec<Column>,
    /// Per row a value for each column.
    pub(super) rows: Vec<Vec<Value>>,
    /// What is shown above the table, out of `findings`.
    pub(super) tables: Vec<Table>,
    /// What is shown below it.
    pub(super) below: Vec<Table>,
    /// Where a parameter has a range.
    pub(super) chart: Option<Chart>,
    /// A paragraph below the table: what one row means in detail.
    pub(super) details: String,
    /// Further members of the JSON object: best values, thresholds.
    pub(super) findings: Map<String, Value>,
    /// What was assumed.
    pub(super) notes: Vec<String>,
    pub(super) conclusion: String,
}

/// A parameter that holds for all rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Parameter {
    /// Its member in the JSON object.
    pub(super) key: &'static str,
    /// Its name in the paper.
    pub(super) symbol: &'static str,
    pub(super) form: Form,
    pub(super) value: Value,
}

/// A column of the table, and a member of each point of the JSON object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Column {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) form: Form,
    /// Whether it was asked for, and not answered. Where such a column has one value only, a sentence says it.
    pub(super) given: bool,
}

/// A column of answers.
pub(super) const fn column(key: &'static str, title: &'static str, form: Form) -> Column {
    Column { key, title, form, given: false }
}

/// A column of what was asked for.
pub(super) const fn given(key: &'static str, title: &'static str, form: Form) -> Column {
    Column { key, title, form, given: true }
}

/// A parameter.
pub(super) fn parameter(key: &'static str, symbol: &'static str, form: Form, value: impl Into<Value>) -> Parameter {
    Parameter { key, symbol, form, value: value.into() }
}

impl Answer {
    /// A table and a sentence; the rest is empty.
    pub(super) fn new(equation: &'static str, columns: Vec<Column>, rows: Vec<Vec<Value>>, conclusion: String) -> Self {
        let (parameters, tables, chart, details) = (Vec::new(), Vec::new(), None, String::new());
        let (below, findings, notes) = (Vec::new(), Map::new(), Vec::new());
        Answer { equation, parameters, columns, rows, tables, below, chart, details, findings, notes, conclusion }
    }

    /// Draws columns over the list with the most values of those `over` which may be drawn; further lists that were asked for tell
    /// curves apart. `of`: what is drawn, by name and column; `label`: what it is.
    pub(super) fn drawn(mut self, over: &[&str], label: &str, of: &[(&str, &str)]) -> Self {
        let place = |key: &str| self.columns.iter().position(|column| column.key == key);
        let distinct = |at: usize| {
            let mut seen: Vec<&Value> = Vec::new();
            self.rows.iter().map(|row| &row[at]).for_each(|it| {
                if !seen.contains(&it) {
                    seen.push(it)
                }
            });
            seen.len()
        };
        let Some(x) = over.iter().rev().filter_map(|key| place(key)).max_by_key(|at| distinct(*at)) else {
            return self;
        };
        let lists = (0..self.columns.len()).filter(|&at| self.columns[at].given && at != x && distinct(at) > 1);
        let (lists, mut points, mut form) = (lists.collect::<Vec<usize>>(), Vec::new(), Form::Plain);
        for (name, y) in of.iter().filter_map(|(name, key)| Some((name, place(key)?))) {
            form = self.columns[y].form;
            for row in &self.rows {
                let mut names: Vec<String> =
                    lists.iter().map(|&at| state(self.columns[at].title, &row[at], self.columns[at].form)).collect();
                if of.len() > 1 || lists.is_empty() {
                    names.insert(0, (*name).to_owned());
                }
                points.extend(row[x].as_f64().zip(row[y].as_f64()).map(|(x, y)| (names.join(", "), x, y)));
            }
        }
        let axis = self.columns[x];
        let title = axis.title.lines().next().unwrap_or_default();
        self.chart = chart_of((title, axis.form), (label, form), grouped(points));
        self
    }

    /// As every command's results; `model` is the subcommand, `from` what `--from` read.
    pub(super) fn results(mut self, model: &str, from: Option<Value>) -> Results {
        let object = |values: &mut dyn Iterator<Item = (&'static str, Form, &Value)>| -> Map<String, Value> {
            values.map(|(key, form, value)| (key.to_owned(), whole(form, value))).collect()
        };
        let parameters = object(&mut self.parameters.iter().map(|it| (it.key, it.form, &it.value)));
        let point = |row: &Vec<Value>| {
            Value::from(object(
                &mut self.columns.iter().zip(row).map(|(column, value)| (column.key, column.form, value)),
            ))
        };
        let mut data = json!({
            "model": model,
            "equation": self.equation,
            "from": from,
            "parameters": parameters,
            "points": self.rows.iter().map(point).collect::<Vec<Value>>(),
        });
        if let Value::Object(data) = &mut data {
            data.extend(self.findings.clone());
        }
        let mut results = Results::new(SCHEMA, format!("Prediction: {model}"), &data);
        results.text(format!("{}.", self.equation)).text(self.sentence());
        for table in self.tables.drain(..) {
            results.table(table);
        }
        let mut table = Table::of("points");
        for (at, column) in
            self.columns.iter().enumerate().filter(|(at, column)| !(column.given && self.is_single(*at)))
        {
            table = table.column(column.key, column.title, self.columns[at].form);
        }
        results.table(table);
        for table in self.below {
            results.table(table);
        }
        if let Some(chart) = self.chart {
            results.chart(chart);
        }
        results.text(self.details);
        results.notes = self.notes;
        results.conclusion = self.conclusion;
        results
    }

    /// The parameters, and the columns that were asked for and have one value only.
    fn sentence(&self) -> String {
        let columns = self.columns.iter().enumerate().filter(|(at, column)| column.given && self.is_single(*at));
        let mut stated: Vec<String> =
            columns.map(|(at, column)| state(column.title, &self.rows[0][at], column.form)).collect();
        stated.extend(self.parameters.iter().map(|it| state(it.symbol, &it.value, it.form)));
        if stated.is_empty() { String::new() } else { format!("With {}.", stated.join(", ")) }
    }

    fn is_single(&self, column: usize) -> bool {
        self.rows.len() > 1 && self.rows.iter().all(|row| row[column] == self.rows[0][column])
    }
}

/// The models count in whole numbers below 2^53.
fn whole(form: Form, value: &Value) -> Value {
    match (form, value.as_f64()) {
        (Form::Count, Some(number)) => json!(number as u64),
        _ => value.clone(),
    }
}

/// `a = 35 us`. A title may have its equation in a second line.
fn state(symbol: &str, value: &Value, form: Form) -> String {
    format!("{} = {}", symbol.lines().next().unwrap_or_default(), format::value(value, form))
}

#[cfg(test)]
mod tests {
    use crate::report::WIDTH;
    use crate::report::text::text;

    use super::*;

    fn answer(rows: usize) -> Answer {
        let columns = vec![
            column("bytes", "bytes", Form::Bytes),
            column("t_s", "T", Form::Seconds),
            column("cheaper", "cheaper", Form::Word),
            column("limit", "limit", Form::Number),
            given("procs", "p", Form::Count),
        ];
        let rows = (1..=rows).map(|i| row![1024.0 * i as f64, 1e-3 * i as f64, "tree", None::<f64>, 16]).collect();
        Answer {
            parameters: vec![parameter("a_s", "a", Form::Seconds, 35e-6), parameter("k", "K", Form::Count, 3)],
            details: "In detail.".into(),
            findings: [("best".to_owned(), json!(7))].into_iter().collect(),
            notes: vec!["assumed".into()],
            ..Answer::new("Nobody 1994, eq. (1): T = x", columns, rows, "It is so.".into())
        }
    }

    #[test]
    fn text_has_it_all_in_units_that_suit() {
        let text = text(&answer(3).results("test", None), false);
        for part in [
            "eq. (1)",
            "With p = 16, a = 35 us, K = 3.",
            "2 KiB",
            "2.000",
            "ms",
            "tree",
            "-",
            "\n\nIn detail.\n\nIt is so.",
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn a_single_row_is_a_table_with_all_it_was_asked_for() {
        let text = text(&answer(1).results("test", None), false);
        assert!(text.contains("With a = 35 us") && text.contains("16"), "{text}");
    }

    #[test]
    fn json_has_numbers_in_base_units() {
        let json = serde_json::to_value(answer(2).results("test", Some(json!({"path": "link.json"})))).unwrap();
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["from"]["path"], "link.json");
        assert_eq!(json["parameters"], json!({"a_s": 35e-6, "k": 3}));
        assert_eq!(
            json["points"][1],
            json!({"bytes": 2048.0, "t_s": 2e-3, "cheaper": "tree", "limit": null, "procs": 16})
        );
        assert_eq!((&json["best"], &json["notes"][0]), (&json!(7), &json!("assumed")));
        assert!(serde_json::to_value(answer(1).results("test", None)).unwrap()["from"].is_null());
    }
}
