//! The result for people (table, curve, a sentence) and for programs (one JSON object).

use crate::report::description::MachineDescription;
use crate::report::plot::{Chart, Stroke};
use crate::report::table::Table;
use crate::report::wrap;
use lathide_models::gain;
use serde::Serialize;

use super::analysis::{Point, best, typical};
use super::model::{Extension, Model, ModelError};
use crate::commands::common::console::{Link, grouped, milliseconds};

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-1";

/// All that a run of `lathide gain` found out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) schema: &'static str,
    pub(super) lathide: &'static str,
    pub(super) machine: MachineDescription,
    pub(super) link: Link,
    /// Points per column; a message has 8 bytes for each.
    pub(super) rows: usize,
    pub(super) message_bytes: usize,
    /// Repetitions that count, at the point with the fewest.
    pub(super) repeats: usize,
    /// Fitted to the gains of all points by eq. (4).
    pub(super) f: f64,
    pub(super) omega: f64,
    /// Not so, if the points are too few: then they are those measured.
    pub(super) is_fitted: bool,
    /// As measured inside the step: medians over all points.
    pub(super) f_measured: f64,
    pub(super) omega_measured: f64,
    pub(super) max_gain: f64,
    pub(super) max_gain_gamma: f64,
    /// The deviation of eq. (4) from the measured gain at granularities it was not fitted to, as a fraction.
    pub(super) model_error: Option<ModelError>,
    /// Eq. (4) with overhead that goes with the traffic, beside it.
    pub(super) extension: Option<Extension>,
    /// The share of the calculation's time for which other programs had the processor, at the worst point.
    pub(super) disturbed_max: f64,
    pub(super) points: Vec<Point>,
}

impl Outcome {
    pub(super) fn new(link: Link, rows: usize, mut points: Vec<Point>) -> Option<Self> {
        let Model { f, omega, is_fitted, held_out, error, extension } = Model::of(&points);
        for point in &mut points {
            point.gain_model = gain::with_overhead(1.0 / point.gamma, f, omega).ok()?;
        }
        for (point, held_out) in points.iter_mut().zip(held_out) {
            point.gain_held_out = Some(held_out);
            point.model_error = Some(point.gain / held_out - 1.0);
        }
        let best = best(&points)?;
        Some(Outcome {
            schema: SCHEMA,
            lathide: env!("CARGO_PKG_VERSION"),
            machine: MachineDescription::here(),
            link,
            rows,
            message_bytes: rows * size_of::<f64>(),
            repeats: points.iter().map(|point| point.repeats).min().unwrap_or(0),
            f,
            omega,
            is_fitted,
            f_measured: typical(&points, |point| point.f),
            omega_measured: typical(&points, |point| point.omega),
            max_gain: best.gain,
            max_gain_gamma: best.gamma,
            model_error: error,
            extension,
            disturbed_max: points.iter().map(|point| point.disturbed).fold(0.0, f64::max),
            points,
        })
    }

