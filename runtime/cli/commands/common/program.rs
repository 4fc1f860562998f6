//! A person's program, run to its end without its output being shown, unless it fails.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::nodes::why;
use crate::launch::failed::{Failed, Result};
use crate::launch::local::{Job, Outcome, Output, Stream};

/// How much of the program's output is shown if it fails.
const LAST_LINES: usize = 20;

/// Runs the job to its end.
///
/// # Errors
/// If it fails, or a signal ends it: `how` it ran, why, and its last lines of output.
pub(crate) fn run(job: Job, how: &str) -> Result<Outcome> {
    let outcome = run_or_interrupted(job, how)?;
    match outcome.interrupted_by_signal {
        None => Ok(outcome),
        Some(_) => Err(Failed { message: format!("{how}, {}", why(&outcome)), status: outcome.exit_status }),
    }
}

/// The same, but that a signal ended it is no error: its outcome says so.
///
/// # Errors
/// If it fails by itself.
pub(crate) fn run_or_interrupted(job: Job, how: &str) -> Result<Outcome> {
    let last = Arc::new(Mutex::new(VecDeque::new()));
    let sink = Arc::clone(&last);
    let outcome = job.run(Box::new(move |output: Output| {
        let mut last = sink.lock();
        let text = String::from_utf8_lossy(&output.bytes);
        let lines = text.lines().filter(|_| output.stream == Stream::Stdout);
        last.extend(lines.map(|line| format!("\n  {line}")));
        let surplus = last.len().saturating_sub(LAST_LINES);
        last.drain(..surplus);
        Ok(())
    }))?;
    let status = outcome.exit_status;
    if status == 0 || outcome.interrupted_by_signal.is_some() {
        return Ok(outcome);
    }
    let last: String = last.lock().iter().map(String::as_str).collect();
    let said = if last.is_empty() { last } else { format!("\nthe last lines of its output:{last}") };
    Err(Failed { message: format!("{how}, {}{said}", why(&outcome)), status })
}
