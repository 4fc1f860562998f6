//! Several cases in one run: messages of different lengths, with socket buffers of different sizes (Strumpen 1994, Figs 21
//! and 22). Pure.
//!
//! A message that the send buffer takes whole leaves while the program calculates, so a blocking write hides it too; one
//! that it does not take, only the latency-hiding version hides.

use serde_json::{Map, Value, json};

use super::analysis::{Point, best, best_blocking, disturbed_max};
use super::plan::{Case, Measured};
use super::reference::{self, Reference};
use super::results::{rounds, times};
use crate::commands::common::console::Link;
use crate::report::description::MachineDescription;
use crate::report::format::seconds;
use crate::report::results::{Axis, Chart, Form, Look, Results, Table, dense};
use lathide_models::gain;

/// The version changes when a member of the JSON object changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-cases-1";

/// The results of several cases; `None` if one of them has no points. In the JSON object:
///
/// - `cases`: for each its `rows`, `message_bytes` and `socket_buffer_bytes` (null where the system sizes the buffers); the
///   greatest G, `max_gain` at `max_gain_gamma`, and that of a blocking write, `max_gain_blocking`; `i1_over_raw_exchange`
///   and `disturbed_max` as in a result of one case.
/// - `points`: as in a result of one case, but for what is fitted to all points; `case` names the case of each.
/// - `rounds`: every repetition, case by case in the order of measurement. `hosts`, `run`, `verdict` as of one case.
/// - `repeats`: repetitions that count, at the point with the fewest.
pub(super) fn results(link: Link, raw: &[Vec<Measured>], measured: &[(Case, Vec<Point>)]) -> Option<Results> {
    let mut rows = Vec::new();
    for (case, points) in measured {
        rows.push(summary(*case, points)?);
    }
    let all = || measured.iter().flat_map(|(_, points)| points);
    let rounds = measured.iter().zip(raw).flat_map(|((case, points), raw)| {
        let with_case = |mut round: Value| {
            round["case"] = case.in_words().into();
            round
        };
        rounds(raw, points).into_iter().map(with_case)
    });
    let data = json!({
        "link": link,
        "machine": MachineDescription::here(),
        "repeats": all().map(|point| point.repeats).min(),
        "steps": all().map(|point| point.steps).min(),
        "cases": rows,
        "rounds": rounds.collect::<Vec<_>>(),
        "points": measured.iter().flat_map(|(case, points)| points.iter().map(|point| row(*case, point))).collect::<Vec<_>>(),
    });
    let mut results = Results::new(SCHEMA, "Gain of communication latency hiding, by message and buffer", &data);
    results
        .text(
            "Two nodes for each case. G: time of I.1 (calculate, write, read) over that of I.2 (blocking write before the \
             interior) or I.3 (initread, initwrite, interior, wait, wait). Times are of a step; S is the speed-up against \
             one node.",
        )
        .table(overview());
    for (case, _) in measured {
        results.table(points_of(*case));
    }
    let chart = chart(&results, measured);
    results.chart(chart);
    results.conclusion = conclusion(measured)?;
    Some(results)
}

fn summary(case: Case, points: &[Point]) -> Option<Value> {
    let best = best(points)?;
    Some(json!({
        "case": case.in_words(),
        "rows": case.rows,
        "message_bytes": case.message_bytes(),
        "socket_buffer_bytes": case.socket_buffer_bytes,
        "buffers": case.buffers(),
        "t_com_s": best.t_com_s,
        "max_gain": best.gain,
        "max_gain_gamma": best.gamma,
        "max_gain_blocking": best_blocking(points),
        "i1_over_raw_exchange": Reference::base(points.iter().map(|point| &point.reference))?,
        "disturbed_max": disturbed_max(points),
    }))
}

/// A point with its case, without what is fitted to several points.
fn row(case: Case, point: &Point) -> Value {
    let Ok(Value::Object(mut row)) = serde_json::to_value(point) else { return Value::Object(Map::new()) };
    for fitted in ["gain_model", "gain_held_out", "model_error"] {
        row.remove(fitted);
    }
    row.insert("case".to_owned(), case.in_words().into());
    row.insert("socket_buffer_bytes".to_owned(), case.socket_buffer_bytes.into());
    Value::Object(row)
}

fn overview() -> Table {
    Table::of("cases")
        .column("rows", "rows", Form::Count)
        .column("message_bytes", "message", Form::Bytes)
        .column("buffers", "sockets", Form::Word)
        .column("t_com_s", "t_com", Form::Seconds)
        .column("max_gain_gamma", "at gamma", Form::Fixed(2))
        .column("max_gain_blocking", "greatest\nG I.2", Form::Fixed(2))
        .range("max_gain", "greatest\nG I.3", Form::Fixed(2))
        .column("i1_over_raw_exchange", "I.1 / raw\nexchange", Form::Fixed(3))
}

fn points_of(case: Case) -> Table {
    times()
        .only("case", case.in_words())
        .title(format!("{}:", case.in_words()))
        .column("t_raw_exchange_s", "T raw\nexchange", Form::Seconds)
        .column("speedup_i1", "S\nI.1", Form::Fixed(2))
        .column("speedup_i2", "S\nI.2", Form::Fixed(2))
        .column("speedup_i3", "S\nI.3", Form::Fixed(2))
        .column("gain_blocking", "G\nI.2", Form::Fixed(2))
        .column("gain", "G\nI.3", Form::Fixed(2))
        .column("gain_ideal", "G ideal\neq. 1", Form::Fixed(2))
}

