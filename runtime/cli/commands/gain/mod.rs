//! `lathide gain`: what overlapping calculation and communication brings, measured on a link, beside the models.
//!
//! Without a program it runs the experiment of Strumpen 1994, section 4.2, with two nodes. With a program it runs that one,
//! with overlap on and off. With `--halo` it measures several steps for each exchange, beyond that paper.

mod analysis;
mod args;
mod cases;
mod compare;
mod costs;
mod halo;
mod headline;
mod judged;
mod node;
mod plan;
mod program;
mod reference;
mod results;
mod stencil;
mod task;
mod versions;

use std::process::ExitCode;

pub(crate) use args::Args;
use task::Task;

use crate::commands::common::nodes::measuring;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let results = match &args.halo {
        Some(halos) => halo::measure(args, halos),
        None if args.program.is_empty() => stencil::measure(args),
        None => program::measure(args),
    };
    args.output.show_judged("lathide gain", results, args.judged)
}

/// Runs one of the nodes.
pub(crate) fn run_node(plan: &str) -> ExitCode {
    measuring("gain", plan, |node, task: &Task| match task {
        Task::Sweep(plan) => node::run(node, plan),
        Task::Halo(plan) => halo::run(node, plan),
    })
}
