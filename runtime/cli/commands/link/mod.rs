//! `lathide link`: what a link can do with lathide, beside raw TCP between the same two processes in the same run.
//!
//! Two node processes of this same binary (`__link-node`) measure, a third one sends for the cluster model; rank 0 leads.

mod analysis;
mod budget;
mod cluster;
mod fit;
mod measure;
mod node;
mod outcome;
mod overlap;
mod pair;
mod plan;
mod raw;
mod results;
mod stream;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod trial;

use std::process::ExitCode;

use crate::launch::link::LinkSpec;

use crate::commands::common::console;
use crate::commands::common::hosts::HostArgs;
use crate::commands::common::nodes::Failed;
use crate::commands::common::target::Ground;

/// Measure what a link can do: lathide beside raw TCP, blocking and polled, in the same run
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Emulated link, as in `lathide run`: loopback, lan, wan, ethernet, or delay=25ms,rate=50mbit[,jitter=1ms]
    #[arg(long, value_name = "SPEC", default_value = "loopback", conflicts_with = "hosts")]
    link: LinkSpec,
    #[command(flatten)]
    hosts: HostArgs,
    /// Message sizes to measure with, such as 8,64KiB,1MiB [default: as many as the time allows, up to 16 MiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = console::size)]
    bytes: Option<Vec<usize>>,
    /// How often everything is measured; medians count [default: 5, or 3 where the time is over before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
    /// About how long it may take; sizes and numbers of messages are chosen to fit
    #[arg(long, value_name = "S", value_parser = console::seconds, default_value_t = SECONDS)]
    seconds: f64,
    /// One JSON object on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// Nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
}

/// One of the two processes that `lathide link` starts
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NodeArgs {
    /// What to measure
    #[arg(long, value_name = "JSON", value_parser = plan)]
    plan: plan::Plan,
}

/// What the person typed, before every message.
const COMMAND: &str = "lathide link";

const EXAMPLES: &str = "\
Examples:
  lathide link                                    loopback of this machine, less than a minute
  lathide link --link wan                         an emulated wide-area link
  lathide link --link delay=1ms,rate=100mbit --bytes 8,64KiB,1MiB
  lathide link --hosts localhost,b                the network between this machine and b
  lathide link --json > link.json";

const SECONDS: f64 = 45.0;
const REPEATS: u32 = 5;
/// What must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let mut bytes = args.bytes.clone();
    if let Some(bytes) = &mut bytes {
        bytes.sort_unstable();
        bytes.dedup();
    }
    let ground = match Ground::new(args.link.clone(), args.hosts.clone()) {
        Ok(ground) => ground,
        Err(Failed { message, status }) => return console::fail(COMMAND, &message, status),
    };
    let wishes = plan::Wishes {
        seconds: args.seconds,
        repeats: args.repeats.unwrap_or(REPEATS),
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        bytes,
        shared: ground.link.shared,
        yields: !ground.is_loopback() || std::thread::available_parallelism().map_or(1, usize::from) < 2,
    };
    let outcome = match measure::measure(&ground, &wishes, args.quiet) {
        Ok(outcome) => outcome,
        Err(Failed { message, status }) => return console::fail(COMMAND, &message, status),
    };
    if !args.json {
        return console::print(COMMAND, &outcome.text(console::colour()));
    }
    match outcome.json() {
        Ok(json) => console::print_json(COMMAND, &json),
        Err(error) => console::fail(COMMAND, &format!("the result cannot be written as JSON: {error}"), 1),
    }
}

/// Runs one of the two nodes.
pub(crate) fn run_node(args: &NodeArgs) -> ExitCode {
    match node::run(&args.plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console::fail(COMMAND, &error.to_string(), 1),
    }
}

fn plan(json: &str) -> Result<plan::Plan, serde_json::Error> {
    serde_json::from_str(json)
}
