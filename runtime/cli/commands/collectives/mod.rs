//! `lathide collectives`: how long collectives take by each algorithm, beside what the model predicts from the link's
//! fitted parameters, and whether the choice that follows from it is a good one.
//!
//! For each number of ranks and each operation there are nodes that measure; rank 0 reports.

mod args;
mod call;
mod learn;
mod measure;
mod node;
mod overlap;
mod plan;
mod results;
#[cfg(test)]
mod tests;
mod together;

use std::process::ExitCode;

use lathide::{Collective, Overrides};

pub(crate) use args::Args;

use crate::commands::common::nodes::measuring;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    args.output.show("lathide collectives", measured(args))
}

fn measured(args: &Args) -> Result<Results> {
    let plan = wanted(args).map_err(Failed::usage)?;
    let sizes = sorted(args.ranks.clone().unwrap_or_else(|| vec![args.size]));
    let target = Target::new(args.link.clone(), args.hosts.clone())?;
    measure::measure(&target, &plan, &sizes, args.output.quiet)
}

/// What the nodes are to measure, or what is wrong with it.
fn wanted(args: &Args) -> std::result::Result<plan::Plan, String> {
    let operations = sorted(args.operations.clone().unwrap_or_else(|| Collective::ALL.to_vec()));
    let all: Vec<plan::Variant> = operations.iter().flat_map(|operation| plan::variants(*operation)).collect();
    let variants = match &args.algorithms {
        None => all,
        Some(names) => plan::chosen_variants(&operations, &all, names)?,
    };
    for variant in &variants {
        Overrides::parse(&variant.forced())?;
    }
    Ok(plan::Plan { variants, bytes: args.bytes.clone().map(sorted), seconds: args.seconds })
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
