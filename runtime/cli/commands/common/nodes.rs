//! Node processes that measure: each prints one line of JSON per event, and the command follows those of rank 0.

use std::io::Write as _;
use std::sync::Arc;

pub(crate) use crate::launch::Failed;
use crate::launch::local::{Job, Outcome, Output, Stream};
use lathide::Rank;
use parking_lot::Mutex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Runs `job` to its end and hands each of rank 0's events to `take`, on another thread.
pub(crate) fn follow<E: DeserializeOwned>(job: Job, take: impl FnMut(E) + Send + 'static) -> Result<Outcome, Failed> {
    let broken = Arc::new(Mutex::new(None));
    let mut lines = Lines { line: Vec::new(), broken: Arc::clone(&broken), take };
    let sink = Box::new(move |output: Output| {
        lines.take(&output);
        Ok(())
    });
    let outcome = job.run(sink)?;
    let broken = broken.lock().take();
    match (outcome.exit_status(), broken) {
        (0, None) => Ok(outcome),
        (0, Some(line)) => Err(Failed::new(format!("a node reported something else than measurements: {line}"))),
        (status, _) => Err(Failed { message: why(&outcome), status }),
    }
}

/// Why the job failed.
fn why(outcome: &Outcome) -> String {
    if let Some(signal) = outcome.interrupted {
        return format!("interrupted by signal {signal}");
    }
    match &outcome.first_failure {
        Some(failure) => {
            // What the launcher has to say of it is not shown otherwise.
            let deadlock = outcome.deadlock.iter().flat_map(|report| report.lines());
            let lines = deadlock.chain(failure.stderr.iter().map(String::as_str));
            let lines: String = lines.map(|line| format!("\n  {line}")).collect();
            format!("rank {} {failure}{lines}", failure.rank)
        }
        None => "the job failed".to_owned(),
    }
}

/// Rank 0's output, cut into lines, each an event.
struct Lines<F> {
    /// Up to the next newline.
    line: Vec<u8>,
    /// A line that is no event.
    broken: Arc<Mutex<Option<String>>>,
    take: F,
}

impl<F> Lines<F> {
    fn take<E: DeserializeOwned>(&mut self, output: &Output)
    where
        F: FnMut(E),
    {
        if output.stream != Stream::Stdout || output.rank != Some(Rank(0)) {
            return;
        }
        for byte in &output.bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice(&line) {
                Ok(event) => (self.take)(event),
                Err(_) => *self.broken.lock() = Some(String::from_utf8_lossy(&line).into_owned()),
            }
        }
    }
}

/// Reports an event to the command. Rank 0 speaks for all.
pub(crate) fn report(rank: Rank, event: &impl Serialize) -> std::io::Result<()> {
    if rank != 0 {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, event).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Gives this thread a core of its own, as if each node were a machine. Left alone, both nodes may share one for a
/// while: they sleep and wake too often to be moved apart. The node's kernel, already started, may run anywhere.
/// Where the system refuses, all goes on without it.
pub(crate) fn keep_to_one_core(rank: Rank) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() < 2 {
        return;
    }
    let mut one = CpuSet::new();
    one.set(cores[rank.index() % cores.len()]);
    _ = sched_setaffinity(None, &one);
}
