//! What the sweep over gamma has found out.

use lathide_models::fit::sweep::{self, Errors, Extension};
use lathide_models::{fit, gain};
use serde_json::json;

use super::analysis::{Point, best, best_blocking, disturbed_max, typical};
use super::plan::Case;
use super::reference::{self, Reference};
use crate::commands::common::console::Link;
use crate::report::description::MachineDescription;
use crate::report::format::{grouped, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, dense};

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-2";
/// A greatest G that lies so much above eq. (1) is pointed out.
const IMPOSSIBLE: f64 = 0.01;
/// From here on the reader is warned.
const DISTURBED: f64 = 0.05;

/// What a sweep found out.
struct Sweep {
    points: Vec<Point>,
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
/// - `disturbed_max`: the share of the calculation's time for which other programs had the processor, at the worst point.
pub(super) fn sweep(link: Link, case: Case, mut points: Vec<Point>) -> Option<Results> {
    let measured: Vec<fit::gain::Point> =
        points.iter().map(|point| fit::gain::Point { x: 1.0 / point.gamma, gain: point.gain.median }).collect();
    let fitted = sweep::fit(&measured);
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
    let disturbed_max = disturbed_max(&points);
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
        "max_gain": best.gain.median,
        "max_gain_gamma": best.gamma,
        "model_error": fitted.error,
        "extension": fitted.extension,
        "disturbed_max": disturbed_max,
        "i1_over_raw_exchange": base,
        "points": points,
    });
    let mut results = Results::new(SCHEMA, "Gain of communication latency hiding", &data);
    let sweep = Sweep { points, f, omega, fitted };
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
        .chart(chart)
        .text(sweep.advice());
    results.conclusion = sweep.conclusion(&best);
    results.warnings = warnings(&best, disturbed_max);
    Some(results)
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

    /// What it means.
    fn conclusion(&self, best: &Point) -> String {
        let blocking = best_blocking(&self.points);
        let error = self
            .fitted
            .error
            .map_or(String::new(), |error| format!("; eq. (4), cross-validated: {}", in_words(&error)));
        let hidden = (best.t_i1_s.median - best.t_i3_s.median) / best.t_com_s.median;
        let verdict = match best.gain.median {
            gain if gain >= 1.5 => "Overlap pays on this link",
            gain if gain >= 1.1 => "Overlap pays a little on this link",
            _ => "Overlap hardly pays on this link",
        };
        // Strumpen 4.2 tells two cases apart: a message that the system's buffers take whole, and one they do not.
        let is_taken_whole = blocking >= 1.0 + 0.8 * (best.gain.median - 1.0) && best.gain.median >= 1.1;
        let why = if is_taken_whole { ": the system's buffers take the message whole" } else { "" };
        format!(
            "{verdict}: at gamma = {:.2} a step takes {} instead of {}, G = {:.2} of at most {:.2}, since {:.0} % of the \
             communication is hidden behind the calculation (a blocking write gains {blocking:.2} at most{why}){error}.",
            best.gamma,
            seconds(best.t_i3_s.median),
            seconds(best.t_i1_s.median),
            best.gain.median,
            best.gain_ideal,
            100.0 * hidden.clamp(0.0, 1.0),
        )
    }
}

fn in_words(errors: &Errors) -> String {
    format!("median error {:.1} %, p90 {:.1} %", 100.0 * errors.median, 100.0 * errors.p90)
}

/// When not to trust the numbers.
pub(super) fn warnings(best: &Point, disturbed_max: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    if best.gain.median > best.gain_ideal * (1.0 + IMPOSSIBLE) {
        warnings
            .push("That G is more than eq. (1) allows: the machine's speed changed between I.1 and I.3.".to_owned());
    }
    if disturbed_max >= DISTURBED {
        warnings.push(format!(
            "Other programs took up to {:.0} % of the processors' time from the calculation, or its speed changed \
             by as much.",
            100.0 * disturbed_max
        ));
    }
    if !warnings.is_empty() {
        warnings.push("Measure again when the machine is quiet.".to_owned());
    }
    warnings
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
}

#[cfg(test)]
mod tests {
    use crate::report::WIDTH;
    use crate::report::text::text;

    use super::super::analysis::evaluate;
    use super::super::plan::{Measured, Round};
    use super::*;
    use crate::commands::common::strip::Shape;

