//! The Chrome trace format. Pure, but for the writer it is given.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::super::event::{Awaited, What};
use super::align::{Alignment, align};
use super::downs::{Down, End};
use super::messages::{Message, Operation, Operations, messages, under_way};
use super::spans::Spans;
use super::track::Track;
use crate::operation::OperationKind;

/// Calculation of less is not shown.
const COMPUTE_NS: i64 = 1000;

/// One entry. Times are in microseconds, as the format wants it.
#[derive(Serialize)]
struct Entry {
    name: String,
    cat: &'static str,
    ph: &'static str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// A stretch of a thread's time.
struct Slice {
    name: Cow<'static, str>,
    thread: u32,
    from: i64,
    to: i64,
    args: Value,
    /// The operation that is waited for.
    op: Option<u64>,
}

/// Writes all tracks as one object.
pub(super) fn write(file: &mut impl Write, tracks: &[Track]) -> io::Result<()> {
    let alignments = align(tracks);
    let ranks: Vec<Operations> =
        tracks.iter().zip(&alignments).map(|(track, alignment)| Operations::of(track, alignment)).collect();
    let slices: Vec<Vec<Slice>> =
        tracks.iter().zip(&alignments).map(|(track, alignment)| slices(track, alignment)).collect();
    let messages = messages(&ranks);
    let ends: Vec<i64> = tracks.iter().zip(&alignments).map(|(track, to)| to.common_ns(track.end_ns())).collect();
    let begins = slices.iter().flatten().map(|slice| slice.from);
    let zero = begins.chain(ranks.iter().flat_map(|rank| &rank.all).map(|operation| operation.called)).min();
    let scale = Scale(zero.unwrap_or(0));

    let mut entries = Vec::new();
    for (at, slices) in slices.iter().enumerate() {
        let pid = ranks[at].rank.0;
        entries.extend(slices.iter().map(|slice| scale.slice(pid, slice)));
        ranks[at].all.iter().for_each(|operation| scale.operation(&mut entries, pid, operation, ends[at]));
        let downs = Down::all(&tracks[at], &alignments[at]);
        downs.iter().enumerate().for_each(|(number, down)| scale.down(&mut entries, pid, number, down));
    }
    let waits: Vec<HashMap<u64, &Slice>> = slices.iter().map(|slices| waits_of(slices)).collect();
    for (number, message) in messages.iter().enumerate() {
        scale.arrow(&mut entries, number, message, &ranks, &waits);
    }
    entries.sort_by(|a, b| a.ts.total_cmp(&b.ts));

    file.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    serde_json::to_writer(&mut *file, &other_data(tracks, &alignments, &ranks, &slices, &messages))?;
    file.write_all(b",\"traceEvents\":[\n")?;
    let mut is_first = true;
    for entry in names(tracks).into_iter().chain(entries) {
        if !std::mem::replace(&mut is_first, false) {
            file.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *file, &entry)?;
    }
    file.write_all(b"\n]}\n")
}

/// Processes and threads by name.
fn names(tracks: &[Track]) -> Vec<Entry> {
    let name = |what: &str, pid: u32, tid: u32, args: Value| Entry {
        name: what.to_owned(),
        cat: "__metadata",
        ph: "M",
        ts: 0.0,
        dur: None,
        pid,
        tid,
        id: None,
        bp: None,
        args,
    };
    let mut entries = Vec::new();
    for track in tracks {
        let pid = track.head.rank.0;
        entries.push(name("process_name", pid, 0, json!({ "name": format!("rank {pid}") })));
        entries.push(name("process_sort_index", pid, 0, json!({ "sort_index": pid })));
        let labels = format!("{}, process {}", track.head.host, track.head.process);
        entries.push(name("process_labels", pid, 0, json!({ "labels": labels })));
        for event in &track.events {
            if let What::Thread { name: thread } = &event.what {
                entries.push(name("thread_name", pid, event.thread, json!({ "name": thread })));
            }
        }
    }
    entries
}

/// What the threads of one rank did, from call to call.
fn slices(track: &Track, alignment: &Alignment) -> Vec<Slice> {
    let threads: BTreeSet<u32> = track.events.iter().map(|event| event.thread).collect();
    threads.into_iter().flat_map(|thread| thread_slices(track, alignment, thread)).collect()
}

fn thread_slices(track: &Track, alignment: &Alignment, thread: u32) -> Vec<Slice> {
    let common = |at_ns: u64| alignment.common_ns(at_ns);
    let end = common(track.end_ns());
    let mut slices: Vec<Slice> = Vec::new();
    // Since when the thread computes, or what it waits for.
    let (mut outside, mut waits): (Option<i64>, Option<Slice>) = (None, None);
    // Regions of the program that the thread is in, the outermost first, and since when.
    let mut regions: Vec<(&str, i64)> = Vec::new();
    let mut ends = None;
    let compute = |slices: &mut Vec<Slice>, since: Option<i64>, to: i64| {
        if let Some(from) = since.filter(|from| to - from >= COMPUTE_NS) {
            slices.push(Slice { name: "compute".into(), thread, from, to, args: Value::Null, op: None });
        }
    };
    for event in track.events.iter().filter(|event| event.thread == thread) {
        let at = common(event.at_ns);
        match &event.what {
            What::Begin => outside = Some(at),
            What::Post { since_ns, kind, peer, tag, bytes, .. } => {
                let from = common(*since_ns);
                compute(&mut slices, outside, from);
                let name = called(*kind).into();
                let args = json!({ "peer": peer, "tag": tag, "bytes": bytes });
                slices.push(Slice { name, thread, from, to: at, args, op: None });
                outside = Some(at);
            }
            What::Chosen { choice, .. } => {
                if let Some(post) = slices.last_mut() {
                    post.args["choice"] = json!(choice);
                }
            }
            What::Wait { first, count } if ends.is_none() => {
                compute(&mut slices, outside.take(), at);
                let (op, args) = (first.as_ref().map(|first| first.op), awaited(first.as_ref(), *count));
                waits = Some(Slice { name: "wait".into(), thread, from: at, to: end, args, op });
            }
            What::Help | What::HandOver => {
                if let Some(wait) = &mut waits {
                    wait.args[if event.what == What::Help { "helped" } else { "handed_over" }] = json!(true);
                }
            }
            What::Waited if ends.is_none() => {
                if let Some(wait) = waits.take() {
                    slices.push(Slice { to: at, ..wait });
                }
                outside = Some(at);
            }
            // Calculation ends with a region, so that slices lie within each other.
            What::Region { name } => {
                compute(&mut slices, outside, at);
                outside = outside.map(|_| at);
                regions.push((name, at));
            }
            What::RegionEnds => {
                compute(&mut slices, outside, at);
                outside = outside.map(|_| at);
                if let Some((name, from)) = regions.pop() {
                    slices.push(region(name, thread, from, at));
                }
            }
            What::Finalize => {
                compute(&mut slices, outside.take(), at);
                ends = Some(at);
            }
            _ => {}
        }
    }
    if let Some(mut wait) = waits {
        wait.args["unfinished"] = json!(true);
        slices.push(wait);
    }
    compute(&mut slices, outside.filter(|_| track.tail.is_none()), end);
    slices.extend(regions.into_iter().map(|(name, from)| region(name, thread, from, end)));
    if let Some(from) = ends.filter(|from| *from < end) {
        slices.push(Slice { name: "finalize".into(), thread, from, to: end, args: Value::Null, op: None });
    }
    slices
}

fn region(name: &str, thread: u32, from: i64, to: i64) -> Slice {
    Slice { name: Cow::Owned(name.to_owned()), thread, from, to, args: json!({ "region": true }), op: None }
}

fn awaited(first: Option<&Awaited>, count: u64) -> Value {
    let Some(Awaited { kind, peer, tag, bytes, .. }) = first else { return json!({}) };
    let of = named(*kind);
    json!({ "of": of, "peer": peer, "tag": tag, "bytes": bytes, "operations": count })
}

/// An operation in a word.
fn named(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read | OperationKind::ReadAny => "read",
        OperationKind::Write => "write",
        OperationKind::Collective(collective) => collective.name(),
        OperationKind::Exchange => "exchange",
        OperationKind::Window(call) => call.name(),
    }
}

