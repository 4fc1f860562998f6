//! How a command's results are shown, the same for every command that has some.

use std::process::ExitCode;

use super::console;
use crate::launch::failed::Failed;
use crate::report::results::Results;
use crate::report::text::text;

/// How results are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Output {
    /// One JSON object on stdout, nothing else there
    #[arg(long, global = true, display_order = 1001)]
    pub(crate) json: bool,
    /// Nothing on stderr but errors
    #[arg(short, long, global = true, display_order = 1002)]
    pub(crate) quiet: bool,
}

impl Output {
    /// Shows results, or says why there are none. `command` is what the person typed.
    pub(crate) fn show(self, command: &str, results: Result<Results, Failed>) -> ExitCode {
        let results = match results {
            Ok(results) => results,
            Err(Failed { message, status }) => return console::fail(command, &message, status),
        };
        for note in results.notes.iter().filter(|_| !self.quiet) {
            eprintln!("{command}: {note}");
        }
        if self.json {
            console::print_json(command, &results)
        } else {
            console::print(command, &text(&results, console::colour()))
        }
    }
}
