//! What simultaneous pairs share (Stoica, Sultan, Keyes 1994, section 4, eqs. (16) and (17)).
//!
//! n disjoint pairs send at once: `a' = 2 a + n a_c`, `b' = max(b, n b_c)`. The paper takes the limits of many pairs. Here
//! a' and b' are fitted for each n, and `a_c`, `b_c` to all of them. Where b' does not grow, the network is no bottleneck:
//! a switched network is a result like any other.
//!
//! Where several pairs pass one host's port, `b' = max(b, k b_p)` with the k pairs of the busiest port.
//!
//! ```
//! use lathide_models::fit::contention::{Load, Medium, Observed, fit};
//! use lathide_models::hyperbolic::Network;
//! let (mut observed, pairs) = (Vec::new(), [1, 2, 4, 8]);
//! for (pairs, power) in pairs.into_iter().flat_map(|n| (3..=20).map(move |power| (n, power))) {
//!     let time_s = Network::SPARCSTATION.pairs(pairs)?.time_s(f64::from(1 << power))?;
//!     observed.push(Observed { repeat: 0, pairs, bytes: 1 << power, time_s });
//! }
//! let loads = pairs.map(|pairs| Load { pairs, per_port: 1, processor: None });
//! let found = fit(&observed, &loads).unwrap();
//! assert_eq!(found.medium, Medium::Shared);
//! assert!((found.network_b_s_per_byte - 0.92e-6).abs() < 0.01e-6);
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod data;
mod grid;

use serde::Serialize;

pub use data::{Form, Load, Medium, Observed, Processor};

use super::Sample;
use super::by_size::{Errors, Judged};
use super::robust::{median, plain_median, quantile};
use crate::hyperbolic::Block;
use grid::{CLEAR, Grid};

/// The time of a message of one of n pairs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Pairs {
    /// n, and what these use together.
    #[serde(flatten)]
    pub load: Load,
    /// a', in seconds.
    pub a_s: f64,
    /// The standard error of a', by how short messages are off it.
    pub a_error_s: f64,
    /// b', in seconds per byte.
    pub b_s_per_byte: f64,
    /// The standard error of b', by how long messages are off it.
    pub b_error_s_per_byte: f64,
    /// How many times as long long messages take as between one pair, within a repetition: about `b'(n) / b'(1)`.
    pub slowdown: f64,
    /// Its standard error.
    pub slowdown_error: f64,
    /// Of all pairs together, for long messages: `n / b'`.
    pub bytes_per_s: Option<f64>,
    /// At sizes that a' and b' were not fitted to.
    #[serde(flatten)]
    pub errors: Errors,
    /// Measurements.
    pub samples: usize,
}

/// What simultaneous pairs share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Contention {
    /// By n.
    pub pairs: Vec<Pairs>,
    /// Which describes the times better.
    pub form: Form,
    /// What limits them.
    pub medium: Medium,
    /// a of each side, with half of any delay: `(a'(1) - a_c) / 2`.
    pub workstation_a_s: f64,
    /// `max(b, b_c)`, which is `b'(1)`.
    pub slower_s_per_byte: f64,
    /// a_c: what each pair adds to a'.
    pub network_a_s: f64,
    /// Its standard error.
    pub network_a_error_s: f64,
    /// b_c of the shared medium; 0 where it is no bottleneck.
    pub network_b_s_per_byte: f64,
    /// Its standard error; where it is no bottleneck, what it can be at most: `b'(n) / n` of the most pairs.
    pub network_b_error_s_per_byte: f64,
    /// b_p of a host's port, where that is what the pairs share.
    pub port_b_s_per_byte: Option<f64>,
    /// How well a_c and b_c (or b_p) with eq. (16) predict sizes that they were not fitted to, for every n.
    #[serde(flatten)]
    pub errors: Errors,
    /// The most bytes that all pairs together have moved per second.
    pub aggregate_bytes_per_s: Option<f64>,
    /// Whether that is what the network can do, or only what the pairs could.
    pub aggregate_is_limit: bool,
}

impl Contention {
    /// A message of so many pairs, of which `per_port` share a port, eq. (16): `(a', b')`.
    #[must_use]
    pub fn at(&self, pairs: u32, per_port: u32) -> (f64, f64) {
        let joint = Joint {
            a_s: 2.0 * self.workstation_a_s,
            network_a_s: self.network_a_s,
            b_s_per_byte: self.slower_s_per_byte,
            shared_s_per_byte: self.port_b_s_per_byte.unwrap_or(self.network_b_s_per_byte),
        };
        joint.at(load_of(self.medium, pairs, per_port), pairs)
    }
}