    /// Points as the model would have them, with f = 15/16 and Omega = 0.02.
    fn points(gammas: &[f64]) -> Vec<Point> {
        let t_com = 0.0652;
        let point = |gamma: &f64| {
            let gamma = *gamma;
            let t_calc = gamma * t_com;
            let interior = t_calc * 15.0 / 16.0;
            let busy = interior + 0.02 * t_calc;
            let round = Round {
                work: 100,
                t_calc,
                interior,
                t_com,
                t_i1: t_calc + t_com,
                t_i2: t_calc + 0.98 * t_com,
                t_i3: t_calc - interior + busy.max(t_com),
                t_raw_exchange: t_calc + 0.99 * t_com,
                t_raw_pingpong: Some(t_calc + 2.0 * t_com),
                busy,
                disturbed: 0.0,
            };
            let shape = Shape { rows: 100_000, columns: 16, work: 100 };
            evaluate(&Measured { gamma_wanted: gamma, shape, steps: 2, rounds: vec![round; 5] }, 5).unwrap()
        };
        gammas.iter().map(point).collect()
    }

    const CASE: Case = Case { rows: 100_000, socket_buffer_bytes: None };

    fn link() -> Link {
        Link { spec: "delay=200us,rate=100mbit".into(), emulated: true, how: "emulated (a relay)".into() }
    }

    fn results() -> Results {
        sweep(link(), CASE, points(&[0.25, 0.5, 1.0, 2.0, 4.0])).unwrap()
    }

    #[test]
    fn text_fits_the_terminal_and_says_what_matters() {
        let text = text(&results(), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
        assert!(!text.contains('\x1b'));
        for part in [
            "800 000 bytes",
            "emulated (a relay)",
            "eq. 4",
            "gamma",
            "Overlap pays on this link",
            "G = 1.88 of at most 2.00",
            "fitted to the whole sweep",
            "eq. (4), cross-validated: median error",
            "gamma = 1/(f + Omega) = 1.04",
            "A step of I.1 takes 1.005 of one over the simultaneous raw exchange",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(part), "{part} is missing:\n{text}");
        }
    }

    #[test]
    fn json_has_the_agreed_members() {
        let json = serde_json::to_value(results()).unwrap();
        for member in ["schema", "link", "f", "omega", "points", "max_gain", "machine"] {
            assert!(!json[member].is_null(), "{member}: {json}");
        }
        for member in ["cores", "kernel", "congestion_control"] {
            assert!(!json["machine"][member].is_null(), "{member}: {json}");
        }
        let point = &json["points"][2];
        for member in [
            "gamma",
            "t_calc_s",
            "t_com_s",
            "t_i1_s",
            "t_i2_s",
            "t_i3_s",
            "gain_blocking",
            "gain",
            "gain_ideal",
            "gain_model",
            "gain_phases",
            "t_raw_pingpong_s",
            "t_raw_exchange_s",
            "gain_over_raw_pingpong",
            "gain_over_raw_exchange",
        ] {
            assert!(point[member].is_f64(), "{member}: {point}");
        }
        let raw = ["t_raw_pingpong_s", "t_raw_exchange_s", "gain_over_raw_pingpong", "i1_over_raw_exchange"];
        let own = ["t_calc_s", "t_com_s", "t_i1_s", "t_i2_s", "t_i3_s", "gain", "gain_blocking"];
        for repeated in own.into_iter().chain(raw) {
            for end in ["_min", "_max"] {
                assert!(point[format!("{repeated}{end}")].is_f64(), "{repeated}{end}: {point}");
            }
        }
        assert!((json["max_gain"].as_f64().unwrap() - point["gain"].as_f64().unwrap()).abs() < 1e-12);
        let error = &json["model_error"];
        assert!(error["median"].is_f64() && error["p90"].is_f64() && error["held_out"] == true, "{error}");
        assert!(point["gain_held_out"].is_f64() && point["model_error"].is_f64(), "{point}");
        assert!(
            (json["f_measured"].as_f64().unwrap() - 15.0 / 16.0).abs() < 1e-9 && json["is_fitted"] == true,
            "{json}"
        );
    }

    #[test]
    fn what_cannot_be_is_pointed_out() {
        let warned = |change: fn(&mut Point)| {
            let mut points = points(&[0.25, 0.5, 1.0, 2.0, 4.0]);
            points.iter_mut().for_each(change);
            sweep(link(), CASE, points).unwrap().warnings.join(" ")
        };
        assert_eq!(warned(|_| ()), "");
        let lucky = warned(|point| point.gain.median = 1.02 * point.gain_ideal);
        assert!(lucky.contains("more than eq. (1) allows") && lucky.contains("Measure again"), "{lucky}");
        let busy = warned(|point| point.disturbed = 0.3);
        assert!(busy.contains("up to 30 %") && !busy.contains("eq. (1)"), "{busy}");
    }

    #[test]
    fn too_few_points_are_taken_as_measured() {
        let one = sweep(link(), CASE, points(&[1.0])).unwrap().data;
        assert!((one["f"].as_f64().unwrap() - 15.0 / 16.0).abs() < 1e-9 && one["is_fitted"] == false, "{one:?}");
    }

    #[test]
    fn without_points_there_is_no_outcome() {
        assert!(sweep(link(), CASE, vec![]).is_none());
    }
}