/// The call that posts it.
fn called(kind: OperationKind) -> &'static str {
    use crate::operation::Collective::*;
    match kind {
        OperationKind::Read => "initread",
        OperationKind::ReadAny => "initread_any",
        OperationKind::Write => "initwrite",
        OperationKind::Collective(Allgather) => "initallgather",
        OperationKind::Collective(Allreduce) => "initallreduce",
        OperationKind::Collective(Alltoall) => "initalltoall",
        OperationKind::Collective(Barrier) => "initbarrier",
        OperationKind::Collective(Broadcast) => "initbroadcast",
        OperationKind::Collective(Exscan) => "initexscan",
        OperationKind::Collective(Gather) => "initgather",
        OperationKind::Collective(Reduce) => "initreduce",
        OperationKind::Collective(ReduceScatter) => "initreduce_scatter",
        OperationKind::Collective(Scan) => "initscan",
        OperationKind::Collective(Scatter) => "initscatter",
        OperationKind::Exchange => "initexchange",
        OperationKind::Window(call) => call.name(),
    }
}

/// The last wait for each operation.
fn waits_of(slices: &[Slice]) -> HashMap<u64, &Slice> {
    slices.iter().filter_map(|slice| Some((slice.op?, slice))).collect()
}

/// Common time to the format's: from the first thing that happened.
struct Scale(i64);

