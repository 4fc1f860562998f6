//! What `lathide gain` found out: the curve over gamma, its model, and what follows; or a program's gain.

use serde_json::Value;

use super::markup::{escaped, paragraph, share, table};
use super::section::{Section, header, list, points};
use super::svg::{Axis, Chart, short, time};
use lathide_models::gain;

/// A sweep over gamma.
pub(super) fn sweep(file: &str, json: &Value) -> Section {
    let rows = list(json, "points");
    let number = |member: &str| json[member].as_f64();
    let (f, omega) = (number("f").unwrap_or(1.0), number("omega").unwrap_or(0.0).max(0.0));
    let mut body = header(json);
    body += &paragraph(&format!(
        "Two nodes, {} bytes each way per step. G is the time of a step without hiding (I.1: calculate, write, read) over \
         that with hiding (I.3: initread, initwrite, interior, wait, wait); I.2 has a blocking write before the interior.",
        json["message_bytes"].as_u64().unwrap_or(0)
    ));
    body += &curve(rows, f, omega);
    body += &advice(json, f, omega);
    let ratio = |row: &Value, member: &str| row[member].as_f64().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let seconds = |row: &Value, member: &str| row[member].as_f64().map_or("-".to_owned(), time);
    let cells = rows.iter().map(|row| {
        let mut cells = vec![ratio(row, "gamma")];
        cells.extend(["t_calc_s", "t_com_s", "t_i1_s", "t_i2_s", "t_i3_s"].map(|member| seconds(row, member)));
        cells.extend(["gain_blocking", "gain", "gain_ideal", "gain_model"].map(|member| ratio(row, member)));
        cells.push(row["model_error"].as_f64().map_or("-".to_owned(), |error| format!("{:+.1} %", 100.0 * error)));
        cells
    });
    let titles = [
        "gamma",
        "t_calc",
        "t_com",
        "T I.1",
        "T I.2",
        "T I.3",
        "G I.2",
        "G I.3",
        "eq. (1)",
        "eq. (4)",
        "held-out error",
    ];
    body += &table(&titles, cells);
    Section { title: format!("Gain: {}", escaped(file)), body }
}

fn curve(rows: &[Value], f: f64, omega: f64) -> String {
    let gammas = || rows.iter().filter_map(|row| row["gamma"].as_f64()).filter(|gamma| *gamma > 0.0);
    let (low, high) = gammas().fold((f64::MAX, 0.0_f64), |(low, high), gamma| (low.min(gamma), high.max(gamma)));
    let steps = if low <= high { 160 } else { -1 };
    let dense = |of: &dyn Fn(f64) -> Option<f64>| -> Vec<(f64, f64)> {
        let place = |step: i32| low * (high / low).powf(f64::from(step) / f64::from(steps.max(1)));
        (0..=steps).filter_map(|step| Some((place(step), of(place(step))?))).collect()
    };
    Chart::new(("gamma = t_calc / t_com", Axis::Log(2)), ("G", Axis::Linear))
        .line("eq. (4), f and Omega fitted", dense(&|gamma| gain::with_overhead(1.0 / gamma, f, omega).ok()))
        .points("I.3, latency hiding", points(rows, "gamma", "gain"))
        .points("I.2, blocking write", points(rows, "gamma", "gain_blocking"))
        .line("eq. (1), ideal", dense(&|gamma| gain::ideal(gamma).ok()))
        .render()
}

/// What follows from f and Omega, with the equation that says so.
fn advice(json: &Value, f: f64, omega: f64) -> String {
    let mut text = String::new();
    if let (Some(most), Some(gamma)) = (json["max_gain"].as_f64(), json["max_gain_gamma"].as_f64()) {
        text += &paragraph(&format!("The greatest G measured is {most:.2}, at gamma = {}.", short(gamma)));
    }
    text += &paragraph(&format!(
        "Eq. (4), G = (1 + x) / ((1 - f) + max(f + Omega, x)) with x = 1/gamma, has f = {f:.3} and Omega = {omega:.3}."
    ));
    let error = &json["model_error"];
    if let (Some(median), Some(p90)) = (error["median"].as_f64(), error["p90"].as_f64()) {
        text += &paragraph(&format!(
            "Its error, cross-validated: median {:.1} %, p90 {:.1} %.",
            100.0 * median,
            100.0 * p90
        ));
    }
    if let (Ok(Some(best)), Ok(most)) = (gain::best_gamma(f, omega), gain::maximum_partial(f, omega)) {
        let half = 1.0 + 0.5 * (most - 1.0);
        let range = gain::gamma_range_for_gain(half, f, omega).ok().flatten().map_or(String::new(), |range| {
            format!(
                " Half of what hiding can bring, G = {half:.2}, needs gamma from {} to {}.",
                short(range.least),
                short(range.most)
            )
        });
        text += &paragraph(&format!(
            "Advice: give each step so much work that gamma = 1/(f + Omega) = {} (sections 2.1 and 2.3.1); G is then \
             1 + f/(1 + Omega) = {most:.2}.{range}",
            short(best)
        ));
    }
    text
}

/// A program with overlap on and off.
pub(super) fn program(file: &str, json: &Value) -> Section {
    let number = |member: &str| json[member].as_f64();
    let seconds = |member: String| json[member].as_f64().map_or("-".to_owned(), time);
    let command: Vec<&str> = list(json, "command").iter().filter_map(Value::as_str).collect();
    let mut body = header(json);
    body += &paragraph(&format!("{} on {} ranks, overlap off and on in turns.", command.join(" "), json["ranks"]));
    let rows = ["off", "on"].map(|which| {
        let mut row = vec![which.to_owned()];
        row.extend(["", "_min", "_max"].map(|end| seconds(format!("t_{which}_s{end}"))));
        row
    });
    body += &table(&["LATHIDE_OVERLAP", "median", "min", "max"], rows);
    if let (Some(gain), Some(min), Some(max)) = (number("gain"), number("gain_min"), number("gain_max")) {
        let saved =
            if gain > 1.0 { format!(": overlap saves {} of the time", share(1.0 - 1.0 / gain)) } else { String::new() };
        body += &paragraph(&format!("G = {gain:.2} ({min:.2} to {max:.2}) measured{saved}."));
    }
    body.extend(list(json, "closing").iter().filter_map(Value::as_str).map(paragraph));
    Section { title: format!("Gain of a program: {}", escaped(file)), body }
}
