//! The main measurement: starts the two nodes and evaluates what they report.

use lathide::launcher::handshake::SocketBuffer;
use lathide::launcher::variables::SOCKET_BUFFER;

use super::analysis::{Point, evaluate};
use super::args::{Args, GAMMAS, LINK, REPEATS, ROWS};
use super::cases;
use super::judged;
use super::plan::{Case, Measured, Plan, Seen};
use super::results::sweep;
use super::task::Task;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::raw_route::RawRoute;
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::link::LinkSpec;
use crate::report::results::Results;

/// Repetitions, and what must do where other programs slow all down: a median needs three.
const REPEATS_MIN: u32 = 3;

/// Whoever waits longer than this is told how to wait less.
const LONG_S: f64 = 90.0;

/// What starting and ending nodes may take of a firm time: so much, and such a part of it.
const ENDS_S: f64 = 0.3;
const ENDS: f64 = 0.05;

/// `lathide gain` without a program.
pub(super) fn measure(args: &Args) -> Result<Results> {
    let session = Session::new();
    let target = args.place.target(LINK)?;
    let cases = Case::all(args.rows.as_deref().unwrap_or(&[ROWS]), &buffers(args)?);
    let mut what = format!("measuring over {}{}", target.describe().how, duration(args, &cases, &target));
    let (mut seen, mut measured) = (Vec::new(), Vec::new());
    for (at, case) in cases.iter().enumerate() {
        let left = cases.len() - at;
        let plan = plan(args, *case);
        let deadline_s = match args.seconds.filter(|_| plan.is_firm) {
            None => plan.patience_s(exchange_s(case.rows, &target.link)),
            Some(seconds) => firm((seconds - session.elapsed_s()) / left as f64),
        };
        let plan = Plan { deadline_s, ..plan };
        let bar = progress("lathide gain", args.output.quiet, &what);
        let nodes = Nodes { target: &target, command: "gain", bar, session: session.clone() };
        let all = points(&nodes, &plan, *case)?;
        if all.is_empty() && session.is_interrupted() {
            break;
        }
        let points: Result<Vec<Point>> = all.iter().map(|measured| evaluate(measured, plan.repeats)).collect();
        measured.push((*case, points?));
        seen.push(all);
        if session.is_interrupted() {
            break;
        }
        what = format!("measured: {}", case.in_words());
    }
    let all_points: Vec<Point> = measured.iter().flat_map(|(_, points)| points.clone()).collect();
    let results = match (cases.len(), measured.pop()) {
        (1, None) => None,
        (1, Some((case, points))) => sweep(target.describe(), case, &seen[0], points),
        (_, last) => {
            measured.extend(last);
            cases::results(target.describe(), &seen, &measured)
        }
    };
    let mut results = results.ok_or_else(|| session.nothing())?;
    let plan = plan(args, cases[0]);
    results.warnings.extend(judged::warnings(&all_points, &plan.gammas, plan.repeats));
    let hosts = [session.host(0), session.host(1)];
    session.judge(&mut results, judged::evidence(&all_points, &hosts));
    Ok(results)
}

/// What of a firm time the nodes have.
pub(super) fn firm(seconds: f64) -> f64 {
    seconds * (1.0 - ENDS) - ENDS_S
}

/// How long it will take, where the link or the person says it.
fn duration(args: &Args, cases: &[Case], target: &Target) -> String {
    if let Some(seconds) = args.seconds.filter(|_| args.repeats.is_none()) {
        return format!("; takes {seconds:.0} s");
    }
    if target.hosts.is_given() {
        return String::new();
    }
    let of = |case: &Case| plan(args, *case).estimate_s(exchange_s(case.rows, &target.link));
    let estimate_s: f64 = cases.iter().map(of).sum();
    let hint = if estimate_s > LONG_S { "; --seconds, or fewer --rows or --gamma take less" } else { "" };
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

/// What is to be measured; when it ends, the caller knows.
fn plan(args: &Args, case: Case) -> Plan {
    Plan {
        rows: case.rows,
        steps: args.steps,
        gammas: args.gamma.clone().unwrap_or(GAMMAS.to_vec()),
        repeats: args.repeats.unwrap_or(REPEATS),
        // Who asks for a number gets it, however long it takes.
        repeats_min: args.repeats.unwrap_or(REPEATS_MIN),
        deadline_s: 0.0,
        is_firm: args.seconds.is_some() && args.repeats.is_none(),
        raw: None,
    }
}

/// What two nodes of their own find out, as far as they come.
fn points(nodes: &Nodes<'_>, plan: &Plan, case: Case) -> Result<Vec<Measured>> {
    let route = RawRoute::of(nodes.target)?;
    let task = Task::Sweep(Plan { raw: route.place, ..plan.clone() });
    let size = case.socket_buffer_bytes.map_or("default".to_owned(), |bytes| bytes.to_string());
    let (seen, _) = nodes.run_as_far_as_it_goes::<Seen>(2, &task, &[(SOCKET_BUFFER.name, &size)])?;
    Ok(Measured::all(&plan.gammas, &seen))
}

/// About how long an exchange takes, judged by the link alone.
pub(super) fn exchange_s(rows: usize, link: &LinkSpec) -> f64 {
    let bits = 64.0 * rows as f64;
    let transfer_s = link.rate_bits_per_s.map_or(0.0, |rate| bits / rate.get() as f64);
    let transfers = if link.shared { 2.0 } else { 1.0 };
    link.delay.as_secs_f64() + (transfers * transfer_s).max(1e-9 * bits / 64.0)
}
