//! The main measurement: starts the two nodes and evaluates what they report.

use crate::launch::link::LinkSpec;

use super::analysis::{Point, evaluate};
use super::args::{Args, LINK, REPEATS};
use super::plan::{Measured, Plan};
use super::results::sweep;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::raw_route::RawRoute;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;

/// Repetitions, and what must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Whoever waits longer than this is told how to wait less.
const LONG_S: f64 = 90.0;

/// `lathide gain` without a program.
pub(super) fn measure(args: &Args) -> Result<Results> {
    let target = args.place.target(LINK)?;
    let repeats = args.repeats.unwrap_or(REPEATS);
    let mut plan = Plan {
        rows: args.rows as usize,
        gammas: args.gamma.clone(),
        repeats,
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        deadline_s: 0.0,
        steps: None,
        raw: None,
    };
    let estimate_s = plan.estimate_s(exchange_s(plan.rows, &target.link));
    plan.deadline_s = 1.3 * estimate_s + 4.0;
    let hint = if estimate_s > LONG_S { "; fewer --rows, --gamma or --repeats take less" } else { "" };
    let what = format!("measuring over {}; takes about {estimate_s:.0} s{hint}", target.describe().how);
    let bar = progress("lathide gain", args.output.quiet, &what);
    let route = RawRoute::of(&target)?;
    plan.raw = route.place;
    let (measured, _) = Nodes { target: &target, command: "gain", bar }.run::<Measured>(2, &plan, &[])?;
    let points: Result<Vec<Point>> = measured.iter().map(|measured| evaluate(measured, repeats)).collect();
    sweep(target.describe(), plan.rows, points?).ok_or_else(|| Failed::new("nothing was measured"))
}

/// About how long an exchange takes, judged by the link alone.
fn exchange_s(rows: usize, link: &LinkSpec) -> f64 {
    let bits = 64.0 * rows as f64;
    let transfer_s = link.rate_bits_per_s.map_or(0.0, |rate| bits / rate.get() as f64);
    let transfers = if link.shared { 2.0 } else { 1.0 };
    link.delay.as_secs_f64() + (transfers * transfer_s).max(1e-9 * bits / 64.0)
}