    /// Header, table, curve and conclusion.
    pub(super) fn text(&self, colour: bool) -> String {
        let parts = [self.header(), self.table(), self.curve(colour), self.conclusion(), self.warning()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn header(&self) -> String {
        let MachineDescription { cores, kernel, congestion_control } = &self.machine;
        let (bytes, how, repeats) = (grouped(self.message_bytes), &self.link.how, self.repeats);
        [
            format!("Gain of communication latency hiding: two nodes; a step sends {bytes} bytes each way."),
            format!("Link: {how}."),
            format!(
                "Machine: {cores} cores, {kernel}, TCP {congestion_control}. Times per step: medians of {repeats}."
            ),
        ]
        .map(|paragraph| wrap(&paragraph))
        .join("\n")
    }

    fn table(&self) -> String {
        let mut table = Table::new([
            "gamma",
            "t_calc\nms",
            "t_com\nms",
            "T I.1\nms",
            "T I.2\nms",
            "T I.3\nms",
            "S\nI.1",
            "S\nI.3",
            "G\nI.2",
            "G\nI.3",
            "G ideal\neq. 1",
            "G model\neq. 4",
            "error\n%",
        ]);
        for point in &self.points {
            let times = &point.times;
            let ms = [times.t_calc_s, times.t_com_s, times.t_i1_s, times.t_i2_s, times.t_i3_s].map(milliseconds);
            let ratios = [
                point.speedup_i1,
                point.speedup_i3,
                point.gain_blocking,
                point.gain,
                point.gain_ideal,
                point.gain_model,
            ];
            let mut cells = vec![format!("{:.2}", point.gamma)];
            cells.extend(ms);
            cells.extend(ratios.map(|ratio| format!("{ratio:.2}")));
            cells.push(point.model_error.map_or("-".to_owned(), |error| format!("{:+.1}", 100.0 * error)));
            table.row(cells);
        }
        let legend = wrap(&format!(
            "S: speed-up against one node. G: time of I.1 (calculate, write, read) over that of I.2 (blocking write before \
             the interior) or I.3 (initread, initwrite, interior, wait, wait). {} Inside the step f = {:.3} and Omega = \
             {:.3} were measured (medians).",
            self.model_in_words(),
            self.f_measured,
            self.omega_measured
        ));
        format!("{table}\n\n{legend}")
    }

    fn curve(&self, colour: bool) -> String {
        let gammas = || {
            let (low, high) = self
                .points
                .iter()
                .fold((f64::INFINITY, 0.0_f64), |(low, high), point| (low.min(point.gamma), high.max(point.gamma)));
            (0..=SAMPLES).map(move |sample| low * (high / low).powf(f64::from(sample) / f64::from(SAMPLES)))
        };
        let model = |gamma: f64| Some((gamma, gain::with_overhead(1.0 / gamma, self.f, self.omega).ok()?));
        let ideal = |gamma: f64| Some((gamma, gain::ideal(gamma).ok()?));
        let points = |value: fn(&Point) -> f64| self.points.iter().map(move |point| (point.gamma, value(point)));
        Chart::new("gamma = t_calc / t_com", "G")
            .curve("model, eq. 4", Stroke::Solid, gammas().filter_map(model))
            .curve("ideal, eq. 1", Stroke::Dotted, gammas().filter_map(ideal))
            .points("I.2, blocking write", 'o', points(|point| point.gain_blocking))
            .points("I.3, latency hiding", '*', points(|point| point.gain))
            .render(colour)
    }

    /// Where eq. (4)'s f and Omega come from.
    fn model_in_words(&self) -> String {
        let Outcome { f, omega, .. } = self;
        match (self.is_fitted, self.model_error) {
            (true, Some(_)) => format!(
                "Eq. 4 takes the measured gamma = t_calc/t_com, and f = {f:.3} and Omega = {omega:.3} fitted to the whole \
                 sweep. The error is that of a fit to every other gamma only, at the rest.{}",
                self.extension_in_words()
            ),
            (true, None) => format!("Eq. 4 takes f = {f:.3} and Omega = {omega:.3}, fitted to these points."),
            (false, _) => "Eq. 4 takes f and Omega as measured: too few points for a fit.".to_owned(),
        }
    }

    /// Overhead that goes with the traffic, if that says more.
    fn extension_in_words(&self) -> String {
        let Some(Extension { f, omega_com, error: Some(error) }) = self.extension else { return String::new() };
        format!(
            " With overhead that goes with the traffic instead (Omega = {omega_com:.3} t_com/t_calc, f = {f:.3}): median \
             error {:.1} %, p90 {:.1} %.",
            100.0 * error.median,
            100.0 * error.p90
        )
    }

    /// What it means.
    fn conclusion(&self) -> String {
        let Some(best) = best(&self.points) else { return String::new() };
        let blocking = self.points.iter().map(|point| point.gain_blocking).fold(f64::MIN, f64::max);
        let error = self.model_error.map_or(String::new(), |error| {
            format!(
                "; eq. (4), cross-validated: median error {:.1} %, p90 {:.1} %",
                100.0 * error.median,
                100.0 * error.p90
            )
        });
        let hidden = (best.times.t_i1_s - best.times.t_i3_s) / best.times.t_com_s;
        let verdict = match best.gain {
            gain if gain >= 1.5 => "Overlap pays on this link",
            gain if gain >= 1.1 => "Overlap pays a little on this link",
            _ => "Overlap hardly pays on this link",
        };
        // Strumpen 4.2 tells two cases apart: a message that the system's buffers take whole, and one they do not.
        let blocking = if blocking >= 1.0 + 0.8 * (best.gain - 1.0) && best.gain >= 1.1 {
            format!("a blocking write gains {blocking:.2} at most: the system's buffers take the message whole")
        } else {
            format!("a blocking write gains {blocking:.2} at most")
        };
        wrap(&format!(
            "{verdict}: at gamma = {:.2} a step takes {} ms instead of {} ms, G = {:.2} of at most {:.2}, since {:.0} % of the \
             communication is hidden behind the calculation ({blocking}){error}.",
            best.gamma,
            milliseconds(best.times.t_i3_s),
            milliseconds(best.times.t_i1_s),
            best.gain,
            best.gain_ideal,
            100.0 * hidden.clamp(0.0, 1.0),
        ))
    }

    /// When not to trust the numbers.
    fn warning(&self) -> String {
        let mut warnings = Vec::new();
        if best(&self.points).is_some_and(|best| best.gain > best.gain_ideal * (1.0 + IMPOSSIBLE)) {
            warnings.push(
                "That G is more than eq. (1) allows: the machine's speed changed between I.1 and I.3.".to_owned(),
            );
        }
        if self.disturbed_max >= DISTURBED {
            let share = 100.0 * self.disturbed_max;
            warnings.push(format!(
                "Other programs took up to {share:.0} % of the processors' time from the calculation, or its speed changed by \
                 as much."
            ));
        }
        if !warnings.is_empty() {
            warnings.push("Measure again when the machine is quiet.".to_owned());
        }
        wrap(&warnings.join(" "))
    }
}

/// A greatest G that lies so much above eq. (1) is pointed out.
const IMPOSSIBLE: f64 = 0.01;
/// From here on the reader is warned.
const DISTURBED: f64 = 0.05;
const SAMPLES: u32 = 400;

#[cfg(test)]
pub(super) mod tests {
    use crate::report::WIDTH;

    use super::super::analysis::evaluate;
    use super::super::plan::{Measured, Round};
    use super::*;
    use crate::commands::common::strip::Shape;

    /// Points as the model would have them, with f = 15/16 and Omega = 0.02.
    pub(in crate::commands::gain) fn points(gammas: &[f64]) -> Vec<Point> {
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
                busy,
                disturbed: 0.0,
            };
            let shape = Shape { rows: 100_000, columns: 16, work: 100 };
            evaluate(&Measured { gamma_wanted: gamma, shape, steps: 2, rounds: vec![round; 5] }, 5).unwrap()
        };
        gammas.iter().map(point).collect()
    }

