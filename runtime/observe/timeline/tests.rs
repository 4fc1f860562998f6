//! Timelines of tracks made by hand.

use serde_json::Value;

use super::super::event::{Awaited, What};
use super::super::offset::Offset;
use super::*;
use crate::ids::{Rank, Tag};
use crate::observe::event::{Event, Head, SCHEMA, Tail};
use crate::operation::OperationKind;

const READ: OperationKind = OperationKind::Read;
const WRITE: OperationKind = OperationKind::Write;

fn head(rank: u32, boot: Option<&str>, began_ns: u64) -> Head {
    Head {
        schema: SCHEMA.to_owned(),
        job: 1,
        rank: Rank(rank),
        size: 2,
        process: 100 + rank,
        host: "here".to_owned(),
        boot: boot.map(str::to_owned),
        began_ns,
        overlap: true,
    }
}

fn at(at_us: u64, what: What) -> Event {
    Event { at_ns: at_us * 1000, thread: 0, what }
}

/// Rank 0 writes 8 bytes at 110 us and computes; rank 1 waits for them from 20 us on and gets them at 300 us. Rank 1's
/// clock is `behind_us` behind, and it has measured that.
fn tracks(boots: [Option<&str>; 2], behind_us: u64) -> Vec<Track> {
    let post = |since_us: u64, op, kind, peer| What::Post {
        since_ns: since_us * 1000,
        op,
        kind,
        peer: Rank(peer),
        tag: Some(Tag(3)),
        bytes: 8,
    };
    let tail = |ended_us: u64| Some(Tail { ended_ns: ended_us * 1000, dropped: 2 });
    let (zero, one, message_id) = (Rank(0), Rank(1), 9);
    let writer = vec![
        at(0, What::Thread { name: "main".to_owned() }),
        at(0, What::Begin),
        at(120, post(110, 1, WRITE, 1)),
        at(119, What::Leaves { peer: one, message_id, op: 1 }),
        at(119, What::Done { op: 1, failed: false }),
        at(500, What::Finalize),
    ];
    let here = |time_us: u64| 1_000_000 + time_us - behind_us;
    let first = Awaited { op: 5, kind: READ, peer: zero, tag: Some(Tag(3)), bytes: 8 };
    let wait = What::Wait { first: Some(first), count: 1 };
    let offset = Offset { ns: 1_000_000_000 - behind_us as i64 * 1000, error_ns: 4000 };
    let reader = vec![
        at(here(0), What::Begin),
        at(here(1), What::Clock { peer: zero, offset: Offset { ns: 0, error_ns: 9000 } }),
        at(here(2), What::Clock { peer: zero, offset }),
        at(here(12), post(here(10), 5, READ, 0)),
        at(here(20), wait),
        at(here(21), What::Help),
        at(here(300), What::Arrives { peer: zero, message_id, bytes: 8 }),
        at(here(300), What::Meets { peer: zero, message_id, op: 5 }),
        at(here(300), What::Done { op: 5, failed: false }),
        at(here(301), What::Waited),
        at(here(400), What::Finalize),
    ];
    let began_ns = 5_000_000_000;
    let mut tracks = vec![
        Track { head: head(0, boots[0], began_ns), events: writer, tail: tail(600) },
        Track {
            head: head(1, boots[1], began_ns - 1_000_000_000 + behind_us * 1000),
            events: reader,
            tail: tail(here(600)),
        },
    ];
    tracks.iter_mut().for_each(|track| track.events.sort_by_key(|event| event.at_ns));
    tracks
}

