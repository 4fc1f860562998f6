//! A link beside raw TCP: figures of what its layout has as tables and sentences.

use serde_json::Value;

use crate::report::html::figure::Figure;
use crate::report::html::figure::rows::{Row, Rows};
use crate::report::results::{Axis, Chart, Form, Results};

/// The variants, as members of a row begin, and their names.
const VARIANTS: [(&str, &str); 3] = [("lathide", "lathide"), ("raw", "raw, blocking"), ("raw_polled", "raw, polled")];

/// The figures behind the tables of a member.
pub(super) fn figures(results: &Results, member: &str) -> Vec<Figure> {
    match member {
        "exchange" => exchange(results).into_iter().collect(),
        "overlap" => overlap(results).into_iter().collect(),
        // What is told in sentences stands behind the last table that is always there.
        "fragments" => [
            fragments(results),
            rate(results),
            under_load(results),
            processor(results, "message"),
            processor(results, "mib"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        _ => Vec::new(),
    }
}

/// A chart over sizes, if there is anything in it.
fn by_size(title: &str, chart: Chart) -> Option<Figure> {
    chart.drawn().map(|_| Figure::new(title, chart))
}

fn exchange(results: &Results) -> Option<Figure> {
    let of = |key: &str| results.series("exchange", "bytes", key);
    let chart = Chart::new(Axis::log("message bytes", Form::Bytes), Axis::log("a message each way", Form::Seconds))
        .points("one after the other", of("pingpong_s"))
        .points("both at once", of("simultaneous_s"))
        .points("both at once, raw TCP", of("raw_simultaneous_s"));
    by_size("Exchange: a message each way against its size", chart)
}

fn overlap(results: &Results) -> Option<Figure> {
    let of = |member: &str, key: &str| results.series(member, "bytes", key);
    let chart = Chart::new(
        Axis::log("message bytes", Form::Bytes),
        Axis::linear("overlap, % of the communication", Form::Percent(0)),
    )
    .points("one way", of("overlap", "overlap"))
    .points("both ways at once", of("exchange_overlap", "overlap"))
    .points("processor available, one way", of("overlap", "availability"));
    by_size("Overlap against the size of a message", chart)
}

fn fragments(results: &Results) -> Option<Figure> {
    let mut sizes: Vec<u64> = results.rows("fragments").iter().filter_map(|row| row["bytes"].as_u64()).collect();
    sizes.dedup();
    let mut chart = Chart::new(Axis::log("fragment bytes", Form::Bytes), Axis::log("one way", Form::Seconds));
    for size in sizes {
        let own = results.rows("fragments").iter().filter(|row| row["bytes"] == size);
        let name = format!("a message of {}", crate::report::format::bytes(size as f64));
        chart = chart.points(name, crate::report::results::points(own, "fragment_bytes", "s"));
    }
    by_size("One-way time against the size of fragments", chart)
}

fn rate(results: &Results) -> Option<Figure> {
    let of = results.data.get("message_rate")?;
    let bytes = of["bytes"].as_f64().map(crate::report::format::bytes)?;
    let axis = Axis::linear("messages per second", Form::Count);
    one_of_each(&format!("Message rate: messages of {bytes}"), axis, of, "_per_s")
}

fn processor(results: &Results, member: &str) -> Option<Figure> {
    let of = &results.data.get("processor")?[member];
    let what = if member == "mib" { "per MiB streamed" } else { "per short message to and fro" };
    let axis = Axis::linear("processor time of both processes", Form::Seconds);
    one_of_each(&format!("Processor time {what}"), axis, of, "_s")
}

/// A row for each variant.
fn one_of_each(title: &str, axis: Axis, of: &Value, unit: &str) -> Option<Figure> {
    let rows = VARIANTS.iter().filter_map(|(variant, name)| {
        Some(Row { label: (*name).to_owned(), marks: vec![Some(ends(of, &format!("{variant}{unit}"))?)] })
    });
    let rows = Rows { axis, series: vec![String::new()], rows: rows.collect(), is_joined: false, reference: None };
    rows.shown().map(|rows| Figure::new(title, rows))
}

fn under_load(results: &Results) -> Option<Figure> {
    let of = results.data.get("under_load")?;
    let long = of["bytes"].as_f64().map(crate::report::format::bytes)?;
    let row = |label: String, median: &str, p99: &str| Row {
        label,
        marks: [median, p99].map(|key| of[key].as_f64().map(|at| [at, at, at])).to_vec(),
    };
    let rows =
        vec![row("alone".to_owned(), "idle_p50_s", "idle_p99_s"), row(format!("beside {long}"), "p50_s", "p99_s")];
    let axis = Axis::log("8 bytes, one way", Form::Seconds);
    let rows =
        Rows { axis, series: vec!["median".into(), "99th percentile".into()], rows, is_joined: false, reference: None };
    rows.shown().map(|rows| Figure::new("Latency under load", rows))
}

/// A median with the least and the greatest.
fn ends(of: &Value, key: &str) -> Option<[f64; 3]> {
    let median = of[key].as_f64()?;
    let end = |end: &str| of[format!("{key}_{end}")].as_f64().unwrap_or(median);
    Some([median, end("min"), end("max")])
}
