//! What was measured beside what was predicted, summed up.

use std::collections::BTreeMap;

use crate::report::description::MachineDescription;
use crate::report::format::seconds;
use crate::report::plot::SIGNS;
use crate::report::results::{Axis, Chart, Form, Look, Results, Table};
use crate::report::summary::Summary;
use lathide::Collective;
use serde::Serialize;

use super::plan::{Event, Hidden, Parameters, Point, Times};
use crate::commands::common::console::Link;

/// The version changes when a member of [`Outcome`] changes its meaning or goes.
const SCHEMA: &str = "lathide-collectives-2";
/// A choice is good if it takes no longer than so many times the fastest.
const GOOD: f64 = 1.1;

/// What the nodes of one number of ranks have said.
#[derive(Default)]
pub(super) struct Heard {
    parameters: Option<Parameters>,
    grid: Vec<Point>,
    rounds: Vec<Vec<f64>>,
    hidden: Vec<Hidden>,
}

impl Heard {
    pub(super) fn of(events: Vec<Event>) -> Self {
        let mut heard = Heard::default();
        for event in events {
            match event {
                Event::Parameters(parameters) => heard.parameters = Some(parameters),
                Event::Grid(points) => heard.grid = points,
                Event::Round(times) => heard.rounds.push(times),
                Event::Hidden(hidden) => heard.hidden.push(hidden),
            }
        }
        heard
    }
}

/// All that a run of `lathide collectives` found out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) link: Link,
    pub(super) machine: MachineDescription,
    /// By number of ranks.
    pub(super) parameters: Vec<Parameters>,
    /// Repetitions, at what was repeated least.
    pub(super) repeats: usize,
    /// The share of all processors' time that other programs had; unknown on some systems.
    pub(super) background_load: Option<f64>,
    pub(super) points: Vec<Measured>,
    /// By operation.
    pub(super) errors: Vec<Errors>,
    pub(super) choice: Choice,
    pub(super) overlap: Vec<Overlap>,
}

/// One operation by one algorithm, in one size among so many ranks. Times are of the slowest rank.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Measured {
    pub(super) operation: Collective,
    pub(super) algorithm: String,
    pub(super) ranks: u32,
    pub(super) bytes: u64,
    pub(super) measured_s: Summary,
    pub(super) predicted_s: f64,
    /// `predicted / measured - 1`.
    pub(super) error: f64,
    /// Whether the library would take this algorithm.
    pub(super) chosen: bool,
    /// If so: its time over that of the fastest algorithm, where another was measured.
    pub(super) over_fastest: Option<f64>,
}

/// Absolute relative errors of an operation's predictions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Errors {
    pub(super) operation: Collective,
    pub(super) median: f64,
    pub(super) p90: f64,
    pub(super) points: usize,
}

/// How often the algorithm that the library takes is the fastest or nearly.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Choice {
    /// Operations, sizes and numbers of ranks of which the chosen algorithm and another were measured.
    pub(super) points: usize,
    /// Of these, where it takes at most 1.1 of the fastest one's time.
    pub(super) good: usize,
    /// `None` if there is no such point.
    pub(super) share: Option<f64>,
}

/// A collective behind a calculation. Times are medians, of the slowest rank. Beside it messages point to point of as many
/// bytes behind a calculation of their own: what can be hidden on this link.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Overlap {
    pub(super) operation: Collective,
    pub(super) ranks: u32,
    pub(super) bytes: u64,
    pub(super) t_calc_s: f64,
    pub(super) t_com_s: f64,
    pub(super) t_total_s: f64,
    /// `1 - (t_total - t_calc) / t_com`, the median over repetitions.
    pub(super) overlap: Summary,
    pub(super) messages_t_com_s: f64,
    pub(super) messages_overlap: Summary,
}

/// The results; `None` if nothing was measured.
pub(super) fn results(link: Link, heard: &[Heard], background_load: Option<f64>) -> Option<Results> {
    Some(Outcome::new(link, heard, background_load)?.results())
}

