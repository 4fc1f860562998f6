//! The commands, one module each.

mod collectives;
mod common;
mod completions;
mod doctor;
mod gain;
mod lab;
mod link;
mod man;
mod predict;
#[cfg(fuzzing)]
pub(crate) use predict::fuzz;
mod report;
mod run;
mod study;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use common::console::{self, Colours};
use common::nodes::{LOOK, run_look_node};

/// Latency-hiding message passing over plain TCP: run jobs, measure what hiding gains.
#[derive(Parser)]
#[command(
    name = "lathide",
    version = crate::version::VERSION,
    arg_required_else_help = true,
    after_help = "The environment variables: lathide --help",
    after_long_help = common::environment::help()
)]
struct Cli {
    /// When there are colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 1003)]
    color: Colours,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Gain(gain::Args),
    Predict(Box<predict::Args>),
    Report(report::Args),
    Doctor(doctor::Args),
    Link(link::Args),
    Collectives(collectives::Args),
    Study(study::Args),
    /// One of the nodes that a command measures with.
    #[command(name = "__node", hide = true)]
    Node {
        command: String,
        plan: String,
    },
    Lab(Box<lab::Args>),
    Completions(completions::Args),
    Man(man::Args),
    /// Becomes a program on a host of the lab.
    #[command(name = "__in-host", hide = true)]
    InHost(lab::InHostArgs),
    /// Becomes a rank's program.
    #[command(name = "__start", hide = true)]
    Start {
        launcher: u32,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 1.., required = true)]
        command: Vec<OsString>,
    },
    /// Starts the ranks of one host.
    #[command(name = "__agent", hide = true)]
    Agent,
    /// Leads a launcher whose connection was cut to its agent on this host.
    #[command(name = "__agent-resume", hide = true)]
    AgentResume,
    /// Says a launcher's last word to the agent behind a process group that is the way there.
    #[command(name = "__will", hide = true)]
    Will {
        group: i32,
    },
    /// Ends what a launcher leaves: the processes of a job, if it was killed, or a lab.
    #[command(name = "__warden", hide = true)]
    Warden {
        kind: String,
        name: PathBuf,
    },
}

pub(crate) fn main() -> ExitCode {
    let command = common::help::fitted(Cli::command(), console::stdout().width);
    let mut command =
        command.max_term_width(console::stdout().width).color(match colours(std::env::args_os().skip(1)) {
            Colours::Auto => ColorChoice::Auto,
            Colours::Always => ColorChoice::Always,
            Colours::Never => ColorChoice::Never,
        });
    let parsed = command.try_get_matches_from_mut(std::env::args_os()).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed.map_err(|error| error.format(&mut command)) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    console::set_colours(cli.color);
    match cli.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Gain(args) => gain::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Link(args) => link::run(&args),
        Command::Collectives(args) => collectives::run(&args),
        Command::Study(args) => study::run(&args),
        Command::Node { command, plan } => match command.as_str() {
            "collectives" => collectives::run_node(&plan),
            "gain" => gain::run_node(&plan),
            "link" => link::run_node(&plan),
            LOOK => run_look_node(),
            "papers" => collectives::run_papers_node(&plan),
            _ => console::fail("lathide", &format!("no command {command} has nodes"), 2),
        },
        Command::Lab(args) => lab::run(*args),
        Command::Completions(args) => completions::run(args, visible()),
        Command::Man(args) => man::run(&args, common::help::fitted(visible(), MAN_WIDTH)),
        Command::InHost(args) => lab::run_in_host(&args),
        Command::Start { launcher, command } => start(launcher, &command),
        Command::Agent => served(crate::launch::agent::serve()),
        Command::AgentResume => served(crate::launch::agent::resume()),
        Command::Will { group } => {
            crate::launch::agent::carry_out(group);
            ExitCode::SUCCESS
        }
        Command::Warden { kind, name } => {
            if kind == "lab" {
                crate::launch::lab::warden(&name);
            } else {
                crate::launch::local::warden(&name.to_string_lossy());
            }
            ExitCode::SUCCESS
        }
    }
}

/// The columns of a manual page's examples, between its margins.
const MAN_WIDTH: usize = 72;

/// The command line, without the commands that only lathide itself gives.
fn visible() -> clap::Command {
    let whole = Cli::command();
    let shown: Vec<clap::Command> = whole.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect();
    let empty = clap::Command::new("lathide").version(crate::version::VERSION).args(whole.get_arguments().cloned());
    let about = whole.get_about().cloned().unwrap_or_default();
    empty.about(about).after_long_help(common::environment::help()).subcommand_required(true).subcommands(shown)
}

/// What `--color` says, for messages about a command line that cannot be read.
fn colours(words: impl Iterator<Item = OsString>) -> Colours {
    let mut words = words.take_while(|word| word != "--").filter_map(|word| word.into_string().ok());
    let mut said = None;
    while let Some(word) = words.next() {
        match word.strip_prefix("--color") {
            Some("") => said = words.next().or(said),
            Some(rest) => said = rest.strip_prefix('=').map(String::from).or(said),
            None => {}
        }
    }
    said.and_then(|said| Colours::from_str(&said, false).ok()).unwrap_or_default()
}

fn served(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lathide: the agent cannot work: {error}");
            ExitCode::from(125)
        }
    }
}

fn start(launcher: u32, command: &[OsString]) -> ExitCode {
    let Some((program, args)) = command.split_first() else { return ExitCode::from(2) };
    console::not_executed("", program, &crate::launch::local::start(launcher, program, args))
}
