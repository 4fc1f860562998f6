//! The timeline of a trace as inline SVG: what each rank's threads did, and which messages were under way.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde_json::Value;

use super::markup::escaped;
use super::results::rows;
use super::section::{Section, list};
use super::svg::upright;
use crate::report::axis::round_steps;
use crate::report::format::seconds as time;
use crate::report::results::{Form, Results, Table};

/// Something that took a while, in microseconds.
#[derive(Clone, PartialEq, Debug)]
struct Bar {
    name: String,
    from: f64,
    to: f64,
}

/// The rows of one rank: its threads, then one for messages each way, and one for links that were down.
#[derive(Clone, PartialEq, Debug, Default)]
struct Rank {
    threads: BTreeMap<u64, Vec<Bar>>,
    reads: Vec<Bar>,
    writes: Vec<Bar>,
    /// Links without a connection; mostly there are none, and no row for them.
    downs: Vec<Bar>,
}

/// One of a rank's rows.
type Row = fn(&mut Rank) -> &mut Vec<Bar>;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 74.0;
const ROW: f64 = 16.0;
const MESSAGES: f64 = 9.0;
const GAP: f64 = 8.0;
/// Ranks shown; more do not fit a page.
const RANKS_MAX: usize = 32;
/// What is narrower is drawn together with its neighbours, in pixels.
const NARROW: f64 = 0.4;

/// The section of a trace file.
pub(super) fn section(file: &str, trace: &Value) -> Section {
    let ranks = ranks(trace);
    let end = ranks.values().flat_map(|rank| rank.threads.values().flatten()).map(|bar| bar.to).fold(0.0, f64::max);
    let mut body = String::new();
    if ranks.len() > RANKS_MAX {
        let _ = writeln!(body, "<p>The first {RANKS_MAX} of {} ranks.</p>", ranks.len());
    }
    let _ = writeln!(body, "<h3>All of it</h3>{}", picture(&ranks, 0.0, end));
    // As long a stretch as shows single steps, about the middle of them.
    let (step, middle) = typical(&ranks).unwrap_or((end, 0.5 * end));
    let length = (30.0 * step).min(end);
    if length < 0.7 * end {
        let from = (middle - 0.5 * length).clamp(0.0, end - length);
        let _ =
            writeln!(body, "<h3>{} about the middle</h3>{}", time(length * 1e-6), picture(&ranks, from, from + length));
    }
    body += LEGEND;
    if ranks.values().any(|rank| !rank.downs.is_empty()) {
        body += DOWN_LEGEND;
    }
    body += &observed(trace);
    Section { title: format!("Timeline: {}", escaped(file)), body }
}

const LEGEND: &str = "<p class=\"legend\"><span><b class=\"t-compute\">&#9632;</b> compute</span> \
    <span><b class=\"t-initread\">&#9632;</b> initread</span> <span><b class=\"t-initwrite\">&#9632;</b> initwrite</span> \
    <span><b class=\"t-wait\">&#9632;</b> wait</span> <span><b class=\"t-finalize\">&#9632;</b> finalize</span> \
    <span><b class=\"t-in\">&#9632;</b> read under way</span> <span><b class=\"t-out\">&#9632;</b> write under way</span></p>\n\
    <p>Open the file itself in ui.perfetto.dev to zoom and to see fragments, tags and arrows.</p>\n";

const DOWN_LEGEND: &str = "<p class=\"legend\"><span><b class=\"t-down\">&#9632;</b> a link was down: its connection was cut, \
    and no other had followed yet</span></p>\n";

/// The trace's entries by rank.
fn ranks(trace: &Value) -> BTreeMap<u64, Rank> {
    let mut ranks: BTreeMap<u64, Rank> = BTreeMap::new();
    let mut open: HashMap<&str, (f64, Row)> = HashMap::new();
    for entry in list(trace, "traceEvents") {
        let (Some(phase), Some(pid), Some(from)) =
            (entry["ph"].as_str(), entry["pid"].as_u64(), entry["ts"].as_f64().filter(|ts| ts.is_finite()))
        else {
            continue;
        };
        let name = entry["name"].as_str().unwrap_or_default();
        match phase {
            "X" => {
                let to = from + entry["dur"].as_f64().unwrap_or(0.0).max(0.0);
                let rank = ranks.entry(pid).or_default();
                let thread = rank.threads.entry(entry["tid"].as_u64().unwrap_or(0)).or_default();
                thread.push(Bar { name: name.to_owned(), from, to });
            }
            "b" => {
                let row: Row = match entry["cat"].as_str() {
                    Some("link") => |rank| &mut rank.downs,
                    _ if name.starts_with("read") => |rank| &mut rank.reads,
                    _ => |rank| &mut rank.writes,
                };
                open.insert(entry["id"].as_str().unwrap_or_default(), (from, row));
            }
            "e" => {
                let Some((since, row)) = open.remove(entry["id"].as_str().unwrap_or_default()) else { continue };
                let rank = ranks.entry(pid).or_default();
                let bar = Bar { name: name.to_owned(), from: since, to: from };
                row(rank).push(bar);
            }
            _ => {}
        }
    }
    ranks
}

