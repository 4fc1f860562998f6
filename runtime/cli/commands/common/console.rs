//! How the measuring commands speak: the link in words, progress, numbers, and what goes to stdout.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use crate::launch::link::LinkSpec;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// The link that was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Link {
    /// As `--link` takes it.
    pub(crate) spec: String,
    pub(crate) emulated: bool,
    /// In words.
    pub(crate) how: String,
}

/// The link as results name it.
pub(crate) fn describe(link: &LinkSpec) -> Link {
    let spec = link.to_string();
    if link.is_loopback() {
        let how = "loopback of this machine, not emulated: both ends of every transfer take processor time, so overlap \
                   can hardly show";
        return Link { spec, emulated: false, how: how.to_owned() };
    }
    let how = format!("{spec}, emulated by a relay of TCP connections on this machine");
    Link { spec, emulated: true, how }
}

/// A progress bar on a terminal; elsewhere a line that says what goes on. `command` is what the person typed.
pub(crate) fn progress(command: &str, quiet: bool, what: &str) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    eprintln!("{command}: {what}");
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    bar
}

/// Whether to colour what goes to stdout.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) fn print_json(command: &str, result: &impl Serialize) -> ExitCode {
    match serde_json::to_string(result) {
        Ok(json) => print(command, &json),
        Err(error) => fail(command, &format!("the result cannot be written as JSON: {error}"), 1),
    }
}

/// Writes to stdout. Whoever reads it may have gone.
pub(crate) fn print(command: &str, text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(command, &format!("the result cannot be written: {error}"), 1),
    }
}

/// Says that this process could not become a program, and why; `place`: what stands before the program's name.
pub(crate) fn not_executed(place: &str, program: &OsStr, error: &std::io::Error) -> ExitCode {
    let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    fail("lathide", &format!("{place}{} cannot be executed: {error}", program.display()), status)
}

/// Says on stderr why there is no result.
pub(crate) fn fail(command: &str, message: &str, status: u8) -> ExitCode {
    eprintln!("{command}: {message}");
    ExitCode::from(status)
}
