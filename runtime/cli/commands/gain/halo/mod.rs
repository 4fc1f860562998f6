//! `lathide gain --halo`: what several ghost columns gain where messages are slow, beside
//! [`DeepHalo`](lathide_models::gain::DeepHalo). Beyond Strumpen 1994: `k` ghost columns do for `k` steps.
//!
//! Two gains are multiplied: fewer exchanges, `I.1 / I.1 with k`, and hiding them, `I.1 with k / I.3 with k`.

mod node;
pub(super) mod plan;
mod results;

pub(super) use node::run;
pub(super) use plan::Plan;

use super::args::{Args, REPEATS};
use super::plan::COLUMNS_MAX;
use super::stencil::{exchange_s, firm};
use super::task::Task;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::Nodes;
use crate::commands::common::raw_route::RawRoute;
use crate::commands::common::session::Session;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;
use crate::report::verdict::Evidence;

/// 25 ms one way and 50 Mbit/s: where `k` ghost columns matter.
const LINK: &str = "wan";
const ROWS: u64 = 500;
const GAMMA: f64 = 0.1;

/// `lathide gain` with ghost columns.
pub(super) fn measure(args: &Args, halos: &[u32]) -> Result<Results> {
    if let Some(halo) = halos.iter().find(|halo| **halo as usize > COLUMNS_MAX) {
        let why = format!("--halo {halo} is wider than the strip, {COLUMNS_MAX} columns: a neighbour has no more");
        return Err(Failed::usage(why));
    }
    let rows = one("--rows", args.rows.as_deref(), ROWS)?;
    let gamma = one("--gamma", args.gamma.as_deref(), GAMMA)?;
    let target = args.place.target(LINK)?;
    let route = RawRoute::of(&target)?;
    let repeats = args.repeats.unwrap_or(REPEATS);
    let session = Session::new();
    let firm_s = args.seconds.filter(|_| args.repeats.is_none());
    let deadline_s = firm_s.map(firm);
    let plan = Plan { rows: rows as usize, gamma, halos: sorted(halos), repeats, deadline_s, raw: route.place };
    let takes = match (firm_s, target.hosts.is_given()) {
        (Some(seconds), _) => format!("; takes {seconds:.0} s"),
        (None, true) => String::new(),
        (None, false) => format!(
            "; takes about {:.0} s",
            plan.estimate_s(exchange_s(1, &target.link), exchange_s(plan.rows, &target.link))
        ),
    };
    let bar = progress("lathide gain", args.output.quiet, &format!("measuring over {}{takes}", target.describe().how));
    let nodes = Nodes { target: &target, command: "gain", bar, session: session.clone() };
    let (mut measured, _) = nodes.run::<plan::Measured>(2, &Task::Halo(plan.clone()), &[])?;
    let measured = measured.pop().ok_or_else(|| Failed::new("nothing was measured"))?;
    let mut results = results::results(target.describe(), &plan, &measured)?;
    let done = measured.rounds.len();
    if done < repeats as usize {
        results.warnings.push(format!("There was time for {done} of {repeats} repetitions."));
    }
    session.judge(&mut results, Evidence { loads: session.loads(), ..Evidence::default() });
    Ok(results)
}

/// The only value of an option.
fn one<T: Copy>(name: &str, values: Option<&[T]>, default: T) -> Result<T> {
    match values {
        None => Ok(default),
        Some([value]) => Ok(*value),
        Some(_) => Err(Failed::usage(format!("{name} takes one value with --halo"))),
    }
}

/// Each once, from the least.
fn sorted(halos: &[u32]) -> Vec<u32> {
    let mut halos = halos.to_vec();
    halos.sort_unstable();
    halos.dedup();
    halos
}
