//! `lathide collectives`: how long collectives take by each algorithm, beside what the model predicts from the link's
//! fitted parameters, and whether the choice that follows from it is a good one.
//!
//! For each number of ranks and each operation there are nodes that measure; rank 0 reports.

mod args;
mod call;
mod learn;
mod node;
mod overlap;
mod papers;
mod plan;
mod results;
#[cfg(test)]
mod tests;
mod together;

use std::process::ExitCode;

use lathide::Collective;
use lathide_models::stats::SAMPLES_MIN;

pub(crate) use args::Args;
pub(crate) use papers::run_node as run_papers_node;
use plan::Plan;

use crate::commands::common::console::progress;
use crate::commands::common::nodes::{Nodes, measuring};
use crate::commands::common::session::Session;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;
use crate::report::verdict::Evidence;

const RANKS: u32 = 4;
const SECONDS: f64 = 45.0;
/// What it takes to start a job, until one has shown it, and to end one.
const STARTING_S: f64 = 0.1;
const ENDING_S: f64 = 0.05;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let results = if args.papers { papers::measured(args) } else { measured(args) };
    args.output.show_judged("lathide collectives", results, args.judged)
}

/// Measures everything, for each number of ranks. Every operation has a job of its own, and so connections of its own: what
/// TCP's congestion control remembers of a gather, whose senders share the root's port, would slow other
/// operations down for a while.
fn measured(args: &Args) -> Result<Results> {
    let session = Session::new();
    let operations = args.operations.clone().unwrap_or_else(|| Collective::ALL.to_vec());
    let algorithms = plan::algorithms(&operations, args.algorithms.as_deref()).map_err(Failed::usage)?;
    let sizes = sorted(args.ranks.clone().unwrap_or_else(|| vec![args.size.unwrap_or(RANKS)]));
    let seconds = args.seconds.unwrap_or(SECONDS);
    let bytes = args.bytes.clone().map(sorted);
    let plans = plan::plans(algorithms, bytes.as_deref(), (seconds, sizes.len()), args.repeats);
    let target = &args.place.target("loopback")?;
    let what = format!("measuring over {}; takes about {seconds:.0} s", target.describe().how);
    let bar = progress("lathide collectives", args.output.quiet, &what);
    let nodes = Nodes { target, command: "collectives", bar, session: session.clone() };
    let mut measured = Vec::new();
    let jobs: Vec<(u32, &Plan)> = sizes.iter().flat_map(|ranks| plans.iter().map(|plan| (*ranks, plan))).collect();
    let (mut left_out, mut around_s) = (Vec::new(), STARTING_S);
    for (at, (ranks, plan)) in jobs.iter().enumerate() {
        // What is left is shared by what is left; starting and ending a job has its part of it.
        let left_s = (seconds - session.elapsed_s()) / (jobs.len() - at) as f64 - around_s;
        if session.is_interrupted() {
            break;
        }
        if args.repeats.is_none() && left_s <= 0.0 {
            left_out.push(format!("{} of {ranks} ranks", plan.operation));
            continue;
        }
        let plan = if args.repeats.is_none() { Plan { seconds: left_s, ..(*plan).clone() } } else { (*plan).clone() };
        let begun_s = session.elapsed_s();
        let (found, outcome) = nodes.run_as_far_as_it_goes(*ranks, &plan, &[("LATHIDE_COLLECTIVE", "")])?;
        measured.extend(found);
        around_s = outcome.joined_s.unwrap_or(STARTING_S).min(session.elapsed_s() - begun_s) + ENDING_S;
    }
    let results = results::results(target.describe(), &measured, session.background_load());
    let mut results = results.ok_or_else(|| session.nothing())?;
    if !left_out.is_empty() {
        results.warnings.push(format!("There was no time for: {}. A longer --seconds has it.", left_out.join(", ")));
    }
    let had = results.data.get("repeats").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let few =
        (had < SAMPLES_MIN as u64).then(|| format!("An interval needs {SAMPLES_MIN} repetitions; there were {had}."));
    let evidence = Evidence { loads: session.loads(), few: few.into_iter().collect(), ..Evidence::default() };
    session.judge(&mut results, evidence);
    Ok(results)
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

/// Runs one of the nodes.
pub(crate) fn run_node(plan: &str) -> ExitCode {
    measuring("collectives", plan, node::run)
}
