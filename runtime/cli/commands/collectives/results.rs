//! What was measured beside what was predicted, summed up.

use crate::report::description::MachineDescription;
use crate::report::format::seconds;
use crate::report::plot::SIGNS;
use crate::report::results::{Axis, Chart, Form, Look, Results, Table};
use crate::report::summary::Summary;
use lathide::Collective;
use serde::Serialize;
use serde_json::{Value, json};

use super::plan::{Hidden, Measured, Parameters, Point, Times};
use crate::commands::common::compared::{self, Compared, median_interval};
use crate::commands::common::console::Link;

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-collectives-2";
/// A choice is good if it takes no longer than so many times the fastest.
const GOOD: f64 = 1.1;

/// One operation by one algorithm, in one size among so many ranks. Times are of the slowest rank.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Row<'a> {
    operation: Collective,
    algorithm: &'a str,
    ranks: u32,
    bytes: u64,
    measured_s: Summary,
    predicted_s: f64,
    /// `predicted / measured - 1`.
    error: f64,
    /// Whether the library would take this algorithm.
    chosen: bool,
    /// If so: its time over that of the fastest algorithm, where another was measured.
    over_fastest: Option<f64>,
}

/// The results; `None` if nothing was measured. In the JSON object:
///
/// - `repeats`: repetitions, at what was repeated least.
/// - `median_interval`: with which probability `_min` and `_max` hold the median; null with fewer than six repetitions.
/// - `comparisons`: of each operation a repetition beside the next one (A/A).
/// - `rounds`: of each point the seconds of every repetition, in the order of measurement.
/// - `background_load`: the share of all processors' time that other programs had; unknown on some systems.
/// - `errors`: absolute relative errors of each operation's predictions.
/// - `choice`: of how many operations, sizes and numbers of ranks the chosen algorithm and another were measured, where it
///   takes at most 1.1 of the fastest one's time, and the share of these, if there are any.
/// - `overlap`: a collective behind a calculation. Times are medians, of the slowest rank. Beside it messages point to
///   point of as many bytes behind a calculation of their own: what can be hidden on this link.
pub(super) fn results(link: Link, measured: &[Measured], background_load: Option<f64>) -> Option<Results> {
    let rows: Vec<Row<'_>> = measured.iter().flat_map(rows).collect();
    let most = rows.iter().map(|row| row.ranks).max()?;
    let over: Vec<f64> = rows.iter().filter_map(|row| row.over_fastest).collect();
    let good = over.iter().filter(|over| **over <= GOOD).count();
    let share = (!over.is_empty()).then(|| good as f64 / over.len() as f64);
    let machine = MachineDescription::here();
    let data = json!({
        "link": link,
        "machine": machine,
        "parameters": measured.iter().map(|measured| measured.parameters).collect::<Vec<_>>(),
        "repeats": measured.iter().flat_map(|measured| &measured.points).map(|point| point.times_s.len()).min(),
        "median_interval": measured.iter().flat_map(|it| &it.points).map(|it| it.times_s.len()).min().map(median_interval),
        "background_load": background_load,
        "comparisons": measured.iter().filter_map(same).collect::<Vec<_>>(),
        "rounds": measured.iter().flat_map(rounds).collect::<Vec<_>>(),
        "points": rows,
        "errors": Collective::ALL.into_iter().filter_map(|of| errors(of, &rows)).collect::<Vec<_>>(),
        "choice": { "points": over.len(), "good": good, "share": share },
        "overlap": measured.iter().flat_map(overlap).collect::<Vec<_>>(),
    });
    let mut results = Results::new(SCHEMA, "Collectives by every algorithm", &data);
    // Where the model is of another network than the emulated one.
    let paths = if most > 2 && link.emulated && !link.spec.contains("shared") {
        "Over this link each pair of ranks has a path of its own. Prices are of ranks with one port each: too high where a \
         rank sends to several at once, or receives from them. In `lathide lab` each host has one port."
    } else {
        ""
    };
    results.text(format!(
        "Beside each stands its price by the link's parameters (a, b). Times are of the slowest rank, measured in turns. {paths}"
    ));
    for operation in Collective::ALL.into_iter().filter(|of| rows.iter().any(|row| row.operation == *of)) {
        let of = measured.iter().map(|measured| &measured.parameters).filter(|of| of.operation == operation);
        let title = format!("{operation}. {}", of.map(parameters).collect::<Vec<_>>().join(" "));
        results.table(table(operation).title(title));
        if let Some(chart) = curve(rows.iter().filter(|row| row.operation == operation)) {
            results.chart(chart);
        }
    }
    results.table(overlap_table(most as usize, machine.cores)).table(
        Table::of("errors")
            .title("Predicted against measured.")
            .column("operation", "operation", Form::Word)
            .column("points", "points", Form::Count)
            .column("median", "median\nerror", Form::Percent(0))
            .column("p90", "p90\nerror", Form::Percent(0)),
    );
    results.table(compared::table());
    results.conclusion = share.map_or(
        "Nothing was to be chosen: of no operation the chosen algorithm and another were measured.".to_owned(),
        |share| {
            let (points, share) = (over.len(), 100.0 * share);
            format!(
                "The chosen algorithm is the fastest or within 10 % of it in {good} of {points} cases ({share:.0} %)."
            )
        },
    );
    Some(results)
}

