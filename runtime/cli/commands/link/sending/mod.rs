//! Sending times T_s (Stoica, Sultan, Keyes 1994, section 2.5): what a message takes until its last byte has left the host. One
//! job, of as many nodes as there are slots: one of them sends alone, then several at once.

pub(super) mod node;

use std::collections::BTreeMap;

use lathide_models::fit::by_size::{self, Judged};
use lathide_models::fit::hyperbolic::{self, Hyperbolic};
use serde::{Deserialize, Serialize};

use super::plan::{Event, Plan as Nodes, Probe, SIGNAL_BYTES};
use crate::commands::common::nodes;
use crate::launch::failed::Result;
use crate::report::format::seconds as in_seconds;
use crate::report::results::{Form, Results, Table};
use crate::report::summary::Summary;

/// What the nodes shall do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// By rank, the number of its host.
    pub(super) hosts: Vec<u32>,
    /// How many send at once, rising from 1.
    senders: Vec<u32>,
    /// Message sizes, rising.
    bytes: Vec<usize>,
    /// How often everything is measured, beside once to warm up.
    repeats: u32,
    /// About how many seconds it may take.
    seconds: f64,
    /// Seconds for a short message one way, and for each byte.
    message_s: [f64; 2],
}

/// The mean T_s of the messages of one repetition.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    senders: u32,
    bytes: usize,
    time_s: f64,
}