impl Scale {
    fn us(&self, at: i64) -> f64 {
        (at - self.0) as f64 / 1000.0
    }

    fn slice(&self, pid: u32, slice: &Slice) -> Entry {
        Entry {
            name: slice.name.to_string(),
            cat: "thread",
            ph: "X",
            ts: self.us(slice.from),
            dur: Some((slice.to - slice.from).max(0) as f64 / 1000.0),
            pid,
            tid: slice.thread,
            id: None,
            bp: None,
            args: slice.args.clone(),
        }
    }

    /// A row of its own for an operation under way.
    fn operation(&self, entries: &mut Vec<Entry>, pid: u32, operation: &Operation, end: i64) {
        let Operation { op, thread, kind, peer, tag, bytes, called, first, last, done, failed, .. } = operation;
        let tag = tag.map_or("inside a collective".to_owned(), |tag| format!("tag {tag}"));
        let name = match kind {
            OperationKind::Read => format!("read {bytes} B from {peer}, {tag}"),
            OperationKind::ReadAny => format!("read {bytes} B from any rank, {tag}"),
            OperationKind::Write => format!("write {bytes} B to {peer}, {tag}"),
            OperationKind::Collective(_) | OperationKind::Exchange => format!("{}, {bytes} B", named(*kind)),
            OperationKind::Window(call) => format!("{call} {bytes} B, window of {peer}"),
        };
        let end = done.unwrap_or(end).max(*called);
        let entry = |name: String, ph: &'static str, at: i64, args: Value| Entry {
            name,
            cat: "message",
            ph,
            // What was here before the read was posted is shown where that begins.
            ts: self.us(at.clamp(*called, end)),
            dur: None,
            pid,
            tid: *thread,
            id: Some(format!("{pid}.{op}")),
            bp: None,
            args,
        };
        let args = match done {
            None => json!({ "unfinished": true }),
            Some(_) if *failed => json!({ "failed": true }),
            Some(_) => Value::Null,
        };
        entries.push(entry(name.clone(), "b", *called, args));
        let (first, last) = (first.or(*last), *last);
        if let Some(at) = first {
            entries.push(entry("first fragment".to_owned(), "n", at, Value::Null));
        }
        if let Some(at) = last {
            entries.push(entry("last fragment".to_owned(), "n", at, Value::Null));
        }
        entries.push(entry(name, "e", end, Value::Null));
    }

    /// A row of its own for links that have no connection.
    fn down(&self, entries: &mut Vec<Entry>, pid: u32, number: usize, down: &Down<'_>) {
        let entry = |ph: &'static str, at: i64, args: Value| Entry {
            name: format!("link to {} down", down.peer),
            cat: "link",
            ph,
            ts: self.us(at),
            dur: None,
            pid,
            tid: down.thread,
            id: Some(format!("{pid}.down.{number}")),
            bp: None,
            args,
        };
        let mut args = json!({ "peer": down.peer, "cause": down.cause });
        match down.end {
            End::Resumed(bytes) => args["sent_again_bytes"] = json!(bytes),
            End::Lost => args["lost"] = json!(true),
            End::Open => args["unfinished"] = json!(true),
        }
        entries.push(entry("b", down.from, args));
        entries.push(entry("e", down.to, Value::Null));
    }

    /// From an initwrite to the wait that got its message, if one waited for it.
    fn arrow(
        &self,
        entries: &mut Vec<Entry>,
        number: usize,
        message: &Message,
        ranks: &[Operations],
        waits: &[HashMap<u64, &Slice>],
    ) {
        let (write, read) = (&ranks[message.write.0].all[message.write.1], &ranks[message.read.0].all[message.read.1]);
        let Some(wait) = waits[message.read.0].get(&read.op) else { return };
        let end = |ph, at: i64, pid: u32, tid: u32, bp| Entry {
            name: "message".to_owned(),
            cat: "flow",
            ph,
            ts: self.us(at),
            dur: None,
            pid,
            tid,
            id: Some(number.to_string()),
            bp,
            args: Value::Null,
        };
        let from = write.called + (write.posted - write.called) / 2;
        let to = read.last.unwrap_or(wait.to).clamp(wait.from, wait.to);
        // An alignment that is wrong by more than the time on the way must not have it end before it begins.
        if to >= from {
            entries.push(end("s", from, ranks[message.write.0].rank.0, write.thread, None));
            entries.push(end("f", to, ranks[message.read.0].rank.0, wait.thread, Some("e")));
        }
    }
}

