//! The timeline of a trace as inline SVG: what each rank's threads did, and which messages were under way.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::Value;

use super::drawing::{Draw, Drawn};
use super::text;
use crate::report::axis::round_steps;
use crate::report::format::seconds as time;
use crate::report::html::markup::escaped;
use crate::report::html::section::list;

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
const LEFT: f64 = 80.0;
const ROW: f64 = 16.0;
const MESSAGES: f64 = 9.0;
const GAP: f64 = 8.0;
/// Ranks shown; more do not fit a page.
pub(in super::super) const RANKS_MAX: usize = 32;
/// What is narrower is drawn together with its neighbours, in pixels.
const NARROW: f64 = 0.4;

/// A stretch of a timeline, in microseconds.
pub(in super::super) struct Timeline {
    ranks: Rc<BTreeMap<u64, Rank>>,
    from: f64,
    to: f64,
}

impl Timeline {
    /// All of a trace; `None` if it shows nothing.
    pub(in super::super) fn of(trace: &Value) -> Option<Self> {
        let ranks = ranks(trace);
        let to = ranks.values().flat_map(|rank| rank.threads.values().flatten()).map(|bar| bar.to).fold(0.0, f64::max);
        (to > 0.0).then(|| Timeline { ranks: Rc::new(ranks), from: 0.0, to })
    }

    /// As long a stretch as shows single steps, about the middle of them; `None` if that is most of it.
    pub(in super::super) fn middle(&self) -> Option<Self> {
        let (step, middle) = typical(&self.ranks)?;
        let length = 30.0 * step;
        let from = (middle - 0.5 * length).clamp(0.0, (self.to - length).max(0.0));
        (length < 0.7 * self.to).then(|| Timeline { ranks: Rc::clone(&self.ranks), from, to: from + length })
    }

    /// How long it is, in seconds.
    pub(in super::super) fn length_s(&self) -> f64 {
        1e-6 * (self.to - self.from)
    }

    /// How many ranks it has.
    pub(in super::super) fn size(&self) -> usize {
        self.ranks.len()
    }

    /// What colours mean, in rows below.
    fn legend(&self, top: f64) -> (String, f64) {
        let has_downs = self.ranks.values().any(|rank| !rank.downs.is_empty());
        let (mut svg, mut x, mut y) = (String::new(), 0.0, top);
        for (class, name) in KEYS.iter().filter(|(class, _)| has_downs || *class != "t-down") {
            let width = 22.0 + text::width(name);
            if x > 0.0 && x + width > WIDTH {
                (x, y) = (0.0, y + text::LINE);
            }
            let _ = write!(svg, "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"12\" height=\"12\"/>");
            svg += &text::at("ink", x + 18.0, y + 11.0, name);
            x += width + 12.0;
        }
        (svg, y + text::LINE)
    }

    fn bars(&self) -> impl Iterator<Item = (u64, String, &Bar)> {
        let shown = |bar: &&Bar| bar.to >= self.from && bar.from <= self.to;
        self.ranks.iter().flat_map(move |(rank, rows)| {
            let threads = rows.threads.iter().map(|(thread, bars)| (format!("thread {thread}"), bars));
            let messages = [("reads", &rows.reads), ("writes", &rows.writes), ("links down", &rows.downs)];
            let all = threads.chain(messages.map(|(name, bars)| (name.to_owned(), bars)));
            all.flat_map(move |(row, bars)| bars.iter().filter(shown).map(move |bar| (*rank, row.clone(), bar)))
        })
    }
}

/// The classes of bars, and what they mean.
const KEYS: [(&str, &str); 8] = [
    ("t-compute", "compute"),
    ("t-initread", "initread"),
    ("t-initwrite", "initwrite"),
    ("t-wait", "wait"),
    ("t-finalize", "finalize"),
    ("t-in", "read under way (thin)"),
    ("t-out", "write under way (thin)"),
    ("t-down", "link down: its connection was cut, and no other had followed yet"),
];

impl Draw for Timeline {
    fn draw(&self, _: f64) -> Drawn {
        let (rows, height) = rows(&self.ranks, self.from, self.to, WIDTH);
        let (keys, bottom) = self.legend(height + 8.0);
        Drawn { width: WIDTH, height: bottom + 4.0, body: rows + &keys }
    }