/// T_s of one sender alone, and of several at once.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Found {
    /// a_s and b_s of T_s(x; a_s, b_s), of one sender alone, with the error at sizes that they were not fitted to.
    #[serde(flatten)]
    alone: Judged<Hyperbolic>,
    /// To how many others each sender sends at once.
    receivers: u32,
    /// The same for each number of senders.
    by_senders: Vec<BySenders>,
    messages: Vec<Message>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct BySenders {
    senders: u32,
    #[serde(flatten)]
    fit: Judged<Hyperbolic>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
struct Message {
    senders: u32,
    bytes: usize,
    s: Summary,
}

/// Message sizes, of which as many are measured as fit.
const SIZES: [usize; 8] = [SIGNAL_BYTES, 128, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Fewer cannot be fitted with an error.
const SIZES_MIN: usize = 4;
/// The most that a sender sends to at once.
const RECEIVERS_MAX: usize = 4;
const REPEATS: u32 = 5;
/// What agreeing on a moment takes, beside messages.
const MEETING_S: f64 = 2e-3;

impl Plan {
    fn new(hosts: Vec<u32>, seconds: f64, probe: &Probe) -> Self {
        let size = hosts.len() as u32;
        let senders = if size > 2 { vec![1, size] } else { vec![1] };
        let message_s = [probe.start_s, probe.byte_s];
        let mut plan = Plan { hosts, senders, bytes: Vec::new(), repeats: REPEATS, seconds, message_s };
        let mut left_s = seconds;
        for bytes in SIZES {
            left_s -=
                f64::from(REPEATS + 1) * plan.senders.iter().map(|senders| plan.block_s(*senders, bytes)).sum::<f64>();
            if left_s >= 0.0 || plan.bytes.len() < SIZES_MIN {
                plan.bytes.push(bytes);
            }
        }
        plan
    }

    /// What so many senders take, if all share one medium.
    fn block_s(&self, senders: u32, bytes: usize) -> f64 {
        let [start_s, byte_s] = self.message_s;
        let each_s = byte_s * bytes as f64 * f64::from(senders) * self.receivers() as f64;
        f64::from(node::count(bytes)) * (each_s + 6.0 * start_s + MEETING_S)
    }

    /// To how many others each rank sends at once.
    fn receivers(&self) -> usize {
        (self.hosts.len() - 1).min(RECEIVERS_MAX)
    }
}

/// How long it takes at least, beside warming up, where it gets so many seconds.
pub(super) fn least_s(hosts: &[u32], probe: &Probe, seconds: f64) -> f64 {
    let plan = Plan::new(hosts.to_vec(), seconds, probe);
    let points = plan.senders.iter().flat_map(|senders| plan.bytes.iter().map(move |bytes| (*senders, *bytes)));
    f64::from(node::REPEATS_MIN) * points.map(|(senders, bytes)| plan.block_s(senders, bytes)).sum::<f64>()
}

/// Measures in about so many seconds; `None` if the messages cannot be timed, or nothing could be fitted.
pub(super) fn measure(nodes: &nodes::Nodes<'_>, hosts: &[u32], probe: &Probe, seconds: f64) -> Result<Option<Found>> {
    let plan = Plan::new(hosts.to_vec(), seconds, probe);
    let receivers = plan.receivers() as u32;
    let (events, _) = nodes.run(
        hosts.len() as u32,
        &Nodes::Sending(plan),
        &[("LATHIDE_OBSERVE", "sends"), ("LATHIDE_CALIBRATE", "off")],
    )?;
    let sent = events.into_iter().find_map(|event| match event {
        Event::Sending(sent) => Some(sent),
        _ => None,
    });
    Ok(Found::new(&sent.unwrap_or_default(), receivers))
}

impl Found {
    fn new(sent: &[Sent], receivers: u32) -> Option<Self> {
        let mut times: BTreeMap<(u32, usize), Vec<f64>> = BTreeMap::new();
        sent.iter().for_each(|one| times.entry((one.senders, one.bytes)).or_default().push(one.time_s));
        let message = |(&(senders, bytes), times): (&(u32, usize), &Vec<f64>)| {
            Some(Message { senders, bytes, s: Summary::of(times.iter().copied())? })
        };
        let messages = times.iter().filter_map(message).collect();
        let mut by_senders = Vec::new();
        for same in sent.chunk_by(|one, other| one.senders == other.senders) {
            let points: Vec<(usize, f64)> = same.iter().map(|one| (one.bytes, one.time_s)).collect();
            let fit = by_size::fit(&points, hyperbolic::fit);
            by_senders.extend(fit.map(|fit| BySenders { senders: same[0].senders, fit }));
        }
        let alone = by_senders.iter().find(|one| one.senders == 1)?.fit.clone();
        Some(Found { alone, receivers, by_senders, messages })
    }

    /// Shows it.
    pub(super) fn show(&self, results: &mut Results) {
        let Hyperbolic { a_s, b_s_per_byte } = self.alone.model;
        results
            .table(
                Table::of("sending.messages")
                    .title(format!(
                        "Sending time T_s: until the last byte of a message has left the host; each sender to {} others at once.",
                        self.receivers
                    ))
                    .column("senders", "senders", Form::Count)
                    .column("bytes", "bytes", Form::Bytes)
                    .range("s", "T_s", Form::Seconds),
            )
            .text(format!(
                "T_s of one sender alone (Stoica, Sultan, Keyes, section 2.5): a_s = {}, b_s = {} per byte. Cross-validated: median \
                 error {:.1} %, p90 {:.1} %.",
                in_seconds(a_s),
                in_seconds(b_s_per_byte),
                100.0 * self.alone.errors.median_error,
                100.0 * self.alone.errors.p90_error,
            ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_into_the_time_and_some_are_always_measured() {
        let probe = |byte_s| Probe { start_s: 100e-6, byte_s };
        let slow = Plan::new(vec![0, 1, 2, 3], 1.0, &probe(1e-6));
        assert_eq!((slow.bytes.len(), slow.senders.clone(), slow.receivers()), (SIZES_MIN, vec![1, 4], 3));
        let fast = Plan::new(vec![0, 1, 2, 3, 4, 5], 10.0, &probe(1e-8));
        assert_eq!((fast.bytes.len(), fast.receivers()), (SIZES.len(), 4));
        assert_eq!(Plan::new(vec![0, 1], 1.0, &probe(1e-8)).senders, [1]);
        let far = Probe { start_s: 25e-3, byte_s: 1e-7 };
        assert!(least_s(&[0, 1], &probe(1e-8), 1.0) < 1.0 && least_s(&[0, 1], &far, 1.0) > 10.0);
    }

    #[test]
    fn what_one_sender_takes_is_found_beside_what_several_take() {
        let (alone, shared) =
            (Hyperbolic { a_s: 50e-6, b_s_per_byte: 1e-6 }, Hyperbolic { a_s: 80e-6, b_s_per_byte: 4e-6 });
        let sent = |senders, model: Hyperbolic| {
            let at = move |bytes| Sent { senders, bytes, time_s: model.time_s(bytes as u64).expect("finite") };
            SIZES.into_iter().map(at)
        };
        let all: Vec<Sent> = sent(1, alone).chain(sent(6, shared)).collect();
        let found = Found::new(&all, 4).expect("enough sizes");
        assert!((found.alone.model.b_s_per_byte / 1e-6 - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.by_senders[1].fit.model.b_s_per_byte / 4e-6 - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.messages.len(), 2 * SIZES.len());
        assert!(Found::new(&all[..3], 4).is_none());
        assert!(Found::new(&all[SIZES.len()..], 4).is_none(), "nobody sent alone");
    }
}
