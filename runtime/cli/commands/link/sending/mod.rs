//! Sending times T_s (Stoica, Sultan, Keyes 1994, section 2.5): what a message takes until its last byte has left the host. One
//! job, of as many nodes as there are slots: one of them sends alone, then several at once.

pub(super) mod node;
pub(super) mod plan;

use std::collections::BTreeMap;

use lathide_models::fit::by_size::{self, Judged};
use lathide_models::fit::hyperbolic::{self, Hyperbolic};
use serde::Serialize;

use plan::{Plan, Sent};

use super::plan::{Event, Plan as Nodes, Probe};
use crate::commands::common::nodes;
use crate::launch::failed::Result;
use crate::report::format::seconds as in_seconds;
use crate::report::results::{Form, Results, Table};
use crate::report::summary::Summary;

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

/// How long it takes at least, beside warming up, where it gets so many seconds.
pub(super) fn least_s(hosts: &[u32], probe: &Probe, seconds: f64) -> f64 {
    Plan::new(hosts.to_vec(), seconds, [probe.start_s, probe.byte_s]).least_s()
}

/// Measures in about so many seconds; `None` if the messages cannot be timed, or nothing could be fitted.
pub(super) fn measure(nodes: &nodes::Nodes<'_>, hosts: &[u32], probe: &Probe, seconds: f64) -> Result<Option<Found>> {
    let plan = Plan::new(hosts.to_vec(), seconds, [probe.start_s, probe.byte_s]);
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
    use super::plan::SIZES;
    use super::*;

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
