//! What a model answers: for people (parameters, table, curve, a sentence), for programs one JSON object. Pure.

use crate::report::plot::Chart;
use crate::report::table::Table;
use crate::report::wrap;
use serde_json::{Map, Value, json};

use super::format;

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-predict-1";
/// A longer table is thinned out; JSON has every row.
const ROWS_MAX: usize = 40;

/// The answer to one `lathide predict`.
#[derive(Debug)]
pub(super) struct Answer {
    /// The subcommand.
    pub(super) model: &'static str,
    /// Paper, equation and formula.
    pub(super) equation: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) columns: Vec<Column>,
    /// Per row a cell for each column.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Where a parameter has a range.
    pub(super) chart: Option<Chart>,
    /// A paragraph below the table: what one row means in detail.
    pub(super) details: String,
    /// Further members of the JSON object: best values, thresholds.
    pub(super) findings: Map<String, Value>,
    /// What was assumed; goes to stderr.
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
    pub(super) value: Cell,
}

/// A column of the table, and a member of each point of the JSON object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Column {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) form: Form,
    /// Whether it was asked for, and not answered. Where such a column has one value only, the header says it.
    pub(super) given: bool,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Form {
    Bytes,
    /// A whole number.
    Count,
    /// With so many decimals.
    Fixed(usize),
    /// With four significant digits.
    Number,
    /// With at most four significant digits.
    Plain,
    /// A fraction, shown in percent.
    Percent,
    /// Bytes per second, shown in MB/s.
    Rate,
    Seconds,
    SecondsPerByte,
    Word,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Cell {
    /// There is no such value: a threshold that is never reached.
    None,
    Number(f64),
    Word(&'static str),
}

/// A quotient of what the models answer may be too large for a number; it is left out.
impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Cell::Number(number) } else { Cell::None }
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Cell::Number(count.into())
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Cell::None, Cell::from)
    }
}

impl From<&'static str> for Cell {
    fn from(word: &'static str) -> Self {
        Cell::Word(word)
    }
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
pub(super) fn parameter(key: &'static str, symbol: &'static str, form: Form, value: impl Into<Cell>) -> Parameter {
    Parameter { key, symbol, form, value: value.into() }
}

/// A row of cells.
macro_rules! row {
    ($($cell:expr),+ $(,)?) => { vec![$($crate::commands::predict::answer::Cell::from($cell)),+] };
}
pub(super) use row;

impl Cell {
    fn number(&self) -> Option<f64> {
        if let Cell::Number(number) = self { Some(*number) } else { None }
    }

    fn json(&self, form: Form) -> Value {
        match self {
            Cell::None => Value::Null,
            // The models count in whole numbers below 2^53.
            Cell::Number(number) if form == Form::Count => json!(*number as u64),
            Cell::Number(number) => json!(number),
            Cell::Word(word) => json!(word),
        }
    }
}

impl Answer {
    /// A table and a sentence; the rest is empty.
    pub(super) fn new(
        model: &'static str,
        equation: &'static str,
        columns: Vec<Column>,
        rows: Vec<Vec<Cell>>,
        conclusion: String,
    ) -> Self {
        let (parameters, details, findings, notes) = (Vec::new(), String::new(), Map::new(), Vec::new());
        Answer { model, equation, parameters, columns, rows, chart: None, details, findings, notes, conclusion }
    }

    /// As one JSON object; `from` is what `--from` read.
    pub(super) fn json(&self, from: Option<Value>) -> Value {
        let mut object = Map::new();
        object.insert("schema".into(), json!(SCHEMA));
        object.insert("lathide".into(), json!(env!("CARGO_PKG_VERSION")));
        object.insert("model".into(), json!(self.model));
        object.insert("equation".into(), json!(self.equation));
        object.insert("from".into(), from.unwrap_or_default());
        let parameters: Map<String, Value> =
            self.parameters.iter().map(|it| (it.key.to_owned(), it.value.json(it.form))).collect();
        object.insert("parameters".into(), parameters.into());
        let point = |row: &Vec<Cell>| -> Value {
            let members = self.columns.iter().zip(row);
            members.map(|(column, cell)| (column.key.to_owned(), cell.json(column.form))).collect::<Map<_, _>>().into()
        };
        object.insert("points".into(), self.rows.iter().map(point).collect());
        object.extend(self.findings.clone());
        object.insert("notes".into(), json!(self.notes));
        object.insert("conclusion".into(), json!(self.conclusion));
        object.into()
    }

