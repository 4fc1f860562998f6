//! How the measuring commands speak: the link in words, progress, numbers, and what goes to stdout.

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

/// Says on stderr why there is no result.
pub(crate) fn fail(command: &str, message: &str, status: u8) -> ExitCode {
    eprintln!("{command}: {message}");
    ExitCode::from(status)
}

/// Says on stderr why this process has not become that program.
pub(crate) fn not_executed(program: &str, error: &std::io::Error) -> ExitCode {
    let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    fail("lathide", &format!("{program} cannot be executed: {error}"), status)
}

/// Three digits or so of a time in milliseconds, without the unit.
pub(crate) fn milliseconds(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    let digits = if ms >= 99.95 {
        0
    } else if ms >= 9.995 {
        1
    } else if ms >= 0.9995 {
        2
    } else {
        3
    };
    format!("{ms:.digits$}")
}

/// 800000 as "800 000".
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

const BYTES_MAX: usize = 256 << 20;

/// A message size: bytes, KiB or MiB.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kib" => Some(10),
        "m" | "mib" => Some(20),
        _ => None,
    };
    let bytes = shift.zip(number.parse::<usize>().ok()).and_then(|(shift, number)| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if (1..=BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("a size is a number of bytes from 1 to {} MiB, such as 8, 64KiB or 1MiB", BYTES_MAX >> 20)),
    }
}

/// About how long something may take.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    if (0.1..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("this is a number of seconds from 0.1 to 86400".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(800_000), "800 000");
        assert_eq!(grouped(12), "12");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!([0.2604, 0.0652, 0.00123, 0.0000456].map(milliseconds), ["260", "65.2", "1.23", "0.046"]);
    }
}
