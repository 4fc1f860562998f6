//! The gain of a user's program: it runs unchanged, with overlap off and on in turns.

use super::args::{Args, REPEATS};
use super::compare::{Run, compare};
use crate::commands::common::console::progress;
use crate::commands::common::program::run;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::local::Job;
use crate::report::results::Results;

/// `lathide gain` with a program.
pub(super) fn measure(args: &Args) -> Result<Results> {
    let target = &args.place.target("loopback")?;
    let command: Vec<_> = args.program.iter().map(|word| word.to_string_lossy()).collect();
    let bar = progress("lathide gain", args.output.quiet, &format!("running {} on {} ranks", command[0], args.ranks));
    let repeats = args.repeats.unwrap_or(REPEATS);
    bar.set_length(1 + 2 * u64::from(repeats));
    let timed = |overlap: &str| -> Result<Run> {
        bar.set_message(format!("LATHIDE_OVERLAP={overlap}"));
        let run = once(args, target, overlap)?;
        bar.inc(1);
        Ok(run)
    };
    // The first run loads the program and its files; it does not count.
    timed("on")?;
    let [mut off, mut on] = [Vec::new(), Vec::new()];
    for repeat in 0..repeats {
        let mut order = [("off", &mut off), ("on", &mut on)];
        if repeat % 2 == 1 {
            order.reverse();
        }
        for (overlap, runs) in order {
            runs.push(timed(overlap)?);
        }
    }
    bar.finish_and_clear();
    compare(target.describe(), &command, args.ranks, &[off, on])
        .ok_or_else(|| Failed::new("the program took no time at all"))
}

/// One run to its end.
fn once(args: &Args, target: &Target, overlap: &str) -> Result<Run> {
    let mut job = target.on(Job::new(args.ranks, &args.program[0], args.program[1..].iter().cloned()))?;
    job.env = vec![("LATHIDE_OVERLAP".into(), overlap.into())];
    job.report = true;
    let outcome = run(job, &format!("with LATHIDE_OVERLAP={overlap}"))?;
    let left_s: Option<Vec<f64>> = outcome.ranks.iter().map(|rank| rank.left_s).collect();
    let left_s = left_s.and_then(|left_s| left_s.into_iter().reduce(f64::max));
    Ok(Run {
        joined_s: outcome.joined_s.zip(left_s).map(|(joined_s, left_s)| left_s - joined_s),
        process_s: outcome.ended_s,
        reports: outcome.reports.unwrap_or_default(),
    })
}
