//! Deep halos: what was measured, beside the model with what was measured apart from the stencil. Pure.

use lathide_models::BadParameter;
use lathide_models::gain::DeepHalo;
use serde::Serialize;
use serde_json::json;

use super::plan::{Line, Measured, Plan, Round};
use crate::commands::common::compared::{self, Compared};
use crate::commands::common::console::Link;
use crate::launch::failed::{Failed, Result};
use crate::report::description::MachineDescription;
use crate::report::format::{grouped, seconds};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table};
use crate::report::summary::Summary;

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-halo-1";
/// From here on the reader is warned.
const DISTURBED: f64 = 0.05;

/// A number of ghost columns. Times are of a step, in seconds; gains are ratios of their medians.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Point {
    halo: u32,
    steps_per_exchange: u32,
    /// The calculation of ghost columns, relative to that of the strip's own.
    redundancy: f64,
    t_i1_s: Summary,
    t_i1_predicted_s: f64,
    t_i3_s: Summary,
    t_i3_predicted_s: f64,
    /// Predicted over measured, less 1.
    error: f64,
    error_i1: f64,
    /// Over I.1 with one ghost column.
    gain: f64,
    gain_predicted: f64,
    /// Its factors: fewer exchanges, and hiding them.
    gain_of_halo: f64,
    gain_of_halo_predicted: f64,
    gain_of_hiding: f64,
    gain_of_hiding_predicted: f64,
}

/// What follows from all repetitions.
struct Evaluated {
    t_calc_s: Summary,
    t_i1_s: Summary,
    /// Of an exchange alone: bytes and seconds.
    exchanges: Vec<(f64, f64)>,
    line: Line,
    model: DeepHalo,
    points: Vec<Point>,
    /// The part by which `t_calc_s` is less than the median of all repetitions.
    disturbed: f64,
}

impl Evaluated {
    fn of(plan: &Plan, rounds: &[Round]) -> Result<Self> {
        let nothing = || Failed::new("nothing was measured");
        let senseless = |error: BadParameter| Failed::new(format!("the measured {error}; measure again"));
        let over = |value: &dyn Fn(&Round) -> f64| quicker_half(rounds.iter().map(value)).ok_or_else(nothing);
        let calculations = || rounds.iter().flat_map(|round| round.t_calc.iter().copied());
        let t_calc_s = quicker_half(calculations()).ok_or_else(nothing)?;
        let disturbed = 1.0 - t_calc_s.median / Summary::of(calculations()).ok_or_else(nothing)?.median;
        let t_i1_s = over(&|round| round.t_i1)?;
        let mut exchanges = Vec::new();
        for (at, columns) in plan.lengths().into_iter().enumerate() {
            exchanges.push((plan.bytes(columns), over(&|round| round.exchanges[at])?.median));
        }
        let line = Line::fit(&exchanges);
        let model = plan.model(t_calc_s.median, line).map_err(senseless)?;
        let mut points = Vec::new();
        for (at, halo) in plan.halos.iter().enumerate() {
            let times = [over(&|round| round.t_halos[at][0])?, over(&|round| round.t_halos[at][1])?];
            points.push(point(&model, *halo, t_i1_s, times).map_err(senseless)?);
        }
        Ok(Evaluated { t_calc_s, t_i1_s, exchanges, line, model, points, disturbed })
    }
}

