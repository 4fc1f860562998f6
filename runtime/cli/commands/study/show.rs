//! How a study is shown: a table and a curve for each purpose.

use serde_json::Value;

use super::plan::{Plan, Point, member};
use crate::report::results::{Axis, Chart, Form, Look, Results, Table};

/// Tables and curves of what is in the data.
pub(super) fn show(results: &mut Results, plan: &Plan, unit: &str, classes: Option<&[String]>) {
    let of = classes.map_or("all messages".to_owned(), |classes| format!("the messages of {}", classes.join(", ")));
    let x = x_axis(plan);
    results.table(
        places(Table::of("sending"), plan)
            .title(format!(
                "T_s of {of} per {unit} and rank that sends: predicted without contention (n = 1) and with all senders at \
                 once (all n); measured of the native version, beside the prediction for as many senders as were observed at \
                 once, and of the synchronised one, beside that for all."
            ))
            .column("senders", "n", Form::Plain)
            .column("senders_observed", "n ob-\nserved", Form::Fixed(2))
            .column("alone_s", "n = 1", Form::Seconds)
            .column("full_s", "all n", Form::Seconds)
            .range("native_s", "native", Form::Seconds)
            .column("native_error", "error", Form::SignedPercent(0))
            .range("synchronised_s", "synchro-\nnised", Form::Seconds)
            .column("synchronised_error", "error", Form::SignedPercent(0)),
    );
    curves(results, x.as_deref(), ("sending", "T_s"), &["native_s", "synchronised_s"]);
    results.table(
        places(Table::of("receiving"), plan)
            .title(format!(
                "T_r of {of} per {unit} and rank that receives, synchronised: from the post of a read until its message is \
                 complete."
            ))
            .column("messages", "mes-\nsages", Form::Plain)
            .column("bytes", "bytes", Form::Bytes)
            .column("alone_s", "n = 1", Form::Seconds)
            .column("full_s", "all n", Form::Seconds)
            .range("synchronised_s", "synchro-\nnised", Form::Seconds)
            .column("error", "error", Form::SignedPercent(0)),
    );
    curves(results, x.as_deref(), ("receiving", "T_r"), &["synchronised_s"]);
    results.table(
        places(Table::of("gain"), plan)
            .title(format!(
                "The time of one {unit} of the slowest rank, and G = native / hidden beside Strumpen's eqs. (1) and (4) with \
                 f and Omega of the hidden version."
            ))
            .column("native_s", "native", Form::Seconds)
            .column("synchronised_s", "synchro-\nnised", Form::Seconds)
            .column("hidden_s", "hidden", Form::Seconds)
            .column("gamma", "gamma", Form::Fixed(2))
            .range("gain", "G", Form::Fixed(2))
            .column("gain_ideal", "G ideal\neq. (1)", Form::Fixed(2))
            .column("f", "f", Form::Fixed(2))
            .column("omega", "Omega", Form::Fixed(3))
            .column("gain_model", "G model\neq. (4)", Form::Fixed(2)),
    );
    gain(results, x.as_deref());
    let place = plan.points.last().map(Point::in_words).filter(|place| !place.is_empty());
    let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
    let rows = results.rows("by_class").to_vec();
    for (direction, name, versions) in
        [("sent", "T_s", &["native", "synchronised"][..]), ("received", "T_r", &["synchronised"])]
    {
        let is_shown = |row: &&Value| {
            row["direction"] == direction && row["version"].as_str().is_some_and(|version| versions.contains(&version))
        };
        let own = rows.iter().filter(is_shown).cloned().collect();
        results.table(by_class(Table::with(own).title(format!("{name} of each class{place}, per {unit} and rank."))));
    }
}

fn by_class(table: Table) -> Table {
    table
        .column("version", "version", Form::Word)
        .column("class", "class", Form::Word)
        .column("ranks", "ranks", Form::Count)
        .column("messages", "mes-\nsages", Form::Plain)
        .column("bytes", "bytes", Form::Bytes)
        .column("senders_observed", "n ob-\nserved", Form::Fixed(2))
        .column("alone_s", "n = 1", Form::Seconds)
        .column("full_s", "all n", Form::Seconds)
        .column("observed_s", "n ob-\nserved", Form::Seconds)
        .column("measured_s", "measured", Form::Seconds)
        .column("error", "error", Form::SignedPercent(0))
}

/// The columns that say where a row is.
fn places(table: Table, plan: &Plan) -> Table {
    let names = plan.points.first().map(|point| point.values.as_slice()).unwrap_or_default();
    let mut table = table;
    if !names.iter().any(|(name, _)| name == "ranks") {
        table = table.column("ranks", "ranks", Form::Count);
    }
    for (name, _) in names {
        table = table.column(&member(name), name, Form::Plain);
    }
    table
}

/// The first sweep with a number for each point, none twice.
fn x_axis(plan: &Plan) -> Option<String> {
    let names = plan.points.first().map(|point| point.values.as_slice()).unwrap_or_default();
    let is_axis = |at: &usize| {
        let values: Option<Vec<f64>> = plan.points.iter().map(|point| point.values[*at].1.parse().ok()).collect();
        values.is_some_and(|values| {
            let is_new = |(at, value): (usize, &f64)| *value > 0.0 && !values[..at].contains(value);
            values.len() > 1 && values.iter().enumerate().all(is_new)
        })
    };
    (0..names.len()).find(is_axis).map(|at| names[at].0.clone())
}

fn chart(x: &str, y: Axis) -> Chart {
    Chart::new(Axis::log(x, Form::Plain), y)
}

fn line(results: &Results, table: &str, x: &str, y: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        results.series(table, &member(x), y).into_iter().map(|[x, y, ..]| (x, y)).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

fn curves(results: &mut Results, x: Option<&str>, (table, what): (&str, &str), measured: &[&str]) {
    let Some(x) = x else { return };
    let mut chart = chart(x, Axis::linear(what, Form::Seconds))
        .curve("n = 1", Look::Dotted, line(results, table, x, "alone_s"))
        .curve("all n", Look::Solid, line(results, table, x, "full_s"));
    for name in measured {
        chart = chart.points(name.trim_end_matches("_s"), results.series(table, &member(x), name));
    }
    results.chart(chart);
}

fn gain(results: &mut Results, x: Option<&str>) {
    let Some(x) = x else { return };
    let measured = results.series("gain", &member(x), "gain");
    // Without the hidden version, or the native one, there is none.
    if measured.is_empty() {
        return;
    }
    let chart = chart(x, Axis::linear("G", Form::Plain))
        .curve("eq. (1)", Look::Dotted, line(results, "gain", x, "gain_ideal"))
        .curve("eq. (4)", Look::Solid, line(results, "gain", x, "gain_model"))
        .points("measured", measured);
    results.chart(chart);
}
