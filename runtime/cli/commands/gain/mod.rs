//! `lathide gain`: what overlapping calculation and communication brings, measured on a link, beside the models.
//!
//! Without a program it runs the experiment of Strumpen 1994, section 4.2, with two node processes of this same
//! binary (`gain-node`). With a program it runs that one, with overlap on and off.

mod analysis;
mod args;
mod compare;
mod model;
mod node;
mod output;
mod plan;
mod program;
mod stencil;
mod versions;

use std::process::ExitCode;

use args::COMMAND;
pub(crate) use args::{Args, NodeArgs};

use crate::commands::common::console;

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.program.is_empty() { stencil::run(args) } else { program::run(args) }
}

/// Runs one of the two nodes.
pub(crate) fn run_node(args: &NodeArgs) -> ExitCode {
    match node::run(&args.plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console::fail(COMMAND, &error.to_string(), 1),
    }
}