/// The results. In the JSON object, where all times are medians of the quicker half of repetitions:
///
/// - `t_calc_s`, `a_s`, `b_s_per_byte`: measured without the stencil's exchanges; the predictions take nothing else. `exchanges`: the
///   times that a and b were fitted to. `gamma`: t_calc over a + b x of one column. `bound`: 1 + 1/gamma.
/// - `t_i1_s`: a step of I.1 with one ghost column; `t_i1_predicted_s` and its `t_i1_error`.
/// - `halos`: as in `Point`: with k ghost columns I.1 (nothing hidden) and I.3 (the exchange hidden).
/// - `disturbed`: the part by which t_calc is less than the median of all repetitions.
/// - `comparisons`: I.1 with itself (A/A), and with I.3 with the best k, in pairs of all repetitions. `rounds`: all repetitions, the
///   quicker half and the others.
/// - `best_measured`, `best_predicted`: of the numbers of ghost columns that were measured. `best_of_all`: by the model, of all.
pub(super) fn results(link: Link, plan: &Plan, measured: &Measured) -> Result<Results> {
    let evaluated = Evaluated::of(plan, &measured.rounds)?;
    let Evaluated { t_calc_s, t_i1_s, line, model, points, disturbed, .. } = &evaluated;
    let best = Best::of(points).ok_or_else(|| Failed::new("nothing was measured"))?;
    let best_of_all = model.best().map_err(|error| Failed::new(error.to_string()))?;
    let exchange =
        |(bytes, time_s): &(f64, f64)| json!({ "bytes": bytes, "time_s": time_s, "fitted_s": line.time_s(*bytes) });
    let data = json!({
        "link": link,
        "machine": MachineDescription::here(),
        "rows": plan.rows,
        "columns": measured.shape.columns,
        "work": measured.shape.work,
        "message_bytes": plan.bytes(1),
        "repeats": measured.rounds.len(),
        "t_calc_s": t_calc_s,
        "a_s": line.a_s,
        "b_s_per_byte": line.b_s_per_byte,
        "exchanges": evaluated.exchanges.iter().map(exchange).collect::<Vec<_>>(),
        "gamma": model.gamma(),
        "bound": model.bound(),
        "t_i1_s": t_i1_s,
        "t_i1_predicted_s": model.plain_s(),
        "t_i1_error": model.plain_s() / t_i1_s.median - 1.0,
        "halos": points,
        "best_measured": best.measured.halo,
        "best_predicted": best.predicted.halo,
        "best_of_all": best_of_all,
        "max_gain": best.measured.gain,
        "disturbed": disturbed,
        "comparisons": comparisons(plan, &measured.rounds, best.measured.halo),
        "rounds": measured.rounds,
    });
    let mut results = Results::new(SCHEMA, "Gain of several ghost columns", &data);
    results.text(parameters(plan, measured, &evaluated)).table(table()).text(TIMES).table(gains()).text(GAINS);
    let chart = chart(&results, points);
    results.chart(chart);
    results.table(compared::table());
    results.conclusion = conclusion(model, best, best_of_all, *t_i1_s);
    if *disturbed >= DISTURBED {
        results.warnings = vec![format!(
            "The same calculation took {:.0} % longer in the middle of all repetitions. Measure again when the machine is quiet.",
            100.0 * (1.0 / (1.0 - disturbed) - 1.0)
        )];
    }
    Ok(results)
}

/// Pairs within repetitions: I.1 twice, and with the number of ghost columns that gained most.
fn comparisons(plan: &Plan, rounds: &[Round], best: u32) -> Vec<Compared> {
    let at = plan.halos.iter().position(|halo| *halo == best).unwrap_or(0);
    let of = |what: String, pair: &dyn Fn(&Round) -> (f64, f64)| Compared::of(what, rounds.iter().map(pair));
    let all = [
        of("I.1 over I.1 again (A/A)".to_owned(), &|round| (round.t_i1, round.t_i1_again)),
        of(format!("I.1 over I.3 with {best} ghost columns, which is G"), &|round| (round.t_i1, round.t_halos[at][1])),
        of(format!("I.1 over I.3, both with {best}"), &|round| (round.t_halos[at][0], round.t_halos[at][1])),
    ];
    all.into_iter().flatten().collect()
}

const TIMES: &str = "k ghost columns do for k steps between exchanges of k columns. T: time of a step. I.1 k: the exchange, then all \
                     calculation; I.3 k: the exchange hidden behind what does not depend on it. Predicted from t_calc, a and b alone, \
                     which were measured without the stencil's exchanges. The results were the sequential ones to the bit.";
const GAINS: &str = "G over I.1 with one ghost column is the product of both gains: fewer exchanges, T I.1 / T I.1 k, and hiding \
                     them, T I.1 k / T I.3 k.";

fn point(
    model: &DeepHalo,
    halo: u32,
    plain_s: Summary,
    [t_i1_s, t_i3_s]: [Summary; 2],
) -> std::result::Result<Point, BadParameter> {
    let gain_of = |time_s: Summary| plain_s.median / time_s.median;
    let (t_i1_predicted_s, t_i3_predicted_s) = (model.step_s(halo)?, model.hidden_step_s(halo)?);
    Ok(Point {
        halo,
        steps_per_exchange: halo,
        redundancy: model.redundancy(halo)?,
        t_i1_s,
        t_i1_predicted_s,
        t_i3_s,
        t_i3_predicted_s,
        error: t_i3_predicted_s / t_i3_s.median - 1.0,
        error_i1: t_i1_predicted_s / t_i1_s.median - 1.0,
        gain: gain_of(t_i3_s),
        gain_predicted: model.gain(halo)?,
        gain_of_halo: gain_of(t_i1_s),
        gain_of_halo_predicted: model.gain_of_halo(halo)?,
        gain_of_hiding: t_i1_s.median / t_i3_s.median,
        gain_of_hiding_predicted: model.gain_of_hiding(halo)?,
    })
}