fn json(tracks: &[Track]) -> Value {
    let mut text = Vec::new();
    chrome::write(&mut text, tracks).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// What the entries of this phase and name say: process, begin, and length in microseconds.
fn entries(json: &Value, phase: &str, name: &str) -> Vec<(u64, f64, f64)> {
    let all = json["traceEvents"].as_array().unwrap().iter();
    let wanted = all.filter(|entry| entry["ph"] == phase && entry["name"].as_str().unwrap().starts_with(name));
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    wanted.map(|entry| (entry["pid"].as_u64().unwrap(), number(&entry["ts"]), number(&entry["dur"]))).collect()
}

#[test]
fn two_ranks_by_hand() {
    for (boots, behind) in [([Some("a"), Some("a")], 0), ([Some("a"), Some("b")], 0), ([None, None], 70)] {
        let json = json(&tracks(boots, behind));
        assert_eq!(
            entries(&json, "X", "compute"),
            [(0, 0.0, 110.0), (1, 0.0, 10.0), (1, 12.0, 8.0), (0, 120.0, 380.0), (1, 301.0, 99.0)]
        );
        assert_eq!(entries(&json, "X", "initwrite"), [(0, 110.0, 10.0)]);
        assert_eq!(entries(&json, "X", "initread"), [(1, 10.0, 2.0)]);
        assert_eq!(entries(&json, "X", "wait"), [(1, 20.0, 281.0)]);
        assert_eq!(entries(&json, "X", "finalize"), [(1, 400.0, 200.0), (0, 500.0, 100.0)]);
        assert_eq!(entries(&json, "b", "read"), [(1, 10.0, 0.0)]);
        assert_eq!(entries(&json, "e", "read"), [(1, 300.0, 0.0)]);
        assert_eq!(entries(&json, "n", "last fragment"), [(0, 119.0, 0.0), (1, 300.0, 0.0)]);
        assert_eq!((entries(&json, "s", ""), entries(&json, "f", "")), (vec![(0, 115.0, 0.0)], vec![(1, 300.0, 0.0)]));
        let ranks = &json["otherData"]["ranks"];
        // 190 us under way; rank 1 waited all the while, rank 0 never.
        assert_eq!((&ranks[0]["hidden"], &ranks[1]["hidden"]), (&Value::from(1.0), &Value::from(0.0)));
        assert_eq!(ranks[1]["under_way_s"], 190e-6);
        assert_eq!(json["otherData"]["one_way"]["0-1"]["median_us"], 190.0);
        let how =
            if boots[0] == Some("a") && boots[1] == Some("a") { "same machine's clock" } else { "minimum round trip" };
        assert_eq!(ranks[1]["clock"], how);
        let error = if how.starts_with("same") { 0.0 } else { 4.0 };
        assert_eq!(ranks[1]["clock_error_us"], error, "the best of what was measured");
    }
}

#[test]
fn links_that_are_down_have_a_beginning_and_an_end() {
    let mut tracks = tracks([Some("a"), Some("a")], 0);
    let down = |peer| What::LinkDown { peer: Rank(peer), cause: "reset".to_owned() };
    let up = |peer, again| What::LinkUp { peer: Rank(peer), again };
    let more = [
        at(50, up(1, None)),
        at(60, down(1)),
        at(70, down(2)),
        at(90, up(1, Some(8))),
        at(95, down(1)),
        at(99, up(2, None)),
    ];
    tracks[0].events.extend(more);
    tracks[0].events.sort_by_key(|event| event.at_ns);
    let json = json(&tracks);
    let times = |phase| {
        let entries = entries(&json, phase, "link to ").into_iter();
        entries.map(|(rank, at, _)| (rank, at)).collect::<Vec<_>>()
    };
    assert_eq!(times("b"), [(0, 60.0), (0, 70.0), (0, 95.0)]);
    assert_eq!(times("e"), [(0, 90.0), (0, 99.0), (0, 600.0)], "the last is down to the end");
    let events = json["traceEvents"].as_array().unwrap().iter();
    let args: Vec<&Value> =
        events.filter(|event| event["cat"] == "link" && event["ph"] == "b").map(|event| &event["args"]).collect();
    assert_eq!((&args[0]["sent_again_bytes"], &args[0]["cause"]), (&Value::from(8), &Value::from("reset")));
    assert_eq!((&args[1]["lost"], &args[2]["unfinished"]), (&Value::from(true), &Value::from(true)));
}

/// Calculation is cut where a region begins and ends, so that slices lie within each other.
#[test]
fn regions_are_slices_that_hold_others() {
    let mut tracks = tracks([Some("a"), Some("a")], 0);
    let region = |name: &str| What::Region { name: name.to_owned() };
    let more = [at(50, region("step")), at(105, region("wait")), at(130, What::RegionEnds), at(400, What::RegionEnds)];
    tracks[0].events.extend(more);
    tracks[0].events.sort_by_key(|event| event.at_ns);
    let json = json(&tracks);
    let of_writer = |name: &str| -> Vec<(f64, f64)> {
        let of_zero = entries(&json, "X", name).into_iter().filter(|(rank, ..)| *rank == 0);
        of_zero.map(|(_, from, length)| (from, length)).collect()
    };
    assert_eq!(of_writer("step"), [(50.0, 350.0)]);
    assert_eq!(of_writer("wait"), [(105.0, 25.0)]);
    assert_eq!(
        of_writer("compute"),
        [(0.0, 50.0), (50.0, 55.0), (105.0, 5.0), (120.0, 10.0), (130.0, 270.0), (400.0, 100.0)]
    );
    assert_eq!(json["otherData"]["ranks"][0]["hidden"], 1.0, "a region of that name is no wait");
}

#[test]
fn entries_are_in_order_and_slices_of_a_thread_apart() {
    let json = json(&tracks([None, None], 0));
    let mut last = f64::MIN;
    let mut until = std::collections::HashMap::new();
    for entry in json["traceEvents"].as_array().unwrap() {
        let Some(ts) = entry["ts"].as_f64() else { panic!("{entry}") };
        if entry["ph"] == "M" {
            continue;
        }
        assert!(ts >= last && ts >= 0.0, "{entry}");
        last = ts;
        if entry["ph"] == "X" {
            let end = until.entry((entry["pid"].as_u64(), entry["tid"].as_u64())).or_insert(0.0);
            assert!(ts >= *end, "{entry}");
            *end = ts + entry["dur"].as_f64().unwrap();
        }
    }
}

#[test]
fn a_rank_that_was_cut_off_shows_what_it_did_to_the_end() {
    let mut tracks = tracks([Some("a"), Some("a")], 0);
    tracks[1].tail = None;
    tracks[1].events.truncate(7);
    let json = json(&tracks);
    assert_eq!(entries(&json, "X", "wait"), [(1, 20.0, 280.0)], "until it was last seen");
    let wait = json["traceEvents"].as_array().unwrap().iter().find(|entry| entry["name"] == "wait").unwrap();
    assert_eq!((&wait["args"]["unfinished"], &wait["args"]["helped"]), (&Value::from(true), &Value::from(true)));
    assert_eq!(json["otherData"]["ranks"][1]["complete"], false);
    assert!(entries(&json, "f", "").is_empty(), "the read has met no message");
}

#[test]
fn clocks_are_aligned_along_the_best_path() {
    let clock =
        |peer: u32, ns: i64, error_ns: u64| at(1, What::Clock { peer: Rank(peer), offset: Offset { ns, error_ns } });
    let track = |rank: u32, events: Vec<Event>| Track { head: head(rank, None, 0), events, tail: None };
    let tracks = [
        track(0, vec![]),
        track(1, vec![clock(0, 100, 10)]),
        // By way of rank 1 the error is 30.
        track(2, vec![clock(0, 999, 500), clock(1, 200, 20)]),
        track(3, vec![]),
    ];
    let aligned = align::align(&tracks);
    assert_eq!((aligned[2].common_ns(10_000), aligned[2].error_ns), (9_700, 30));
    assert_eq!((aligned[1].common_ns(10_000), aligned[1].error_ns), (9_900, 10));
    assert_eq!((aligned[3].common_ns(10_000), aligned[3].how), (10_000, align::How::Unknown));
}

#[test]
fn drifting_clocks_are_followed() {
    // The clock gains a microsecond in a second.
    let compared = (0..=60u64).map(|second| {
        let offset = Offset { ns: 5_000_000 + second as i64 * 1000, error_ns: if second % 7 == 3 { 10 } else { 400 } };
        at(second * 1_000_000, What::Clock { peer: Rank(0), offset })
    });
    let tracks = [
        Track { head: head(0, None, 0), events: vec![], tail: None },
        Track { head: head(1, None, 0), events: compared.collect(), tail: None },
    ];
    let aligned = align::align(&tracks)[1];
    for second in [0, 3, 30, 60] {
        let at_ns = second * 1_000_000_000;
        let truth = at_ns as i64 - (5_000_000 + second as i64 * 1000);
        assert!(aligned.common_ns(at_ns).abs_diff(truth) <= 50, "{second} s: {}", aligned.common_ns(at_ns));
    }
}

/// A folder of its own for the files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-timeline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write_track(path: &Path, track: &Track, cut: usize) {
    let mut text = serde_json::to_string(&track.head).unwrap() + "\n";
    track.events.iter().for_each(|event| text += &(serde_json::to_string(event).unwrap() + "\n"));
    if let Some(tail) = &track.tail {
        text += &(serde_json::to_string(tail).unwrap() + "\n");
    }
    text.truncate(text.len() - cut);
    std::fs::write(path, text).unwrap();
}

