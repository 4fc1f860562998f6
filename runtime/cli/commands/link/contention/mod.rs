//! What simultaneous pairs share (Stoica, Sultan, Keyes 1994, section 4), and what the network holds (Tam, Wang, section
//! 3.2): one job of as many nodes as there are slots, measured in turns.

mod layout;
pub(super) mod node;
mod places;
pub(super) mod plan;
mod resent;
mod results;

use lathide_models::fit::contention;
use lathide_models::fit::flood::{medians, queue};

use super::args::Args;
use super::plan::{Event, Options, Plan as Nodes, Probe};
use crate::commands::common::nodes;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use plan::{Plan, SIZES_MIN};

pub(super) use results::Found;

/// The numbers of pairs that are asked for, and where they run.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pairs: Vec<u32>,
    hosts: Vec<u32>,
}

impl Wanted {
    /// By rank, the number of its host.
    pub(super) fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// `None` if none are asked for.
    pub(super) fn of(args: &Args, target: &Target) -> Result<Option<Self>> {
        let Some(pairs) = args.pairs.clone() else { return Ok(None) };
        let most = pairs.iter().copied().max().unwrap_or(1);
        if let Some(bytes) = args.bytes.as_ref().filter(|bytes| bytes.len() < SIZES_MIN) {
            return Err(Failed::usage(format!(
                "--pairs fits lines, which takes at least {SIZES_MIN} message sizes, and --bytes has {}: name more, or \
                 leave it out",
                bytes.len()
            )));
        }
        let hosts = match args.place.hosts.place_quietly(None)? {
            Some(placed) => {
                let slots: Vec<_> = placed.places.into_iter().map(|(host, ranks)| (host, ranks.len() as u32)).collect();
                places::hosts(most, &slots).map_err(Failed::usage)?
            }
            None if target.link.shared => (0..2 * most).collect(),
            None => {
                return Err(Failed::usage(format!(
                    "--pairs measures what pairs share, and on this machine over {} each has a path of its own: name \
                     hosts (--hosts a,b,c,d), or a medium for all (--link ethernet, or --link rate=50mbit,shared)",
                    target.link
                )));
            }
        };
        Ok(Some(Wanted { pairs, hosts }))
    }

    /// As many pairs at once as a program of so many ranks may have messages under way, if the place lets them share something; or
    /// why it does not, in words. Of the hosts each has one rank.
    pub(super) fn most(ranks: u32, target: &Target) -> Result<std::result::Result<Self, String>> {
        let most = match target.hosts.place_quietly(None)? {
            Some(hosts) if hosts.places.len() < 2 => {
                return Ok(Err("what pairs of hosts share was not measured: that takes two hosts or more".to_owned()));
            }
            Some(hosts) => (hosts.places.len() as u32 / 2).min(PAIRS_MOST),
            None if target.link.shared => (ranks / 2).clamp(2, PAIRS_MOST),
            None => {
                return Ok(Err(format!(
                    "what pairs share was not measured: on this machine over {} each has a path of its own (--link \
                     ethernet has a medium for all, --hosts names hosts)",
                    target.link
                )));
            }
        };
        let pairs = std::iter::successors(Some(1), |pairs| Some(2 * pairs)).take_while(|pairs| *pairs < most);
        Ok(Ok(Wanted { pairs: pairs.chain([most]).collect(), hosts: (0..2 * most).collect() }))
    }
}

/// More pairs at once take time, and on one machine its processors.
const PAIRS_MOST: u32 = 4;

/// Measures in about so many seconds.
pub(super) fn measure(
    nodes: &nodes::Nodes<'_>,
    wanted: &Wanted,
    (options, probe): (&Options, &Probe),
    seconds: f64,
) -> Result<Found> {
    let size = wanted.hosts.len() as u32;
    let repeats = (seconds, [options.repeats, options.repeats_min]);
    let message_s = [probe.start_s, probe.byte_s];
    let plan = Plan::new(wanted.hosts.clone(), &wanted.pairs, options.bytes.as_ref(), repeats, message_s);
    let has_hosts = nodes.target.hosts.is_given();
    // A relay loses nothing.
    let plan = if has_hosts { plan } else { Plan { floods: Vec::new(), ..plan } };
    let events = nodes.run(size, &Nodes::Contention(plan), &[])?.0;
    let measured = events.into_iter().find_map(|event| match event {
        Event::Contention(measured) => Some(measured),
        _ => None,
    });
    let measured = measured.ok_or_else(|| Failed::new("the nodes ended without a word on contention"))?;
    let found = contention::fit(&measured.observed, &measured.loads);
    let found = found.ok_or_else(|| Failed::new("the times of simultaneous pairs can be fitted by no line"))?;
    // On one medium, or on busy processors, senders together are no faster than the receiver.
    let is_overload = matches!(found.medium, contention::Medium::Port | contention::Medium::Switched);
    let overload = if is_overload { measured.flooding } else { 1 };
    let queue = queue(&measured.floods, overload);
    Ok(Found::new(found, queue, &measured.observed, medians(&measured.floods)))
}
