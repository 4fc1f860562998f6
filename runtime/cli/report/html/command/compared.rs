//! Things measured in pairs: the ratio within pairs, and its interval.

use crate::report::html::figure::Figure;
use crate::report::html::figure::rows::{Row, Rows};
use crate::report::results::{Axis, Form, Results};

pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let rows = results.rows("comparisons").iter().filter_map(|row| {
        let ratio = row["ratio"].as_f64()?;
        let end = |end: &str| row[end].as_f64().unwrap_or(ratio);
        Some(Row { label: row["what"].as_str()?.to_owned(), marks: vec![Some([ratio, end("low"), end("high")])] })
    });
    let rows: Vec<Row> = rows.collect();
    let has_interval = results.rows("comparisons").iter().any(|row| row["low"].is_f64());
    let axis = Axis::log("ratio within pairs, no unit; 1: no difference", Form::Plain);
    let rows = Rows { axis, series: vec![String::new()], rows, is_joined: false, reference: Some(1.0) }.shown();
    let title = if has_interval {
        "Ratios of what was measured in pairs, with their 95 % intervals"
    } else {
        "Ratios of what was measured in pairs"
    };
    rows.map(|rows| Figure::new(title, rows)).into_iter().collect()
}
