//! The main measurement: starts the two nodes and evaluates what they report.

use lathide::launcher::handshake::SocketBuffer;
use lathide::launcher::variables::SOCKET_BUFFER;

use super::analysis::{Point, evaluate};
use super::args::{Args, GAMMAS, LINK, REPEATS, ROWS};
use super::cases;
use super::plan::{Case, Measured, Plan};
use super::results::sweep;
use super::task::Task;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::raw_route::RawRoute;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::link::LinkSpec;
use crate::report::results::Results;

/// Repetitions, and what must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Whoever waits longer than this is told how to wait less.
const LONG_S: f64 = 90.0;

/// `lathide gain` without a program.
pub(super) fn measure(args: &Args) -> Result<Results> {
    let target = args.place.target(LINK)?;
    let cases = Case::all(args.rows.as_deref().unwrap_or(&[ROWS]), &buffers(args)?);
    let mut what = format!("measuring over {}{}", target.describe().how, duration(args, &cases, &target));
    let mut measured = Vec::new();
    for case in &cases {
        let plan = plan(args, *case, &target);
        let bar = progress("lathide gain", args.output.quiet, &what);
        measured.push((*case, points(&target, &plan, *case, bar)?));
        what = format!("measured: {}", case.in_words());
    }
    let results = match measured.len() {
        1 => measured.pop().and_then(|(case, points)| sweep(target.describe(), case, points)),
        _ => cases::results(target.describe(), &measured),
    };
    results.ok_or_else(|| Failed::new("nothing was measured"))
}

/// How long it will take, where the link says it.
fn duration(args: &Args, cases: &[Case], target: &Target) -> String {
    if target.hosts.is_given() {
        return String::new();
    }
    let of = |case: &Case| plan(args, *case, target).estimate_s(exchange_s(case.rows, &target.link));
    let estimate_s: f64 = cases.iter().map(of).sum();
    let hint = if estimate_s > LONG_S { "; fewer --rows, --gamma or --repeats take less" } else { "" };
    format!("; takes about {estimate_s:.0} s{hint}")
}

/// The buffers that are asked for, by the option or else by the variable.
fn buffers(args: &Args) -> Result<Vec<Option<u32>>> {
    let text = || std::env::var(SOCKET_BUFFER.name).ok().filter(|text| !text.trim().is_empty());
    match (&args.socket_buffer, text()) {
        (Some(buffers), _) => Ok(buffers.clone()),
        (None, None) => Ok(vec![None]),
        (None, Some(text)) => {
            let read = SocketBuffer::read(&text);
            let bytes = read.map_err(|why| Failed::usage(format!("{}={text}: {why}", SOCKET_BUFFER.name)))?;
            Ok(vec![bytes])
        }
    }
}

/// What is to be measured.
fn plan(args: &Args, case: Case, target: &Target) -> Plan {
    let mut plan = Plan {
        rows: case.rows,
        steps: args.steps,
        gammas: args.gamma.clone().unwrap_or(GAMMAS.to_vec()),
        repeats: args.repeats.unwrap_or(REPEATS),
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        deadline_s: 0.0,
        raw: None,
    };
    plan.deadline_s = plan.patience_s(exchange_s(case.rows, &target.link));
    plan
}

/// What two nodes of their own find out.
fn points(target: &Target, plan: &Plan, case: Case, bar: indicatif::ProgressBar) -> Result<Vec<Point>> {
    let route = RawRoute::of(target)?;
    let task = Task::Sweep(Plan { raw: route.place, ..plan.clone() });
    let size = case.socket_buffer_bytes.map_or("default".to_owned(), |bytes| bytes.to_string());
    let nodes = Nodes { target, command: "gain", bar };
    let (measured, _) = nodes.run::<Measured>(2, &task, &[(SOCKET_BUFFER.name, &size)])?;
    measured.iter().map(|measured| evaluate(measured, plan.repeats)).collect()
}

/// About how long an exchange takes, judged by the link alone.
pub(super) fn exchange_s(rows: usize, link: &LinkSpec) -> f64 {
    let bits = 64.0 * rows as f64;
    let transfer_s = link.rate_bits_per_s.map_or(0.0, |rate| bits / rate.get() as f64);
    let transfers = if link.shared { 2.0 } else { 1.0 };
    link.delay.as_secs_f64() + (transfers * transfer_s).max(1e-9 * bits / 64.0)
}