    /// Equation, parameters, table, curve and conclusion.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut parts = vec![self.header(), self.table()];
        parts.extend(self.chart.as_ref().map(|chart| chart.render(colour)));
        parts.extend([wrap(&self.details), wrap(&self.conclusion)]);
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }

    fn header(&self) -> String {
        let mut parameters: Vec<String> =
            self.constant().map(|(column, cell)| stated(column.title, cell, column.form)).collect();
        parameters.extend(self.parameters.iter().map(|it| stated(it.symbol, &it.value, it.form)));
        let equation = wrap(&format!("{}.", self.equation));
        if parameters.is_empty() {
            equation
        } else {
            format!("{equation}\n{}", wrap(&format!("With {}.", parameters.join(", "))))
        }
    }

    /// The columns that were asked for and have one value only, with that value.
    fn constant(&self) -> impl Iterator<Item = (&Column, &Cell)> {
        let single = |at: usize| self.rows.len() > 1 && self.rows.iter().all(|row| row[at] == self.rows[0][at]);
        let columns = self.columns.iter().enumerate().filter(move |(at, column)| column.given && single(*at));
        columns.map(|(at, column)| (column, &self.rows[0][at]))
    }

    fn table(&self) -> String {
        let constant: Vec<&str> = self.constant().map(|(column, _)| column.key).collect();
        let shown = |at: &usize| !constant.contains(&self.columns[*at].key);
        let places: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        let unit = |at: usize| (self.columns[at].form == Form::Seconds).then(|| self.unit(at));
        let units: Vec<Option<format::TimeUnit>> = places.iter().map(|at| unit(*at)).collect();
        let titles = places.iter().zip(&units).map(|(at, unit)| match unit {
            Some(unit) => format!("{}\n{}", self.columns[*at].title, unit.name),
            None => self.columns[*at].title.to_owned(),
        });
        let mut table = Table::new(titles);
        for row in self.shown() {
            table.row(places.iter().zip(&units).map(|(at, unit)| match (&row[*at], unit) {
                (Cell::Number(seconds), Some(unit)) => format::figures(seconds * unit.per_second, 4),
                (cell, _) => prose(cell, self.columns[*at].form),
            }));
        }
        match self.rows.len() - self.shown().count() {
            0 => table.to_string(),
            missing => format!("{table}\n({missing} of {} rows are left out here; --json has all)", self.rows.len()),
        }
    }

    /// The rows of the table: all, or some at equal distances, with the first and the last.
    fn shown(&self) -> impl Iterator<Item = &Vec<Cell>> {
        let rows = self.rows.len();
        let shown = rows.min(ROWS_MAX);
        let place = move |at: usize| if shown < 2 { at } else { (at * (rows - 1) + (shown - 1) / 2) / (shown - 1) };
        (0..shown).map(move |at| &self.rows[place(at)])
    }

    /// The unit that suits a column of times: that of its median.
    fn unit(&self, column: usize) -> format::TimeUnit {
        let mut times: Vec<f64> =
            self.rows.iter().filter_map(|row| row[column].number()).filter(|s| *s > 0.0).collect();
        times.sort_by(f64::total_cmp);
        format::TimeUnit::of(times.get(times.len() / 2).copied().unwrap_or(1.0))
    }
}

/// `a = 35 us`. A title may have its equation in a second line.
fn stated(symbol: &str, cell: &Cell, form: Form) -> String {
    format!("{} = {}", symbol.lines().next().unwrap_or_default(), prose(cell, form))
}

fn prose(cell: &Cell, form: Form) -> String {
    match (cell, form) {
        (Cell::None, _) => "-".to_owned(),
        (Cell::Word(word), _) => (*word).to_owned(),
        (Cell::Number(number), Form::Bytes) => format::bytes(*number),
        (Cell::Number(number), Form::Count) => format!("{number:.0}"),
        (Cell::Number(number), Form::Fixed(decimals)) => format!("{number:.decimals$}"),
        (Cell::Number(number), Form::Percent) => format!("{:.2} %", 100.0 * number),
        (Cell::Number(number), Form::Rate) => format::figures(number / 1e6, 4),
        (Cell::Number(number), Form::Seconds) => format::seconds(*number),
        (Cell::Number(number), Form::SecondsPerByte) => format!("{}/byte", format::seconds(*number)),
        (Cell::Number(number), Form::Number | Form::Word) => format::figures(*number, 4),
        (Cell::Number(number), Form::Plain) => format::plain(*number),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::WIDTH;

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
            ..Answer::new("test", "Nobody 1994, eq. (1): T = x", columns, rows, "It is so.".into())
        }
    }

    #[test]
    fn text_has_it_all_in_units_that_suit() {
        let text = answer(3).text(false);
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
    fn long_tables_are_thinned_and_say_so() {
        for rows in [1, 2, ROWS_MAX, ROWS_MAX + 1, 999] {
            let answer = answer(rows);
            let shown: Vec<_> = answer.shown().collect();
            assert_eq!(shown.len(), rows.min(ROWS_MAX));
            assert_eq!((shown[0], shown[shown.len() - 1]), (&answer.rows[0], &answer.rows[rows - 1]));
            assert_eq!(answer.text(false).contains("left out"), rows > ROWS_MAX, "{rows} rows");
            assert_eq!(answer.json(None)["points"].as_array().map(Vec::len), Some(rows));
        }
    }

    #[test]
    fn a_single_row_is_a_table_with_all_it_was_asked_for() {
        let text = answer(1).text(false);
        assert!(text.contains("With a = 35 us") && text.contains("16"), "{text}");
    }

    #[test]
    fn json_has_numbers_in_base_units() {
        let json = answer(2).json(Some(json!({"path": "link.json"})));
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["from"]["path"], "link.json");
        assert_eq!(json["parameters"], json!({"a_s": 35e-6, "k": 3}));
        assert_eq!(
            json["points"][1],
            json!({"bytes": 2048.0, "t_s": 2e-3, "cheaper": "tree", "limit": null, "procs": 16})
        );
        assert_eq!((&json["best"], &json["notes"][0]), (&json!(7), &json!("assumed")));
        assert!(answer(1).json(None)["from"].is_null());
    }
}
