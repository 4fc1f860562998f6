//! What the verdict on a gain follows from. Pure.

use lathide_models::stats::SAMPLES_MIN;

use super::analysis::Point;
use super::headline::interval_in_words;
use crate::report::verdict::{Evidence, HostLoad};

/// The measured gamma is so far from what was asked for.
const OFF: f64 = 0.1;

/// What the points, of one case or of several, say for and against the result. `hosts`: those of both ranks.
pub(super) fn evidence<'a>(points: impl IntoIterator<Item = &'a Point>, hosts: &[String; 2]) -> Evidence {
    let points: Vec<&Point> = points.into_iter().collect();
    let worst = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| of(point)).fold(0.0, f64::max);
    let load = |rank: usize| HostLoad {
        host: hosts[rank].clone(),
        others: worst(&|point| point.others[rank]),
        stolen: worst(&|point| point.stolen[rank]),
    };
    let mut loads = vec![load(0)];
    if hosts[1] == hosts[0] {
        let HostLoad { others, stolen, .. } = load(1);
        (loads[0].others, loads[0].stolen) = (loads[0].others.max(others), loads[0].stolen.max(stolen));
    } else {
        loads.push(load(1));
    }
    let waited = points.iter().filter(|point| point.is_disturbed).map(|point| point.waited).fold(0.0, f64::max);
    Evidence {
        loads,
        drift: Some(worst(&|point| point.drift)),
        few: few(&points, waited).into_iter().collect(),
        impossible: impossible(&points).into_iter().collect(),
        ended_early: None,
    }
}

fn gammas(points: &[&Point]) -> String {
    points.iter().map(|point| format!("{:.2}", point.gamma)).collect::<Vec<_>>().join(", ")
}

/// Where too few repetitions were calm.
fn few(points: &[&Point], waited: f64) -> Option<String> {
    let few: Vec<&Point> = points.iter().filter(|point| point.is_disturbed).copied().collect();
    if few.is_empty() {
        return None;
    }
    let had = few.iter().map(|point| point.repeats_calm).min().unwrap_or_default();
    let waited = match waited {
        waited if waited >= 0.01 => format!("; the calculation waited up to {:.0} % of its time", 100.0 * waited),
        _ => String::new(),
    };
    let least = match had {
        0 => "none".to_owned(),
        had => format!("as few as {had}"),
    };
    Some(format!(
        "An interval needs {SAMPLES_MIN} calm repetitions; there were fewer, {least}, at gamma = {}{waited}.",
        gammas(&few)
    ))
}

/// Where G is above eq. (1).
fn impossible(points: &[&Point]) -> Option<String> {
    let above: Vec<&Point> = points.iter().filter(|point| point.is_above_ideal).copied().collect();
    let most = above.iter().max_by(|a, b| (a.gain.median / a.gain_ideal).total_cmp(&(b.gain.median / b.gain_ideal)))?;
    Some(format!(
        "G is more than eq. (1) allows, by more than repetitions differ, at gamma = {}: G = {:.2} of at most {:.2} at gamma = {:.2} ({}). The \
         machine's speed changed between I.1 and I.3.",
        gammas(&above),
        most.gain.median,
        most.gain_ideal,
        most.gamma,
        interval_in_words(most.gain_interval.as_ref()),
    ))
}

/// What else is to be said: gammas that were not met, and those for which there was no time.
pub(super) fn warnings(points: &[Point], wanted: &[f64], repeats: u32) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_off = |point: &&Point| (point.gamma / point.gamma_wanted - 1.0).abs() > OFF;
    let off: Vec<String> =
        points.iter().filter(is_off).map(|point| format!("{} at {:.2}", point.gamma_wanted, point.gamma)).collect();
    if !off.is_empty() {
        warnings.push(format!(
            "Measured at another gamma than asked for: {}. The work is set before each repetition by what calculation and exchange \
             took last, and they took something else then.",
            off.join(", ")
        ));
    }
    let is_missing = |gamma: &&f64| points.iter().all(|point| point.gamma_wanted != **gamma);
    let missing: Vec<String> = wanted.iter().filter(is_missing).map(f64::to_string).collect();
    if !missing.is_empty() {
        warnings.push(format!("There was no time for gamma = {}.", missing.join(", ")));
    }
    let least = points.iter().map(|point| point.repeats).min().unwrap_or_default();
    if least < repeats as usize {
        warnings.push(format!("There was time for {least} of {repeats} repetitions at some gammas."));
    }
    warnings
}

#[cfg(test)]
#[path = "judged_tests.rs"]
mod tests;