/// Of the quicker half of repetitions, since whatever disturbs only prolongs, and what is predicted and what is measured must be
/// disturbed alike.
fn quicker_half(times: impl Iterator<Item = f64>) -> Option<Summary> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.truncate(times.len().div_ceil(2));
    Summary::of(times)
}

/// The points of the greatest gain.
#[derive(Clone, Copy)]
struct Best<'a> {
    measured: &'a Point,
    predicted: &'a Point,
}

impl<'a> Best<'a> {
    fn of(points: &'a [Point]) -> Option<Self> {
        Some(Best {
            measured: points.iter().max_by(|a, b| a.gain.total_cmp(&b.gain))?,
            predicted: points.iter().max_by(|a, b| a.gain_predicted.total_cmp(&b.gain_predicted))?,
        })
    }
}

fn parameters(plan: &Plan, measured: &Measured, Evaluated { t_calc_s, line, model, .. }: &Evaluated) -> String {
    format!(
        "Two nodes, {} columns of {} rows each: a column is a message of {} bytes each way. t_calc = {}, a = {}, b = {:.1} ns per byte: \
         gamma = {:.3}, and no version gains more than 1 + 1/gamma = {:.2}.",
        measured.shape.columns,
        grouped(plan.rows as f64),
        grouped(plan.bytes(1)),
        seconds(t_calc_s.median),
        seconds(line.a_s),
        1e9 * line.b_s_per_byte,
        model.gamma(),
        model.bound(),
    )
}

fn conclusion(model: &DeepHalo, best: Best, best_of_all: u32, t_i1_s: Summary) -> String {
    let Best { measured, predicted } = best;
    let same = if measured.halo == predicted.halo {
        ", as predicted".to_owned()
    } else {
        format!(" ({} predicted)", predicted.halo)
    };
    format!(
        "{} ghost columns gained most{same}: a step takes {} instead of {}, G = {:.2} = {:.2} by fewer exchanges x {:.2} by hiding, \
         beside the bound {:.2}; predicted {:.2}, and the time of the step to {:+.1} %. Of all numbers of ghost columns {best_of_all} \
         would gain most by the model.",
        measured.halo,
        seconds(measured.t_i3_s.median),
        seconds(t_i1_s.median),
        measured.gain,
        measured.gain_of_halo,
        measured.gain_of_hiding,
        model.bound(),
        measured.gain_predicted,
        100.0 * measured.error,
    )
}

fn table() -> Table {
    Table::of("halos")
        .column("halo", "k", Form::Count)
        .column("steps_per_exchange", "steps per\nexchange", Form::Count)
        .column("redundancy", "redundant\ncalculation", Form::Percent(0))
        .column("t_i1_s", "T I.1 k", Form::Seconds)
        .column("t_i1_predicted_s", "predicted", Form::Seconds)
        .column("error_i1", "error", Form::SignedPercent(1))
        .column("t_i3_s", "T I.3 k", Form::Seconds)
        .column("t_i3_predicted_s", "predicted", Form::Seconds)
        .column("error", "error", Form::SignedPercent(1))
}

fn gains() -> Table {
    Table::of("halos")
        .column("halo", "k", Form::Count)
        .column("gain_of_halo", "G of fewer\nexchanges", Form::Fixed(2))
        .column("gain_of_halo_predicted", "predicted", Form::Fixed(2))
        .column("gain_of_hiding", "G of\nhiding", Form::Fixed(2))
        .column("gain_of_hiding_predicted", "predicted", Form::Fixed(2))
        .column("gain", "G over\nI.1", Form::Fixed(2))
        .column("gain_predicted", "predicted", Form::Fixed(2))
}