#[test]
fn files_are_merged_and_gone() {
    let folder = Folder::new("merged");
    let trace = prepare(&folder.0.join("trace.json"), 2).unwrap();
    let tracks = tracks([Some("a"), Some("a")], 0);
    write_track(&rank_file(&trace, 0), &tracks[0], 0);
    merge_if_complete(&trace, 1, 2).unwrap();
    assert!(!trace.exists(), "one rank is missing");
    write_track(&rank_file(&trace, 1), &tracks[1], 15);
    merge_if_complete(&trace, 1, 2).unwrap();
    assert!(!trace.exists(), "one rank's file is not complete");
    assert_eq!(
        merge(&trace, 2).unwrap(),
        Merged { ranks: 2, cut_off: 1, dropped: 2 },
        "but a launcher merges all the same"
    );
    for (rank, track) in (0..).zip(&tracks) {
        write_track(&rank_file(&trace, rank), track, 0);
    }
    merge_if_complete(&trace, 7, 2).unwrap();
    assert!(rank_file(&trace, 1).exists(), "another job's");
    merge_if_complete(&trace, 1, 2).unwrap();
    let json: Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    assert_eq!(json["otherData"]["ranks"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "only the timeline is left");
    std::fs::write(rank_file(&trace, 1), "{}").unwrap();
    prepare(&trace, 2).unwrap();
    assert!(!rank_file(&trace, 1).exists());
    let error = merge(&trace, 2).unwrap_err().to_string();
    assert!(error.contains("lathide::init"), "{error}");
    assert!(prepare(&folder.0, 2).is_err(), "a folder is no file");
    assert!(prepare(&folder.0.join("no/trace"), 2).is_err());
}
