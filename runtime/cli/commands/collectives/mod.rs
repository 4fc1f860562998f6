//! `lathide collectives`: how long collectives take by each algorithm, beside what the model predicts from the link's
//! fitted parameters, and whether the choice that follows from it is a good one.
//!
//! For each number of ranks and each operation, node processes of this same binary (`__collectives-node`) measure; rank 0
//! reports.

mod call;
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

use crate::launch::link::LinkSpec;
use lathide::collective::{Collective, Overrides};

use crate::commands::common::console;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::nodes::Failed;
use crate::commands::common::target::Ground;

/// Measure collectives by every algorithm, beside what the model predicts, and how good the choice is
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of ranks
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(2..=RANKS_MAX),
          default_value_t = 4, conflicts_with = "ranks")]
    size: u32,
    /// Several numbers of ranks, one after the other, such as 2,4,8
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=RANKS_MAX))]
    ranks: Option<Vec<u32>>,
    /// Emulated link, as in `lathide run`: loopback, lan, wan, ethernet, or delay=25ms,rate=50mbit[,jitter=1ms]
    #[arg(long, value_name = "SPEC", default_value = "loopback", conflicts_with = "hosts")]
    link: LinkSpec,
    #[command(flatten)]
    hosts: HostArgs,
    /// Operations to measure, such as broadcast,allreduce [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = operation)]
    operations: Option<Vec<Collective>>,
    /// Algorithms to measure, with a window where there is one, such as chain,ring,windowed/2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    algorithms: Option<Vec<String>>,
    /// Sizes, such as 8,64KiB,1MiB: of the whole for broadcast, reduce and allreduce, else of a rank's block [default:
    /// as many as the time allows, up to 1 MiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = console::size)]
    bytes: Option<Vec<usize>>,
    /// About how long it may take; everything is measured at least five times
    #[arg(long, value_name = "S", value_parser = console::seconds, default_value_t = SECONDS)]
    seconds: f64,
    /// One JSON object on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// Nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
}

/// One of the processes that `lathide collectives` starts
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NodeArgs {
    /// What to measure
    #[arg(long, value_name = "JSON", value_parser = plan)]
    plan: plan::Plan,
}

/// What the person typed, before every message.
const COMMAND: &str = "lathide collectives";

const EXAMPLES: &str = "\
Examples:
  lathide collectives                             all of them, 4 ranks, loopback of this machine
  lathide collectives --link delay=0.2ms,rate=100mbit --ranks 4,8 --operations broadcast,allreduce
  lathide collectives --link lan -n 8 --operations gather --algorithms simple,windowed/2 --bytes 64KiB
  lathide collectives --hosts a:2,b:2 --operations broadcast
  lathide collectives --json > collectives.json";

const SECONDS: f64 = 45.0;
const RANKS_MAX: i64 = 64;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let plan = match wanted(args) {
        Ok(plan) => plan,
        Err(message) => return console::fail(COMMAND, &message, 2),
    };
    let sizes = args.ranks.clone().unwrap_or_else(|| vec![args.size]);
    let ground = Ground::new(args.link.clone(), args.hosts.clone());
    let outcome = match ground.and_then(|ground| measure::measure(&ground, &plan, &sorted(sizes), args.quiet)) {
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
    let all: Vec<plan::Way> = operations.iter().flat_map(|operation| plan::ways(*operation)).collect();
    let ways = match &args.algorithms {
        None => all,
        Some(names) => plan::chosen_ways(&operations, &all, names)?,
    };
    for way in &ways {
        Overrides::parse(&way.forced())?;
    }
    Ok(plan::Plan { ways, bytes: args.bytes.clone().map(sorted), seconds: args.seconds })
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

fn operation(text: &str) -> Result<Collective, String> {
    let known = Collective::ALL.into_iter().find(|known| known.name() == text.trim());
    known.ok_or_else(|| format!("these are the operations: {}", Collective::ALL.map(Collective::name).join(", ")))
}

fn plan(json: &str) -> Result<plan::Plan, serde_json::Error> {
    serde_json::from_str(json)
}
