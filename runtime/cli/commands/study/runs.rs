//! The runs of the program: every version at every point, in turns.

use std::time::Instant;

use super::args::Args;
use super::plan::{Plan, Point};
use super::version::Version;
use crate::commands::common::console::progress;
use crate::commands::common::inventory::{self, Inventory, RankReport};
use crate::commands::common::program;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::local::Job;

/// What a run has shown.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Run {
    /// The place of the point.
    pub(super) point: usize,
    pub(super) version: Version,
    pub(super) inventory: Inventory,
    /// Means over its ranks, of the whole job.
    pub(super) gamma: Option<f64>,
    pub(super) f: Option<f64>,
    pub(super) omega: Option<f64>,
}

impl Run {
    /// From what its ranks have reported.
    pub(super) fn of(
        (point, version): (usize, Version),
        reports: &[RankReport],
        per: Option<&str>,
    ) -> std::result::Result<Self, String> {
        let mean = |of: fn(&RankReport) -> Option<f64>| {
            let all: Option<Vec<f64>> = reports.iter().map(of).collect();
            all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
        };
        Ok(Run {
            point,
            version,
            inventory: Inventory::of(reports, per)?,
            gamma: mean(|report| report.gamma),
            f: mean(|report| report.f),
            omega: mean(|report| report.omega),
        })
    }
}

/// Runs everything, as often as the time allows: by repetition. Also what to say if that is less often than was asked for.
pub(super) fn measure(
    args: &Args,
    plan: &Plan,
    target: &Target,
    began: Instant,
) -> Result<(Vec<Vec<Run>>, Option<String>)> {
    let name = args.program[0].to_string_lossy();
    let bar = progress("lathide study", args.output.quiet, &format!("running {name} over {}", target.describe().how));
    bar.set_length(u64::from(args.repeats) * (plan.points.len() * plan.versions.len()) as u64);
    let mut repetitions = Vec::new();
    for repeat in 0..args.repeats {
        let start = Instant::now();
        let mut runs = Vec::new();
        for (at, point) in plan.points.iter().enumerate() {
            // No version is always the first.
            let mut versions = plan.versions.clone();
            let count = versions.len();
            versions.rotate_left(repeat as usize % count);
            for version in versions {
                bar.set_message(format!("{} {}", version.name(), point.in_words()));
                runs.push(once(args, plan, target, (at, point, version))?);
                bar.inc(1);
            }
        }
        repetitions.push(runs);
        let takes_s = start.elapsed().as_secs_f64();
        if began.elapsed().as_secs_f64() + takes_s > args.seconds {
            break;
        }
    }
    bar.finish_and_clear();
    let done = repetitions.len() as u32;
    let note = (done < args.repeats).then(|| {
        format!(
            "everything was run {done} of {} times: more did not fit into {} s (--seconds)",
            args.repeats, args.seconds
        )
    });
    Ok((repetitions, note))
}

fn once(args: &Args, plan: &Plan, target: &Target, (at, point, version): (usize, &Point, Version)) -> Result<Run> {
    let mut command = plan.command(point, version).into_iter();
    let mut job = target.on(Job::new(point.ranks, command.next().unwrap_or_default(), command))?;
    job.env = vec![("LATHIDE_OBSERVE".into(), "sends".into())];
    job.report = true;
    let place = point.in_words();
    let how = if place.is_empty() { version.name().to_owned() } else { format!("{} at {place}", version.name()) };
    let outcome = program::run(job, &how)?;
    let reports = serde_json::to_value(outcome.reports.unwrap_or_default())?;
    let run = inventory::read(&reports).and_then(|reports| Run::of((at, version), &reports, args.per.as_deref()));
    run.map_err(|why| Failed::new(format!("{how}: {why}")))
}
