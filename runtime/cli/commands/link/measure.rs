//! The command's side: starts the nodes, follows their reports.

use lathide::Config;

use super::analysis;
use super::budget::{self, Sweep};
use super::contention::{self, Wanted};
use super::outcome::Outcome;
use super::plan::{Block, Event, Kind, Options, Order, Plan, Probe, SIGNAL_BYTES, Trial};
use super::results::Row;
use super::sending;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::raw_route::RawRoute;
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use lathide_models::fit::cluster::survey::{Cluster, SENDERS};

const ENDING_S: f64 = 0.05;
/// The share of the time for simultaneous pairs.
const CONTENTION: f64 = 0.4;
/// The share for sending times, beside that.
const SENDING: f64 = 0.1;
/// The shares where only parameters are wanted, and how often pairs are repeated if that fits, and otherwise.
const SURVEY_ALONE: f64 = 0.1;
const PAIRS_ALONE: f64 = 0.5;
const SENDING_ALONE: f64 = 0.2;
/// So many times its share sending times may take; beyond that, on a link of long delays, they are left out.
const SENDING_PATIENCE: f64 = 2.0;
const PAIRS_REPEATS: [u32; 2] = [5, 3];

/// Measures everything; with simultaneous pairs, these have their part of the time.
pub(super) fn measure(
    (target, session): (&Target, &Session),
    options: &Options,
    wanted: Option<&Wanted>,
    quiet: bool,
) -> Result<Outcome> {
    let what = format!("measuring over {}; takes {:.0} s", target.describe().how, options.seconds);
    let bar = progress("lathide link", quiet, &what);
    let spread = Target { hosts: target.hosts.spread(), ..target.clone() };
    let nodes = Nodes { target: &spread, command: "link", bar: bar.clone(), session: session.clone() };
    let contention_s = wanted.map_or(0.0, |_| CONTENTION * options.seconds);
    let sending_s = wanted.map_or(0.0, |_| SENDING * options.seconds);
    let options = &Options { seconds: options.seconds - contention_s - sending_s, ..options.clone() };
    let ends_s = options.deadline_s.map(|_| budget::ends_s(options.seconds));
    let left_s = |part: usize| ends_s.map(|ends_s| ends_s[part] - session.elapsed_s());
    let (probe, blocks, job_s) = survey(&nodes, &Options { deadline_s: left_s(0), ..options.clone() })?;
    let sweep = budget::sweep(options, &probe, job_s);
    let (fragments, left_out) = fragments(&nodes, &sweep, || left_s(1))?;
    let cluster = cluster(&nodes, options, &probe, || left_s(2))?;
    let slots = Nodes { target, command: "link", bar, session: session.clone() };
    let pairs = |wanted| contention::measure(&slots, wanted, (options, &probe), contention_s);
    let wanted = wanted.filter(|_| !session.is_interrupted());
    let contention = wanted.map(pairs).transpose()?;
    let sends = |wanted: &Wanted| sending::measure(&slots, wanted.hosts(), &probe, sending_s);
    let sending = wanted.map(sends).transpose()?.flatten();
    let load = session.background_load();
    let is_whole = cluster.is_some() || session.is_interrupted();
    let outcome = Outcome::new(target.describe(), probe, &blocks, fragments, cluster, load);
    let warnings = ends_s.map_or(Vec::new(), |_| unmeasured(&blocks, left_out, is_whole));
    outcome.map(|outcome| Outcome { contention, sending, warnings, ..outcome }).ok_or_else(|| session.nothing())
}

