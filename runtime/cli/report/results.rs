//! What a command has found out: its data, and how they are laid out as tables, curves and sentences. Pure.
//!
//! Every command that measures or predicts ends with one of these. `text` and `html` show it, JSON is the whole of it: data
//! under names that programs rely on, and `layout`, by which `lathide report` shows a saved result of any command.
//! A repeated measurement `x` has its median in the member `x`, and its least and greatest value in `x_min` and `x_max`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::axis::{Range, Scale, short, size};
pub(crate) use super::format::Form;
use super::format::seconds;
use super::verdict::Verdict;

/// What a command has found out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// `lathide-gain-2`: the command, and a version that changes when a member changes its meaning or goes.
    pub(crate) schema: String,
    /// The version of the program.
    pub(crate) lathide: String,
    /// What was measured or predicted.
    pub(crate) title: String,
    #[serde(flatten)]
    pub(crate) data: Map<String, Value>,
    /// How the data are shown, from top to bottom.
    pub(crate) layout: Vec<Part>,
    /// What was assumed.
    pub(crate) notes: Vec<String>,
    /// What a measurement is worth; none of what was not measured, and of results of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
    /// What it means.
    pub(crate) conclusion: String,
    /// When not to trust the numbers.
    pub(crate) warnings: Vec<String>,
    /// The signal that ended the measurement early, if one did.
    #[serde(skip)]
    pub(crate) ended_by_signal: Option<i32>,
}

/// A part of what is shown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Text(String),
    Table(Table),
    Chart(Chart),
}

/// Rows of the data as a table. Without rows nothing is shown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(super) title: String,
    rows: Rows,
    pub(super) columns: Vec<Column>,
}

/// Where a table's rows are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rows {
    /// In this member of the data.
    Of(String),
    /// In this member; those whose member has this value.
    Where(String, String, Value),
    /// Here.
    Here(Vec<Value>),
}

/// A column of a table, and a member of each of its rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) key: String,
    /// May have several lines.
    pub(crate) title: String,
    pub(crate) form: Form,
    /// Whether the least and the greatest value stand beside it.
    pub(super) has_range: bool,
}

/// Curves and points.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Chart {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

/// An axis of a chart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Axis {
    pub(super) label: String,
    pub(super) form: Form,
    pub(super) is_log: bool,
}

/// A curve, or points.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(super) name: String,
    pub(super) look: Look,
    /// x, y, and the least and the greatest y.
    pub(super) points: Vec<[f64; 4]>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Look {
    /// A line.
    Solid,
    /// A line with gaps.
    Dotted,
    Points,
}

/// A value of a row. What is no number (a quotient may be too large) is left out.
macro_rules! row {
    ($($cell:expr),+ $(,)?) => { vec![$(::serde_json::Value::from($cell)),+] };
}
pub(crate) use row;

impl Results {
    /// The results of a command, with these data: an object whose [`Summary`](super::summary::Summary) members become
    /// three members each. `schema` has no version for what is not an object.
    pub(crate) fn new(schema: &str, title: impl Into<String>, data: &impl Serialize) -> Self {
        let data = match serde_json::to_value(data).map(flattened) {
            Ok(Value::Object(data)) => data,
            _ => Map::new(),
        };
        Results {
            schema: schema.to_owned(),
            lathide: env!("CARGO_PKG_VERSION").to_owned(),
            title: title.into(),
            data,
            layout: Vec::new(),
            notes: Vec::new(),
            verdict: None,
            conclusion: String::new(),
            warnings: Vec::new(),
            ended_by_signal: None,
        }
    }

    /// What it is worth and what it means: the verdict first, since it says how to read the rest.
    pub(super) fn meaning(&self) -> String {
        let verdict = self.verdict.as_ref().map(Verdict::in_words).unwrap_or_default();
        format!("{verdict} {}", self.conclusion).trim().to_owned()
    }

    /// Shows a paragraph next, if it is not empty.
    pub(crate) fn text(&mut self, paragraph: impl Into<String>) -> &mut Self {
        let paragraph = paragraph.into();
        if !paragraph.is_empty() {
            self.layout.push(Part::Text(paragraph));
        }
        self
    }

