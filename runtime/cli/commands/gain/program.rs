//! The gain of a user's program: it runs unchanged, with overlap off and on in turns.

use lathide_models::stats::SAMPLES_MIN;

use super::args::{Args, REPEATS};
use super::compare::{Run, compare};
use crate::commands::common::background::BackgroundLoad;
use crate::commands::common::console::progress;
use crate::commands::common::nodes::look;
use crate::commands::common::program::run_or_interrupted;
use crate::commands::common::session::Session;
use crate::commands::common::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::local::Job;
use crate::nearest::did_you_mean;
use crate::report::results::Results;
use crate::report::verdict::{Evidence, HostLoad};

/// `lathide gain` with a program.
pub(super) fn measure(args: &Args) -> Result<Results> {
    let target = &args.place.target("loopback")?;
    let command: Vec<_> = args.program.iter().map(|word| word.to_string_lossy()).collect();
    let bar = progress("lathide gain", args.output.quiet, &format!("running {} on {} ranks", command[0], args.ranks));
    let repeats = args.repeats.unwrap_or(REPEATS);
    bar.set_length(1 + 2 * u64::from(repeats));
    let is_firm = args.repeats.is_none();
    let session = Session::new();
    let unknown = look(target, args.ranks, &session);
    let background = BackgroundLoad::watch();
    let timed = |overlap: &str| -> Result<Option<Run>> {
        bar.set_message(format!("LATHIDE_OVERLAP={overlap}"));
        if session.is_interrupted() {
            return Ok(None);
        }
        let run = once(args, target, overlap, &session)?;
        bar.inc(1);
        Ok(run)
    };
    // The first run loads the program and its files; it does not count.
    let first = timed("on")?;
    if let (Some(wanted), Some(run)) = (&args.region, &first) {
        has_region(run, wanted)?;
    }
    let (mut off, mut on, mut repetition_s) = (Vec::new(), Vec::new(), session.elapsed_s());
    for repeat in 0..repeats {
        let begun_s = session.elapsed_s();
        let is_over = args.seconds.is_some_and(|seconds| begun_s + repetition_s > seconds);
        if session.is_interrupted() || (is_firm && repeat > 0 && is_over) {
            break;
        }
        let mut pair = [None, None];
        // Off and on, then on and off: neighbours have the same setting.
        for at in if repeat % 2 == 0 { [0, 1] } else { [1, 0] } {
            pair[at] = timed(["off", "on"][at])?;
        }
        let [Some(without), Some(with)] = pair else { break };
        (off, on) = ([off, vec![without]].concat(), [on, vec![with]].concat());
        repetition_s = session.elapsed_s() - begun_s;
    }
    bar.finish_and_clear();
    let done = on.len();
    let results = compare(target.describe(), &command, args.ranks, args.region.as_deref(), &[off, on]);
    let mut results = results.ok_or_else(|| match session.is_interrupted() {
        true => session.nothing(),
        false => Failed::new("the program took no time at all"),
    })?;
    if done < repeats as usize {
        results.warnings.push(format!("There was time for {done} of {repeats} repetitions."));
    }
    results.notes.extend(unknown);
    let here = |share| HostLoad { host: "this machine".to_owned(), others: share, stolen: 0.0 };
    let loads = background.and_then(|background| background.share()).map(here);
    let few = (done < SAMPLES_MIN).then(|| format!("An interval needs {SAMPLES_MIN} repetitions; there were {done}."));
    let evidence =
        Evidence { loads: loads.into_iter().collect(), few: few.into_iter().collect(), ..Evidence::default() };
    session.judge(&mut results, evidence);
    Ok(results)
}

/// # Errors
/// If the program has no such region.
fn has_region(run: &Run, wanted: &str) -> Result<()> {
    let names = run.regions();
    match names.contains(&wanted) {
        true => Ok(()),
        false if names.is_empty() => Err(Failed::usage(format!("--region {wanted}: the program has marked no region"))),
        false => {
            let (meant, names) = (did_you_mean(wanted, names.iter().copied()), names.join(", "));
            Err(Failed::usage(format!("--region {wanted}: the program has only the regions {names}{meant}")))
        }
    }
}

/// One run to its end; none if a signal ended it.
fn once(args: &Args, target: &Target, overlap: &str, session: &Session) -> Result<Option<Run>> {
    let mut job = target.on(Job::new(args.ranks, &args.program[0], args.program[1..].iter().cloned()))?;
    job.env = vec![("LATHIDE_OVERLAP".into(), overlap.into())];
    job.report = true;
    let outcome = run_or_interrupted(job, &format!("with LATHIDE_OVERLAP={overlap}"))?;
    if let Some(signal) = outcome.interrupted_by_signal {
        session.interrupted(signal);
        return Ok(None);
    }
    let left_s: Option<Vec<f64>> = outcome.ranks.iter().map(|rank| rank.left_s).collect();
    let left_s = left_s.and_then(|left_s| left_s.into_iter().reduce(f64::max));
    Ok(Some(Run {
        joined_s: outcome.joined_s.zip(left_s).map(|(joined_s, left_s)| left_s - joined_s),
        process_s: outcome.ended_s,
        reports: outcome.reports.unwrap_or_default(),
    }))
}
