//! What the command tells its nodes and what rank 0 reports: plain data, sent as JSON. And the grid of points. Pure.

use std::collections::BTreeMap;

use lathide::Collective;
use lathide::launcher::collective::Call;
use lathide::launcher::collective::{Choice, Prices};
use serde::{Deserialize, Serialize};

/// Elements of a reduction are f64.
pub(super) const ELEMENT_BYTES: u64 = 8;
/// Everything is measured so often at least, beside once to warm up.
pub(super) const REPEATS_MIN: u32 = 5;
/// The sizes that are tried unless told otherwise.
const BYTES: [usize; 7] = [8, 512, 4 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20];
/// What a collective costs at least, in seconds, beside its price: processes share processors.
const LEAST_S: f64 = 100e-6;

/// What nodes shall measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) variants: Vec<Variant>,
    /// These sizes only, however long they take.
    pub(super) bytes: Option<Vec<usize>>,
    /// About how many seconds the nodes may take.
    pub(super) seconds: f64,
}

/// An operation, carried out by one algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Variant {
    pub(super) operation: Collective,
    /// As it is forced: `chain`, `windowed/2`.
    pub(super) algorithm: String,
}

/// One thing to measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) variant: Variant,
    pub(super) bytes: u64,
    /// By the link's fitted parameters, in seconds.
    pub(super) predicted_s: f64,
    /// Whether the library would take this algorithm.
    pub(super) is_chosen: bool,
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
    /// `false`: the links have not shown enough, and these are what the library assumes before.
    pub(super) is_fitted: bool,
}

/// A collective behind a calculation, and messages point to point of as many bytes, once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Hidden {
    pub(super) operation: Collective,
    pub(super) bytes: u64,
    pub(super) collective: Times,
    pub(super) messages: Times,
}

/// Seconds of the slowest rank for each step of a block: the calculation alone, the transfer alone, and both at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) calc_s: f64,
    pub(super) com_s: f64,
    pub(super) total_s: f64,
}

/// What rank 0 reports, one line of JSON each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    Parameters(Parameters),
    /// What will be measured.
    Grid(Vec<Point>),
    /// Everything once: seconds of the slowest rank, by point.
    Round(Vec<f64>),
    Hidden(Hidden),
}

impl Plan {
    /// The plan of each operation, each with its share of the time where all are carried out for so many numbers of ranks.
    pub(super) fn by_operation(&self, times: usize) -> Vec<Plan> {
        let mut by_operation: BTreeMap<Collective, Vec<Variant>> = BTreeMap::new();
        for variant in &self.variants {
            by_operation.entry(variant.operation).or_default().push(variant.clone());
        }
        let seconds = self.seconds / (times * by_operation.len()).max(1) as f64;
        by_operation.into_values().map(|variants| Plan { variants, bytes: self.bytes.clone(), seconds }).collect()
    }
}

impl Variant {
    /// As [`lathide::Overrides::parse`] takes it.
    pub(super) fn forced(&self) -> String {
        format!("{}:{}", self.operation, self.algorithm)
    }

    /// The price of this variant among the candidates, and whether it is the cheapest. `None` if it is none of them.
    fn priced(&self, call: &Call, choice: &Choice, prices: &mut Prices) -> Option<(f64, bool)> {
        let best = choice.best();
        let Some((name, window)) = self.algorithm.split_once('/') else {
            let candidate = choice.named(&self.algorithm)?;
            return Some((candidate.seconds, candidate == best));
        };
        let algorithm = choice.named(name)?.algorithm.with_window(window.parse().ok()?);
        Some((prices.seconds(call, algorithm)?, algorithm == best.algorithm))
    }
}

/// Every algorithm for an operation. Where two have one name, they differ in their windows.
pub(super) fn variants(operation: Collective) -> Vec<Variant> {
    let all = Call::new(operation, 4, 1, 1).algorithms();
    let named = |name: &str| all.iter().filter(|other| other.name() == name).count();
    let text = |algorithm: &lathide::launcher::collective::Algorithm| match algorithm.window() {
        Some(window) if named(algorithm.name()) > 1 => format!("{}/{window}", algorithm.name()),
        _ => algorithm.name().to_owned(),
    };
    all.iter().map(|algorithm| Variant { operation, algorithm: text(algorithm) }).collect()
}

/// The variants by these algorithms, of all operations that have them.
pub(super) fn chosen_variants(
    operations: &[Collective],
    all: &[Variant],
    names: &[String],
) -> Result<Vec<Variant>, String> {
    let mut chosen: Vec<Variant> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let before = chosen.len();
        for &operation in operations {
            let plain = name.split('/').next().unwrap_or(name);
            let of_name = |variant: &&Variant| {
                variant.operation == operation && variant.algorithm.split('/').next() == Some(plain)
            };
            let known: Vec<&Variant> = all.iter().filter(of_name).collect();
            if name == plain {
                chosen.extend(known.into_iter().cloned());
            } else if !known.is_empty() {
                chosen.push(Variant { operation, algorithm: name.to_owned() });
            }
        }
        if chosen.len() == before {
            let mut known: Vec<&str> = all.iter().map(|variant| variant.algorithm.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            return Err(format!("no operation has the algorithm {name:?}; these are: {}", known.join(", ")));
        }
    }
    let mut kept: Vec<Variant> = Vec::new();
    for variant in chosen {
        if !kept.contains(&variant) {
            kept.push(variant);
        }
    }
    Ok(kept)
}

/// The call that is measured with so many bytes: the whole, or a block.
pub(super) fn call(operation: Collective, ranks: u32, bytes: u64) -> Call {
    match operation {
        Collective::Barrier => Call::new(operation, ranks, 0, 1),
        Collective::Allreduce | Collective::Reduce => {
            Call::new(operation, ranks, (bytes / ELEMENT_BYTES).max(1), ELEMENT_BYTES)
        }
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
            plan.variants.iter().filter_map(|variant| point(variant, ranks, bytes as u64, prices)).collect();
        round_s += new.iter().map(|point| point.predicted_s + LEAST_S).sum::<f64>();
        // Prices may be too low by a third, and there are barriers between.
        let is_too_long = 1.5 * round_s * f64::from(REPEATS_MIN + 1) > plan.seconds;
        if plan.bytes.is_none() && is_too_long && !points.is_empty() {
            break;
        }
        for point in new {
            if !points.iter().any(|known| known.variant == point.variant && known.bytes == point.bytes) {
                points.push(point);
            }
        }
    }
    points
}

fn point(variant: &Variant, ranks: u32, bytes: u64, prices: &mut Prices) -> Option<Point> {
    let call = call(variant.operation, ranks, bytes);
    let choice = prices.choose(&call);
    let (predicted_s, is_chosen) = variant.priced(&call, &choice, prices)?;
    Some(Point { variant: variant.clone(), bytes: call.blocks.longest() * call.element_bytes, predicted_s, is_chosen })
}