/// A step's time, by the distances between the beginnings of waits of the thread that has most of them, and when the
/// middle one of these begins.
fn typical(ranks: &BTreeMap<u64, Rank>) -> Option<(f64, f64)> {
    let threads = ranks.values().flat_map(|rank| rank.threads.values());
    let waits =
        threads.map(|bars| bars.iter().filter(|bar| bar.name == "wait").map(|bar| bar.from).collect::<Vec<_>>());
    let busiest = waits.max_by_key(Vec::len)?;
    let mut between: Vec<f64> = busiest.windows(2).map(|pair| pair[1] - pair[0]).filter(|us| *us > 0.0).collect();
    between.sort_by(f64::total_cmp);
    // Of steps with several waits each, the longer distances are those between steps.
    Some((*between.get(between.len() * 3 / 4)?, busiest[busiest.len() / 2]))
}

/// Some steps about the middle of a trace, as a picture of its own: a file, or a part of a page that knows nothing of it.
/// Small: without what a pointer would show.
///
/// # Errors
/// If it shows nothing.
pub(crate) fn figure(trace: &Value, steps: u32) -> Result<String, String> {
    let ranks = ranks(trace);
    let end = ranks.values().flat_map(|rank| rank.threads.values().flatten()).map(|bar| bar.to).fold(0.0, f64::max);
    let (step, middle) = typical(&ranks).ok_or("it has no steps: no thread waits more than once")?;
    let length = (f64::from(steps) * step).min(end);
    let from = (middle - 0.1 * length).clamp(0.0, end - length);
    let picture = picture(&ranks, from, from + length);
    let mut pieces = picture.split("<title>");
    let first = pieces.next().unwrap_or_default().to_owned();
    let small = pieces.fold(first, |all, piece| all + piece.split_once("</title>").map_or("", |(_, rest)| rest));
    let small = small.replace("></rect>", "/>").replace(".00\"", "\"");
    let head = format!("xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n{FIGURE_STYLE}");
    Ok(small.replacen("role=\"img\">\n", &head, 1).replacen("class=\"wide\"", "class=\"lathide\"", 1))
}

/// The colours of the page, readable on light and dark, for this picture only; and words in place of a legend.
const FIGURE_STYLE: &str = "<title>green: compute; yellow and brown: initread, initwrite; red: wait; blue: messages under way, \
    light those written</title>\n<style>.lathide text{font:11px system-ui,sans-serif;fill:#808894}.lathide .mid{text-anchor:middle}.lathide .end{text-anchor:end}\
    .lathide .grid{stroke:#80889444;fill:none}.lathide .t-compute{fill:#4c9a6a}.lathide .t-initread{fill:#e0a13e}.lathide .t-initwrite{fill:#b9722d}.lathide .t-wait{fill:#d1495b}\
    .lathide .t-finalize,.lathide .t-other{fill:#8a94a0}.lathide .t-in{fill:#4f83c4}.lathide .t-out{fill:#86b5dd}.lathide .t-down{fill:#7b2d8b}</style>\n";

fn picture(ranks: &BTreeMap<u64, Rank>, from: f64, to: f64) -> String {
    let thin_rows = |rank: &Rank| 2.0 + f64::from(u8::from(!rank.downs.is_empty()));
    let of = |rank: &Rank| rank.threads.len() as f64 * ROW + thin_rows(rank) * MESSAGES + GAP;
    let height = ranks.values().take(RANKS_MAX).map(of).sum::<f64>() + 28.0;
    let mut svg = format!("<svg class=\"wide\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n");
    let scale = (WIDTH - LEFT - 8.0) / (to - from).max(1e-3);
    for at in round_steps(from, to) {
        svg += &upright(LEFT + (at - from) * scale, 0.0, height - 18.0, &time(at * 1e-6));
    }
    let mut y = 4.0;
    for (number, rank) in ranks.iter().take(RANKS_MAX) {
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<text class=\"end\" x=\"{:.0}\" y=\"{:.1}\">rank {number}</text>", LEFT - 6.0, y + 12.0);
        for bars in rank.threads.values() {
            draw(&mut svg, bars, (from, to, scale), (y, 13.0), |bar| format!("t-{}", class(&bar.name)));
            y += ROW;
        }
        let downs = (!rank.downs.is_empty()).then_some((&rank.downs, "t-down"));
        for (bars, class) in [(&rank.reads, "t-in"), (&rank.writes, "t-out")].into_iter().chain(downs) {
            draw(&mut svg, bars, (from, to, scale), (y, 7.0), |_| class.to_owned());
            y += MESSAGES;
        }
        y += GAP;
    }
    svg + "</svg>\n"
}

