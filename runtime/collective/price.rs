//! What a schedule costs on a machine of the hyperbolic model (Stoica, Sultan and Keyes 1994).
//!
//! The price is reduced as the paper reduces any communication graph (rule 4): in the limit of short messages,
//! where only what a message costs counts, and in that of long ones, where only bytes do. [`line()`] takes both limits
//! from the schedules themselves, by running them; where the paper gives a formula, the algorithm's own `price`
//! states it, and they are equal.

use std::sync::Arc;

use super::prepared::Prepared;
use super::schedule::Action;
use super::simulate;
use crate::cost::CostModel;

/// What something costs in the two limits: short messages and long ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Line {
    /// `a`: seconds when messages are short.
    pub fixed: f64,
    /// `b`: seconds per byte when they are long.
    pub per_byte: f64,
}

impl Line {
    /// The time for `bytes` bytes.
    pub(crate) fn seconds(&self, bytes: f64) -> f64 {
        service_time(self.fixed, self.per_byte * bytes)
    }
}

/// The calls after which each one more costs as much.
const FEW_CALLS: u32 = 3;
/// The calls of a row: the first one's delay is a part of what each costs.
pub(crate) const ROW: f64 = 16.0;

/// The median of links' `a`, in seconds, and that of their `b`, in seconds per byte; `None` if no link is known. What
/// makes no sense counts as unknown.
pub(crate) fn typical(links: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let is_known = |(a, b): &(f64, f64)| a.is_finite() && b.is_finite() && *a > 0.0 && *b > 0.0;
    let (all_a, all_b): (Vec<f64>, Vec<f64>) = links.filter(is_known).unzip();
    Some((median(all_a)?, median(all_b)?))
}

/// The upper median.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The service time between both limits, `T(x; a, b)`: here their sum, the upper end of what the hyperbola of the
/// paper's equation 3 can be.
fn service_time(fixed: f64, of_bytes: f64) -> f64 {
    fixed + of_bytes
}

/// The price of the schedules of all ranks, per byte of something of which they move `bytes`; an element has
/// `element_bytes`. `None` if the schedules do not fit together: they would never end.
pub(crate) fn line(schedules: &[Arc<Prepared>], element_bytes: f64, bytes: f64, machine: &CostModel) -> Option<Line> {
    let fixed = simulate::makespan(schedules, 1, element_bytes, &machine.without_bytes())?;
    let of_bytes = simulate::makespan(schedules, 1, element_bytes, &machine.without_fixed())?;
    Some(Line { fixed, per_byte: of_bytes / bytes })
}

/// What one of [`ROW`] calls of these schedules costs, as [`line()`] has it: of a broadcast mostly what the busiest processor and
/// the busiest port do for it, since its root does not wait for the others.
pub(crate) fn line_in_a_row(
    schedules: &[Arc<Prepared>],
    element_bytes: f64,
    bytes: f64,
    machine: &CostModel,
) -> Option<Line> {
    let seconds = |machine: &CostModel| {
        let [one, few, more] =
            [1, FEW_CALLS, 2 * FEW_CALLS].map(|calls| simulate::makespan(schedules, calls, element_bytes, machine));
        let one_more = (more? - few?) / f64::from(FEW_CALLS);
        Some(one_more + (one? - one_more) / ROW)
    };
    let (fixed, of_bytes) = (seconds(&machine.without_bytes())?, seconds(&machine.without_fixed())?);
    Some(Line { fixed, per_byte: of_bytes / bytes })
}

/// Ranks that share cores, and what these do for a call.
pub(crate) struct Crowding {
    /// The work of all ranks, divided by the cores: less time a call cannot take.
    work: Line,
    /// The longest chain of messages of which each waits for the one before.
    waits: f64,
    cores: f64,
}

impl Crowding {
    /// A call that takes `alone` where each rank has a core. By Graham's bound for list scheduling (1969): work of W on P cores, of
    /// which C must be done one after the other, takes no longer than `W/P + (1 - 1/P) C`. Of short messages C is less: what a
    /// rank does for several of them without waiting for anybody is work, and its core does not change hands for it.
    pub(crate) fn line(&self, alone: Line) -> Line {
        let share = 1.0 - 1.0 / self.cores;
        Line {
            fixed: (self.work.fixed + share * self.waits).max(alone.fixed),
            per_byte: (self.work.per_byte + share * alone.per_byte).max(alone.per_byte),
        }
    }
}

/// What the cores do for these schedules, as [`line()`] has it; `None` if each rank has its own.
pub(crate) fn crowding(
    schedules: &[Arc<Prepared>],
    element_bytes: f64,
    bytes: f64,
    machine: &CostModel,
) -> Option<Crowding> {
    if !machine.shares_cores() {
        return None;
    }
    let actions = schedules.iter().flat_map(|schedule| schedule.steps().map(|step| schedule.action(step)));
    let (mut messages, mut sent, mut combined) = (0.0, 0.0, 0.0);
    for action in actions {
        match action {
            Action::Send { from, .. } => (messages, sent) = (messages + 1.0, sent + from.count as f64 * element_bytes),
            Action::Signal { .. } => messages += 1.0,
            Action::Combine { with, .. } => combined += with.count as f64 * element_bytes,
            _ => {}
        }
    }
    let ranks = schedules.len() as u32;
    let work = Line {
        fixed: machine.processor_time(ranks, messages, 0.0, 0.0),
        per_byte: machine.processor_time(ranks, 0.0, sent, combined) / bytes,
    };
    let waits = simulate::makespan(schedules, 1, element_bytes, &machine.of_waits())?;
    Some(Crowding { work, waits, cores: (f64::from(ranks) / machine.ranks_per_core).max(1.0) })
}
