//! The result for people (table, curve, a sentence) and for programs (one JSON object).

use lathide::model::gain;
use lathide::report::machine::Machine;
use lathide::report::plot::{Chart, Stroke};
use lathide::report::table::Table;
use lathide::report::wrap;
use serde::Serialize;

use super::analysis::{Point, best, typical};
use crate::common::console::{Link, grouped, milliseconds};

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-1";

/// All that a run of `lathide gain` found out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) schema: &'static str,
    pub(super) lathide: &'static str,
    pub(super) machine: Machine,
    pub(super) link: Link,
    /// Points per column; a message has 8 bytes for each.
    pub(super) rows: usize,
    pub(super) message_bytes: usize,
    /// Repetitions that count, at the point with the fewest.
    pub(super) repeats: usize,
    /// Medians over all points.
    pub(super) f: f64,
    pub(super) omega: f64,
    pub(super) max_gain: f64,
    pub(super) max_gain_gamma: f64,
    /// The greatest deviation of the measured gain from eq. (4), as a fraction.
    pub(super) model_error_max: f64,
    /// The share of the calculation's time for which other programs had the processor, at the worst point.
    pub(super) disturbed_max: f64,
    pub(super) points: Vec<Point>,
}

impl Outcome {
    pub(super) fn new(link: Link, rows: usize, points: Vec<Point>) -> Option<Self> {
        let best = best(&points)?;
        Some(Outcome {
            schema: SCHEMA,
            lathide: env!("CARGO_PKG_VERSION"),
            machine: Machine::here(),
            link,
            rows,
            message_bytes: rows * size_of::<f64>(),
            repeats: points.iter().map(|point| point.repeats).min().unwrap_or(0),
            f: typical(&points, |point| point.f),
            omega: typical(&points, |point| point.omega),
            max_gain: best.gain,
            max_gain_gamma: best.gamma,
            model_error_max: points.iter().map(|point| point.model_error.abs()).fold(0.0, f64::max),
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
        let Machine { cores, kernel, congestion_control } = &self.machine;
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
            cells.push(format!("{:+.1}", 100.0 * point.model_error));
            table.row(cells);
        }
        let legend = wrap(&format!(
            "S: speed-up against one node. G: time of I.1 (calculate, write, read) over that of I.2 (blocking write before \
             the interior) or I.3 (initread, initwrite, interior, wait, wait). Eq. 4 takes gamma = t_calc/t_com, f (median \
             {:.3}) and Omega (median {:.3}) as measured.",
            self.f, self.omega
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
        let model = |gamma: f64| Some((gamma, self.model_at(gamma)?));
        let ideal = |gamma: f64| Some((gamma, gain::ideal(gamma).ok()?));
        let points = |value: fn(&Point) -> f64| self.points.iter().map(move |point| (point.gamma, value(point)));
        Chart::new("gamma = t_calc / t_com", "G")
            .curve("model, eq. 4", Stroke::Solid, gammas().filter_map(model))
            .curve("ideal, eq. 1", Stroke::Dotted, gammas().filter_map(ideal))
            .points("I.2, blocking write", 'o', points(|point| point.gain_blocking))
            .points("I.3, latency hiding", '*', points(|point| point.gain))
            .render(colour)
    }

    /// Eq. (4) between the points: f and Omega as they change from one to the next.
    fn model_at(&self, gamma: f64) -> Option<f64> {
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by(|a, b| a.gamma.total_cmp(&b.gamma));
        let after = points.iter().position(|point| point.gamma >= gamma * (1.0 - 1e-9))?;
        let (low, high) = (points[after.saturating_sub(1)], points[after]);
        let width = (high.gamma / low.gamma).ln();
        let share = if width > 0.0 { ((gamma / low.gamma).ln() / width).clamp(0.0, 1.0) } else { 1.0 };
        let between = |value: fn(&Point) -> f64| value(low) + share * (value(high) - value(low));
        gain::with_overhead(1.0 / gamma, between(|point| point.f), between(|point| point.omega.max(0.0))).ok()
    }

    /// What it means.
    fn conclusion(&self) -> String {
        let Some(best) = best(&self.points) else { return String::new() };
        let blocking = self.points.iter().map(|point| point.gain_blocking).fold(f64::MIN, f64::max);
        let error = 100.0 * self.model_error_max;
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
             communication is hidden behind the calculation ({blocking}); eq. (4) \
             is within {error:.1} % of G at every point.",
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
        if self.disturbed_max < DISTURBED {
            return String::new();
        }
        let share = 100.0 * self.disturbed_max;
        wrap(&format!(
            "Other programs took up to {share:.0} % of the processors' time from the calculation: measure again when the \
             machine is quiet."
        ))
    }
}

/// From here on the reader is warned.
const DISTURBED: f64 = 0.05;
const SAMPLES: u32 = 400;

#[cfg(test)]
mod tests {
    use lathide::report::WIDTH;

    use super::super::analysis::evaluate;
    use super::super::plan::{Measured, Round};
    use super::*;
    use crate::common::strip::Shape;

    /// A run as the model would have it, with f = 15/16 and Omega = 0.02.
    fn outcome() -> Outcome {
        let t_com = 0.0652;
        let points = [0.25, 0.5, 1.0, 2.0, 4.0].map(|gamma| {
            let t_calc = gamma * t_com;
            let interior = t_calc * 15.0 / 16.0;
            let busy = interior + 0.02 * t_calc;
            let round = Round {
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
        });
        let link = Link { spec: "delay=200us,rate=100mbit".into(), emulated: true, how: "emulated (a relay)".into() };
        Outcome::new(link, 100_000, points.to_vec()).unwrap()
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
        ] {
            assert!(point[member].is_f64(), "{member}: {point}");
        }
        for repeated in ["t_calc_s", "t_com_s", "t_i1_s", "t_i2_s", "t_i3_s", "gain", "gain_blocking"] {
            for end in ["_min", "_max"] {
                assert!(point[format!("{repeated}{end}")].is_f64(), "{repeated}{end}: {point}");
            }
        }
        assert!((json["max_gain"].as_f64().unwrap() - point["gain"].as_f64().unwrap()).abs() < 1e-12);
        assert!(json["model_error_max"].as_f64().unwrap() < 1e-9);
    }

    #[test]
    fn without_points_there_is_no_outcome() {
        let link = Link { spec: "loopback".into(), emulated: false, how: String::new() };
        assert!(Outcome::new(link, 1, vec![]).is_none());
    }
}
