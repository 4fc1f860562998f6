//! What the sweep over gamma has found out.

use lathide_models::fit::sweep::{self, Errors, Extension};
use lathide_models::stats::Interval;
use lathide_models::{fit, gain};
use serde_json::{Value, json};

use super::analysis::{Point, best, best_blocking, disturbed_max, typical};
use super::headline::{Headline, comparisons, headline, interval_in_words};
use super::plan::{Case, Measured};
use super::reference::{self, Reference};
use crate::commands::common::compared;
use crate::commands::common::console::Link;
use crate::report::description::MachineDescription;
use crate::report::format::{grouped, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, dense};

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-2";

/// What a sweep found out.
struct Sweep {
    points: Vec<Point>,
    headline: Option<Headline>,
    /// Fitted to the gains of all points by eq. (4), or those measured if the points are too few.
    f: f64,
    omega: f64,
    fitted: sweep::Sweep,
}

/// The results of a sweep; `None` if nothing was measured. In the JSON object:
///
/// - `rows`: points per column; a message has 8 bytes for each.
/// - `socket_buffer_bytes`: what was set as SO_SNDBUF and SO_RCVBUF of all sockets; null where the system sizes them.
/// - `repeats`: repetitions that count, at the point with the fewest.
/// - `f_measured`, `omega_measured`: as measured inside the step, medians over all points. `f`, `omega`: fitted to the
///   gains of all points by eq. (4), where `is_fitted`; else those measured.
/// - `model_error`: the deviation of eq. (4) from the measured gain at granularities it was not fitted to, as a fraction.
/// - `extension`: eq. (4) with overhead that goes with the traffic, beside it.
/// - `i1_over_raw_exchange`: a step of I.1 over one over the simultaneous raw exchange, the medians of all points.
/// - `gain_at_1`: G at gamma = 1, `from` the `fit` of eq. (4) to all points, with its interval; from the nearest `point` if they are too
///   few. `max_gain` is the greatest measured, which is biased upwards: the greatest of several medians.
/// - `comparisons`: what I.1 is compared with, in pairs, and with itself (A/A).
/// - `rounds`: every repetition at every point in the order of measurement, those that do not count too. `counts` says which do.
/// - `hosts`, `run`: the set-up. `verdict`: what the result is worth.
/// - `disturbed_max`: the share of the calculation's time for which other programs had the processor, at the worst point.
pub(super) fn sweep(link: Link, case: Case, measured: &[Measured], mut points: Vec<Point>) -> Option<Results> {
    let samples: Vec<fit::gain::Point> =
        points.iter().map(|point| fit::gain::Point { x: 1.0 / point.gamma, gain: point.gain.median }).collect();
    let fitted = sweep::fit(&samples);
    let [f_measured, omega_measured] =
        [typical(&points, |point| point.f.median), typical(&points, |point| point.omega.median)];
    let (f, omega) = fitted.model.map_or((f_measured, omega_measured.max(0.0)), |model| (model.f, model.omega));
    for point in &mut points {
        point.gain_model = gain::with_overhead(1.0 / point.gamma, f, omega).ok()?;
    }
    for (point, held_out) in points.iter_mut().zip(&fitted.held_out) {
        point.gain_held_out = Some(*held_out);
        point.model_error = Some(point.gain.median / held_out - 1.0);
    }
    let best = best(&points)?.clone();
    let base = Reference::base(points.iter().map(|point| &point.reference))?;
    let headline = headline(&points);
    let data = json!({
        "link": link,
        "machine": MachineDescription::here(),
        "rows": case.rows,
        "message_bytes": case.message_bytes(),
        "socket_buffer_bytes": case.socket_buffer_bytes,
        "repeats": points.iter().map(|point| point.repeats).min(),
        "f": f,
        "omega": omega,
        "is_fitted": fitted.model.is_some(),
        "f_measured": f_measured,
        "omega_measured": omega_measured,
        "gain_at_1": headline,
        "max_gain": best.gain.median,
        "max_gain_gamma": best.gamma,
        "model_error": fitted.error,
        "extension": fitted.extension,
        "disturbed_max": disturbed_max(&points),
        "comparisons": comparisons(&points),
        "rounds": rounds(measured, &points),
        "i1_over_raw_exchange": base,
        "points": points,
    });
    let mut results = Results::new(SCHEMA, "Gain of communication latency hiding", &data);
    let sweep = Sweep { points, headline, f, omega, fitted };
    let chart = sweep.chart(&results);
    results
        .text(format!(
            "Two nodes; in each step a message of {} bytes each way.{}",
            grouped(case.message_bytes() as f64),
            case.socket_buffer_bytes.map_or(String::new(), |_| format!(" Sockets have {}.", case.buffers())),
        ))
        .table(table())
        .text(format!(
            "S: speed-up against one node. G: time of I.1 (calculate, write, read) over that of I.2 (blocking write before \
             the interior) or I.3 (initread, initwrite, interior, wait, wait). {} Inside the step f = {f_measured:.3} and \
             Omega = {omega_measured:.3} were measured (medians).",
            sweep.model_in_words(),
        ))
        .table(reference::table())
        .text(reference::in_words(base))
        .table(compared::table())
        .chart(chart)
        .text(sweep.advice());
    results.conclusion = sweep.conclusion(&best);
    Some(results)
}