/// The chosen algorithm with the shortest messages, a repetition beside the next one: the same, so no difference.
fn same(measured: &Measured) -> Option<Compared> {
    let Measured { parameters, points, .. } = measured;
    let point = points.iter().filter(|point| point.is_chosen).min_by_key(|point| point.bytes)?;
    let Parameters { operation, ranks, .. } = parameters;
    let what = format!("{operation} of {} B, {ranks} ranks, over the next (A/A)", point.bytes);
    let pairs = point.times_s.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    Compared::of(what, pairs).filter(|same| same.pairs > 0)
}

/// All repetitions of every point.
fn rounds(measured: &Measured) -> impl Iterator<Item = Value> {
    let Parameters { operation, ranks, .. } = measured.parameters;
    measured.points.iter().map(move |Point { algorithm, bytes, times_s, .. }| {
        json!({ "operation": operation, "ranks": ranks, "algorithm": algorithm, "bytes": bytes, "times_s": times_s })
    })
}

fn overlap_table(ranks: usize, cores: usize) -> Table {
    let shared = match ranks > cores {
        true => {
            format!(
                " With more than {cores} ranks they share this machine's cores, for the calculation as for the messages."
            )
        }
        false => String::new(),
    };
    Table::of("overlap")
        .title(format!(
            "Each of a row behind a calculation of about 1.1 t_com on all ranks at once, roots in turn. Overlap: 1 - \
             (t_total - t_calc) / t_com; of messages: that of as many bytes point to point, in the same minute.{shared}"
        ))
        .column("operation", "operation", Form::Word)
        .column("ranks", "ranks", Form::Count)
        .column("bytes", "bytes", Form::Bytes)
        .column("t_calc_s", "t_calc", Form::Seconds)
        .column("t_com_s", "t_com", Form::Seconds)
        .column("t_total_s", "t_total", Form::Seconds)
        .range("overlap", "overlap", Form::Percent(0))
        .range("messages_overlap", "messages", Form::Percent(0))
}

fn table(operation: Collective) -> Table {
    Table::of("points")
        .only("operation", operation.name())
        .column("ranks", "ranks", Form::Count)
        .column("bytes", "bytes", Form::Bytes)
        .column("algorithm", "algorithm", Form::Word)
        .range("measured_s", "measured", Form::Seconds)
        .column("predicted_s", "predicted", Form::Seconds)
        .column("error", "error", Form::SignedPercent(0))
        .column("chosen", "chosen", Form::Mark)
        .column("over_fastest", "of the\nfastest", Form::Fixed(2))
}

/// What prices follow from.
fn parameters(parameters: &Parameters) -> String {
    let Parameters { ranks, a_s, b_s_per_byte, overhead_s, is_shared, is_fitted, .. } = parameters;
    let how = if *is_fitted { "fitted" } else { "assumed: the links have not shown enough" };
    let (a, overhead, b) = (seconds(*a_s), seconds(*overhead_s), seconds(*b_s_per_byte));
    let of = if *is_shared { " of one medium for all" } else { "" };
    format!("{ranks} ranks: a = {a} ({overhead} of processor at each end), b = {b} per byte{of}, {how}.")
}

