//! Collectives: what was predicted against what was measured, and what a calculation hides.

use serde_json::Value;

use crate::report::format::bytes;
use crate::report::html::figure::Figure;
use crate::report::html::figure::rows::{Row, Rows};
use crate::report::results::{Axis, Chart, Form, Look, Results};

/// The figures behind the tables of a member.
pub(super) fn figures(results: &Results, member: &str) -> Vec<Figure> {
    match member {
        "overlap" => overlap(results).into_iter().collect(),
        "errors" => [predicted(results), errors(results)].into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}

fn predicted(results: &Results) -> Option<Figure> {
    let points = |chosen: bool| -> Vec<[f64; 4]> {
        let rows = results.rows("points").iter().filter(|row| row["chosen"].as_bool() == Some(chosen));
        rows.filter_map(|row| {
            let (x, y) = (row["measured_s"].as_f64()?, row["predicted_s"].as_f64()?);
            Some([x, y, y, y])
        })
        .collect()
    };
    let (chosen, others) = (points(true), points(false));
    let times = || chosen.iter().chain(&others).flat_map(|point| [point[0], point[1]]).filter(|time_s| *time_s > 0.0);
    let ends = [times().reduce(f64::min)?, times().reduce(f64::max)?];
    let chart = Chart::new(Axis::log("measured", Form::Seconds), Axis::log("predicted", Form::Seconds))
        .curve("as measured", Look::Dotted, ends.map(|end| (end, end)))
        .points("algorithm that the library selects", chosen.clone())
        .points("another one", others.clone());
    chart.drawn().map(|_| Figure::new("Predicted against measured: all operations, algorithms and sizes", chart))
}

fn errors(results: &Results) -> Option<Figure> {
    let row = |row: &Value| {
        let of = |key: &str| row[key].as_f64().map(|at| [at, at, at]);
        Some(Row { label: row["operation"].as_str()?.to_owned(), marks: vec![of("median"), of("p90")] })
    };
    let axis = Axis::linear("error of the prediction, % of the measured time", Form::Percent(0));
    let series = vec!["median".to_owned(), "90th percentile".to_owned()];
    let rows = results.rows("errors").iter().filter_map(row).collect();
    let rows = Rows { axis, series, rows, is_joined: true, reference: Some(0.0) }.shown();
    rows.map(|rows| Figure::new("Errors of predictions by operation", rows))
}

fn overlap(results: &Results) -> Option<Figure> {
    let row = |row: &Value| {
        let of = |key: &str| {
            let at = row[key].as_f64()?;
            let end = |end: &str| row[format!("{key}_{end}")].as_f64().unwrap_or(at);
            Some([at, end("min"), end("max")])
        };
        let label =
            format!("{}, {} ranks, {}", row["operation"].as_str()?, row["ranks"], row["bytes"].as_f64().map(bytes)?);
        Some(Row { label, marks: vec![of("overlap"), of("messages_overlap")] })
    };
    let axis = Axis::linear("overlap, % of the communication", Form::Percent(0));
    let series = vec!["the collective".to_owned(), "messages of as many bytes".to_owned()];
    let rows = results.rows("overlap").iter().filter_map(row).collect();
    let rows = Rows { axis, series, rows, is_joined: false, reference: Some(0.0) }.shown();
    rows.map(|rows| Figure::new("How much of a collective a calculation hides", rows))
}
