//! How a command's results are shown, the same for every command that has some.

use std::process::ExitCode;

use super::console;
use crate::launch::failed::Failed;
use crate::report::results::Results;
use crate::report::text::shown;
use crate::report::verdict::Verdict;

/// How results are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Output {
    /// One JSON object on standard output, nothing else there
    #[arg(long, global = true, display_order = 1001)]
    pub(crate) json: bool,
    #[arg(short, long, global = true, display_order = 1002, help = QUIET)]
    pub(crate) quiet: bool,
}

/// Whether the verdict on a result counts for the exit status.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Judged {
    /// Exit status 3 unless the verdict is valid: the result is shown all the same
    #[arg(long, display_order = 1003)]
    pub(crate) strict: bool,
}

/// The exit status of a result that is not valid, if that counts.
const NOT_VALID: u8 = 3;

/// The same option in every command.
pub(crate) const QUIET: &str = "Nothing on standard error but errors, and what ranks write there";

impl Output {
    /// Shows what was measured. The exit status is that of the signal which ended it early, if one did; else, if the verdict
    /// counts and is not valid, [`NOT_VALID`].
    pub(crate) fn show_judged(self, command: &str, results: Result<Results, Failed>, judged: Judged) -> ExitCode {
        let status = results.as_ref().ok().and_then(|results| {
            let is_valid = results.verdict.as_ref().is_none_or(Verdict::is_valid);
            let signal = results.ended_by_signal.and_then(|signal| u8::try_from(128 + signal).ok());
            signal.or((judged.strict && !is_valid).then_some(NOT_VALID))
        });
        let shown = self.show(command, results);
        status.map_or(shown, ExitCode::from)
    }

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
