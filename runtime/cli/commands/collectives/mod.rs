//! `lathide collectives`: how long collectives take by each algorithm, beside what the model predicts from the link's
//! fitted parameters, and whether the choice that follows from it is a good one.
//!
//! For each number of ranks and each operation, node processes of this same binary (`__collectives-node`) measure; rank 0
//! reports.

mod args;
mod call;
mod error;
mod learn;
mod measure;
mod node;
mod outcome;
mod overlap;
mod plan;
#[cfg(test)]
mod tests;
mod text;
mod together;

use std::process::ExitCode;

use lathide::{Collective, Overrides};

use args::COMMAND;
pub(crate) use args::{Args, NodeArgs};

use crate::commands::common::console;
use crate::commands::common::nodes::Failed;
use crate::commands::common::target::Target;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let plan = match wanted(args) {
        Ok(plan) => plan,
        Err(message) => return console::fail(COMMAND, &message, 2),
    };
    let sizes = args.ranks.clone().unwrap_or_else(|| vec![args.size]);
    let target = Target::new(args.link.clone(), args.hosts.clone());
    let outcome = match target.and_then(|target| measure::measure(&target, &plan, &sorted(sizes), args.quiet)) {
        Ok(outcome) => outcome,
        Err(Failed { message, status }) => return console::fail(COMMAND, &message, status),
    };
    if args.json {
        console::print_json(COMMAND, &outcome)
    } else {
        console::print(COMMAND, &outcome.text(console::colour()))
    }
}

/// Runs one of the nodes.
pub(crate) fn run_node(args: &NodeArgs) -> ExitCode {
    match node::run(&args.plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console::fail(COMMAND, &error.to_string(), 1),
    }
}

/// What the nodes are to measure, or what is wrong with it.
fn wanted(args: &Args) -> Result<plan::Plan, String> {
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
