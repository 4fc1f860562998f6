//! Tables: as HTML that scrolls in its own box, and as comma-separated values.

use std::cmp::Ordering;

use serde_json::Value;

use super::markup::{classed, escaped};
use crate::report::format::{self, Form};
use crate::report::results::{Column, Results, Table};

/// A table to be shown.
pub(super) struct Grid {
    /// Above it.
    pub(super) title: String,
    columns: Vec<Column>,
    rows: Vec<Value>,
    /// Whether the first column ascends.
    ascends: bool,
}

impl Grid {
    /// A table of the results, if it has rows.
    pub(super) fn of(table: &Table, results: &Results) -> Option<Self> {
        let (title, rows) = table.filled(results)?;
        let mut rows: Vec<Value> = rows.into_iter().cloned().collect();
        let keys: Vec<&str> =
            table.columns.iter().take_while(|column| is_key(column)).map(|column| &*column.key).collect();
        rows.sort_by(|one, other| {
            keys.iter().map(|key| order(&one[*key], &other[*key])).find(|by| by.is_ne()).unwrap_or(Ordering::Equal)
        });
        Some(Grid { title: title.to_owned(), columns: table.columns.clone(), rows, ascends: !keys.is_empty() })
    }

    pub(super) fn html(&self) -> String {
        let mut head = String::new();
        for (at, column) in self.columns.iter().enumerate() {
            let title = column.title.replace("-\n", "").replace('\n', " ");
            let sorted = if at == 0 && self.ascends { " aria-sort=\"ascending\"" } else { "" };
            head += &format!("<th scope=\"col\"{}{sorted}>{}</th>", class(column), escaped(title.trim()));
            if column.has_range {
                head += "<th scope=\"col\">min</th><th scope=\"col\">max</th>";
            }
        }
        let classes = self.columns.iter().flat_map(|column| ends(column).iter().map(|_| class(column)));
        let classes: Vec<&str> = classes.collect();
        let mut rows = String::new();
        for row in &self.rows {
            let cells = self.cells(row, cell);
            let cells = classes.iter().zip(&cells).map(|(class, cell)| format!("<td{class}>{}</td>", escaped(cell)));
            rows += &format!("<tr>{}</tr>\n", cells.collect::<String>());
        }
        let caption = classed("caption", &self.title);
        let label = if self.title.is_empty() { "table".to_owned() } else { short(&self.title) };
        let label = escaped(&label);
        format!(
            "{caption}<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\"><table aria-label=\"{label}\">\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
        )
    }

    /// The members as they are saved, in their units: seconds, bytes, shares.
    pub(super) fn csv(&self) -> Vec<Vec<String>> {
        let plain = |value: &Value, _: Form| match value {
            Value::Null => String::new(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let mut lines = vec![Vec::new()];
        for column in &self.columns {
            lines[0].extend(ends(column).iter().map(|end| format!("{}{end}", column.key)));
        }
        lines.extend(self.rows.iter().map(|row| self.cells(row, plain)));
        lines
    }

    fn cells(&self, row: &Value, text: impl Fn(&Value, Form) -> String) -> Vec<String> {
        let cell = |column: &Column, end: &str| text(&row[format!("{}{end}", column.key)], column.form);
        self.columns
            .iter()
            .flat_map(|column| ends(column).iter().map(move |end| (column, *end)))
            .map(|(column, end)| cell(column, end))
            .collect()
    }
}

/// The first sentence of a title.
pub(super) fn short(title: &str) -> String {
    title.split(['.', ':', ';']).next().unwrap_or(title).trim().to_owned()
}

fn ends(column: &Column) -> &'static [&'static str] {
    if column.has_range { &["", "_min", "_max"] } else { &[""] }
}

/// A value with its unit; a mark as a word, which can be read aloud.
fn cell(value: &Value, form: Form) -> String {
    match (form, value) {
        (Form::Mark, Value::Bool(true)) => "yes".to_owned(),
        _ => format::value(value, form),
    }
}

/// Words begin where their column begins; numbers end where it ends.
fn class(column: &Column) -> &'static str {
    if column.form == Form::Word { " class=\"word\"" } else { "" }
}

/// Whether a column in front says where a row is, by a number. Rows that begin with a word keep the order of their command.
fn is_key(column: &Column) -> bool {
    !column.has_range && matches!(column.form, Form::Bytes | Form::Count | Form::Fixed(_) | Form::Number | Form::Plain)
}

fn order(one: &Value, other: &Value) -> Ordering {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_go_by_the_numbers_in_front_and_values_keep_their_digits() {
        let rows = json!([{"n": 4, "bytes": 64, "what": "b", "t_s": 0.25}, {"n": 2, "bytes": 8, "what": "a", "t_s": null}, {"n": 4, "bytes": 8, "what": "c"}]);
        let results = Results::new("lathide-test-1", "", &json!({ "points": rows }));
        let table = Table::of("points").title("A table: more.").column("n", "n", Form::Count);
        let table = table.column("bytes", "bytes", Form::Bytes).column("what", "what", Form::Word).range(
            "t_s",
            "t",
            Form::Seconds,
        );
        let grid = Grid::of(&table, &results).unwrap();
        let csv = grid.csv();
        assert_eq!(csv[0], ["n", "bytes", "what", "t_s", "t_s_min", "t_s_max"]);
        assert_eq!(csv[1..].iter().map(|row| row[2].as_str()).collect::<Vec<_>>(), ["a", "c", "b"]);
        assert_eq!(csv[3][3], "0.25");
        let html = grid.html();
        assert!(
            html.contains("<p class=\"caption\">A table: more.</p>") && html.contains("aria-label=\"A table\""),
            "{html}"
        );
        assert!(html.contains("aria-sort") && html.contains("<td>250 ms</td>"), "{html}");
        assert!(Grid::of(&Table::of("none"), &results).is_none());
    }
}