/// One-way times, simultaneous pairs and sending times alone: what the hyperbolic model needs. Without pairs more one-way times fit.
pub(super) fn parameters(
    (target, session): (&Target, &Session),
    options: &Options,
    wanted: Option<&Wanted>,
    quiet: bool,
) -> Result<Outcome> {
    let what = format!("measuring the link: {}; takes about {:.0} s", target.describe().how, options.seconds);
    let nodes =
        Nodes { target, command: "link", bar: progress("lathide link", quiet, &what), session: session.clone() };
    let part_s = |share: f64| share * options.seconds;
    let (pairs_s, sending_s) = (wanted.map_or(0.0, |_| part_s(PAIRS_ALONE)), part_s(SENDING_ALONE));
    // The shortest message alone: what else there is takes its own share.
    let short = Options { seconds: part_s(SURVEY_ALONE), bytes: Some([SIGNAL_BYTES].into()), ..options.clone() };
    let (probe, mut blocks, _) = survey(&nodes, &short)?;
    let one_way_s = options.seconds - short.seconds - pairs_s - sending_s;
    blocks.extend(one_way(&nodes, budget::sizes_in(one_way_s, PAIRS_REPEATS[0], &probe))?);
    let repeated = Options { repeats: PAIRS_REPEATS[0], repeats_min: PAIRS_REPEATS[1], ..options.clone() };
    let pairs = |wanted| contention::measure(&nodes, wanted, (&repeated, &probe), pairs_s);
    let contention = wanted.map(pairs).transpose()?;
    let hosts = wanted.map_or(&[0, 1][..], Wanted::hosts);
    let sending = match sending::least_s(hosts, &probe, sending_s) {
        least_s if least_s <= SENDING_PATIENCE * sending_s => sending::measure(&nodes, hosts, &probe, sending_s)?,
        _ => None,
    };
    let load = session.background_load();
    let outcome = Outcome::new(target.describe(), probe, &blocks, Vec::new(), None, load);
    outcome.map(|outcome| Outcome { contention, sending, ..outcome }).ok_or_else(|| session.nothing())
}

/// One-way times, in jobs of their own.
fn one_way(nodes: &Nodes<'_>, orders: Vec<Order>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for order in orders {
        nodes.bar.set_message(format!("{} {} bytes", order.kind.in_words(), order.bytes));
        let plan = Plan::Fragments { order, repeats: PAIRS_REPEATS[0] };
        let events: Vec<Event> = nodes.run(plan.nodes(), &plan, &[])?.0;
        blocks.extend(events.into_iter().filter_map(|event| match event {
            Event::Measured(block) => Some(block),
            _ => None,
        }));
    }
    Ok(blocks)
}

/// Everything that one pair of nodes can measure. Also how many seconds it takes to start and end a job.
fn survey(nodes: &Nodes<'_>, options: &Options) -> Result<(Probe, Vec<Block>, f64)> {
    let route = RawRoute::of(nodes.target)?;
    let plan = Plan::Link { raw: route.place, options: options.clone() };
    let (events, outcome) = nodes.run_as_far_as_it_goes(plan.nodes(), &plan, &[])?;
    let (mut probe, mut blocks) = (None, Vec::new());
    for event in events {
        match event {
            Event::Probed(found) => probe = Some(found),
            Event::Measured(block) => blocks.push(block),
            Event::Cluster(_) | Event::Arrivals(_) | Event::Contention(_) | Event::Sending(_) => {}
        }
    }
    let joining_s = outcome.joined_s.unwrap_or_default();
    let probe: Probe = probe.ok_or_else(|| match nodes.session.is_interrupted() {
        true => nodes.session.nothing(),
        false => Failed::new("the nodes ended without a look at the link"),
    })?;
    // Beside joining: saying goodbye, a round trip or two, and what processes take to end.
    Ok((probe, blocks, 1.5 * joining_s + 4.0 * probe.start_s + ENDING_S))
}

