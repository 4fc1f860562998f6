//! What the command tells its nodes and what rank 0 reports: plain data, sent as JSON. And the grid of points. Pure.

use std::collections::{BTreeMap, BTreeSet};

use lathide::launcher::collective::{Algorithm, Call, Prices};
use lathide::{Collective, Overrides};
use serde::{Deserialize, Serialize};

use crate::nearest::did_you_mean;

/// Elements of a reduction are f64.
const ELEMENT_BYTES: u64 = 8;
/// Everything is measured so often, beside once to warm up, if there is time: a median has an interval from six repetitions on.
pub(super) const REPEATS_MIN: u32 = 6;
/// The sizes that are tried unless told otherwise.
const BYTES: [usize; 7] = [8, 512, 4 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20];
/// What a collective costs at least, in seconds, beside its price: processes share processors.
const LEAST_S: f64 = 100e-6;

/// What nodes shall measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) operation: Collective,
    /// As they are forced: `chain`, `windowed/2`.
    pub(super) algorithms: Vec<String>,
    /// These sizes only, however long they take.
    pub(super) bytes: Option<Vec<usize>>,
    /// About how many seconds the nodes may take.
    pub(super) seconds: f64,
    /// How often everything is measured at least; `None` if the time is firm.
    pub(super) repeats_min: Option<u32>,
}

/// What rank 0 reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) parameters: Parameters,
    pub(super) points: Vec<Point>,
    pub(super) hidden: Vec<Hidden>,
}

/// One algorithm in one size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) algorithm: String,
    pub(super) bytes: u64,
    /// By the link's fitted parameters, in seconds.
    pub(super) predicted_s: f64,
    /// Whether the library would take this algorithm.
    pub(super) is_chosen: bool,
    /// Seconds of the slowest rank, by repetition.
    pub(super) times_s: Vec<f64>,
}

/// What prices follow from, as the nodes have learnt it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) operation: Collective,
    pub(super) ranks: u32,
    /// Seconds for a short message one way: `a` of `T(x; a, b)`.
    pub(super) a_s: f64,
    /// Seconds per byte of a long one.
    pub(super) b_s_per_byte: f64,
    /// Of `a_s`, what each side's processor takes. Between two ranks assumed, among more measured.
    pub(super) overhead_s: f64,
    /// Whether all ranks share one medium, as pairs of them at once have shown.
    pub(super) is_shared: bool,
    /// `false`: the links have not shown enough, and these are what the library assumes before.
    pub(super) is_fitted: bool,
}

/// The collective behind a calculation, and messages point to point of as many bytes, by repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Hidden {
    pub(super) bytes: u64,
    pub(super) collective: Vec<Times>,
    pub(super) messages: Vec<Times>,
}

/// Seconds of the slowest rank for each step of a block: the calculation alone, the transfer alone, and both at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) calc_s: f64,
    pub(super) com_s: f64,
    pub(super) total_s: f64,
}

/// The algorithms to measure, by operation: all, or those of these names of all operations that have them.
pub(super) fn algorithms(
    operations: &[Collective],
    names: Option<&[String]>,
) -> Result<BTreeMap<Collective, Vec<String>>, String> {
    let all: BTreeMap<Collective, Vec<String>> =
        operations.iter().map(|operation| (*operation, known(*operation))).collect();
    let Some(names) = names else { return Ok(all) };
    let mut chosen: BTreeMap<Collective, Vec<String>> = BTreeMap::new();
    for name in names.iter().map(|name| name.trim()) {
        let known = all.iter().flat_map(|(operation, known)| known.iter().map(|known| (*operation, known.as_str())));
        let mut found = known.filter(|(_, known)| plain(known) == plain(name)).peekable();
        if found.peek().is_none() {
            let known: BTreeSet<&str> = all.values().flatten().map(String::as_str).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let meant = did_you_mean(plain(name), known.iter().copied());
            return Err(format!("no operation has the algorithm {name:?}; these are: {}{meant}", known.join(", ")));
        }
        for (operation, known) in found {
            let algorithm = if name == plain(name) { known } else { name };
            Overrides::parse(&forced(operation, algorithm))?;
            let chosen = chosen.entry(operation).or_default();
            if !chosen.iter().any(|other| other == algorithm) {
                chosen.push(algorithm.to_owned());
            }
        }
    }
    Ok(chosen)
}