/// Fits eq. (16) to what was observed with each number of pairs in `loads`. `None` if there are fewer than four sizes, one
/// pair alone is not among them, or something cannot be fitted.
#[must_use]
pub fn fit(observed: &[Observed], loads: &[Load]) -> Option<Contention> {
    let mut loads = loads.to_vec();
    loads.sort_by_key(|load| load.pairs);
    loads.dedup_by_key(|load| load.pairs);
    if loads.first()?.pairs != 1 {
        return None;
    }
    let grid = Grid::new(observed);
    let (form, judged) = judged(&grid, &loads)?;
    let blocks: Vec<(f64, f64)> = judged.iter().map(|one| (one.model.a_s(), one.model.b_s_per_byte())).collect();
    let [short, long] = grid.ends(blocks[0]);
    let pair = |(load, Judged { model, errors }): (&Load, Judged<Block>)| {
        let (a_s, b_s_per_byte) = (model.a_s(), model.b_s_per_byte());
        let (slowdown, slowdown_error) = grid.slowdown(load.pairs, &long);
        let error = |sizes: &[u64]| grid.spread_over(load.pairs, sizes, |bytes| form.time_s(a_s, b_s_per_byte, bytes));
        Pairs {
            load: *load,
            a_s,
            a_error_s: a_s * error(&short),
            b_s_per_byte,
            b_error_s_per_byte: b_s_per_byte * error(&long),
            slowdown,
            slowdown_error,
            bytes_per_s: (b_s_per_byte > 0.0).then(|| f64::from(load.pairs) / b_s_per_byte),
            errors,
            samples: grid.count(load.pairs),
        }
    };
    let pairs: Vec<Pairs> = loads.iter().zip(judged).map(pair).collect();
    if pairs.iter().any(|one| !one.slowdown.is_finite()) {
        return None;
    }
    let medium = medium(&pairs);
    let weights = weights(&pairs);
    let errors = held_out(&grid, &loads, (form, medium), &weights)?;
    let joint = Joint::of(&loads, &blocks, medium, &weights);
    let is_shared = matches!(medium, Medium::Shared | Medium::Processor);
    let last = pairs.last()?;
    let most = pairs.iter().filter_map(|one| one.bytes_per_s).max_by(f64::total_cmp);
    let network_b_error_s_per_byte = if is_shared {
        let errors = pairs.iter().zip(&weights);
        median(errors.map(|(one, weight)| (one.b_error_s_per_byte / f64::from(one.load.pairs), *weight)))
    } else {
        last.b_s_per_byte / f64::from(last.load.pairs)
    };
    Some(Contention {
        form,
        medium,
        workstation_a_s: joint.a_s / 2.0,
        slower_s_per_byte: joint.b_s_per_byte,
        network_a_s: joint.network_a_s,
        network_a_error_s: a_error_s(&pairs),
        network_b_s_per_byte: if is_shared { joint.shared_s_per_byte } else { 0.0 },
        network_b_error_s_per_byte,
        port_b_s_per_byte: (medium == Medium::Port).then_some(joint.shared_s_per_byte),
        errors,
        aggregate_bytes_per_s: if is_shared { Some(1.0 / joint.shared_s_per_byte) } else { most },
        aggregate_is_limit: medium == Medium::Shared,
        pairs,
    })
}

/// The form that describes the times better, and each n's fit by it. On a link whose times are straight lines, noise must not
/// make hyperbolas of them, whose b would be too high: a hyperbola has to be better by far.
fn judged(grid: &Grid, loads: &[Load]) -> Option<(Form, Vec<Judged<Block>>)> {
    let by = |form: Form| {
        let of = |load: &Load| {
            let medians = grid.medians(load.pairs, None);
            Some(Judged { model: limits(form, &medians)?, errors: alone(form, &medians)? })
        };
        let judged: Vec<Judged<Block>> = loads.iter().map(of).collect::<Option<_>>()?;
        let error: f64 = judged.iter().map(|one| one.errors.median_error).sum();
        Some((error, judged))
    };
    let (line, hyperbola) = (by(Form::Line)?, by(Form::Hyperbola)?);
    Some(if hyperbola.0 < BETTER * line.0 { (Form::Hyperbola, hyperbola.1) } else { (Form::Line, line.1) })
}