fn other_data(
    tracks: &[Track],
    alignments: &[Alignment],
    ranks: &[Operations],
    slices: &[Vec<Slice>],
    messages: &[Message],
) -> Value {
    let under_way = under_way(ranks, messages);
    let describe = |at: usize| {
        let (track, alignment) = (&tracks[at], &alignments[at]);
        let waits = Spans::of(
            slices[at]
                .iter()
                .filter(|slice| matches!(slice.name, Cow::Borrowed("wait")))
                .map(|slice| (slice.from, slice.to)),
        );
        let (all, exposed) = (under_way[at].length(), under_way[at].both(&waits).length());
        json!({
            "rank": track.head.rank,
            "host": track.head.host,
            "process": track.head.process,
            "overlap": track.head.overlap,
            "clock": alignment.how.word(),
            "clock_error_us": alignment.error_ns as f64 / 1000.0,
            "clock_shift_us": -alignment.common_ns(0) as f64 / 1000.0,
            "measured_shift_us": alignment.measured.map(|offset| offset.ns as f64 / 1000.0),
            "measured_error_us": alignment.measured.map(|offset| offset.error_ns as f64 / 1000.0),
            "complete": track.tail.is_some(),
            "dropped": track.tail.as_ref().map(|tail| tail.dropped),
            "under_way_s": all as f64 * 1e-9,
            "waited_for_s": exposed as f64 * 1e-9,
            "hidden": (all > 0).then(|| (all - exposed) as f64 / all as f64),
        })
    };
    let one_way: HashMap<String, Value> = one_way(ranks, messages);
    json!({
        "schema": "lathide-trace-1",
        "lathide": env!("CARGO_PKG_VERSION"),
        "ranks": (0..tracks.len()).map(describe).collect::<Vec<_>>(),
        "one_way": one_way,
    })
}

/// By link: messages, and the least and the median time from the call of initwrite to the last byte's arrival.
fn one_way(ranks: &[Operations], messages: &[Message]) -> HashMap<String, Value> {
    let mut times: HashMap<String, Vec<i64>> = HashMap::new();
    for Message { write, read } in messages {
        let (write_at, read_at) = (&ranks[write.0].all[write.1], &ranks[read.0].all[read.1]);
        if let Some(arrived) = read_at.last {
            let link = format!("{}-{}", ranks[write.0].rank, ranks[read.0].rank);
            times.entry(link).or_default().push(arrived - write_at.called);
        }
    }
    let summed = |(link, mut times): (String, Vec<i64>)| {
        times.sort_unstable();
        let us = |at: usize| times[at] as f64 / 1000.0;
        let summary = json!({ "messages": times.len(), "least_us": us(0), "median_us": us(times.len() / 2) });
        (link, summary)
    };
    times.into_iter().map(summed).collect()
}
