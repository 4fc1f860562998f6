use serde_json::json;

use super::*;

fn gain() -> Value {
    let point = |gamma: f64, gain: f64| {
        json!({"gamma": gamma, "gain": gain, "gain_min": gain - 0.1, "gain_max": gain + 0.1, "gain_blocking": 1.1,
            "gain_ideal": gain, "gain_model": gain, "t_calc_s": 0.01, "model_error": -0.02})
    };
    json!({"schema": "lathide-gain-1", "f": 0.95, "omega": 0.03, "max_gain": 1.8, "max_gain_gamma": 1.0,
        "model_error": {"median": 0.012, "p90": 0.034}, "link": {"how": "<emulated>"},
        "points": [point(0.5, 1.4), point(1.0, 1.8), point(2.0, 1.4)]})
}

fn link() -> Value {
    let row = |bytes: u64| json!({"bytes": bytes, "raw_s": 1e-5, "raw_polled_s": 5e-6, "lathide_s": 6e-6 + 1e-9 * bytes as f64});
    json!({"schema": "lathide-link-1", "latency": [row(8), row(4096), row(1 << 20)],
        "hyperbolic": {"a_s": 6e-6, "b_s_per_byte": 1e-9, "median_error": 0.05},
        "segmented": {"start_s": 6e-6, "segments": [{"from_bytes": 0.0, "s_per_byte": 1e-9}]},
        "cluster": {"packet_bytes": 4096, "o_s": {"startup_s": 2e-6, "s_per_byte": 1e-10}, "notes": ["a < b"]}})
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
    let program = json!({"schema": "lathide-gain-program-1", "closing": ["G by eq. (4) & more"], "gain": 1.25,
        "gain_min": 1.2, "gain_max": 1.3, "command": ["./a<b"], "ranks": 2, "t_off_s": 2.0, "t_on_s": 1.6});
    let files = [named("g.json", gain()), named("l.json", link()), named("t.json", trace), named("p.json", program)];
    let html = page(&files).unwrap();
    check(&html);
    for part in [
        "&lt;emulated&gt;",
        "cross-validated: median 1.2 %, p90 3.4 %",
        "1/(f + Omega) = 1.02",
        "hyperbolic model",
        "O_s, to send",
        "a &lt; b",
        "Timeline: t.json",
        "overlap saves 20 % of the time",
        "G by eq. (4) &amp; more",
        "./a&lt;b",
    ] {
        assert!(html.contains(part), "{part} is missing:\n{html}");
    }
    assert!(html.matches("<circle").count() >= 6 + 9, "points of both charts");
}

#[test]
fn half_a_result_makes_half_a_page() {
    for json in [
        json!({"schema": "lathide-gain-1", "points": []}),
        json!({"schema": "lathide-gain-1", "points": [3, {"gamma": "x"}, {"gamma": 0.0, "gain": 1e300}]}),
        json!({"schema": "lathide-link-1", "latency": [{"bytes": 8}], "cluster": 7, "overlap": {}}),
        json!({"schema": "lathide-run-1", "reports": [{"advice": {}}]}),
        json!([{"advice": {}}]),
    ] {
        check(&page(&[named("x.json", json)]).unwrap());
    }
}

#[test]
fn what_is_no_result_is_refused() {
    for (json, word) in [
        (json!({}), "no schema"),
        (json!([]), "no schema"),
        (json!({"schema": "else-1"}), "the schema else-1"),
        (json!({"schema": "lathide-gain-1"}), "no points"),
        (json!({"schema": "lathide-run-1", "reports": null}), "no reports"),
    ] {
        let error = page(&[named("x.json", json)]).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("x.json"), "{error}");
    }
}