    fn about(&self) -> String {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for bar in self.ranks.values().flat_map(|rank| rank.threads.values().flatten()) {
            *sums.entry(class(&bar.name)).or_default() += (bar.to.min(self.to) - bar.from.max(self.from)).max(0.0);
        }
        let sums: Vec<String> = sums.iter().map(|(name, us)| format!("{name} {}", time(us * 1e-6))).collect();
        let (ranks, from, to) = (self.ranks.len(), time(1e-6 * self.from), time(1e-6 * self.to));
        format!("What {ranks} ranks did from {from} to {to}, all their threads together: {}.", sums.join(", "))
    }

    fn values(&self) -> Vec<Vec<String>> {
        let head = ["rank", "row", "what", "from_us", "to_us"].map(str::to_owned).to_vec();
        let line = |(rank, row, bar): (u64, String, &Bar)| {
            vec![rank.to_string(), row, bar.name.clone(), bar.from.to_string(), bar.to.to_string()]
        };
        std::iter::once(head).chain(self.bars().map(line)).collect()
    }

    fn is_wide(&self) -> bool {
        true
    }
}

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
pub(crate) fn small(trace: &Value, steps: u32) -> Result<String, String> {
    let ranks = ranks(trace);
    let end = ranks.values().flat_map(|rank| rank.threads.values().flatten()).map(|bar| bar.to).fold(0.0, f64::max);
    let (step, middle) = typical(&ranks).ok_or("it has no steps: no thread waits more than once")?;
    let length = (f64::from(steps) * step).min(end);
    let from = (middle - 0.1 * length).clamp(0.0, end - length);
    let (rows, height) = rows(&ranks, from, from + length, WIDTH);
    let mut pieces = rows.split("<title>");
    let first = pieces.next().unwrap_or_default().to_owned();
    let small = pieces.fold(first, |all, piece| all + piece.split_once("</title>").map_or("", |(_, rest)| rest));
    let small = small.replace("></rect>", "/>").replace(".00\"", "\"");
    let small = small.replace(" tick-x", "");
    Ok(format!(
        "<svg class=\"lathide\" viewBox=\"0 0 {WIDTH} {height:.0}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n{FIGURE_STYLE}{small}</svg>\n"
    ))
}

/// The colours of the page, readable on light and dark, for this picture only; and words in place of a legend.
const FIGURE_STYLE: &str = "<title>green: compute; yellow and brown: initread, initwrite; red: wait; blue: messages under way, \
    light those written</title>\n<style>.lathide text{font:11px system-ui,sans-serif;fill:#808894}.lathide .mid{text-anchor:middle}.lathide .end{text-anchor:end}\
    .lathide .grid{stroke:#80889444;fill:none}.lathide .t-compute{fill:#4c9a6a}.lathide .t-initread{fill:#e0a13e}.lathide .t-initwrite{fill:#b9722d}.lathide .t-wait{fill:#d1495b}\
    .lathide .t-finalize,.lathide .t-other{fill:#8a94a0}.lathide .t-in{fill:#4f83c4}.lathide .t-out{fill:#86b5dd}.lathide .t-down{fill:#7b2d8b}</style>\n";

/// The rows of ranks between two times, drawn in a width, and their height.
fn rows(ranks: &BTreeMap<u64, Rank>, from: f64, to: f64, width: f64) -> (String, f64) {
    let thin_rows = |rank: &Rank| 2.0 + f64::from(u8::from(!rank.downs.is_empty()));
    let of = |rank: &Rank| rank.threads.len() as f64 * ROW + thin_rows(rank) * MESSAGES + GAP;
    let height = ranks.values().take(RANKS_MAX).map(of).sum::<f64>() + 28.0;
    let mut svg = String::new();
    let scale = (width - LEFT - 8.0) / (to - from).max(1e-3);
    for at in round_steps(from, to) {
        let (x, label) = (LEFT + (at - from) * scale, time(at * 1e-6));
        svg += &format!("<path class=\"grid\" d=\"M{x:.1} 0V{:.1}\"/>", height - 18.0);
        svg += &text::at("mid tick-x", x.min(width - 0.5 * text::width(&label)), height - 4.0, &label);
    }
    let mut y = 4.0;
    for (number, rank) in ranks.iter().take(RANKS_MAX) {
        svg += &text::at("end", LEFT - 6.0, y + 12.0, &format!("rank {number}"));
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
    (svg, height)
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

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
