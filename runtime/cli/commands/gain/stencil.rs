//! The main measurement: starts the two nodes, follows their reports, shows the result.

use std::process::ExitCode;
use std::sync::Arc;

use crate::launch::link::LinkSpec;
use parking_lot::Mutex;

use super::analysis::{Point, evaluate};
use super::args::{Args, COMMAND, LINK, REPEATS};
use super::output::Outcome;
use super::plan::{Event, Measured, Plan};
use crate::commands::common::console::{self, progress};
use crate::commands::common::nodes::{self, Failed};
use crate::commands::common::target::Target;

/// More columns hide a greater part: with 64, f is 63/64. Two nodes then hold 200 MB.
const COLUMNS_MAX: usize = 64;
/// A block of at least this many seconds makes wake-ups of some 10 us negligible.
const BLOCK_S: f64 = 0.12;

/// Repetitions, and what must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Whoever waits longer than this is told how to wait less.
const LONG_S: f64 = 90.0;

/// `lathide gain` without a program.
pub(super) fn run(args: &Args) -> ExitCode {
    let target = match args.target(LINK) {
        Ok(target) => target,
        Err(error) => return console::fail(COMMAND, &format!("{LINK}: {error}"), 1),
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
    let estimate_s = plan.estimate_s(exchange_s(plan.rows, &target.link));
    plan.deadline_s = 1.3 * estimate_s + 4.0;
    let measured = match measure(&plan, &target, estimate_s, args.quiet) {
        Ok(measured) => measured,
        Err(Failed { message, status }) => return console::fail(COMMAND, &message, status),
    };
    let points: Result<Vec<Point>, _> = measured.iter().map(|measured| evaluate(measured, plan.repeats)).collect();
    let outcome = match points {
        Ok(points) => Outcome::new(target.describe(), plan.rows, points),
        Err(error) => {
            return console::fail(COMMAND, &format!("{error}; the machine may be too busy, measure again"), 1);
        }
    };
    let Some(outcome) = outcome else { return console::fail(COMMAND, "nothing was measured", 1) };
    if args.json {
        console::print_json(COMMAND, &outcome)
    } else {
        console::print(COMMAND, &outcome.text(console::colour()))
    }
}

/// Runs the two nodes to their end.
fn measure(plan: &Plan, target: &Target, estimate_s: f64, quiet: bool) -> Result<Vec<Measured>, Failed> {
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let mut job = target.of_lathide(2, ["__gain-node", "--plan", &json])?;
    job.env = vec![("LATHIDE_OVERLAP".into(), "on".into())];

    let hint = if estimate_s > LONG_S { "; fewer --rows, --gamma or --repeats take less" } else { "" };
    let what = format!("measuring over {}; takes about {estimate_s:.0} s{hint}", target.describe().how);
    let bar = progress(COMMAND, quiet, &what);
    let measured = Arc::new(Mutex::new(Vec::new()));
    let (sink, shown) = (Arc::clone(&measured), bar.clone());
    let followed = nodes::follow(job, move |event| match event {
        Event::Progress { done, of, now } => {
            shown.set_length(of);
            shown.set_position(done);
            shown.set_message(now);
        }
        Event::Measured(measured) => sink.lock().push(measured),
    });
    bar.finish_and_clear();
    followed?;
    let measured = measured.lock().clone();
    Ok(measured)
}

/// About how long an exchange takes, judged by the link alone.
fn exchange_s(rows: usize, link: &LinkSpec) -> f64 {
    let bits = 64.0 * rows as f64;
    let transfer_s = link.rate_bits_per_s.map_or(0.0, |rate| bits / rate.get() as f64);
    let transfers = if link.shared { 2.0 } else { 1.0 };
    link.delay.as_secs_f64() + (transfers * transfer_s).max(1e-9 * bits / 64.0)
}