    /// Shows a table next.
    pub(crate) fn table(&mut self, table: Table) -> &mut Self {
        self.layout.push(Part::Table(table));
        self
    }

    /// Shows a chart next, unless it has no place for curves: fewer than two values on the x axis.
    pub(crate) fn chart(&mut self, chart: Chart) -> &mut Self {
        let mut values = chart.series.iter().flat_map(|series| &series.points).map(|point| point[0]);
        let first = values.next();
        if values.any(|value| Some(value) != first) {
            self.layout.push(Part::Chart(chart));
        }
        self
    }

    /// The points (`x`, `y`) of a member's rows, for a chart.
    pub(crate) fn series(&self, member: &str, x: &str, y: &str) -> Vec<[f64; 4]> {
        points(self.rows(member), x, y)
    }

    /// The rows in a member; none if it is no list.
    pub(crate) fn rows(&self, member: &str) -> &[Value] {
        self.data.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The points (`x`, `y`) of rows, with the least and the greatest `y` where they are there.
pub(crate) fn points<'a>(rows: impl IntoIterator<Item = &'a Value>, x: &str, y: &str) -> Vec<[f64; 4]> {
    let point = |row: &Value| {
        let value = row[y].as_f64()?;
        let end = |end: &str| row[format!("{y}_{end}")].as_f64().unwrap_or(value);
        Some([row[x].as_f64()?, value, end("min"), end("max")])
    };
    rows.into_iter().filter_map(point).collect()
}

impl Table {
    /// The rows in a member of the data.
    pub(crate) fn of(member: &str) -> Self {
        Table { title: String::new(), rows: Rows::Of(member.to_owned()), columns: Vec::new() }
    }

    /// Rows of its own.
    pub(crate) fn with(rows: Vec<Value>) -> Self {
        Table { title: String::new(), rows: Rows::Here(rows), columns: Vec::new() }
    }

    /// Of the rows those whose member `key` is `value`.
    pub(crate) fn only(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Rows::Of(member) = self.rows {
            self.rows = Rows::Where(member, key.to_owned(), value.into());
        }
        self
    }

    /// A paragraph above the table.
    pub(crate) fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a column.
    pub(crate) fn column(mut self, key: &str, title: &str, form: Form) -> Self {
        self.columns.push(Column { key: key.to_owned(), title: title.to_owned(), form, has_range: false });
        self
    }

    /// Adds a column of medians with the least and the greatest value beside them.
    pub(crate) fn range(mut self, key: &str, title: &str, form: Form) -> Self {
        self.columns.push(Column { key: key.to_owned(), title: title.to_owned(), form, has_range: true });
        self
    }

    /// The member of the data that has its rows, if these are not its own.
    pub(super) fn member(&self) -> Option<&str> {
        match &self.rows {
            Rows::Of(member) | Rows::Where(member, ..) => Some(member),
            Rows::Here(_) => None,
        }
    }

    /// What its rows have in common, if they were chosen by a word.
    pub(super) fn common(&self) -> Option<&str> {
        match &self.rows {
            Rows::Where(_, _, word) => word.as_str(),
            _ => None,
        }
    }

    /// The rows that are its own.
    pub(super) fn own_rows(&self) -> &[Value] {
        if let Rows::Here(rows) = &self.rows { rows } else { &[] }
    }

    /// The title and the rows, if there are any.
    pub(super) fn filled<'a>(&'a self, results: &'a Results) -> Option<(&'a str, Vec<&'a Value>)> {
        let rows: Vec<&Value> = match &self.rows {
            Rows::Of(member) => results.rows(member).iter().collect(),
            Rows::Where(member, key, value) => results.rows(member).iter().filter(|row| row[key] == *value).collect(),
            Rows::Here(rows) => rows.iter().collect(),
        };
        (!rows.is_empty()).then_some((&self.title, rows))
    }
}

impl Axis {
    /// With equal distances for equal differences.
    pub(crate) fn linear(label: impl Into<String>, form: Form) -> Self {
        Axis { label: label.into(), form, is_log: false }
    }

    /// With equal distances for equal ratios.
    pub(crate) fn log(label: impl Into<String>, form: Form) -> Self {
        Axis { label: label.into(), form, is_log: true }
    }