/// a' and b'. b is the limit of long messages: of a line, what it is among these alone, if they are enough. On TCP, sizes
/// between take longer than the line, and would turn it.
fn limits(form: Form, medians: &[(usize, f64)]) -> Option<Block> {
    let fit = |points: &mut dyn Iterator<Item = &(usize, f64)>| {
        let samples: Vec<Sample> =
            points.map(|(bytes, time_s)| Sample { bytes: *bytes as u64, time_s: *time_s }).collect();
        Some(form.fit(&samples).ok()?.model)
    };
    let all = fit(&mut medians.iter())?;
    let is_long = |(bytes, _): &&(usize, f64)| *bytes as f64 * all.b_s_per_byte() * CLEAR > all.a_s();
    if form == Form::Hyperbola || medians.iter().filter(is_long).count() < LONG_MIN {
        return Some(all);
    }
    Block::new(all.a_s(), fit(&mut medians.iter().filter(is_long))?.b_s_per_byte()).ok()
}

/// Each size of one n left out in turn.
fn alone(form: Form, medians: &[(usize, f64)]) -> Option<Errors> {
    if medians.len() < SIZES_MIN {
        return None;
    }
    let error = |(bytes, measured_s): &(usize, f64)| {
        let others: Vec<(usize, f64)> = medians.iter().filter(|(other, _)| other != bytes).copied().collect();
        let block = limits(form, &others)?;
        Some((form.time_s(block.a_s(), block.b_s_per_byte(), *bytes as u64) / measured_s - 1.0).abs())
    };
    let all: Vec<f64> = medians.iter().map(error).collect::<Option<_>>()?;
    errors(&all, medians.iter().map(|(bytes, _)| *bytes as u64).collect())
}

fn errors(errors: &[f64], held_out_bytes: Vec<u64>) -> Option<Errors> {
    let at = |share| quantile(errors.iter().map(|error| (*error, 1.0)), share);
    Some(Errors { median_error: at(0.5)?, p90_error: at(0.9)?, held_out_bytes })
}

/// The standard error of a_c, by those of the fewest and of the most pairs.
fn a_error_s(pairs: &[Pairs]) -> f64 {
    let [Some(first), Some(last)] = [pairs.first(), pairs.last()] else { return 0.0 };
    let apart = f64::from(last.load.pairs - first.load.pairs).max(1.0);
    first.a_error_s.hypot(last.a_error_s) / apart
}

/// Least squares: what each pair adds.
fn slope(loads: &[Load], values: &[f64]) -> f64 {
    let count = loads.len() as f64;
    let mean_n = loads.iter().map(|load| f64::from(load.pairs)).sum::<f64>() / count;
    let mean = values.iter().sum::<f64>() / count;
    let (mut up, mut down) = (0.0, 0.0);
    for (load, value) in loads.iter().zip(values) {
        let n = f64::from(load.pairs) - mean_n;
        up += n * (value - mean);
        down += n * n;
    }
    if down > 0.0 { up / down } else { 0.0 }
}

/// What each number of pairs tells of what limits them: nothing if it is not slowed down by more than noise, else the more
/// the surer its b' is.
fn weights(pairs: &[Pairs]) -> Vec<f64> {
    let is_slowed = |one: &Pairs| one.load.pairs > 1 && one.slowdown > 1.0 + LEAST.max(3.0 * one.slowdown_error);
    let weight = |one: &Pairs| 1.0 / (one.b_error_s_per_byte / one.b_s_per_byte).hypot(SURE).powi(2);
    pairs.iter().map(|one| if is_slowed(one) { weight(one) } else { 0.0 }).collect()
}

fn medium(pairs: &[Pairs]) -> Medium {
    let weights = weights(pairs);
    let Some(worst) = pairs.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0).map(|(one, _)| one).next_back()
    else {
        let is_switched = pairs.iter().all(|one| one.slowdown <= 1.0 + LEAST);
        return if is_switched { Medium::Switched } else { Medium::Unclear };
    };
    if worst.load.processor.is_some_and(Processor::is_bottleneck) {
        return Medium::Processor;
    }
    // Who waits for a processor takes longer, too, but not as many times as there are pairs.
    if worst.load.processor.is_some_and(Processor::is_busy_with_others) && worst.slowdown < 1.0 + LEAST_BUSY {
        return Medium::Unclear;
    }
    let loads: Vec<Load> = pairs.iter().map(|one| one.load).collect();
    let blocks: Vec<(f64, f64)> = pairs.iter().map(|one| (one.a_s, one.b_s_per_byte)).collect();
    let misfit = |medium: Medium| {
        let joint = Joint::of(&loads, &blocks, medium, &weights);
        let off = |one: &Pairs| {
            let expected = joint.at(load_of(medium, one.load.pairs, one.load.per_port), one.load.pairs).1;
            let sure = PORT.max(2.0 * one.b_error_s_per_byte / one.b_s_per_byte);
            ((one.b_s_per_byte / expected).ln() / sure).powi(2)
        };
        pairs.iter().map(off).sum::<f64>()
    };
    // Where the ports explain it, whether there is more than them cannot be seen.
    let explained = pairs.len() as f64;
    if misfit(Medium::Port) <= (CLEARLY * misfit(Medium::Shared)).max(explained) {
        Medium::Port
    } else {
        Medium::Shared
    }
}