/// A plan for each operation, each with its share of the time where all are carried out for so many numbers of ranks.
pub(super) fn plans(
    algorithms: BTreeMap<Collective, Vec<String>>,
    bytes: Option<&[usize]>,
    (seconds, times): (f64, usize),
    repeats_min: Option<u32>,
) -> Vec<Plan> {
    let seconds = seconds / (times * algorithms.len()).max(1) as f64;
    let plan = |(operation, algorithms)| Plan {
        operation,
        algorithms,
        bytes: bytes.map(<[usize]>::to_vec),
        seconds,
        repeats_min,
    };
    algorithms.into_iter().map(plan).collect()
}

/// Every algorithm for an operation. Where two have one name, they differ in their windows.
fn known(operation: Collective) -> Vec<String> {
    let all = Call::new(operation, 4, 1, 1).algorithms();
    let named = |name: &str| all.iter().filter(|other| other.name() == name).count();
    let text = |algorithm: &Algorithm| match algorithm.window() {
        Some(window) if named(algorithm.name()) > 1 => format!("{}/{window}", algorithm.name()),
        _ => algorithm.name().to_owned(),
    };
    all.iter().map(text).collect()
}

/// An algorithm's name without its window.
fn plain(algorithm: &str) -> &str {
    algorithm.split('/').next().unwrap_or(algorithm)
}

/// As [`Overrides::parse`] takes it.
pub(super) fn forced(operation: Collective, algorithm: &str) -> String {
    format!("{operation}:{algorithm}")
}

/// The call that is measured with so many bytes: the whole, or a block.
pub(super) fn call(operation: Collective, ranks: u32, bytes: u64) -> Call {
    match operation {
        Collective::Barrier => Call::new(operation, ranks, 0, 1),
        Collective::Allreduce
        | Collective::Exscan
        | Collective::Reduce
        | Collective::ReduceScatter
        | Collective::Scan => Call::new(operation, ranks, (bytes / ELEMENT_BYTES).max(1), ELEMENT_BYTES),
        _ => Call::new(operation, ranks, bytes, 1),
    }
}

/// All points with their prices: every size that is asked for, or as many as there is time for. The same on every
/// rank that has the same prices.
pub(super) fn grid(plan: &Plan, ranks: u32, prices: &mut Prices) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut round_s = 0.0;
    for &bytes in plan.bytes.as_deref().unwrap_or(&BYTES) {
        let new: Vec<Point> =
            plan.algorithms.iter().filter_map(|algorithm| plan.point(algorithm, ranks, bytes as u64, prices)).collect();
        round_s += new.iter().map(|point| point.predicted_s + LEAST_S).sum::<f64>();
        // Prices may be too low by a third, and there are barriers between.
        let is_too_long = 1.5 * round_s * f64::from(REPEATS_MIN + 1) > plan.seconds;
        if plan.bytes.is_none() && is_too_long && !points.is_empty() {
            break;
        }
        for point in new {
            if !points.iter().any(|known| known.algorithm == point.algorithm && known.bytes == point.bytes) {
                points.push(point);
            }
        }
    }
    points
}

impl Plan {
    /// A point with its price; `None` if the algorithm is no candidate.
    fn point(&self, algorithm: &str, ranks: u32, bytes: u64, prices: &mut Prices) -> Option<Point> {
        let call = call(self.operation, ranks, bytes);
        let choice = prices.choose(&call);
        let named = choice.named(plain(algorithm))?;
        let (predicted_s, is_chosen) = match algorithm.split_once('/') {
            None => (named.seconds, named == choice.best()),
            Some((_, window)) => {
                let algorithm = named.algorithm.with_window(window.parse().ok()?);
                (prices.seconds(&call, algorithm)?, algorithm == choice.best().algorithm)
            }
        };
        let bytes = call.blocks.longest() * call.element_bytes;
        Some(Point { algorithm: algorithm.to_owned(), bytes, predicted_s, is_chosen, times_s: Vec::new() })
    }
}