    pub(super) fn scale(&self) -> Scale {
        match (self.is_log, self.form) {
            (false, _) => Scale::Linear,
            (true, Form::Bytes) => Scale::Log(4),
            (true, Form::Seconds) => Scale::Log(10),
            (true, _) => Scale::Log(2),
        }
    }

    /// The label, and the unit if `text` leaves it out.
    pub(super) fn title(&self) -> String {
        if self.form == Form::Rate { format!("{}, MB/s", self.label) } else { self.label.clone() }
    }

    /// A value beside a tick.
    pub(super) fn text(&self, value: f64) -> String {
        match self.form {
            Form::Bytes => size(value),
            Form::Rate => short(1e-6 * value),
            Form::Seconds => seconds(value),
            _ => short(value),
        }
    }
}

impl Chart {
    /// An empty chart.
    pub(crate) fn new(x: Axis, y: Axis) -> Self {
        Chart { x, y, series: Vec::new() }
    }

    /// The same with equal distances for equal ratios on the y axis.
    pub(crate) fn log_y(mut self) -> Self {
        self.y.is_log = true;
        self
    }

    /// Adds a curve through these points, in the order of x.
    pub(crate) fn curve(
        self,
        name: impl Into<String>,
        look: Look,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        self.with(name, look, points.into_iter().map(|(x, y)| [x, y, y, y]).collect())
    }

    /// What its axes show.
    pub(super) fn labels(&self) -> (&str, &str) {
        (&self.x.label, &self.y.label)
    }

    /// Adds points, with their ranges.
    pub(crate) fn points(self, name: impl Into<String>, points: Vec<[f64; 4]>) -> Self {
        self.with(name, Look::Points, points)
    }

    fn with(mut self, name: impl Into<String>, look: Look, mut points: Vec<[f64; 4]>) -> Self {
        points.retain(|point| self.shows(point));
        if !points.is_empty() {
            self.series.push(Series { name: name.into(), look, points });
        }
        self
    }

    /// Whether a point can be drawn.
    fn shows(&self, [x, ys @ ..]: &[f64; 4]) -> bool {
        self.x.scale().shows(*x) && ys.iter().all(|y| self.y.scale().shows(*y))
    }

    /// What can be drawn, and the ranges of the axes; `None` if that is nothing.
    pub(super) fn drawn(&self) -> Option<(Vec<Series>, Range, Range)> {
        let series = self.series.iter().map(|series| {
            let points = series.points.iter().filter(|point| self.shows(point)).copied().collect();
            Series { points, ..series.clone() }
        });
        let series: Vec<Series> = series.collect();
        let all = || series.iter().flat_map(|series| &series.points);
        let x = self.x.scale().range(all().map(|point| point[0]))?;
        let y = self.y.scale().range(all().flat_map(|[_, ys @ ..]| *ys))?;
        Some((series, x, y))
    }
}

/// How finely a curve is drawn.
const SAMPLES: u32 = 160;

/// Values above 0 at equal ratios from the least to the greatest, for a curve.
pub(crate) fn dense(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let positive = values.filter(|value| *value > 0.0 && value.is_finite());
    let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let samples = if low <= high { SAMPLES + 1 } else { 0 };
    (0..samples).map(move |sample| low * (high / low).powf(f64::from(sample) / f64::from(SAMPLES)))
}

/// Members that are summaries become three members each.
fn flattened(value: Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.into_iter().map(flattened).collect()),
        Value::Object(members) => {
            let mut flat = Map::new();
            for (name, member) in members {
                match summary(&member) {
                    Some([median, min, max]) => {
                        flat.insert(format!("{name}_min"), min);
                        flat.insert(format!("{name}_max"), max);
                        flat.insert(name, median);
                    }
                    None => _ = flat.insert(name, flattened(member)),
                }
            }
            Value::Object(flat)
        }
        plain => plain,
    }
}

/// Median, minimum and maximum, if that is what the value consists of.
fn summary(value: &Value) -> Option<[Value; 3]> {
    let members = value.as_object().filter(|members| members.len() == 3)?;
    let member = |name| members.get(name).cloned();
    Some([member("median")?, member("min")?, member("max")?])
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
