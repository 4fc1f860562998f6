//! `lathide collectives --papers`: gather, broadcast and neighbour exchange as the papers measured them, beside their
//! equations. The parameters are measured first, on messages between pairs and streams to one receiver.

mod known;
mod node;
mod pairs;
mod pattern;
mod plan;
mod predict;
mod queue;
mod results;
mod rows;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use lathide_models::fit::cluster::survey::Cluster;

use super::args::Args;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::{Nodes, measuring};
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::commands::link;
use crate::launch::failed::{Failed, Result};
use crate::report::results::Results;
use crate::report::verdict::Evidence;
use known::Known;
use plan::{Event, Plan};
use predict::{Job, PASSES, Prediction};
use queue::Queue;
use rows::Measured;

const SECONDS: f64 = 75.0;
const RANKS: [u32; 2] = [4, 8];
/// Shares of the time: pairs, the cluster model's trials. The rest is for the operations.
const PAIRS: f64 = 0.18;
const TRIALS: f64 = 0.15;
/// So much is left for the operations in any case.
const OPERATIONS: f64 = 0.3;
/// The gaps of the cluster model are worth more repetitions than longer messages.
const TRIAL_REPEATS: [u32; 2] = [9, 5];
/// What a job takes beside joining and what it measures: its processes end.
const ENDING_S: f64 = 0.05;
/// Messages in pairs: as many sizes as there is time for.
const PAIR_BYTES: [usize; 7] = [8, 512, 2 << 10, 8 << 10, 32 << 10, 64 << 10, 128 << 10];

/// Measures everything.
pub(super) fn measured(args: &Args) -> Result<Results> {
    let queue = Queue::of(args.queue, args.from.as_deref())?;
    let seconds = args.seconds.unwrap_or(SECONDS);
    let ranks = args.ranks.clone().or_else(|| args.size.map(|size| vec![size]));
    let ranks: BTreeSet<u32> = ranks.unwrap_or_else(|| RANKS.to_vec()).into_iter().collect();
    let pairs: BTreeSet<u32> = ranks.iter().map(|ranks| ranks / 2).chain([1]).collect();
    let target = &args.place.target("loopback")?;
    let what = format!("the papers' measurements over {}; takes about {seconds:.0} s", target.describe().how);
    let bar = progress("lathide collectives", args.output.quiet, &what);
    let session = Session::new();
    let nodes = Nodes { target, command: "papers", bar, session: session.clone() };
    let most = ranks.last().copied().unwrap_or(2);
    let plan = Plan::Pairs { pairs: pairs.into_iter().collect(), bytes: PAIR_BYTES.to_vec(), seconds: PAIRS * seconds };
    let began = Instant::now();
    let (events, outcome) = nodes.run::<Event>(most, &plan, &[])?;
    let cluster = trials(target, &nodes, &events, TRIALS * seconds)?;
    let known = Known::new(&events, cluster.as_ref()).map_err(Failed::new)?;
    let prediction = Prediction { known: &known, queue_bytes: queue.bytes };
    let job_s = 1.5 * outcome.joined_s.unwrap_or_default() + ENDING_S;
    let mut jobs_s = 0.0;
    for &ranks in &ranks {
        jobs_s += job_s * f64::from(PASSES) * prediction.jobs(ranks, f64::INFINITY)?.len() as f64;
    }
    let left_s = seconds - began.elapsed().as_secs_f64() - jobs_s;
    let operations = operations(&nodes, &prediction, &ranks, left_s.max(OPERATIONS * seconds))?;
    let load = session.background_load();
    let results = results::results(target.describe(), (&prediction, &queue), cluster.as_ref(), &operations, load);
    let mut results = results.ok_or_else(|| Failed::new("nothing was measured"))?;
    session.judge(&mut results, Evidence { loads: session.loads(), ..Evidence::default() });
    Ok(results)
}

/// The cluster model's trials, by the nodes of `lathide link`, who learn from messages in pairs how long they take.
fn trials(target: &Target, nodes: &Nodes<'_>, events: &[Event], seconds: f64) -> Result<Option<Cluster>> {
    let alone = events.iter().filter_map(|event| match event {
        Event::Pairs(seen) if seen.pairs == 1 && !seen.both_ways => Some((seen.bytes, seen.time_s)),
        _ => None,
    });
    let least = alone.clone().min_by(|left, right| left.1.total_cmp(&right.1));
    let longest = alone.max_by_key(|(bytes, _)| *bytes);
    let (Some((_, start_s)), Some((bytes, one_way_s))) = (least, longest) else { return Ok(None) };
    let byte_s = ((one_way_s - start_s) / bytes as f64).max(1e-12);
    link::cluster(target, (nodes.bar.clone(), nodes.session.clone()), (start_s, byte_s), (seconds, TRIAL_REPEATS))
}

/// Everything that the papers measured, for each number of ranks, with as many rounds of every operation.
fn operations(
    nodes: &Nodes<'_>,
    prediction: &Prediction<'_>,
    ranks: &BTreeSet<u32>,
    seconds: f64,
) -> Result<Vec<Measured>> {
    let round_s = |jobs: &[Job]| jobs.iter().map(|job| job.round_s).sum::<f64>();
    // Each number of ranks has the share of the time that everything would take.
    let mut wanted_s = Vec::new();
    for &ranks in ranks {
        wanted_s.push(round_s(&prediction.jobs(ranks, f64::INFINITY)?));
    }
    let all_s: f64 = wanted_s.iter().sum();
    let mut measured = Vec::new();
    for (&ranks, wanted_s) in ranks.iter().zip(wanted_s) {
        let own_s = seconds * wanted_s / all_s;
        let jobs = prediction.jobs(ranks, own_s)?;
        let rounds = own_s / f64::from(PASSES) / round_s(&jobs);
        for pass in 0..PASSES {
            let in_turn: Vec<&Job> = if pass % 2 == 0 { jobs.iter().collect() } else { jobs.iter().rev().collect() };
            for job in in_turn {
                measured.extend(run(nodes, prediction, ranks, job, rounds)?);
            }
        }
    }
    Ok(measured)
}

/// A job with so many rounds, of which one warms up.
fn run(nodes: &Nodes<'_>, prediction: &Prediction<'_>, ranks: u32, job: &Job, rounds: f64) -> Result<Vec<Measured>> {
    let Job { points, round_s } = job;
    let plan =
        Plan::Patterns { points: points.clone(), message: prediction.known.message(), seconds: rounds * round_s };
    let mut times = vec![Vec::new(); points.len()];
    for event in nodes.run::<Event>(ranks, &plan, &[("LATHIDE_COLLECTIVE", "")])?.0 {
        if let Event::Timed(at, time_s) = event
            && let Some(times) = times.get_mut(at)
        {
            times.push(time_s);
        }
    }
    let measured = points.iter().zip(times);
    Ok(measured.map(|(point, times_s)| Measured { ranks, point: point.clone(), times_s }).collect())
}

/// Runs one of the nodes.
pub(crate) fn run_node(plan: &str) -> ExitCode {
    measuring("papers", plan, node::run)
}