/// What there was no time for, in sentences.
fn unmeasured(blocks: &[Block], fragments: usize, is_whole: bool) -> Vec<String> {
    let has = |kind: Kind| blocks.iter().any(|block| block.order.kind == kind);
    let kinds = [Kind::OneWay, Kind::Stream, Kind::Exchange, Kind::Overlap, Kind::ExchangeOverlap, Kind::Loaded];
    let missing = kinds.into_iter().filter(|kind| !has(*kind)).map(|kind| format!("{kind:?}"));
    let mut missing: Vec<String> = missing.collect();
    if fragments > 0 {
        missing.push(format!("{fragments} jobs of the fragment sweep"));
    }
    if !is_whole {
        missing.push("the cluster model".to_owned());
    }
    let warning = || format!("There was no time for: {}. A longer --seconds has it.", missing.join(", "));
    if missing.is_empty() { Vec::new() } else { vec![warning()] }
}

/// The sweep over fragment sizes. The size is a setting of a node, so each has nodes of its own. `left_s`: the seconds left, if the
/// time is firm. Also how many jobs there was no time for.
fn fragments(nodes: &Nodes<'_>, sweep: &Sweep, left_s: impl Fn() -> Option<f64>) -> Result<(Vec<Row>, usize)> {
    let plan = Plan::Fragments { order: sweep.order, repeats: sweep.repeats };
    let (mut blocks, mut job_s, mut jobs) = (Vec::new(), 0.0, 0);
    nodes.bar.set_length(sweep.fragment_bytes.len() as u64);
    for (done, &fragment_bytes) in (0..).zip(&sweep.fragment_bytes) {
        if nodes.session.is_interrupted() || left_s().is_some_and(|left_s| left_s < job_s) {
            break;
        }
        nodes.bar.set_position(done);
        nodes.bar.set_message(format!("fragments of {fragment_bytes} bytes"));
        let begun_s = nodes.session.elapsed_s();
        let (events, _) =
            nodes.run_as_far_as_it_goes(plan.nodes(), &plan, &[("LATHIDE_FRAGMENT", &fragment_bytes.to_string())])?;
        job_s = nodes.session.elapsed_s() - begun_s;
        jobs += 1;
        blocks.extend(events.into_iter().filter_map(|event| match event {
            Event::Measured(block) => Some((fragment_bytes, block)),
            _ => None,
        }));
    }
    let left_out = if nodes.session.is_interrupted() { 0 } else { sweep.fragment_bytes.len() - jobs };
    Ok((analysis::fragments(&blocks), left_out))
}

/// The parameters of the cluster model. What one sender shows is measured by two nodes, since a third one would have to
/// share a processor with one of them on a small machine.
fn cluster(
    nodes: &Nodes<'_>,
    options: &Options,
    probe: &Probe,
    left_s: impl Fn() -> Option<f64>,
) -> Result<Option<Cluster>> {
    trials(nodes, budget::trials(options, probe), left_s)
}

/// The same in a command of its own.
pub(super) fn cluster_alone(
    nodes: &Nodes<'_>,
    probe: &Probe,
    (seconds, repeats): (f64, [u32; 2]),
) -> Result<Option<Cluster>> {
    trials(nodes, budget::trials_in(seconds, repeats, probe), || None)
}

fn trials(
    nodes: &Nodes<'_>,
    (trials, repeats): (Vec<Trial>, u32),
    left_s: impl Fn() -> Option<f64>,
) -> Result<Option<Cluster>> {
    let (mut seen, mut converging) = (Vec::new(), Vec::new());
    for senders in 1..=SENDERS {
        // Each number of senders has as much of the time as the rest of them.
        let deadline_s = left_s().map(|left_s| left_s / f64::from(SENDERS - senders + 1));
        if nodes.session.is_interrupted() || deadline_s.is_some_and(|deadline_s| deadline_s <= 0.0) {
            break;
        }
        let plan = Plan::Cluster { senders, trials: trials.clone(), repeats, deadline_s };
        for event in nodes.run_as_far_as_it_goes(plan.nodes(), &plan, &[])?.0 {
            match event {
                Event::Cluster(one) => seen.push(one),
                Event::Arrivals(arrivals) => converging.push(arrivals),
                _ => {}
            }
        }
    }
    Ok(Cluster::new(&seen, &converging, Config::alone().window_bytes))
}
