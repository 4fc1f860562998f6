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

pub(crate) use args::Args;
pub(crate) use papers::run_node as run_papers_node;

use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::{Nodes, measuring};
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;

const RANKS: u32 = 4;
const SECONDS: f64 = 45.0;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let results = if args.papers { papers::measured(args) } else { measured(args) };
    args.output.show("lathide collectives", results)
}

/// Measures everything, for each number of ranks. Every operation has a job of its own, and so connections of its own: what
/// TCP's congestion control remembers of a gather, whose senders share the root's port, would slow other
/// operations down for a while.
fn measured(args: &Args) -> Result<Results> {
    let operations = args.operations.clone().unwrap_or_else(|| Collective::ALL.to_vec());
    let algorithms = plan::algorithms(&operations, args.algorithms.as_deref()).map_err(Failed::usage)?;
    let sizes = sorted(args.ranks.clone().unwrap_or_else(|| vec![args.size.unwrap_or(RANKS)]));
    let seconds = args.seconds.unwrap_or(SECONDS);
    let bytes = args.bytes.clone().map(sorted);
    let plans = plan::plans(algorithms, bytes.as_deref(), (seconds, sizes.len()));
    let target = &args.place.target("loopback")?;
    let what = format!("measuring over {}; takes about {seconds:.0} s", target.describe().how);
    let bar = progress("lathide collectives", args.output.quiet, &what);
    let background = BackgroundLoad::watch();
    let nodes = Nodes { target, command: "collectives", bar };
    let mut measured = Vec::new();
    for &ranks in &sizes {
        for plan in &plans {
            measured.extend(nodes.run(ranks, plan, &[("LATHIDE_COLLECTIVE", "")])?.0);
        }
    }
    let load = background.and_then(|background| background.share());
    results::results(target.describe(), &measured, load).ok_or_else(|| Failed::new("nothing was measured"))
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