fn chart(results: &Results, measured: &[(Case, Vec<Point>)]) -> Chart {
    let gammas = dense(measured.iter().flat_map(|(_, points)| points.iter().map(|point| point.gamma)));
    let ideal = gammas.filter_map(|gamma| Some((gamma, gain::ideal(gamma).ok()?)));
    let mut chart = Chart::new(Axis::log("gamma = t_calc / t_com", Form::Plain), Axis::linear("G", Form::Plain)).curve(
        "ideal, eq. 1",
        Look::Dotted,
        ideal,
    );
    for (case, _) in measured {
        let name = case.in_words();
        let of = |y: &str| {
            let rows = results.rows("points").iter().filter(|row| row["case"] == *name);
            crate::report::results::points(rows, "gamma", y)
        };
        chart = chart.points(format!("I.3, {name}"), of("gain"));
        // More points could not be told apart.
        if measured.len() <= 2 {
            chart = chart.points(format!("I.2, {name}"), of("gain_blocking"));
        }
    }
    chart
}

fn conclusion(measured: &[(Case, Vec<Point>)]) -> Option<String> {
    let case = |(case, points): &(Case, Vec<Point>)| {
        let (best, blocking) = (best(points)?, best_blocking(points));
        Some(format!(
            "{}: t_com {}, G = {:.2} hidden, {blocking:.2} with a blocking write",
            case.in_words(),
            seconds(best.t_com_s.median),
            best.gain.median
        ))
    };
    let cases: Option<Vec<String>> = measured.iter().map(case).collect();
    let references = measured.iter().flat_map(|(_, points)| points.iter().map(|point| &point.reference));
    let base = Reference::base(references)?;
    Some(format!("At most, by case: {}. {}", cases?.join("; "), reference::in_words(base)))
}

#[cfg(test)]
mod tests {
    use super::super::analysis::evaluate;
    use super::super::plan::Round;
    use super::*;
    use crate::commands::common::strip::Shape;
    use crate::report::WIDTH;
    use crate::report::text::text;

    /// One point at gamma = 1, where a blocking write hides so much of a transfer of one second.
    fn points(case: Case, hidden: f64) -> Vec<Point> {
        let round = Round {
            work: 3,
            t_calc: 1.0,
            interior: 0.9,
            t_com: 1.0,
            t_i1: 2.0,
            t_i2: 2.0 - hidden,
            t_i3: 1.1,
            t_raw_exchange: 2.0,
            t_raw_pingpong: Some(3.0),
            busy: 0.9,
            ..Round::default()
        };
        let shape = Shape { rows: case.rows, columns: 8, work: 3 };
        vec![evaluate(&Measured { gamma_wanted: 1.0, shape, steps: 50, rounds: vec![round; 3] }, 3).unwrap()]
    }

    fn two() -> Option<Results> {
        let link = Link { spec: "hosts host0,host1".into(), emulated: false, how: "the network between them".into() };
        let whole = Case { rows: 500, socket_buffer_bytes: Some(4096) };
        let part = Case { rows: 1000, ..whole };
        let measured = [(whole, points(whole, 0.9)), (part, points(part, 0.1))];
        let of = |(_, points): &(Case, Vec<Point>)| {
            vec![Measured { gamma_wanted: 1.0, shape: points[0].shape, steps: 50, rounds: points[0].rounds.clone() }]
        };
        results(link, &measured.iter().map(of).collect::<Vec<_>>(), &measured)
    }

    #[test]
    fn every_case_has_its_summary_and_its_points() {
        let json = serde_json::to_value(two().unwrap()).unwrap();
        assert_eq!((&json["schema"], &json["steps"], &json["repeats"]), (&SCHEMA.into(), &50.into(), &3.into()));
        let cases = json["cases"].as_array().unwrap();
        assert_eq!((&cases[1]["message_bytes"], &cases[1]["socket_buffer_bytes"]), (&8000.into(), &4096.into()));
        assert!((cases[0]["max_gain_blocking"].as_f64().unwrap() - 2.0 / 1.1).abs() < 1e-9, "{json}");
        assert!((cases[1]["max_gain_blocking"].as_f64().unwrap() - 2.0 / 1.9).abs() < 1e-9, "{json}");
        let points = json["points"].as_array().unwrap();
        assert_eq!((points.len(), &points[1]["case"]), (2, &"1000 rows, 4 KiB buffers".into()));
        let rounds = json["rounds"].as_array().unwrap();
        assert_eq!((rounds.len(), &rounds[5]["case"]), (6, &"1000 rows, 4 KiB buffers".into()), "{json}");
        assert!(points[1]["gain_min"].is_f64() && points[1]["gain_model"].is_null(), "{json}");
    }

    #[test]
    fn the_text_fits_and_names_the_cases() {
        let text = text(&two().unwrap(), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in
            ["500 rows, 4 KiB buffers", "8 kB", "G = 1.82 hidden, 1.05 with a blocking write", "takes 1.000 of one"]
        {
            assert!(words.contains(part), "{part} is missing:\n{text}");
        }
    }

    #[test]
    fn a_case_without_points_is_no_result() {
        let link = Link { spec: "x".into(), emulated: false, how: "x".into() };
        assert!(results(link, &[vec![]], &[(Case { rows: 5, socket_buffer_bytes: None }, vec![])]).is_none());
    }
}
