//! The gain of a program: its pairs of runs with overlap off and on, and what its ranks observed.

use serde_json::Value;

use super::run;
use crate::report::html::figure::Figure;
use crate::report::html::figure::rows::{Row, Rows};
use crate::report::html::section::Section;
use crate::report::results::{Axis, Form, Results};

/// Shows the pairs and the regions.
pub(super) fn show(section: &mut Section, results: &Results) {
    section.figure(pairs(results));
    let reports = results.data.get("reports").unwrap_or(&Value::Null);
    run::figures(reports).into_iter().for_each(|figure| section.figure(Some(figure)));
}

fn pairs(results: &Results) -> Option<Figure> {
    let row = |(at, row): (usize, &Value)| {
        let of = |key: &str| row[key].as_f64().map(|time_s| [time_s, time_s, time_s]);
        let sequence = row["sequence"].as_u64().unwrap_or(at as u64);
        Row { label: format!("pair {}", sequence + 1), marks: vec![of("t_off_s"), of("t_on_s")] }
    };
    let rows = results.rows("rounds").iter().enumerate().map(row).collect();
    let series = vec!["overlap off".to_owned(), "overlap on".to_owned()];
    let rows =
        Rows { axis: Axis::linear("time of a run", Form::Seconds), series, rows, is_joined: true, reference: None };
    rows.shown().map(|rows| Figure::new("Pairs of runs with overlap off and on", rows))
}
