use serde_json::json;

use super::*;

fn trace() -> Value {
    let slice = |pid: u32, name: &str, ts: f64, dur: f64| json!({"ph": "X", "pid": pid, "tid": 0, "name": name, "ts": ts, "dur": dur});
    json!({
        "otherData": {"schema": "lathide-trace-1", "ranks": [{"rank": 0, "host": "<b>", "hidden": 0.5, "clock": "x"}]},
        "traceEvents": [
            {"ph": "M", "pid": 0, "tid": 0, "ts": 0, "name": "process_name"},
            slice(0, "compute", 0.0, 900.0),
            {"ph": "b", "pid": 0, "tid": 0, "ts": 100.0, "name": "read 8 B", "id": "0.1"},
            slice(1, "wait", 0.0, 1000.0),
            slice(1, "<script>", 1000.0, 5.0),
            {"ph": "e", "pid": 0, "tid": 0, "ts": 700.0, "name": "read 8 B", "id": "0.1"},
            {"ph": "e", "pid": 0, "tid": 0, "ts": 800.0, "name": "read 8 B", "id": "0.9"},
            {"ph": "X", "pid": 1, "name": "no time"},
        ],
    })
}

fn drawn(trace: &Value) -> String {
    Timeline::of(trace).unwrap().draw(720.0).body
}

/// Those that are no keys of the legend.
fn bars(body: &str) -> usize {
    body.matches("<rect").count() - body.matches("height=\"12\"").count()
}

#[test]
fn ranks_threads_and_messages() {
    let ranks = ranks(&trace());
    assert_eq!(ranks.len(), 2);
    assert_eq!(ranks[&0].reads, [Bar { name: "read 8 B".into(), from: 100.0, to: 700.0 }]);
    assert_eq!(ranks[&1].threads[&0].len(), 2);
    let body = drawn(&trace());
    assert_eq!(bars(&body), 4, "{body}");
    assert!(body.contains("t-other") && !body.contains("<script>"), "{body}");
}

#[test]
fn a_link_that_was_down_has_a_row() {
    let mut trace = trace();
    assert!(!drawn(&trace).contains("t-down"), "no noise without cuts");
    for (phase, ts) in [("b", 200.0), ("e", 600.0)] {
        let entry = json!({"ph": phase, "cat": "link", "pid": 1, "tid": 0, "ts": ts, "id": "1.down.0", "name": "link to 0 down"});
        trace["traceEvents"].as_array_mut().unwrap().push(entry);
    }
    assert_eq!(ranks(&trace)[&1].downs, [Bar { name: "link to 0 down".into(), from: 200.0, to: 600.0 }]);
    let body = drawn(&trace);
    assert!(body.matches("t-down").count() == 2 && body.contains("link to 0 down, 400"), "{body}");
}

#[test]
fn many_narrow_bars_are_drawn_together() {
    let events: Vec<Value> = (0..100_000)
        .map(|at| json!({"ph": "X", "pid": 0, "tid": 0, "name": "wait", "ts": f64::from(at), "dur": 0.5}))
        .collect();
    let trace = json!({ "traceEvents": events });
    let count = bars(&drawn(&trace));
    assert!((1000..8000).contains(&count), "{count}");
    let middle = Timeline::of(&trace).unwrap().middle().expect("single steps are shown too");
    assert!(middle.length_s() < 1e-3 && middle.values().len() > 20, "{}", middle.length_s());
}

#[test]
fn nothing_is_no_timeline_but_no_panic() {
    for trace in [json!({}), json!({"traceEvents": []}), json!({"traceEvents": "x", "otherData": 3})] {
        assert!(Timeline::of(&trace).is_none());
    }
}
