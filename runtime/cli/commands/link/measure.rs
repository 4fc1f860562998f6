//! The command's side: starts the nodes, follows their reports.

use std::sync::Arc;

use crate::launch::link::Relay;
use crate::launch::local::Job;
use indicatif::ProgressBar;
use lathide::Config;
use parking_lot::Mutex;

use super::analysis::{self, Block};
use super::args::COMMAND;
use super::budget::{self, Sweep};
use super::cluster::{Cluster, SENDERS};
use super::outcome::Outcome;
use super::plan::{Event, Options, Plan, Probe, RawPlace};
use super::raw;
use super::results::Fragments;
use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::{self, Failed};
use crate::commands::common::target::Target;

/// What the nodes of the main measurement have said.
#[derive(Default)]
struct Heard {
    probe: Option<Probe>,
    blocks: Vec<Block>,
}

/// Measures everything.
pub(super) fn measure(target: &Target, options: &Options, quiet: bool) -> Result<Outcome, Failed> {
    let what = format!("measuring over {}; takes up to {:.0} s", target.describe().how, options.seconds);
    let bar = progress(COMMAND, quiet, &what);
    let background = BackgroundLoad::watch();
    let measured = survey(target, options, &bar).and_then(|(probe, blocks, job_s)| {
        let sweep = budget::sweep(options, &probe, job_s);
        let fragments = fragments(target, &sweep, &bar)?;
        Ok((probe, blocks, fragments, cluster(target, options, &probe, &bar)?))
    });
    bar.finish_and_clear();
    let (probe, blocks, fragments, cluster) = measured?;
    let others_share = background.and_then(|background| background.share());
    let outcome = Outcome::new(target.describe(), probe, &blocks, fragments, cluster, others_share);
    outcome.ok_or_else(|| Failed::new("nothing was measured"))
}

/// Everything that one pair of nodes can measure. Also how many seconds it takes to start and end a job.
fn survey(target: &Target, options: &Options, bar: &ProgressBar) -> Result<(Probe, Vec<Block>, f64), Failed> {
    let system = |error: std::io::Error| Failed::new(format!("no place for the raw connection: {error}"));
    // The port is kept, so that the link can lead there before rank 0 listens.
    let (_port, listen) = raw::reserve_port().map_err(system)?;
    let link = &target.link;
    let relay = if link.is_loopback() { None } else { Some(Relay::start(link, vec![listen]).map_err(system)?) };
    let connect = relay.as_ref().map_or(listen, |relay| relay.addresses()[0]);
    let raw = if target.hosts.is_given() { None } else { Some(RawPlace { listen, connect }) };
    let plan = Plan::Link { raw, options: options.clone() };
    let heard = Arc::new(Mutex::new(Heard::default()));
    let (sink, shown) = (Arc::clone(&heard), bar.clone());
    let outcome = nodes::follow(job(target, &plan)?, move |event| match event {
        Event::Progress { done, of, now } => {
            shown.set_length(of);
            shown.set_position(done);
            shown.set_message(now);
        }
        Event::Probed(probe) => sink.lock().probe = Some(probe),
        Event::Measured(order, mine, theirs) => sink.lock().blocks.push(Block { order, mine, theirs }),
        Event::Fragments(_) | Event::Cluster(_) | Event::Arrivals(_) => {}
    })?;
    let joining_s = outcome.joined.map_or(0.0, |joined| (joined - outcome.started).as_secs_f64());
    let Heard { probe, blocks } = std::mem::take(&mut *heard.lock());
    let probe = probe.ok_or_else(|| Failed::new("the nodes ended without a look at the link"))?;
    // Beside joining: saying goodbye, a round trip or two, and what processes take to end.
    Ok((probe, blocks, 1.5 * joining_s + 4.0 * probe.start_s + ENDING_S))
}

const ENDING_S: f64 = 0.05;

/// The sweep over fragment sizes. The size is a setting of a node, so each has nodes of its own.
fn fragments(target: &Target, sweep: &Sweep, bar: &ProgressBar) -> Result<Vec<Fragments>, Failed> {
    let Sweep { bytes, round_trips, repeats, .. } = *sweep;
    let plan = Plan::Fragments { bytes, round_trips, repeats };
    let mut times: Vec<(usize, f64)> = Vec::new();
    bar.set_length(sweep.fragment_bytes.len() as u64);
    for (done, fragment_bytes) in (0..).zip(&sweep.fragment_bytes) {
        bar.set_position(done);
        bar.set_message(format!("fragments of {fragment_bytes} bytes"));
        let mut job = job(target, &plan)?;
        job.env.push(("LATHIDE_FRAGMENT".into(), fragment_bytes.to_string().into()));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        nodes::follow(job, move |event| {
            if let Event::Fragments(time_s) = event {
                sink.lock().push(time_s);
            }
        })?;
        times.extend(heard.lock().iter().map(|time_s| (*fragment_bytes, *time_s)));
    }
    Ok(analysis::fragments(bytes, &times))
}

/// The parameters of the cluster model. What one sender shows is measured by two nodes, since a third one would have to
/// share a processor with one of them on a small machine.
fn cluster(target: &Target, options: &Options, probe: &Probe, bar: &ProgressBar) -> Result<Option<Cluster>, Failed> {
    let (trials, repeats) = budget::trials(options, probe);
    bar.set_length(trials.len() as u64 * u64::from(repeats * SENDERS));
    bar.set_position(0);
    bar.set_message("cluster model".to_owned());
    let heard = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    for senders in 1..=SENDERS {
        let (sink, shown) = (Arc::clone(&heard), bar.clone());
        let plan = Plan::Cluster { senders, trials: trials.clone(), repeats };
        nodes::follow(job(target, &plan)?, move |event| {
            match event {
                Event::Cluster(seen) => sink.lock().0.push(seen),
                Event::Arrivals(arrivals) => sink.lock().1.push(arrivals),
                _ => {}
            }
            shown.inc(1);
        })?;
    }
    let (seen, converging) = &*heard.lock();
    Ok(Cluster::new(seen, converging, Config::alone().window_bytes))
}

fn job(target: &Target, plan: &Plan) -> Result<Job, Failed> {
    let json = serde_json::to_string(plan).map_err(Failed::new)?;
    let mut job = target.of_lathide(plan.nodes(), ["__link-node", "--plan", &json])?;
    job.env = vec![("LATHIDE_OVERLAP".into(), "on".into())];
    Ok(job)
}