/// Times over sizes among the most ranks: points measured, curves predicted. Of many algorithms the first.
fn curve<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> Option<Chart> {
    let mut rows: Vec<&Row<'_>> = rows.collect();
    let ranks = rows.iter().map(|row| row.ranks).max()?;
    rows.retain(|row| row.ranks == ranks && row.bytes > 0);
    let mut algorithms: Vec<&str> = Vec::new();
    for row in &rows {
        if !algorithms.contains(&row.algorithm) {
            algorithms.push(row.algorithm);
        }
    }
    // Both axes are logarithmic, since times differ as much as sizes.
    let x = Axis::log(format!("bytes, {ranks} ranks; curves: predicted"), Form::Bytes);
    let mut chart = Chart::new(x, Axis::log("time", Form::Seconds));
    for name in algorithms.into_iter().take(SIGNS.len()) {
        let own = || rows.iter().filter(|row| row.algorithm == name);
        let predicted = own().map(|row| (row.bytes as f64, row.predicted_s));
        let measured = own().map(|row| {
            let Summary { median, min, max } = row.measured_s;
            [row.bytes as f64, median, min, max]
        });
        chart = chart.curve("", Look::Dotted, predicted).points(name, measured.collect());
    }
    Some(chart)
}

/// The points of one operation among so many ranks.
fn rows<'a>(measured: &'a Measured) -> Vec<Row<'a>> {
    let Parameters { operation, ranks, .. } = measured.parameters;
    let median_s = |point: &Point| Some(Summary::of(point.times_s.iter().copied())?.median);
    let row = |Point { algorithm, bytes, predicted_s, is_chosen, times_s }: &'a Point| {
        let measured_s = Summary::of(times_s.iter().copied())?;
        let same = measured.points.iter().filter(|other| other.bytes == *bytes);
        let medians_s: Vec<f64> = same.filter_map(median_s).collect();
        let fastest_s = medians_s.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Row {
            operation,
            algorithm,
            ranks,
            bytes: *bytes,
            measured_s,
            predicted_s: *predicted_s,
            error: predicted_s / measured_s.median.max(f64::MIN_POSITIVE) - 1.0,
            chosen: *is_chosen,
            over_fastest: (*is_chosen && medians_s.len() > 1).then_some(measured_s.median / fastest_s),
        })
    };
    measured.points.iter().filter_map(row).collect()
}

fn errors(operation: Collective, rows: &[Row<'_>]) -> Option<Value> {
    let own = rows.iter().filter(|row| row.operation == operation);
    let mut errors: Vec<f64> = own.map(|row| row.error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let median = Summary::of(errors.iter().copied())?.median;
    let p90 = errors[(0.9 * errors.len() as f64).ceil() as usize - 1];
    Some(json!({ "operation": operation, "median": median, "p90": p90, "points": errors.len() }))
}

fn overlap(measured: &Measured) -> Vec<Value> {
    let Parameters { operation, ranks, .. } = measured.parameters;
    let row = |Hidden { bytes, collective, messages }: &Hidden| {
        let over = |times: &[Times], of: fn(&Times) -> f64| Summary::of(times.iter().map(of));
        let overlap = |times: &Times| 1.0 - (times.total_s - times.calc_s) / times.com_s;
        Some(json!({
            "operation": operation,
            "ranks": ranks,
            "bytes": bytes,
            "t_calc_s": over(collective, |times| times.calc_s)?.median,
            "t_com_s": over(collective, |times| times.com_s)?.median,
            "t_total_s": over(collective, |times| times.total_s)?.median,
            "overlap": over(collective, overlap)?,
            "messages_t_com_s": over(messages, |times| times.com_s)?.median,
            "messages_overlap": over(messages, overlap)?,
        }))
    };
    measured.hidden.iter().filter_map(row).collect()
}