fn chart(results: &Results, points: &[Point]) -> Chart {
    let curve = |of: fn(&Point) -> f64| points.iter().map(move |point| (f64::from(point.halo), of(point)));
    Chart::new(Axis::log("k, ghost columns", Form::Plain), Axis::linear("G over I.1", Form::Plain))
        .curve("both, predicted", Look::Solid, curve(|point| point.gain_predicted))
        .curve("fewer exchanges, predicted", Look::Dotted, curve(|point| point.gain_of_halo_predicted))
        .points("both", results.series("halos", "halo", "gain"))
        .points("fewer exchanges", results.series("halos", "halo", "gain_of_halo"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::common::strip::Shape;
    use crate::report::WIDTH;
    use crate::report::text::text;

    const HALOS: [u32; 4] = [1, 4, 16, 64];

    /// Rounds as the model has them, some percent slower in the second.
    fn measured() -> (Plan, Measured) {
        let plan = Plan { rows: 500, gamma: 0.1, halos: HALOS.to_vec(), repeats: 3, deadline_s: None, raw: None };
        let line = Line { a_s: 25e-3, b_s_per_byte: 160e-9 };
        let model = plan.model(2.5e-3, line).unwrap();
        let round = |slower: f64| Round {
            t_calc: vec![2.5e-3, slower * 2.5e-3],
            exchanges: plan.lengths().iter().map(|columns| line.time_s(plan.bytes(*columns))).collect(),
            sequence: 0,
            t_i1: slower * model.plain_s(),
            t_i1_again: 1.001 * slower * model.plain_s(),
            t_halos: HALOS
                .map(|halo| [slower * model.step_s(halo).unwrap(), slower * model.hidden_step_s(halo).unwrap()])
                .into(),
        };
        let shape = Shape { rows: 500, columns: 64, work: 200 };
        (plan.clone(), Measured { shape, rounds: vec![round(1.02), round(1.05), round(1.02)] })
    }

    fn shown() -> Results {
        let link = Link { spec: "delay=25ms,rate=50mbit".into(), emulated: true, how: "emulated (a relay)".into() };
        let (plan, measured) = measured();
        results(link, &plan, &measured).unwrap()
    }

    #[test]
    fn gains_and_errors_by_hand() {
        let json = serde_json::to_value(shown()).unwrap();
        let close = |member: &serde_json::Value, value: f64| {
            let found = member.as_f64().unwrap_or(f64::NAN);
            assert!((found / value - 1.0).abs() < 1e-9, "{found} is not {value}");
        };
        close(&json["a_s"], 25e-3);
        close(&json["b_s_per_byte"], 160e-9);
        close(&json["gamma"], 2.5 / 25.64);
        close(&json["bound"], 1.0 + 25.64 / 2.5);
        close(&json["t_i1_error"], 1.0 / 1.02 - 1.0);
        let deep = &json["halos"][2];
        // 35.24 ms for the exchange, a little more than the interior takes, and 16 of 64 columns in 16 steps.
        close(&deep["gain"], 28.14 / ((35.24 + 16.0 * 2.5 / 4.0) / 16.0));
        close(&deep["error"], 1.0 / 1.02 - 1.0);
        let product = deep["gain_of_halo"].as_f64().unwrap() * deep["gain_of_hiding"].as_f64().unwrap();
        close(&deep["gain"], product);
        assert_eq!((&json["best_measured"], &json["best_predicted"]), (&16.into(), &16.into()));
        assert_eq!(json["best_of_all"], 17, "the least that hides the exchange");
        let [same, both, hiding] = [0, 1, 2].map(|at| &json["comparisons"][at]);
        close(&same["ratio"], 1.0 / 1.001);
        close(&both["ratio"], deep["gain"].as_f64().unwrap());
        close(&hiding["ratio"], deep["gain_of_hiding"].as_f64().unwrap());
        assert!(
            json["rounds"].as_array().unwrap().len() == 3 && json["rounds"][1]["t_halos_s"][2][1].is_f64(),
            "{json}"
        );
    }

    #[test]
    fn the_text_fits_and_says_what_matters() {
        let text = text(&shown(), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "1 + 1/gamma = 11.26",
            "16 ghost columns gained most, as predicted",
            "by fewer exchanges x",
            "beside the bound 11.26",
        ] {
            assert!(words.contains(part), "{part} is missing:\n{text}");
        }
    }

    #[test]
    fn no_rounds_are_no_result() {
        let link = Link { spec: "x".into(), emulated: false, how: "x".into() };
        let (plan, measured) = measured();
        assert!(results(link, &plan, &Measured { rounds: vec![], ..measured }).is_err());
    }
}
