use serde_json::json;

use super::*;
use crate::report::summary::Summary;
use crate::report::verdict::{Evidence, Verdict};

fn results() -> Results {
    let time = Summary { median: 2.0, min: 1.0, max: 4.0 };
    let rows = json!([{"kind": "a", "x": 1.0, "t_s": time}, {"kind": "b", "x": 2.0, "t_s": time}, {"kind": "a"}]);
    let data = json!({"points": rows, "link": {"how": "a wire"}, "repeats": 5, "inner": {"t_s": time}});
    let mut results = Results::new("lathide-test-1", "A test", &data);
    results.table(Table::of("points").column("x", "x", Form::Plain).range("t_s", "t", Form::Seconds));
    results
}

#[test]
fn summaries_are_three_members_at_every_depth() {
    let data = results().data;
    assert_eq!(data["points"][0], json!({"kind": "a", "x": 1.0, "t_s": 2.0, "t_s_min": 1.0, "t_s_max": 4.0}));
    assert_eq!(data["inner"], json!({"t_s": 2.0, "t_s_min": 1.0, "t_s_max": 4.0}));
    assert_eq!(results().series("points", "x", "t_s"), [[1.0, 2.0, 1.0, 4.0], [2.0, 2.0, 1.0, 4.0]]);
}

#[test]
fn what_is_saved_is_read_again() {
    let mut results = results();
    let axes = [Axis::log("x", Form::Bytes), Axis::linear("t", Form::Seconds)];
    let [x, y] = axes;
    let chart = Chart::new(x, y).points("t", results.series("points", "x", "t_s"));
    results.chart(chart).text("In words.");
    results.verdict = Some(Verdict::of(&Evidence { drift: Some(0.5), ..Evidence::default() }));
    let json = serde_json::to_value(&results).unwrap();
    assert_eq!((&json["schema"], &json["repeats"]), (&json!("lathide-test-1"), &json!(5)));
    assert_eq!(Results::deserialize(&json).unwrap(), results);
}

#[test]
fn rows_are_those_asked_for() {
    let results = results();
    let rows = |table: Table| table.filled(&results).map_or(0, |(_, rows)| rows.len());
    assert_eq!(rows(Table::of("points")), 3);
    assert_eq!(rows(Table::of("points").only("kind", "a")), 2);
    assert_eq!(rows(Table::of("points").only("kind", "c")), 0);
    assert_eq!((rows(Table::of("none")), rows(Table::of("repeats"))), (0, 0));
    assert_eq!(rows(Table::with(vec![json!({})])), 1);
}

#[test]
fn a_chart_needs_two_places_and_numbers() {
    let mut results = results();
    let before = results.layout.len();
    let chart = |points: &[(f64, f64)]| {
        let y = Axis::log("y", Form::Plain);
        Chart::new(Axis::log("x", Form::Plain), y).curve("c", Look::Solid, points.iter().copied())
    };
    results.chart(chart(&[])).chart(chart(&[(1.0, 2.0), (1.0, 3.0)]));
    results.chart(chart(&[(1.0, 2.0), (0.0, 1.0), (2.0, -1.0), (f64::NAN, 1.0)]));
    assert_eq!(results.layout.len(), before, "nothing that can be drawn");
    results.chart(chart(&[(1.0, 2.0), (2.0, 3.0)]));
    assert_eq!(results.layout.len(), before + 1);
}

#[test]
fn samples_go_from_end_to_end() {
    let samples: Vec<f64> = dense([4.0, 0.25, 1.0].into_iter()).collect();
    assert_eq!(samples.len(), SAMPLES as usize + 1);
    assert!((samples[0], samples[80]) == (0.25, 1.0) && (samples[160] - 4.0).abs() < 1e-12);
    assert_eq!(dense([f64::NAN].into_iter()).count(), 0);
}

#[test]
fn the_verdict_comes_first_and_results_of_old_have_none() {
    let mut results = results();
    results.conclusion = "It pays.".to_owned();
    assert_eq!(results.meaning(), "It pays.");
    let old = serde_json::to_value(&results).unwrap();
    assert!(old.get("verdict").is_none(), "{old}");
    assert_eq!(Results::deserialize(&old).unwrap().verdict, None);
    results.verdict = Some(Verdict::of(&Evidence::default()));
    assert_eq!(results.meaning(), "Verdict: valid. It pays.");
}