impl Outcome {
    /// `None` if nothing was measured.
    pub(super) fn new(link: Link, heard: &[Heard], background_load: Option<f64>) -> Option<Self> {
        let mut points: Vec<Measured> = heard.iter().flat_map(measured).collect();
        let repeats = heard.iter().map(|heard| heard.rounds.len()).min().filter(|_| !points.is_empty())?;
        compare(&mut points);
        Some(Outcome {
            link,
            machine: MachineDescription::here(),
            parameters: heard.iter().filter_map(|heard| heard.parameters).collect(),
            repeats,
            background_load,
            errors: errors(&points),
            choice: choice(&points),
            overlap: heard.iter().flat_map(overlap).collect(),
            points,
        })
    }

    pub(super) fn results(&self) -> Results {
        let title = "Collectives by every algorithm";
        let mut results = Results::new(SCHEMA, title, self);
        results.text(format!("Beside each stands its price by the link's parameters (a, b). Times are of the slowest rank, measured in turns. {}", self.paths()));
        for operation in Collective::ALL {
            let points: Vec<&Measured> = self.points.iter().filter(|point| point.operation == operation).collect();
            if points.is_empty() {
                continue;
            }
            let parameters = self.parameters.iter().filter(|of| of.operation == operation).map(parameters);
            let title = format!("{operation}. {}", parameters.collect::<Vec<_>>().join(" "));
            results.table(table(operation).title(title));
            if let Some(chart) = curve(&points) {
                results.chart(chart);
            }
        }
        results.table(self.overlap()).table(
            Table::of("errors")
                .title("Predicted against measured.")
                .column("operation", "operation", Form::Word)
                .column("points", "points", Form::Count)
                .column("median", "median\nerror", Form::Percent(0))
                .column("p90", "p90\nerror", Form::Percent(0)),
        );
        results.conclusion = self.conclusion();
        results.warn_of(self.background_load);
        results
    }

