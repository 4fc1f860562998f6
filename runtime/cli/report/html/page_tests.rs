use serde_json::{Value, json};

use super::*;
use crate::report::results::{Axis, Chart, Form, Look, Results, Table};
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

fn named(file: &str, json: Value) -> (String, Result<Value, String>) {
    (file.to_owned(), Ok(json))
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
    let html = Page::of(files).html();
    check(&html);
    for part in [
        "Gain &amp; more <span class=\"file\">g&lt;1&gt;.json</span>",
        "&lt;emulated&gt;",
        "Medians of 5",
        "<td class=\"word\">a &lt; b</td>",
        "<th scope=\"col\">T measured</th><th scope=\"col\">min</th><th scope=\"col\">max</th>",
        "<th scope=\"col\">limit</th>",
        "<td>1 ms</td>",
        "Timeline <span class=\"file\">t.json</span>",
        "It pays.",
        "<p class=\"meaning warning\">Verdict: disturbed. The same calculation took up to 50 % longer at one time than at another. Measure again",
        "It was short.",
    ] {
        assert!(html.contains(part), "{part} is missing:\n{html}");
    }
    assert!(html.find("Verdict: disturbed") < html.find("<table"), "what it is worth stands above what it is");
    assert!(html.find("</span> disturbed</span>") < html.find("<section"), "and above all sections");
    assert!(html.contains("<title>measured: 2 ms at 1 (1 ms to 9 ms)</title>"), "tooltips have units: {html}");
    assert!(!html.contains("An empty table"));
}

#[test]
fn half_a_result_makes_half_a_page() {
    let mut half = results();
    half["points"] = json!([3, {"x": "y"}, {"x": 0.0, "t_s": 1e300}]);
    half["machine"] = json!(7);
    for json in [half, json!({"schema": "lathide-run-1", "reports": [{"advice": {}}]}), json!([{"advice": {}}])] {
        let page = Page::of([named("x.json", json)]);
        check(&page.html());
        assert_eq!((page.shown().count(), page.skipped.len()), (1, 0));
        _ = (pictures(&page), values(&page));
    }
}

#[test]
fn what_is_no_result_is_named_and_skipped() {
    for (json, word) in [
        (json!({}), "no schema"),
        (json!([]), "no schema"),
        (json!({"schema": "else-1"}), "the schema else-1"),
        (json!({"schema": "lathide-gain-1", "points": []}), "no layout"),
        (json!({"schema": "lathide-gain-2", "layout": [7]}), "cannot be shown"),
        (json!({"schema": "lathide-run-1", "reports": null}), "no reports"),
    ] {
        let page = Page::of([named("<x>.json", json), named("good.json", results())]);
        let [(file, why)] = &page.skipped[..] else { panic!("{:?}", page.skipped) };
        assert!(file == "<x>.json" && why.contains(word), "{file}: {why}");
        let html = page.html();
        check(&html);
        assert!(html.contains("<li>&lt;x&gt;.json: it ") && html.contains("It pays."), "{html}");
    }
}

#[test]
fn figures_and_tables_are_saved_one_by_one() {
    let page = Page::of([named("../g.json", results())]);
    let names = |saved: &[(String, String)]| saved.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let (figures, tables) = (pictures(&page), values(&page));
    assert_eq!(names(&figures), ["g-002-a-table-t-against-gamma.svg"]);
    assert_eq!(names(&tables), ["g-001-a-table.csv", "g-002-a-table-t-against-gamma.csv"]);
    assert!(figures[0].1.starts_with("<svg xmlns=") && !figures[0].1.contains("var("), "{}", figures[0].1);
    assert!(
        tables[0].1.starts_with("x,t_s,t_s_min,t_s_max,who,none\r\n0.5,0.001,0.001,0.009,a < b,\r\n"),
        "{}",
        tables[0].1
    );
    assert!(tables[1].1.contains("measured,0.5,0.001,0.001,0.009"), "{}", tables[1].1);
}
