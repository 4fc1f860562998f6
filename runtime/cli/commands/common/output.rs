//! How a command's results are shown, the same for every command that has some.

use std::process::ExitCode;

use super::console;
use crate::launch::failed::Failed;
use crate::report::results::Results;
use crate::report::text::shown;

/// How results are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Output {
    /// One JSON object on standard output, nothing else there
    #[arg(long, global = true, display_order = 1001)]
    pub(crate) json: bool,
    #[arg(short, long, global = true, display_order = 1002, help = QUIET)]
    pub(crate) quiet: bool,
}

/// The same option in every command.
pub(crate) const QUIET: &str = "Nothing on standard error but errors, and what ranks write there";

impl Output {
    /// Shows results, or says why there are none. `command` is what the person typed.
    pub(crate) fn show(self, command: &str, results: Result<Results, Failed>) -> ExitCode {
        let results = match results {
            Ok(results) => results,
            Err(Failed { message, status }) => return console::fail(command, &message, status),
        };
        for note in results.notes.iter().filter(|_| !self.quiet) {
            console::note(command, note);
        }
        if self.json {
            console::print_json(command, &results)
        } else {
            console::print(command, &shown(&results, console::stdout()))
        }
    }
}
