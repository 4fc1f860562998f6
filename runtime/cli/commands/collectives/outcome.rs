//! The result: what was measured beside what was predicted, summed up. Pure but for the machine's description.

use std::collections::BTreeMap;

use crate::report::description::MachineDescription;
use crate::report::summary::Summary;
use lathide::Collective;
use serde::Serialize;

use super::plan::{Event, Hidden, Parameters, Point, Times};
use crate::commands::common::console::Link;

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-collectives-1";
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
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Parameters(parameters) => self.parameters = Some(parameters),
            Event::Grid(points) => self.grid = points,
            Event::Round(times) => self.rounds.push(times),
            Event::Hidden(hidden) => self.hidden.push(hidden),
            Event::Progress(..) => {}
        }
    }
}

/// All that a run of `lathide collectives` found out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) schema: &'static str,
    pub(super) lathide: &'static str,
    pub(super) link: Link,
    pub(super) machine: MachineDescription,
    /// By number of ranks.
    pub(super) parameters: Vec<Parameters>,
    /// Repetitions, at what was repeated least.
    pub(super) repeats: usize,
    /// The share of all processors' time that other programs had; unknown on some systems.
    pub(super) others_share: Option<f64>,
    pub(super) points: Vec<Measured>,
    /// By operation.
    pub(super) errors: BTreeMap<Collective, Errors>,
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
    /// The median.
    pub(super) measured_s: f64,
    pub(super) measured_s_min: f64,
    pub(super) measured_s_max: f64,
    pub(super) predicted_s: f64,
    /// `predicted / measured - 1`.
    pub(super) error: f64,
    /// Whether the library would take this algorithm.
    pub(super) chosen: bool,
}

/// Absolute relative errors of an operation's predictions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Errors {
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
    pub(super) overlap: f64,
    pub(super) overlap_min: f64,
    pub(super) overlap_max: f64,
    pub(super) messages_t_com_s: f64,
    pub(super) messages_overlap: f64,
    pub(super) messages_overlap_min: f64,
    pub(super) messages_overlap_max: f64,
}

impl Outcome {
    /// `None` if nothing was measured.
    pub(super) fn new(link: Link, heard: &[Heard], others_share: Option<f64>) -> Option<Self> {
        let points: Vec<Measured> = heard.iter().flat_map(measured).collect();
        let repeats = heard.iter().map(|heard| heard.rounds.len()).min().filter(|_| !points.is_empty())?;
        Some(Outcome {
            schema: SCHEMA,
            lathide: env!("CARGO_PKG_VERSION"),
            link,
            machine: MachineDescription::here(),
            parameters: heard.iter().filter_map(|heard| heard.parameters).collect(),
            repeats,
            others_share,
            errors: errors(&points),
            choice: choice(&points),
            overlap: heard.iter().flat_map(overlap).collect(),
            points,
        })
    }
}

fn measured(heard: &Heard) -> Vec<Measured> {
    let Some(Parameters { ranks, .. }) = heard.parameters else { return Vec::new() };
    let point = |(at, point): (usize, &Point)| {
        let times = heard.rounds.iter().filter_map(|round| round.get(at).copied());
        let Summary { median, min, max } = Summary::of(times)?;
        Some(Measured {
            operation: point.variant.operation,
            algorithm: point.variant.algorithm.clone(),
            ranks,
            bytes: point.bytes,
            measured_s: median,
            measured_s_min: min,
            measured_s_max: max,
            predicted_s: point.predicted_s,
            error: point.predicted_s / median.max(f64::MIN_POSITIVE) - 1.0,
            chosen: point.is_chosen,
        })
    };
    let mut points: Vec<Measured> = heard.grid.iter().enumerate().filter_map(point).collect();
    points.sort_by_key(|point| (point.operation, point.bytes));
    points
}

fn errors(points: &[Measured]) -> BTreeMap<Collective, Errors> {
    let mut by_operation: BTreeMap<Collective, Vec<f64>> = BTreeMap::new();
    for point in points {
        by_operation.entry(point.operation).or_default().push(point.error.abs());
    }
    let sum = |(operation, mut errors): (Collective, Vec<f64>)| {
        errors.sort_by(f64::total_cmp);
        let p90 = errors[(0.9 * errors.len() as f64).ceil() as usize - 1];
        let median = Summary::of(errors.iter().copied())?.median;
        Some((operation, Errors { median, p90, points: errors.len() }))
    };
    by_operation.into_iter().filter_map(sum).collect()
}

/// The algorithms of one operation, size and number of ranks.
pub(super) fn cells(points: &[Measured]) -> BTreeMap<(Collective, u32, u64), Vec<&Measured>> {
    let mut cells: BTreeMap<_, Vec<&Measured>> = BTreeMap::new();
    for point in points {
        cells.entry((point.operation, point.ranks, point.bytes)).or_default().push(point);
    }
    cells
}

/// How much longer the chosen algorithm takes than the fastest one. `None`: it was not measured, or nothing else was.
pub(super) fn worse(cell: &[&Measured]) -> Option<f64> {
    let chosen = cell.iter().find(|point| point.chosen).filter(|_| cell.len() > 1)?;
    let fastest = cell.iter().map(|point| point.measured_s).fold(f64::INFINITY, f64::min);
    Some(chosen.measured_s / fastest)
}

fn choice(points: &[Measured]) -> Choice {
    let worse: Vec<f64> = cells(points).values().filter_map(|cell| worse(cell)).collect();
    let good = worse.iter().filter(|worse| **worse <= GOOD).count();
    let share = (!worse.is_empty()).then(|| good as f64 / worse.len() as f64);
    Choice { points: worse.len(), good, share }
}

fn overlap(heard: &Heard) -> Vec<Overlap> {
    let Some(Parameters { ranks, .. }) = heard.parameters else { return Vec::new() };
    let mut cases: BTreeMap<(Collective, u64), Vec<&Hidden>> = BTreeMap::new();
    for hidden in &heard.hidden {
        cases.entry((hidden.operation, hidden.bytes)).or_default().push(hidden);
    }
    let sum = |((operation, bytes), all): ((Collective, u64), Vec<&Hidden>)| {
        let median = |of: fn(&Hidden) -> f64| Some(Summary::of(all.iter().map(|hidden| of(hidden)))?.median);
        let own = Summary::of(all.iter().map(|hidden| hidden.collective.overlap()))?;
        let messages = Summary::of(all.iter().map(|hidden| hidden.messages.overlap()))?;
        Some(Overlap {
            operation,
            ranks,
            bytes,
            t_calc_s: median(|hidden| hidden.collective.calc_s)?,
            t_com_s: median(|hidden| hidden.collective.com_s)?,
            t_total_s: median(|hidden| hidden.collective.total_s)?,
            overlap: own.median,
            overlap_min: own.min,
            overlap_max: own.max,
            messages_t_com_s: median(|hidden| hidden.messages.com_s)?,
            messages_overlap: messages.median,
            messages_overlap_min: messages.min,
            messages_overlap_max: messages.max,
        })
    };
    cases.into_iter().filter_map(sum).collect()
}

impl Times {
    fn overlap(&self) -> f64 {
        1.0 - (self.total_s - self.calc_s) / self.com_s
    }
}
