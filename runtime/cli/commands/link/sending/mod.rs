//! Sending times T_s (Stoica, Sultan, Keyes 1994, section 2.5): what a message takes until its last byte has left the host. One
//! job, of as many nodes as there are slots: one of them sends alone, then several at once.

pub(super) mod node;
pub(super) mod plan;

use std::collections::BTreeMap;

use lathide_models::fit::by_size::{self, Judged};
use lathide_models::fit::hyperbolic::{self, Hyperbolic};
use serde::Serialize;

use plan::{Case, Plan, Sent};

use super::plan::{Event, Plan as Nodes, Probe};
use crate::commands::common::nodes;
use crate::launch::failed::Result;
use crate::report::format::seconds as in_seconds;
use crate::report::results::{Form, Results, Table};
use crate::report::summary::Summary;

/// T_s of one sender alone, and of several at once.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Found {
    /// a_s and b_s of T_s(x; a_s, b_s), of one sender alone that sends to the most others at once, with the error at sizes that
    /// they were not fitted to.
    #[serde(flatten)]
    alone: Judged<Hyperbolic>,
    /// To how many others that is.
    receivers: u32,
    /// The same for each case: the first has one sender and one receiver.
    cases: Vec<Fit>,
    messages: Vec<Message>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Fit {
    #[serde(flatten)]
    case: Case,
    #[serde(flatten)]
    fit: Judged<Hyperbolic>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
struct Message {
    #[serde(flatten)]
    case: Case,
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
    let (events, _) = nodes.run(
        hosts.len() as u32,
        &Nodes::Sending(plan),
        &[("LATHIDE_OBSERVE", "sends"), ("LATHIDE_CALIBRATE", "off")],
    )?;
    let sent = events.into_iter().find_map(|event| match event {
        Event::Sending(sent) => Some(sent),
        _ => None,
    });
    Ok(Found::new(&sent.unwrap_or_default()))
}

impl Found {
    fn new(sent: &[Sent]) -> Option<Self> {
        let mut times: BTreeMap<(Case, usize), Vec<f64>> = BTreeMap::new();
        sent.iter().for_each(|one| times.entry((one.case, one.bytes)).or_default().push(one.time_s));
        let message = |(&(case, bytes), times): (&(Case, usize), &Vec<f64>)| {
            Some(Message { case, bytes, s: Summary::of(times.iter().copied())? })
        };
        let messages = times.iter().filter_map(message).collect();
        let mut cases = Vec::new();
        for same in sent.chunk_by(|one, other| one.case == other.case) {
            let points: Vec<(usize, f64)> = same.iter().map(|one| (one.bytes, one.time_s)).collect();
            let fit = by_size::fit(&points, hyperbolic::fit);
            cases.extend(fit.map(|fit| Fit { case: same[0].case, fit }));
        }
        let alone = cases.iter().filter(|one| one.case.senders == 1).max_by_key(|one| one.case.receivers)?;
        Some(Found { alone: alone.fit.clone(), receivers: alone.case.receivers, cases, messages })
    }

    /// Shows it.
    pub(super) fn show(&self, results: &mut Results) {
        let Hyperbolic { a_s, b_s_per_byte } = self.alone.model;
        results
            .table(
                Table::of("sending.messages")
                    .title(
                        "Sending time T_s: until the last byte of a message has left the host; so many send at once, each to so many \
                         others at once.",
                    )
                    .column("senders", "senders", Form::Count)
                    .column("receivers", "to", Form::Count)
                    .column("bytes", "bytes", Form::Bytes)
                    .range("s", "T_s", Form::Seconds),
            )
            .text(format!(
                "T_s of one sender alone that sends to {} others at once (Stoica, Sultan, Keyes, section 2.5): a_s = {}, b_s = {} per byte. \
                 Cross-validated: median error {:.1} %, p90 {:.1} %.",
                self.receivers,
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
        let sent = |[senders, receivers]: [u32; 2], b_s_per_byte| {
            let (case, model) = (Case { senders, receivers }, Hyperbolic { a_s: 50e-6, b_s_per_byte });
            let at = move |bytes| Sent { case, bytes, time_s: model.time_s(bytes as u64).expect("finite") };
            SIZES.into_iter().map(at)
        };
        let all: Vec<Sent> = sent([1, 1], 1e-6).chain(sent([1, 4], 2e-6)).chain(sent([6, 4], 4e-6)).collect();
        let found = Found::new(&all).expect("enough sizes");
        let near =
            |fit: &Judged<Hyperbolic>, b: f64| assert!((fit.model.b_s_per_byte / b - 1.0).abs() < 1e-6, "{fit:?}");
        near(&found.alone, 2e-6);
        found.cases.iter().zip([1e-6, 2e-6, 4e-6]).for_each(|(one, b)| near(&one.fit, b));
        assert_eq!((found.receivers, found.messages.len()), (4, 3 * SIZES.len()));
        assert_eq!(Found::new(&all[..SIZES.len()]).map(|found| found.receivers), Some(1));
        assert!(Found::new(&all[..3]).is_none());
        assert!(Found::new(&all[2 * SIZES.len()..]).is_none(), "nobody sent alone");
    }
}