/// Every repetition in the order of measurement, with its point.
pub(super) fn rounds(measured: &[Measured], points: &[Point]) -> Vec<Value> {
    let counts = |gamma: f64, sequence: u32| {
        let point = points.iter().find(|point| point.gamma_wanted == gamma);
        point.is_some_and(|point| point.rounds.iter().any(|round| round.sequence == sequence))
    };
    let mut all: Vec<(u32, Value)> = Vec::new();
    for Measured { gamma_wanted, steps, rounds, .. } in measured {
        for round in rounds {
            let mut row = json!(round);
            row["gamma_wanted"] = json!(gamma_wanted);
            row["steps"] = json!(steps);
            row["calm"] = json!(round.is_calm());
            row["counts"] = json!(counts(*gamma_wanted, round.sequence));
            all.push((round.sequence, row));
        }
    }
    all.sort_by_key(|(sequence, _)| *sequence);
    all.into_iter().map(|(_, row)| row).collect()
}

impl Sweep {
    fn chart(&self, results: &Results) -> Chart {
        let gammas = || dense(self.points.iter().map(|point| point.gamma));
        let model = |gamma: f64| Some((gamma, gain::with_overhead(1.0 / gamma, self.f, self.omega).ok()?));
        let ideal = |gamma: f64| Some((gamma, gain::ideal(gamma).ok()?));
        Chart::new(Axis::log("gamma = t_calc / t_com", Form::Plain), Axis::linear("G", Form::Plain))
            .curve("model, eq. 4", Look::Solid, gammas().filter_map(model))
            .curve("ideal, eq. 1", Look::Dotted, gammas().filter_map(ideal))
            .points("I.3, latency hiding", results.series("points", "gamma", "gain"))
            .points("I.2, blocking write", results.series("points", "gamma", "gain_blocking"))
    }

    /// Where eq. (4)'s f and Omega come from.
    fn model_in_words(&self) -> String {
        let Sweep { f, omega, fitted, .. } = self;
        match (&fitted.model, &fitted.error) {
            (Some(_), Some(_)) => format!(
                "Eq. 4 takes the measured gamma = t_calc/t_com, and f = {f:.3} and Omega = {omega:.3} fitted to the whole \
                 sweep. The error is that of a fit to every other gamma only, at the rest.{}",
                self.extension_in_words()
            ),
            (Some(_), None) => format!("Eq. 4 takes f = {f:.3} and Omega = {omega:.3}, fitted to these points."),
            (None, _) => "Eq. 4 takes f and Omega as measured: too few points for a fit.".to_owned(),
        }
    }

    /// Overhead that goes with the traffic, if that says more.
    fn extension_in_words(&self) -> String {
        let Some(Extension { f, omega_com, error: Some(error) }) = self.fitted.extension else { return String::new() };
        format!(
            " With overhead that goes with the traffic instead (Omega = {omega_com:.3} t_com/t_calc, f = {f:.3}): {}.",
            in_words(&error)
        )
    }

