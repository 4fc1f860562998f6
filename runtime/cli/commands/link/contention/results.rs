//! What is found out about contention: plain data, as in the JSON object.

use std::collections::BTreeMap;

use lathide_models::fit::contention::{Contention, Medium, Observed};
use lathide_models::fit::flood::{Flood, Queue};
use serde::Serialize;

use crate::report::summary::Summary;

/// What simultaneous pairs share, and what the network holds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(in crate::commands::link) struct Found {
    #[serde(flatten)]
    pub(super) contention: Contention,
    /// What each fit is of.
    pub(super) points: Vec<Point>,
    /// B_L; unknown where nothing converged faster than the receiver takes it.
    pub(super) queue_bytes: Option<f64>,
    /// Nothing was lost, up to the greatest flood: B_L is at least so much.
    pub(super) queue_is_least: Option<bool>,
    /// How many hosts flooded another one at once.
    pub(super) queue_overload: Option<u32>,
    pub(super) floods: Vec<Flood>,
    /// What limits these numbers.
    pub(super) notes: Vec<String>,
}

/// A message of one of so many pairs at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Point {
    pub(super) pairs: u32,
    pub(super) bytes: u64,
    pub(super) s: Summary,
}

impl Found {
    pub(super) fn new(contention: Contention, queue: Option<Queue>, observed: &[Observed], floods: Vec<Flood>) -> Self {
        let mut times: BTreeMap<(u32, u64), Vec<f64>> = BTreeMap::new();
        observed.iter().for_each(|one| times.entry((one.pairs, one.bytes)).or_default().push(one.time_s));
        let point = |((pairs, bytes), times)| Some(Point { pairs, bytes, s: Summary::of(times)? });
        let points = times.into_iter().filter_map(point).collect();
        let notes = notes(&contention, queue, !floods.is_empty());
        Found {
            points,
            queue_bytes: queue.map(|queue| queue.bytes),
            queue_is_least: queue.map(|queue| queue.is_least),
            queue_overload: queue.map(|queue| queue.overload),
            floods,
            contention,
            notes,
        }
    }
}

fn notes(contention: &Contention, queue: Option<Queue>, has_flooded: bool) -> Vec<String> {
    let (pairs, mut notes) = (&contention.pairs, Vec::new());
    let most = pairs.last().map_or(1, |one| one.load.pairs);
    if most == 1 {
        notes.push("one pair alone shows no contention: b_c is unknown; measure several (--pairs 1,2,4)".to_owned());
    }
    if most > 1 && pairs.iter().all(|one| one.load.per_port == one.load.pairs) {
        notes.push(
            "all pairs were between the same two ports, so what the medium beyond them is like cannot be seen: name \
             more hosts"
                .to_owned(),
        );
    }
    match contention.medium {
        Medium::Processor => notes.push(
            "the processors had no time left while several pairs sent: a_c and b_c are of the processors, and of the \
             network they are upper bounds"
                .to_owned(),
        ),
        Medium::Unclear => notes.push(
            "times varied too much to tell what is shared: measure longer (--seconds), or when the machine is quiet"
                .to_owned(),
        ),
        Medium::Port | Medium::Switched if most > 1 => {
            let bound = most.to_string();
            notes.push(format!(
                "of more than {bound} pairs nothing is known: then b_c may be up to b'({bound}) / {bound}"
            ));
        }
        _ => {}
    }
    match queue {
        Some(queue) if queue.is_least => notes.push(
            "B_L is a lower bound: TCP had to send nothing again, up to the greatest flood (it may have put less under \
             way than it was given)"
                .to_owned(),
        ),
        None if !has_flooded => {
            notes.push("B_L was not measured: that takes senders on two hosts more, a link that is not emulated, and systems that count what TCP sends again".to_owned());
        }
        None => notes.push("B_L was not measured: senders together were no faster than the receiver".to_owned()),
        Some(_) => notes.push(
            "B_L is what the network holds of what TCP puts under way; a sender without congestion control would fill it \
             sooner"
                .to_owned(),
        ),
    }
    notes
}
