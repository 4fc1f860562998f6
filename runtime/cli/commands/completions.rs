//! `lathide completions`: what a shell needs to complete the command's names and options.

use std::process::ExitCode;

use clap_complete::aot::{Shell, generate};

use super::common::console;

const EXAMPLES: &str = "\
Examples:
  lathide completions bash > ~/.local/share/bash-completion/completions/lathide
  lathide completions zsh > ~/.zfunc/_lathide
  lathide completions fish > ~/.config/fish/completions/lathide.fish";

/// Write a script by which a shell completes commands and options
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command; `lathide` is the command line of the whole.
pub(crate) fn run(args: Args, mut lathide: clap::Command) -> ExitCode {
    let mut script = Vec::new();
    generate(args.shell, &mut lathide, "lathide", &mut script);
    console::print("lathide completions", String::from_utf8_lossy(&script).trim_end())
}
