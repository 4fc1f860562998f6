//! The gain of a user's program: it runs unchanged, with overlap off and on in turns.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::launch::local::{Job, Outcome, Output};
use lathide::observe::Report;
use parking_lot::Mutex;

use super::args::{Args, REPEATS};
use super::compare::{Run, compare};
use crate::commands::common::console::progress;
use crate::commands::common::target::Target;
use crate::launch::failed::Failed;
use crate::report::results::Results;

/// How much of the program's output is shown if it fails.
const LAST_LINES: usize = 20;

/// The times of one run, in seconds.
struct Clocks {
    /// From all ranks joined to the last one leaving; `None` if the ranks are not lathide programs.
    joined_s: Option<f64>,
    /// From the first process's start to the last one's end.
    process_s: f64,
    /// What the ranks have observed of themselves.
    reports: Vec<Report>,
}

/// `lathide gain` with a program.
pub(super) fn measure(args: &Args) -> Result<Results, Failed> {
    let target = &args.target("loopback")?;
    let command: Vec<String> = args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let bar = progress("lathide gain", args.output.quiet, &format!("running {} on {} ranks", command[0], args.ranks));
    let repeats = args.repeats.unwrap_or(REPEATS);
    bar.set_length(1 + 2 * u64::from(repeats));
    let timed = |overlap: &str| -> Result<Clocks, Failed> {
        bar.set_message(format!("LATHIDE_OVERLAP={overlap}"));
        let clocks = once(args, target, overlap)?;
        bar.inc(1);
        Ok(clocks)
    };
    // The first run loads the program and its files; it does not count.
    timed("on")?;
    let mut pairs = Vec::new();
    for repeat in 0..repeats {
        if repeat % 2 == 0 {
            let off = timed("off")?;
            pairs.push((off, timed("on")?));
        } else {
            let on = timed("on")?;
            pairs.push((timed("off")?, on));
        }
    }
    bar.finish_and_clear();
    let reports = middle(&pairs);
    let joined: Option<Vec<Run>> =
        pairs.iter().map(|(off, on)| Some(Run { off_s: off.joined_s?, on_s: on.joined_s? })).collect();
    let process = || pairs.iter().map(|(off, on)| Run { off_s: off.process_s, on_s: on.process_s }).collect();
    let all_joined = joined.is_some();
    let runs: Vec<Run> = joined.unwrap_or_else(process);
    compare(target.describe(), command, args.ranks, all_joined, &runs, reports)
        .ok_or_else(|| Failed::new("the program took no time at all"))
}

/// What the ranks have observed in the run with overlap that took the middle of all times.
fn middle(pairs: &[(Clocks, Clocks)]) -> Vec<Report> {
    let mut on: Vec<&Clocks> = pairs.iter().map(|(_, on)| on).collect();
    on.sort_by(|a, b| a.process_s.total_cmp(&b.process_s));
    on.get(on.len() / 2).map(|clocks| clocks.reports.clone()).unwrap_or_default()
}

/// One run to its end.
fn once(args: &Args, target: &Target, overlap: &str) -> Result<Clocks, Failed> {
    let mut job = target.on(Job::new(args.ranks, &args.program[0], args.program[1..].iter().cloned()))?;
    job.env = vec![("LATHIDE_OVERLAP".into(), overlap.into())];
    job.report = true;
    let last = Arc::new(Mutex::new(VecDeque::new()));
    let sink = Arc::clone(&last);
    let outcome = job.run(Box::new(move |output| {
        keep(&mut sink.lock(), &output);
        Ok(())
    }))?;
    match outcome.exit_status {
        0 => Ok(clocks(&outcome)),
        status => Err(Failed { message: why(&outcome, overlap, &last.lock()), status }),
    }
}

fn clocks(outcome: &Outcome) -> Clocks {
    let left_s: Option<Vec<f64>> = outcome.ranks.iter().map(|rank| rank.left_s).collect();
    let left_s = left_s.and_then(|left_s| left_s.into_iter().reduce(f64::max));
    let joined_s = outcome.joined_s.zip(left_s).map(|(joined_s, left_s)| left_s - joined_s);
    Clocks { joined_s, process_s: outcome.ended_s, reports: outcome.reports.clone().unwrap_or_default() }
}

/// Keeps the last lines, each behind its rank.
fn keep(last: &mut VecDeque<String>, output: &Output) {
    for line in String::from_utf8_lossy(&output.bytes).lines() {
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        let rank = output.rank.map(|rank| format!("[{rank}] ")).unwrap_or_default();
        last.push_back(format!("{rank}{line}"));
    }
}

fn why(outcome: &Outcome, overlap: &str, last: &VecDeque<String>) -> String {
    if let Some(signal) = outcome.interrupted_by_signal {
        return format!("interrupted by signal {signal}");
    }
    let what = match &outcome.first_failure {
        Some(failure) => format!("rank {} {failure}", failure.rank),
        None => "the job failed".to_owned(),
    };
    let lines: String = last.iter().map(|line| format!("\n  {line}")).collect();
    format!("with LATHIDE_OVERLAP={overlap}, {what}; its last lines:{lines}")
}
