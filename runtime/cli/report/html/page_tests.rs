use serde_json::json;

use super::*;
use crate::report::results::{Axis, Chart, Form, Look, Table};
use crate::report::verdict::{Evidence, Verdict};

/// A result as a command saves it.
fn results() -> Value {
    let row = |x: f64| json!({"x": x, "t_s": 2e-3 * x, "t_s_min": 1e-3, "t_s_max": 9e-3, "who": "a < b", "none": null});
    let data = json!({"points": [row(0.5), row(1.0), row(2.0)], "link": {"how": "<emulated>"}, "repeats": 5});
    let mut results = Results::new("lathide-gain-2", "Gain & more", &data);
    let points = results.series("points", "x", "t_s");
    let axes = (Axis::log("gamma", Form::Plain), Axis::linear("T", Form::Seconds));
    let table =
        Table::of("points").title("A table").column("x", "x", Form::Plain).range("t_s", "T\nmeasured", Form::Seconds);
    results
        .text("a < b")
        .table(table.column("who", "who", Form::Word).column("none", "lim-\nit", Form::Number))
        .table(Table::of("nothing").title("An empty table").column("x", "x", Form::Plain))
        .chart(Chart::new(axes.0, axes.1).points("measured", points).curve(
            "line",
            Look::Solid,
            [(0.5, 1.0), (2.0, 2.0)],
        ));
    results.conclusion = "It pays.".into();
    results.verdict = Some(Verdict::of(&Evidence { drift: Some(0.5), ..Evidence::default() }));
    results.warnings.push("It was short.".to_owned());
    serde_json::to_value(results).unwrap()
}

fn named(file: &str, json: Value) -> (String, Value) {
    (file.to_owned(), json)
}

/// Tags are closed in the order they were opened, and nothing is loaded from anywhere.
fn check(html: &str) {
    let mut open = Vec::new();
    for part in html.split('<').skip(1) {
        let tag = part.split('>').next().expect("a tag ends");
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{part}"),
            None if tag.ends_with('/') || ["!DOCTYPE", "meta"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for word in ["http:", "https:", "<script", "<link", "url(", "@import", "NaN", "inf "] {
        assert!(!html.contains(word), "the page has {word}");
    }
}

#[test]
fn one_page_of_all_results() {
    let trace = json!({"otherData": {"schema": "lathide-trace-1"}, "traceEvents": [
        {"ph": "X", "pid": 0, "tid": 0, "ts": 0.0, "dur": 5.0, "name": "compute"}]});
    let run = json!({"schema": "lathide-run-1", "reports": []});
    let files = [named("g<1>.json", results()), named("t.json", trace), named("r.json", run)];
    let html = page(&files).unwrap();
    check(&html);
    for part in [
        "Gain &amp; more: g&lt;1&gt;.json",
        "&lt;emulated&gt;",
        "Medians of 5",
        "<td>a &lt; b</td>",
        "<th>T measured</th><th>min</th><th>max</th>",
        "<th>limit</th>",
        "<td>1 ms</td>",
        "Timeline: t.json",
        "It pays.",
        "<p>Verdict: disturbed. The same calculation took up to 50 % longer at one time than at another. Measure again",
        "It was short.",
    ] {
        assert!(html.contains(part), "{part} is missing:\n{html}");
    }
    assert!(html.find("Verdict: disturbed") < html.find("<table"), "what it is worth stands above what it is");
    assert_eq!(html.matches("<circle").count(), 3, "the points");
    assert!(!html.contains("An empty table"));
}

#[test]
fn half_a_result_makes_half_a_page() {
    let mut half = results();
    half["points"] = json!([3, {"x": "y"}, {"x": 0.0, "t_s": 1e300}]);
    half["machine"] = json!(7);
    for json in [half, json!({"schema": "lathide-run-1", "reports": [{"advice": {}}]}), json!([{"advice": {}}])] {
        check(&page(&[named("x.json", json)]).unwrap());
    }
}

#[test]
fn what_is_no_result_is_refused() {
    for (json, word) in [
        (json!({}), "no schema"),
        (json!([]), "no schema"),
        (json!({"schema": "else-1"}), "the schema else-1"),
        (json!({"schema": "lathide-gain-1", "points": []}), "no layout"),
        (json!({"schema": "lathide-gain-2", "layout": [7]}), "cannot be shown"),
        (json!({"schema": "lathide-run-1", "reports": null}), "no reports"),
    ] {
        let error = page(&[named("x.json", json)]).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("x.json"), "{error}");
    }
}