    fn outcome() -> Outcome {
        let link = Link { spec: "delay=200us,rate=100mbit".into(), emulated: true, how: "emulated (a relay)".into() };
        Outcome::new(link, 100_000, points(&[0.25, 0.5, 1.0, 2.0, 4.0])).unwrap()
    }

    #[test]
    fn text_fits_the_terminal_and_says_what_matters() {
        let text = outcome().text(false);
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
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(part), "{part} is missing:\n{text}");
        }
    }

    #[test]
    fn json_has_the_agreed_members() {
        let json = serde_json::to_value(outcome()).unwrap();
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
        ] {
            assert!(point[member].is_f64(), "{member}: {point}");
        }
        for repeated in ["t_calc_s", "t_com_s", "t_i1_s", "t_i2_s", "t_i3_s", "gain", "gain_blocking"] {
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
        let quiet = outcome();
        assert_eq!(quiet.warning(), "");
        let mut lucky = quiet.clone();
        lucky.points[2].gain = 1.02 * lucky.points[2].gain_ideal;
        assert!(lucky.warning().contains("more than eq. (1) allows") && lucky.warning().contains("Measure again"));
        let busy = Outcome { disturbed_max: 0.3, ..quiet };
        assert!(busy.warning().contains("up to 30 %") && !busy.warning().contains("eq. (1)"), "{}", busy.warning());
    }

    #[test]
    fn without_points_there_is_no_outcome() {
        let link = Link { spec: "loopback".into(), emulated: false, how: String::new() };
        assert!(Outcome::new(link, 1, vec![]).is_none());
    }
}
