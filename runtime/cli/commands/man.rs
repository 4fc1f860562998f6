//! `lathide man`: the manual pages, made from what the command line knows of itself.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_mangen::Man;

use super::common::console;

const COMMAND: &str = "lathide man";

const EXAMPLES: &str = "\
Examples:
  lathide man | man -l -
  lathide man predict gain | man -l -
  lathide man --dir ~/.local/share/man/man1      a page for each command

The library's manual is its documentation: cargo doc --open";

/// Write the manual page of lathide, or of one of its commands
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Of this command; without it, of lathide as a whole
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of lathide and of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Runs the command; `lathide` is the command line of the whole.
pub(crate) fn run(args: &Args, lathide: clap::Command) -> ExitCode {
    if let Some(dir) = &args.dir {
        let made = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(lathide, dir));
        return match made {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => console::fail(COMMAND, &format!("no pages in {}: {error}", dir.display()), 1),
        };
    }
    let mut page = lathide;
    page.build();
    for name in &args.command {
        match page.find_subcommand(name) {
            Some(found) => page = found.clone(),
            None => {
                let known = page.get_subcommands().map(clap::Command::get_name);
                let meant = crate::nearest::did_you_mean(name, known);
                return console::fail(COMMAND, &format!("there is no command {:?}{meant}", args.command.join(" ")), 2);
            }
        }
    }
    let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
    let mut text = Vec::new();
    match Man::new(page.display_name(name)).render(&mut text) {
        Ok(()) => console::print(COMMAND, String::from_utf8_lossy(&text).trim_end()),
        Err(error) => console::fail(COMMAND, &error.to_string(), 1),
    }
}
