//! What was measured beside what each equation says. Pure.

use std::collections::BTreeMap;

use lathide_models::BadParameter;
use serde::Serialize;

use super::plan::{Pattern, Point, Seen};
use super::predict::{self, Prediction};
use crate::report::summary::Summary;

/// A point and its times: seconds of the slowest rank, by repetition.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    pub(super) ranks: u32,
    pub(super) point: Point,
    pub(super) times_s: Vec<f64>,
}

/// A gather of blocks of so many bytes. Errors are `predicted / measured - 1`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Gather {
    pub(super) ranks: u32,
    pub(super) bytes: usize,
    /// i.
    pub(super) packets_each: u64,
    /// Eqs. (5) and (6).
    pub(super) lower_bound: u32,
    pub(super) upper_bound: u32,
    /// How many send at a time in the windowed form.
    pub(super) window: u32,
    /// If it was measured beside.
    pub(super) simple_s: Option<Summary>,
    pub(super) windowed_s: Summary,
    /// Eq. (8).
    pub(super) predicted_s: f64,
    /// Of the windowed form.
    pub(super) error: f64,
    /// The same where C1 has the first packet's time at the receiver's port too.
    pub(super) loose_error: f64,
    /// What the simple form takes of the windowed one's time, where they differ.
    pub(super) simple_over_windowed: Option<f64>,
}

/// A broadcast in packets, one after the other down the binomial tree.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Packets {
    pub(super) ranks: u32,
    pub(super) packets: u32,
    pub(super) bytes: usize,
    pub(super) measured_s: Summary,
    /// Eq. (1).
    pub(super) postal_s: f64,
    pub(super) postal_error: f64,
    /// Eq. (2).
    pub(super) cluster_s: f64,
    pub(super) cluster_error: f64,
}

/// A broadcast of one message.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Broadcast {
    pub(super) form: &'static str,
    pub(super) ranks: u32,
    pub(super) bytes: usize,
    pub(super) measured_s: Summary,
    pub(super) predicted_s: f64,
    pub(super) error: f64,
}

/// A message to each of some neighbours, all at once.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) neighbours: u32,
    pub(super) ranks: u32,
    pub(super) bytes: usize,
    pub(super) measured_s: Summary,
    /// As printed.
    pub(super) printed_s: f64,
    pub(super) printed_error: f64,
    /// With rule 3 for the workstation.
    pub(super) rule_3_s: f64,
    pub(super) rule_3_error: f64,
}

/// Messages in pairs at once, which parameters follow from; the slowest pair's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Messages {
    pub(super) pairs: u32,
    pub(super) both_ways: bool,
    pub(super) bytes: usize,
    pub(super) time_s: Summary,
}

impl Messages {
    /// The repetitions summed up.
    pub(super) fn all(seen: &[Seen]) -> Vec<Self> {
        let mut times: BTreeMap<(u32, bool, usize), Vec<f64>> = BTreeMap::new();
        for Seen { pairs, both_ways, bytes, time_s } in seen {
            times.entry((*pairs, *both_ways, *bytes)).or_default().push(*time_s);
        }
        let row = |((pairs, both_ways, bytes), times)| {
            Some(Messages { pairs, both_ways, bytes, time_s: Summary::of(times)? })
        };
        times.into_iter().filter_map(row).collect()
    }
}

/// Everything.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(super) struct Rows {
    pub(super) gather: Vec<Gather>,
    pub(super) packets: Vec<Packets>,
    pub(super) broadcast: Vec<Broadcast>,
    pub(super) exchange: Vec<Exchange>,
}

pub(super) const TREE: &str = "tree";
pub(super) const SERIAL: &str = "serial";

impl Rows {
    /// # Errors
    /// If a prediction is no number.
    pub(super) fn new(measured: &[Measured], prediction: &Prediction<'_>) -> Result<Self, BadParameter> {
        let mut rows = Rows::default();
        for Measured { ranks, point, times_s } in measured {
            let (ranks, bytes) = (*ranks, point.bytes);
            let Some(measured_s) = Summary::of(times_s.iter().copied()) else { continue };
            let error = |predicted_s: f64| predicted_s / measured_s.median.max(f64::MIN_POSITIVE) - 1.0;
            match point.pattern {
                // Below, with the simple form beside it.
                Pattern::Simple | Pattern::Windowed { .. } => {}
                Pattern::Packets { packets } => {
                    let predict::Packets { postal_s, cluster_s } = prediction.packets(ranks, packets, bytes)?;
                    let (postal_error, cluster_error) = (error(postal_s), error(cluster_s));
                    let row =
                        Packets { ranks, packets, bytes, measured_s, postal_s, postal_error, cluster_s, cluster_error };
                    rows.packets.push(row);
                }
                Pattern::Tree | Pattern::Serial => {
                    let form = if point.pattern == Pattern::Tree { TREE } else { SERIAL };
                    let predicted_s = prediction.broadcast(point.pattern, ranks, bytes)?;
                    let error = error(predicted_s);
                    rows.broadcast.push(Broadcast { form, ranks, bytes, measured_s, predicted_s, error });
                }
                Pattern::Exchange { neighbours } => {
                    let predict::Exchange { printed_s, rule_3_s } = prediction.exchange(ranks, neighbours, bytes)?;
                    let (printed_error, rule_3_error) = (error(printed_s), error(rule_3_s));
                    rows.exchange.push(Exchange {
                        neighbours,
                        ranks,
                        bytes,
                        measured_s,
                        printed_s,
                        printed_error,
                        rule_3_s,
                        rule_3_error,
                    });
                }
            }
        }
        rows.gather = gathers(measured, prediction)?;
        Ok(rows)
    }
}

/// What several jobs have measured, by number of ranks and point.
pub(super) fn joined(measured: &[Measured]) -> Vec<Measured> {
    let mut all: Vec<Measured> = Vec::new();
    for one in measured {
        match all.iter_mut().find(|known| (known.ranks, &known.point) == (one.ranks, &one.point)) {
            Some(known) => known.times_s.extend(&one.times_s),
            None => all.push(one.clone()),
        }
    }
    all
}

/// The windowed form of each size, with the simple one beside it; they may be one.
fn gathers(measured: &[Measured], prediction: &Prediction<'_>) -> Result<Vec<Gather>, BadParameter> {
    let mut rows = Vec::new();
    for Measured { ranks, point: Point { pattern, bytes }, times_s } in measured {
        let Pattern::Windowed { window: senders } = *pattern else { continue };
        let (ranks, bytes) = (*ranks, *bytes);
        let predict::Gather { packets_each, window, bound_s, loose_s, .. } = prediction.gather(ranks, bytes)?;
        let Some(windowed_s) = Summary::of(times_s.iter().copied()) else { continue };
        let simple = Point { pattern: Pattern::Simple, bytes };
        let simple = measured.iter().find(|measured| measured.ranks == ranks && measured.point == simple);
        let simple_s = simple.and_then(|simple| Summary::of(simple.times_s.iter().copied()));
        let error = |predicted_s: f64| predicted_s / windowed_s.median.max(f64::MIN_POSITIVE) - 1.0;
        rows.push(Gather {
            ranks,
            bytes,
            packets_each,
            lower_bound: window.lower_bound,
            upper_bound: window.upper_bound.min(ranks - 1),
            window: senders,
            simple_s,
            windowed_s,
            predicted_s: bound_s,
            error: error(bound_s),
            loose_error: error(loose_s),
            simple_over_windowed: simple_s
                .filter(|_| senders + 1 < ranks)
                .map(|simple_s| simple_s.median / windowed_s.median),
        });
    }
    Ok(rows)
}
