//! `lathide link`: what a link can do with lathide, beside raw TCP between the same two processes in the same run.
//!
//! Two nodes measure, a third one sends for the cluster model; rank 0 leads.

mod analysis;
mod args;
mod budget;
mod contention;
mod layout;
mod measure;
mod node;
mod outcome;
mod overlap;
mod pair;
mod plan;
mod results;
mod sending;
mod stream;
#[cfg(test)]
mod tests;
mod trial;

use std::process::ExitCode;

pub(crate) use args::Args;
use indicatif::ProgressBar;
use lathide_models::fit::cluster::survey::Cluster;
use lathide_models::stats::SAMPLES_MIN;

use crate::commands::common::nodes::{Nodes, measuring};
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::launch::failed::Result;
use crate::report::results::Results;
use crate::report::verdict::Evidence;

/// A median has an interval from six repetitions on.
const REPEATS: u32 = 6;
/// About how long it takes, unless told otherwise.
const SECONDS: f64 = 45.0;
/// What must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    args.output.show_judged("lathide link", measured(args), args.judged)
}

fn measured(args: &Args) -> Result<Results> {
    let target = args.place.target("loopback")?;
    let wanted = contention::Wanted::of(args, &target)?;
    let options = plan::Options {
        seconds: args.seconds.unwrap_or(SECONDS),
        // Who asks for a number gets it, however long it takes; who does not, gets as many as the time allows.
        deadline_s: args.repeats.is_none().then_some(0.0),
        repeats: args.repeats.unwrap_or(REPEATS),
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        bytes: args.bytes.clone().map(|bytes| bytes.into_iter().collect()),
        shared: target.link.shared,
        yields: !target.is_loopback() || std::thread::available_parallelism().map_or(1, usize::from) < 2,
    };
    let session = Session::new();
    let mut results = measure::measure((&target, &session), &options, wanted.as_ref(), args.output.quiet)?.results();
    let had = results.data.get("repeats").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let few =
        (had < SAMPLES_MIN as u64).then(|| format!("An interval needs {SAMPLES_MIN} repetitions; there were {had}."));
    let evidence = Evidence { loads: session.loads(), few: few.into_iter().collect(), ..Evidence::default() };
    session.judge(&mut results, evidence);
    Ok(results)
}

/// The cluster model's parameters alone, on the link between the first two nodes and a third one. `message`: seconds for a
/// short message one way, and for each further byte; then about how long it may take, and how often everything is repeated if
/// that fits, and otherwise.
pub(crate) fn cluster(
    target: &Target,
    (bar, session): (ProgressBar, Session),
    (start_s, byte_s): (f64, f64),
    (seconds, repeats): (f64, [u32; 2]),
) -> Result<Option<Cluster>> {
    let probe = plan::Probe { start_s, byte_s };
    measure::cluster_alone(&Nodes { target, command: "link", bar, session }, &probe, (seconds, repeats))
}

/// What prices messages on this link, in about so many seconds: one-way times and their fit, and what pairs of hosts share, for
/// `ranks` ranks of which each host gets one before any gets two. Also why the latter is not known, if it is not.
pub(crate) fn parameters(target: &Target, ranks: u32, seconds: f64, quiet: bool) -> Result<(Results, Option<String>)> {
    let target = Target { hosts: target.hosts.spread(), ..target.clone() };
    let (wanted, unknown) = match contention::Wanted::most(ranks, &target)? {
        Ok(wanted) => (Some(wanted), None),
        Err(why) => (None, Some(why)),
    };
    let options = plan::Options {
        seconds,
        repeats: 1,
        repeats_min: 1,
        deadline_s: None,
        bytes: None,
        shared: target.link.shared,
        yields: !target.is_loopback() || std::thread::available_parallelism().map_or(1, usize::from) < 2,
    };
    Ok((measure::parameters((&target, &Session::new()), &options, wanted.as_ref(), quiet)?.results(), unknown))
}

/// Runs one of the nodes.
pub(crate) fn run_node(plan: &str) -> ExitCode {
    measuring("link", plan, node::run)
}