/// Names come from the file: only those of the format become classes.
fn class(name: &str) -> &'static str {
    ["compute", "initread", "initwrite", "wait", "finalize"].into_iter().find(|known| *known == name).unwrap_or("other")
}

/// Bars of one row; what is too narrow to be seen is drawn with what follows it.
fn draw(
    svg: &mut String,
    bars: &[Bar],
    (from, to, scale): (f64, f64, f64),
    (y, height): (f64, f64),
    class: impl Fn(&Bar) -> String,
) {
    let mut last = f64::MIN;
    for bar in bars.iter().filter(|bar| bar.to >= from && bar.from <= to) {
        let x = LEFT + (bar.from.max(from) - from) * scale;
        let end = LEFT + (bar.to.min(to) - from) * scale;
        if end - x < NARROW && x - last < NARROW {
            continue;
        }
        last = end.max(x + NARROW);
        let _ = writeln!(
            svg,
            "<rect class=\"{}\" x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{height}\"><title>{}, {}</title></rect>",
            class(bar),
            (end - x).max(NARROW),
            escaped(&bar.name),
            time((bar.to - bar.from) * 1e-6)
        );
    }
}

/// What the trace says of each rank.
fn observed(trace: &Value) -> String {
    let ranks = Table::of("ranks")
        .column("rank", "rank", Form::Count)
        .column("host", "host", Form::Word)
        .column("under_way_s", "messages under way", Form::Seconds)
        .column("waited_for_s", "of it in a wait", Form::Seconds)
        .column("hidden", "hidden", Form::Percent(0))
        .column("clock", "clock", Form::Word)
        .column("clock_error_us", "wrong by at most, us", Form::Plain);
    rows(&ranks, &Results::new("lathide-trace-1", "", &trace["otherData"]))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn ranks_threads_and_messages() {
        let ranks = ranks(&trace());
        assert_eq!(ranks.len(), 2);
        assert_eq!(ranks[&0].reads, [Bar { name: "read 8 B".into(), from: 100.0, to: 700.0 }]);
        assert_eq!(ranks[&1].threads[&0].len(), 2);
        let Section { title, body } = section("a&b.json", &trace());
        assert_eq!(title, "Timeline: a&amp;b.json");
        assert_eq!(body.matches("<rect").count(), 4, "{body}");
        assert!(body.contains("t-other") && !body.contains("<script>") && !body.contains("<b>,"), "{body}");
        assert!(body.contains("50 %"), "{body}");
    }

    #[test]
    fn a_link_that_was_down_has_a_row() {
        let mut trace = trace();
        assert!(!section("t", &trace).body.contains("t-down"), "no noise without cuts");
        for (phase, ts) in [("b", 200.0), ("e", 600.0)] {
            let entry = json!({"ph": phase, "cat": "link", "pid": 1, "tid": 0, "ts": ts, "id": "1.down.0", "name": "link to 0 down"});
            trace["traceEvents"].as_array_mut().unwrap().push(entry);
        }
        assert_eq!(ranks(&trace)[&1].downs, [Bar { name: "link to 0 down".into(), from: 200.0, to: 600.0 }]);
        let body = section("t", &trace).body;
        assert!(body.matches("t-down").count() == 2 && body.contains("link to 0 down, 400"), "{body}");
    }

    #[test]
    fn many_narrow_bars_are_drawn_together() {
        let events: Vec<Value> = (0..100_000)
            .map(|at| json!({"ph": "X", "pid": 0, "tid": 0, "name": "wait", "ts": f64::from(at), "dur": 0.5}))
            .collect();
        let body = section("t", &json!({ "traceEvents": events })).body;
        let count = body.matches("<rect").count();
        assert!((1000..8000).contains(&count), "{count}");
        assert!(body.contains("about the middle"), "single steps are shown too");
    }

    #[test]
    fn nothing_is_no_timeline_but_no_panic() {
        for trace in [json!({}), json!({"traceEvents": []}), json!({"traceEvents": "x", "otherData": 3})] {
            assert!(!section("t", &trace).body.contains("NaN"));
        }
    }
}