    /// Where the model is of another network than the emulated one.
    fn paths(&self) -> &'static str {
        let is_fan = self.points.iter().any(|point| point.ranks > 2);
        if is_fan && self.link.emulated && !self.link.spec.contains("shared") {
            "Over this link each pair of ranks has a path of its own. Prices are of ranks with one port each: too high where a \
             rank sends to several at once, or receives from them. In `lathide lab` each host has one port."
        } else {
            ""
        }
    }

    fn overlap(&self) -> Table {
        let cores = self.machine.cores;
        let shared = match self.overlap.iter().map(|row| row.ranks as usize).max() {
            Some(most) if most > cores => format!(
                " With more than {cores} ranks they share this machine's cores, for the calculation as for the messages."
            ),
            _ => String::new(),
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

    /// What it means.
    fn conclusion(&self) -> String {
        let Choice { good, points, share: Some(share) } = self.choice else {
            return "Nothing was to be chosen: of no operation the chosen algorithm and another were measured."
                .to_owned();
        };
        let share = 100.0 * share;
        format!("The chosen algorithm is the fastest or within 10 % of it in {good} of {points} cases ({share:.0} %).")
    }
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
    let Parameters { ranks, a_s, b_s_per_byte, overhead_s, is_fitted, .. } = parameters;
    let how = if *is_fitted { "fitted" } else { "assumed: the links have not shown enough" };
    let (a, overhead, b) = (seconds(*a_s), seconds(*overhead_s), seconds(*b_s_per_byte));
    format!("{ranks} ranks: a = {a} ({overhead} of processor at each end), b = {b} per byte, {how}.")
}

/// Times over sizes among the most ranks: points measured, curves predicted. Of many algorithms the first.
fn curve(points: &[&Measured]) -> Option<Chart> {
    let ranks = points.iter().map(|point| point.ranks).max()?;
    let points = || points.iter().filter(move |point| point.ranks == ranks && point.bytes > 0);
    let mut algorithms: Vec<&str> = Vec::new();
    for point in points() {
        if !algorithms.contains(&point.algorithm.as_str()) {
            algorithms.push(&point.algorithm);
        }
    }
    // Both axes are logarithmic, since times differ as much as sizes.
    let x = Axis::log(format!("bytes, {ranks} ranks; curves: predicted"), Form::Bytes);
    let mut chart = Chart::new(x, Axis::log("time", Form::Seconds));
    for name in algorithms.into_iter().take(SIGNS.len()) {
        let own = || points().filter(|point| point.algorithm == name);
        let predicted = own().map(|point| (point.bytes as f64, point.predicted_s));
        let measured = own().map(|point| {
            let Summary { median, min, max } = point.measured_s;
            [point.bytes as f64, median, min, max]
        });
        chart = chart.curve("", Look::Dotted, predicted).points(name, measured.collect());
    }
    Some(chart)
}

fn measured(heard: &Heard) -> Vec<Measured> {
    let Some(Parameters { ranks, .. }) = heard.parameters else { return Vec::new() };
    let point = |(at, point): (usize, &Point)| {
        let times = heard.rounds.iter().filter_map(|round| round.get(at).copied());
        let measured_s = Summary::of(times)?;
        Some(Measured {
            operation: point.variant.operation,
            algorithm: point.variant.algorithm.clone(),
            ranks,
            bytes: point.bytes,
            measured_s,
            predicted_s: point.predicted_s,
            error: point.predicted_s / measured_s.median.max(f64::MIN_POSITIVE) - 1.0,
            chosen: point.is_chosen,
            over_fastest: None,
        })
    };
    let mut points: Vec<Measured> = heard.grid.iter().enumerate().filter_map(point).collect();
    points.sort_by_key(|point| (point.operation, point.bytes));
    points
}

fn errors(points: &[Measured]) -> Vec<Errors> {
    let mut by_operation: BTreeMap<Collective, Vec<f64>> = BTreeMap::new();
    for point in points {
        by_operation.entry(point.operation).or_default().push(point.error.abs());
    }
    let sum = |(operation, mut errors): (Collective, Vec<f64>)| {
        errors.sort_by(f64::total_cmp);
        let p90 = errors[(0.9 * errors.len() as f64).ceil() as usize - 1];
        let median = Summary::of(errors.iter().copied())?.median;
        Some(Errors { operation, median, p90, points: errors.len() })
    };
    by_operation.into_iter().filter_map(sum).collect()
}

/// How much longer each chosen algorithm takes than the fastest one, where another was measured.
fn compare(points: &mut [Measured]) {
    let of = |point: &Measured| (point.operation, point.ranks, point.bytes);
    let mut cells: BTreeMap<_, (usize, f64)> = BTreeMap::new();
    for point in points.iter() {
        let (count, fastest) = cells.entry(of(point)).or_insert((0, f64::INFINITY));
        (*count, *fastest) = (*count + 1, fastest.min(point.measured_s.median));
    }
    for point in points.iter_mut().filter(|point| point.chosen) {
        let (count, fastest) = cells[&of(point)];
        point.over_fastest = (count > 1).then_some(point.measured_s.median / fastest);
    }
}

fn choice(points: &[Measured]) -> Choice {
    let over: Vec<f64> = points.iter().filter_map(|point| point.over_fastest).collect();
    let good = over.iter().filter(|over| **over <= GOOD).count();
    let share = (!over.is_empty()).then(|| good as f64 / over.len() as f64);
    Choice { points: over.len(), good, share }
}

fn overlap(heard: &Heard) -> Vec<Overlap> {
    let Some(Parameters { ranks, .. }) = heard.parameters else { return Vec::new() };
    let mut cases: BTreeMap<(Collective, u64), Vec<&Hidden>> = BTreeMap::new();
    for hidden in &heard.hidden {
        cases.entry((hidden.operation, hidden.bytes)).or_default().push(hidden);
    }
    let sum = |((operation, bytes), all): ((Collective, u64), Vec<&Hidden>)| {
        let median = |of: fn(&Hidden) -> f64| Some(Summary::of(all.iter().map(|hidden| of(hidden)))?.median);
        Some(Overlap {
            operation,
            ranks,
            bytes,
            t_calc_s: median(|hidden| hidden.collective.calc_s)?,
            t_com_s: median(|hidden| hidden.collective.com_s)?,
            t_total_s: median(|hidden| hidden.collective.total_s)?,
            overlap: Summary::of(all.iter().map(|hidden| hidden.collective.overlap()))?,
            messages_t_com_s: median(|hidden| hidden.messages.com_s)?,
            messages_overlap: Summary::of(all.iter().map(|hidden| hidden.messages.overlap()))?,
        })
    };
    cases.into_iter().filter_map(sum).collect()
}

impl Times {
    fn overlap(&self) -> f64 {
        1.0 - (self.total_s - self.calc_s) / self.com_s
    }
}
