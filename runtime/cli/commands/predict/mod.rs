//! `lathide predict`: what the papers' models say, from parameters given or measured.
//!
//! One file per model: its options, and what it answers. Shared are what options take ([`values`]), saved
//! results ([`saved`]) and other files ([`input`]), the parameters of a network or cluster ([`network`], [`switch`],
//! [`channel`]), and answers ([`answer`]).

mod answer;
mod broadcast;
mod channel;
mod collectives;
mod curve;
mod decomposition;
mod gain;
mod gather;
mod graph;
mod hops;
mod hyperbolic;
mod input;
mod isoefficiency;
mod link_prices;
mod logp;
mod model;
mod multigrid;
mod network;
mod prices;
mod problem;
mod program;
mod saved;
mod switch;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::common::output::Output;
use crate::launch::failed::Failed;
pub(crate) use link_prices::{LinkPrices, link_prices};
use model::Predict;
use problem::Problem;
use saved::Saved;

/// Ask the papers' models: what hiding gains, what messages and collectives cost, how to cut a matrix
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    model: Model,
    /// Take parameters from a saved result of lathide link --json or lathide gain --json (- for standard input);
    /// an option given as well counts instead
    #[arg(long, value_name = "FILE", global = true, display_order = 1000)]
    from: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Model {
    Gain(gain::Args),
    Hyperbolic(hyperbolic::Args),
    Graph(graph::Args),
    Broadcast(broadcast::Args),
    Gather(gather::Args),
    Collectives(collectives::Args),
    #[command(name = "logp")]
    LogP(logp::Args),
    Decomposition(decomposition::Args),
    Hops(hops::Args),
    Isoefficiency(isoefficiency::Args),
    Multigrid(multigrid::Args),
    Program(program::Args),
}

const EXAMPLES: &str = "\
Lists have values and ranges: 256,1024 or 2..40 or 1..64*2 (doubling) or 0.5..4+0.5. Times are in seconds or have
ns, us, ms, s, min, h (35e-6, 35us), sizes in bytes or have KiB, MiB, kB, MB (64KiB).

Examples:
  lathide predict gain --gamma-h 10 --gamma-s 2..40 --omega 0.2
  lathide predict multigrid --dims 2 --procs 256,1024 --fixed 2500 --variable 200 --long-messages
  lathide predict decomposition --n 1024 --t-s 35e-6 --t-w 0.23e-6 --procs 16
  lathide link --json > link.json && lathide predict broadcast --from link.json --procs 2..64*2";

impl Model {
    /// Its name, and who answers.
    fn asked(&self) -> (&'static str, &dyn Predict) {
        match self {
            Model::Gain(args) => ("gain", args),
            Model::Hyperbolic(args) => ("hyperbolic", args),
            Model::Graph(args) => ("graph", args),
            Model::Broadcast(args) => ("broadcast", args),
            Model::Gather(args) => ("gather", args),
            Model::Collectives(args) => ("collectives", args),
            Model::LogP(args) => ("logp", args),
            Model::Decomposition(args) => ("decomposition", args),
            Model::Hops(args) => ("hops", args),
            Model::Isoefficiency(args) => ("isoefficiency", args),
            Model::Multigrid(args) => ("multigrid", args),
            Model::Program(args) => ("program", args),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    let (name, model) = args.model.asked();
    let results = args.from.as_deref().map(Saved::read).transpose().and_then(|saved| {
        let answer = model.predict(saved.as_ref()).map_err(|problem| located(problem, saved.as_ref()))?;
        Ok(answer.results(name, saved.map(|saved| saved.origin())))
    });
    args.output.show(&format!("lathide predict {name}"), results.map_err(Failed::usage))
}

/// A bad parameter may be the file's and not the option's.
fn located(problem: Problem, saved: Option<&Saved>) -> Problem {
    match (problem, saved) {
        (Problem::Parameter(bad), Some(saved)) => {
            Problem::Other(format!("{bad} (what no option gives is from {})", saved.name()))
        }
        (problem, _) => problem,
    }
}

#[cfg(fuzzing)]
pub(crate) mod fuzz;
#[cfg(test)]
mod mutant_tests;
