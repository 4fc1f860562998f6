//! The main measurement: starts the two nodes, follows their reports, shows the result.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;
use lathide::Rank;
use lathide::launch::link::LinkSpec;
use lathide::launch::local::{Job, Output, Stream};
use parking_lot::Mutex;

use super::analysis::{Point, evaluate};
use super::output::Outcome;
use super::plan::{Event, Measured, Plan};
use super::{Args, LINK, REPEATS, describe, progress};

/// More columns hide a greater part: with 32, f is 31/32. Two nodes then hold 100 MB.
const COLUMNS_MAX: usize = 32;
/// A block of at least this many seconds makes wake-ups of some 10 us negligible.
const BLOCK_S: f64 = 0.12;

/// Repetitions, and what must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Whoever waits longer than this is told how to wait less.
const LONG_S: f64 = 90.0;

/// `lathide gain` without a program.
pub(super) fn run(args: &Args) -> ExitCode {
    let link = match args.link.clone().map_or_else(|| LINK.parse(), Ok) {
        Ok(link) => link,
        Err(error) => return fail(&format!("{LINK}: {error}"), 1),
    };
    let repeats = args.repeats.unwrap_or(REPEATS);
    let mut plan = Plan {
        rows: args.rows as usize,
        columns_max: COLUMNS_MAX,
        gammas: args.gamma.clone(),
        repeats,
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        deadline_s: 0.0,
        block_s: BLOCK_S,
    };
    let estimate_s = plan.estimate_s(exchange_s(plan.rows, &link));
    plan.deadline_s = 1.3 * estimate_s + 4.0;
    let measured = match measure(&plan, &link, estimate_s, args.quiet) {
        Ok(measured) => measured,
        Err((message, status)) => return fail(&message, status),
    };
    let points: Result<Vec<Point>, _> = measured.iter().map(|measured| evaluate(measured, plan.repeats)).collect();
    let outcome = match points {
        Ok(points) => Outcome::new(describe(&link), plan.rows, points),
        Err(error) => return fail(&format!("{error}; the machine may be too busy, measure again"), 1),
    };
    let Some(outcome) = outcome else { return fail("nothing was measured", 1) };
    if args.json { super::print_json(&outcome) } else { super::print(&outcome.text(super::colour())) }
}

fn fail(message: &str, status: u8) -> ExitCode {
    eprintln!("lathide gain: {message}");
    ExitCode::from(status)
}

/// Runs the two nodes to their end. An error comes with the exit status.
fn measure(plan: &Plan, link: &LinkSpec, estimate_s: f64, quiet: bool) -> Result<Vec<Measured>, (String, u8)> {
    let failed = |error: &dyn std::fmt::Display| (error.to_string(), 1);
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let json = serde_json::to_string(plan).map_err(|error| failed(&error))?;
    let args = ["__gain-node", "--plan", &json].map(OsString::from);
    let mut job = Job::new(2, program, args);
    job.link = link.clone();
    job.env = vec![("LATHIDE_OVERLAP".into(), "on".into())];

    let hint = if estimate_s > LONG_S { "; fewer --rows, --gamma or --repeats take less" } else { "" };
    let bar = progress(quiet, &format!("measuring over {}; takes about {estimate_s:.0} s{hint}", describe(link).how));
    let collector = Arc::new(Mutex::new(Collector::new(bar)));
    let sink = Arc::clone(&collector);
    let outcome = job
        .run(Box::new(move |output| {
            sink.lock().take(&output);
            Ok(())
        }))
        .map_err(|error| (error.to_string(), error.exit_status()))?;
    let collector = collector.lock();
    collector.bar.finish_and_clear();
    match outcome.exit_status() {
        0 => match &collector.broken {
            None => Ok(collector.measured.clone()),
            Some(line) => Err((format!("a node reported something else than measurements: {line}"), 1)),
        },
        status => Err((collector.why(&outcome), status)),
    }
}

/// About how long an exchange takes, judged by the link alone.
fn exchange_s(rows: usize, link: &LinkSpec) -> f64 {
    let bits = 64.0 * rows as f64;
    let transfer_s = link.rate_bits_per_s.map_or(0.0, |rate| bits / rate.get() as f64);
    let transfers = if link.shared { 2.0 } else { 1.0 };
    link.delay.as_secs_f64() + (transfers * transfer_s).max(1e-9 * bits / 64.0)
}

/// What the nodes have said.
struct Collector {
    bar: ProgressBar,
    measured: Vec<Measured>,
    /// Rank 0's output up to the next newline.
    line: Vec<u8>,
    /// A line that is no event.
    broken: Option<String>,
}

impl Collector {
    fn new(bar: ProgressBar) -> Self {
        Collector { bar, measured: Vec::new(), line: Vec::new(), broken: None }
    }

    fn take(&mut self, output: &Output) {
        if output.stream != Stream::Stdout || output.rank != Some(Rank(0)) {
            return;
        }
        for byte in &output.bytes {
            if *byte == b'\n' {
                self.event();
            } else {
                self.line.push(*byte);
            }
        }
    }

    fn event(&mut self) {
        let line = std::mem::take(&mut self.line);
        match serde_json::from_slice(&line) {
            Ok(Event::Progress { done, of, now }) => {
                self.bar.set_length(of);
                self.bar.set_position(done);
                self.bar.set_message(now);
            }
            Ok(Event::Measured(measured)) => self.measured.push(measured),
            Err(_) => self.broken = Some(String::from_utf8_lossy(&line).into_owned()),
        }
    }

    /// Why the job failed.
    fn why(&self, outcome: &lathide::launch::local::Outcome) -> String {
        if let Some(signal) = outcome.interrupted {
            return format!("interrupted by signal {signal}");
        }
        match &outcome.first_failure {
            Some(failure) => {
                let lines: String = failure.stderr.iter().map(|line| format!("\n  {line}")).collect();
                format!("rank {} {}{lines}", failure.rank, failure.end)
            }
            None => "the job failed".to_owned(),
        }
    }
}