/// How many share what limits them.
fn load_of(medium: Medium, pairs: u32, per_port: u32) -> f64 {
    match medium {
        Medium::Port => f64::from(per_port),
        Medium::Processor | Medium::Shared => f64::from(pairs),
        Medium::Switched | Medium::Unclear => 0.0,
    }
}

/// Eq. (16) with parameters.
struct Joint {
    /// `2 a`, with any delay.
    a_s: f64,
    network_a_s: f64,
    b_s_per_byte: f64,
    /// Of the medium or the port.
    shared_s_per_byte: f64,
}

impl Joint {
    /// Eq. (17), from (a', b') of each load. `weights`: what each tells of the network or the port, where that is the
    /// bottleneck.
    fn of(loads: &[Load], blocks: &[(f64, f64)], medium: Medium, weights: &[f64]) -> Self {
        let a: Vec<f64> = blocks.iter().map(|block| block.0).collect();
        // More would leave the workstations less than nothing.
        let most_s = loads.iter().zip(&a).map(|(load, a)| a / f64::from(load.pairs)).fold(f64::INFINITY, f64::min);
        let network_a_s = slope(loads, &a).clamp(0.0, most_s);
        let rest = loads.iter().zip(&a).map(|(load, a)| (a - f64::from(load.pairs) * network_a_s).max(0.0));
        let bottleneck = loads.iter().zip(blocks).zip(weights).filter(|(_, weight)| **weight > 0.0);
        let each =
            bottleneck.map(|((load, block), weight)| (block.1 / load_of(medium, load.pairs, load.per_port), *weight));
        let shared_s_per_byte = if matches!(medium, Medium::Switched | Medium::Unclear) { 0.0 } else { median(each) };
        Joint { a_s: plain_median(rest), network_a_s, b_s_per_byte: blocks[0].1, shared_s_per_byte }
    }

    fn at(&self, load: f64, pairs: u32) -> (f64, f64) {
        let a_s = self.a_s + f64::from(pairs) * self.network_a_s;
        (a_s, self.b_s_per_byte.max(load * self.shared_s_per_byte))
    }
}

/// Each size left out in turn, and predicted for every n.
fn held_out(grid: &Grid, loads: &[Load], (form, medium): (Form, Medium), weights: &[f64]) -> Option<Errors> {
    let sizes = grid.sizes();
    let mut all = Vec::new();
    for &bytes in &sizes {
        let fit = |load: &Load| {
            let block = limits(form, &grid.medians(load.pairs, Some(bytes)))?;
            Some((block.a_s(), block.b_s_per_byte()))
        };
        let blocks: Vec<(f64, f64)> = loads.iter().map(fit).collect::<Option<_>>()?;
        let joint = Joint::of(loads, &blocks, medium, weights);
        for load in loads {
            let (a_s, b_s_per_byte) = joint.at(load_of(medium, load.pairs, load.per_port), load.pairs);
            let measured_s = grid.median_s(load.pairs, bytes);
            all.push((form.time_s(a_s, b_s_per_byte, bytes) / measured_s - 1.0).abs());
        }
    }
    errors(&all, sizes)
}

/// No b' is surer than this part of it.
const SURE: f64 = 0.005;
/// With fewer sizes an error on held-out sizes would say nothing.
const SIZES_MIN: usize = 4;
/// So many long sizes have a slope of their own.
const LONG_MIN: usize = 4;
/// A hyperbola has at most so much of a line's error.
const BETTER: f64 = 0.5;
/// Less is no contention: pairs on one machine disturb each other by as much.
const LEAST: f64 = 0.1;
/// The same where others keep the processors busy.
const LEAST_BUSY: f64 = 0.5;
/// A shared medium explains it clearly better with so many times smaller squares: half the error.
const CLEARLY: f64 = 4.0;
/// Ports explain a b' if they predict it with at most this error, or two of its standard errors.
const PORT: f64 = 0.05;
#[cfg(test)]
#[path = "contention_tests.rs"]
mod tests;