    /// What follows from f and Omega.
    fn advice(&self) -> String {
        let (f, omega) = (self.f, self.omega.max(0.0));
        let (Ok(Some(gamma)), Ok(most)) = (gain::best_gamma(f, omega), gain::maximum_partial(f, omega)) else {
            return String::new();
        };
        let half = 1.0 + 0.5 * (most - 1.0);
        let range = gain::gamma_range_for_gain(half, f, omega).ok().flatten().map_or(String::new(), |range| {
            format!(
                " Half of what hiding can bring, G = {half:.2}, needs gamma from {:.2} to {:.2}.",
                range.least, range.most
            )
        });
        format!(
            "Advice: give each step so much work that gamma = 1/(f + Omega) = {gamma:.2} (sections 2.1 and 2.3.1); G is then \
             1 + f/(1 + Omega) = {most:.2}.{range}"
        )
    }

    /// What it means, as far as the verdict allows: whether overlap pays, says [`Sweep::pays`].
    fn conclusion(&self, best: &Point) -> String {
        let blocking = best_blocking(&self.points);
        let error = self
            .fitted
            .error
            .map_or(String::new(), |error| format!("; eq. (4), cross-validated: {}", in_words(&error)));
        let hidden = (best.t_i1_s.median - best.t_i3_s.median) / best.t_com_s.median;
        // Strumpen 4.2 tells two cases apart: a message that the system's buffers take whole, and one they do not.
        let is_taken_whole = blocking >= 1.0 + 0.8 * (best.gain.median - 1.0) && best.gain.median >= 1.1;
        let why = if is_taken_whole { ": the system's buffers take the message whole" } else { "" };
        let headline =
            self.headline.map_or(String::new(), |headline| format!("{}. The greatest measured: ", headline.in_words()));
        let disturbed = if best.is_disturbed { ", disturbed" } else { "" };
        format!(
            "{}: {headline}at gamma = {:.2} a step takes {} instead of {}, G = {:.2} ({}{disturbed}; ratio of medians {:.2}) of at most \
             {:.2}, since {:.0} % of the communication is hidden behind the calculation (a blocking write gains {blocking:.2} at \
             most{why}){error}.",
            self.pays(best),
            best.gamma,
            seconds(best.t_i3_s.median),
            seconds(best.t_i1_s.median),
            best.gain.median,
            interval_in_words(best.gain_interval.as_ref()),
            best.gain_of_medians,
            best.gain_ideal,
            100.0 * hidden.clamp(0.0, 1.0),
        )
    }

    /// Whether overlap pays, by the lower end of the headline's interval. Not told of what cannot be.
    fn pays(&self, best: &Point) -> &'static str {
        if self.points.iter().any(|point| point.is_above_ideal) || best.gain.median > 1.01 * best.gain_ideal {
            return "Whether overlap pays cannot be told from this run";
        }
        let of = |gain: f64, interval: Option<Interval>| interval.map_or(gain, |interval| interval.low);
        let sure =
            self.headline.map_or_else(|| of(best.gain.median, best.gain_interval), |it| of(it.gain, it.interval));
        match sure {
            gain if gain >= 1.5 => "Overlap pays on this link",
            gain if gain >= 1.1 => "Overlap pays a little on this link",
            _ => "Overlap hardly pays on this link",
        }
    }
}

fn in_words(errors: &Errors) -> String {
    format!("median error {:.1} %, p90 {:.1} %", 100.0 * errors.median, 100.0 * errors.p90)
}

/// The points with the time of a step by each version.
pub(super) fn times() -> Table {
    Table::of("points")
        .column("gamma", "gamma", Form::Fixed(2))
        .column("t_calc_s", "t_calc", Form::Seconds)
        .column("t_com_s", "t_com", Form::Seconds)
        .column("t_i1_s", "T I.1", Form::Seconds)
        .column("t_i2_s", "T I.2", Form::Seconds)
        .column("t_i3_s", "T I.3", Form::Seconds)
}

fn table() -> Table {
    times()
        .column("speedup_i1", "S\nI.1", Form::Fixed(2))
        .column("speedup_i3", "S\nI.3", Form::Fixed(2))
        .column("gain_blocking", "G\nI.2", Form::Fixed(2))
        .column("gain", "G\nI.3", Form::Fixed(2))
        .column("gain_ideal", "G ideal\neq. 1", Form::Fixed(2))
        .column("gain_model", "G model\neq. 4", Form::Fixed(2))
        .column("model_error", "error", Form::SignedPercent(1))
        .column("is_disturbed", "dist.", Form::Mark)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
