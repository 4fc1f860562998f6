//! `lathide link`: what a link can do with lathide, beside raw TCP between the same two processes in the same run.
//!
//! Two node processes of this same binary (`__link-node`) measure, a third one sends for the cluster model; rank 0 leads.

mod analysis;
mod args;
mod budget;
mod cluster;
mod error;
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

use args::COMMAND;
pub(crate) use args::{Args, NodeArgs};

use crate::commands::common::console;
use crate::commands::common::nodes::Failed;
use crate::commands::common::target::Target;

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
    let target = match Target::new(args.link.clone(), args.hosts.clone()) {
        Ok(target) => target,
        Err(Failed { message, status }) => return console::fail(COMMAND, &message, status),
    };
    let options = plan::Options {
        seconds: args.seconds,
        repeats: args.repeats.unwrap_or(REPEATS),
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        bytes,
        shared: target.link.shared,
        yields: !target.is_loopback() || std::thread::available_parallelism().map_or(1, usize::from) < 2,
    };
    let outcome = match measure::measure(&target, &options, args.quiet) {
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
