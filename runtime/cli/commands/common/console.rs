//! How commands speak: the link in words, progress, notes and errors, what goes to stdout, width and colours of the terminal.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use crate::launch::link::LinkSpec;
use crate::report::WIDTH;
use crate::report::screen::{Meaning, Screen};
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
    note(command, what);
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

/// When there are colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum Colours {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in a file or a pipe
    Always,
    /// Nowhere
    Never,
}

static COLOURS: OnceLock<Colours> = OnceLock::new();

/// Says when there are colours, once, before anything is shown.
pub(crate) fn set_colours(when: Colours) {
    _ = COLOURS.set(when);
}

/// Standard output, as far as it matters to what is shown there.
pub(crate) fn stdout() -> Screen {
    screen_of(std::io::stdout())
}

/// Standard error.
pub(crate) fn stderr() -> Screen {
    screen_of(std::io::stderr())
}

fn screen_of(stream: impl std::io::IsTerminal + std::os::fd::AsFd) -> Screen {
    let is_terminal = stream.is_terminal();
    let colour = match COLOURS.get().copied().unwrap_or_default() {
        Colours::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        Colours::Always => true,
        Colours::Never => false,
    };
    let size = if is_terminal { terminal_size::terminal_size_of(stream) } else { None };
    // A terminal that does not say how wide it is says 0.
    let columns = size.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0);
    Screen::of(columns.unwrap_or(WIDTH), colour)
}

/// Says something on stderr that is no error, in lines that fit a terminal. Elsewhere it is one line.
pub(crate) fn note(command: &str, words: &str) {
    eprintln!("{}", said(command, words, None));
}

/// Says on stderr what went wrong.
pub(crate) fn error(command: &str, words: &str) {
    eprintln!("{}", said(command, words, Some(Meaning::Error)));
}

/// `command: words`; the command in the colour of what the words mean.
fn said(command: &str, words: &str, meaning: Option<Meaning>) -> String {
    let screen = stderr();
    let whole = format!("{command}: {words}");
    let text = match std::io::stderr().is_terminal() {
        // What others have said has lines of its own.
        true => whole
            .lines()
            .map(|line| if line.starts_with(' ') { line.to_owned() } else { screen.wrap(line, 2) })
            .collect::<Vec<_>>()
            .join("\n"),
        false => whole,
    };
    match (meaning, text.strip_prefix(&format!("{command}:"))) {
        (Some(meaning), Some(rest)) => format!("{}{rest}", screen.paint(&format!("{command}:"), meaning)),
        _ => text,
    }
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
    error(command, message);
    ExitCode::from(status)
}
