//! Blocks worked out by hand, through the analysis to JSON and text.

use crate::launch::link::LinkSpec;
use crate::report::WIDTH;
use crate::report::text::text;
use serde_json::Value;

use super::analysis::{self, quantile};
use super::outcome::Outcome;
use super::plan::{Block, Kind, Order, Probe};
use crate::commands::common::compared::median_interval;
use crate::commands::common::console::describe;
use lathide_models::fit::cluster::survey::{Background, Cluster, Seen};
use lathide_models::fit::cluster::{Arrivals, Stream};

fn block(kind: Kind, bytes: usize, count: u32, mine: &[f64], theirs: &[f64]) -> Block {
    Block { order: Order { kind, bytes, count, work: 7 }, mine: mine.into(), theirs: theirs.into() }
}

/// Those of one-way times, with the quantiles that belong to them.
fn ways(wall_s: [f64; 3], cpu_s: f64) -> Vec<f64> {
    let quantiles = wall_s.map(|wall_s| [1.0, 2.0, 3.0].map(|times| times * wall_s / 20.0));
    [variants(wall_s, cpu_s), quantiles.concat()].concat()
}

/// Of three variants: their times, and the processor time of each of them.
fn variants(wall_s: [f64; 3], cpu_s: f64) -> Vec<f64> {
    [wall_s, [cpu_s; 3]].concat()
}

/// Five repetitions of everything, one of them twice as slow as the others.
fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for slower in [1.0, 1.0, 2.0, 1.0, 1.0] {
        let slow = |numbers: &[f64]| numbers.iter().map(|number| number * slower).collect::<Vec<_>>();
        for (bytes, one_way_s) in [(8, 5e-6), (64, 6e-6), (1024, 8e-6), (65_536, 2e-5), (1 << 20, 2e-4)] {
            // Ten round trips, of which lathide takes a quarter of blocking and 1.25 of polled.
            let lathide = 20.0 * one_way_s * slower;
            let walls = ways([4.0 * lathide, 0.8 * lathide, lathide], 1e-4);
            blocks.push(block(Kind::OneWay, bytes, 10, &walls, &variants([9.0; 3], 3e-4)));
        }
        blocks.push(block(Kind::Twice, 8, 10, &slow(&[1e-4, 1.01e-4]), &[]));
        let stream = variants([0.02, 0.01, 0.0125].map(|time_s| time_s * slower), 0.1);
        blocks.push(block(Kind::Stream, 1 << 20, 10, &variants([9.0; 3], 0.1), &stream));
        blocks.push(block(Kind::Rate, 8, 1000, &variants([9.0; 3], 0.0), &variants([1e-3, 2e-3, 1e-4], 0.0)));
        blocks.push(block(Kind::Exchange, 4096, 1, &slow(&[0.2, 0.09, 0.1]), &slow(&[0.2, 0.1, 0.1])));
        let (mine, theirs) = ([1.1, 1.0, 1.2, 1.15, 0.05, 1.1 / 0.8], [1.1, 0.9, 1.15, 1.05, 0.02, 1.1 / 0.8]);
        blocks.push(block(Kind::Overlap, 1 << 20, 2, &slow(&mine), &slow(&theirs)));
        let loaded = [vec![1e-5; 40], vec![3e-5; 19], vec![9e-5]].concat();
        blocks.push(block(Kind::Loaded, 1 << 20, 40, &loaded, &[]));
    }
    blocks
}

/// A network in which everything is known: O_s 2 us, O_r 1 us + 0.1 ns/byte, and so on.
fn seen(bytes: u64) -> Seen {
    let line = |startup_s: f64, s_per_byte: f64| startup_s + s_per_byte * bytes as f64;
    let time_s = |packets: u32| 1e-4 + f64::from(packets) * line(3e-6, 1e-9);
    let o_r = line(1e-6, 1e-10);
    Seen {
        bytes,
        engaged_s: 2e-6,
        round_trip_s: 2.0 * (2e-6 + line(50e-6, 8e-9) + o_r + 2e-7),
        streams: [20, 60].map(|packets| Stream { bytes, packets, time_s: time_s(packets) }).into(),
        arrivals: Arrivals { bytes, senders: 1, packets: 60, time_s: 59.0 * line(3e-6, 1e-9) },
        slowed: Some(Background { packets: 50, alone_s: 1e-3, beside_s: 1e-3 + 10.0 * o_r, own_s: 40.0 * o_r }),
        consumed_s: 2e-7,
        copies_s: [line(1e-8, 1e-11), line(2e-8, 5e-11), line(3e-8, 1e-10)],
    }
}

fn cluster() -> Option<Cluster> {
    let seen: Vec<Seen> = [8, 64, 512, 4096, 65_536].map(seen).into();
    Cluster::new(&seen, &[], 64 << 20)
}

fn outcome(link: &str, background_load: Option<f64>) -> Outcome {
    let link: LinkSpec = link.parse().unwrap();
    let repetition =
        |(fragment_bytes, one_way_s)| (fragment_bytes, block(Kind::Alone, 1 << 20, 10, &[20.0 * one_way_s], &[]));
    let fragments = analysis::fragments(&[(4096, 2e-4), (1024, 3e-4), (4096, 4e-4)].map(repetition));
    let probe = Probe { start_s: 1e-5, byte_s: 1e-9 };
    Outcome::new(describe(&link), probe, &blocks(), fragments, cluster(), background_load).unwrap()
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1e-6), "{value} is not {expected}");
}

#[test]
fn times_and_rates_by_hand() {
    let outcome = outcome("wan", None);
    let short = &outcome.latency[0];
    assert_eq!((short.bytes(), short.repeats, outcome.repeats), (8, 5, 5));
    close(short.get("lathide_s").median, 5e-6);
    close(short.get("lathide_s").max, 1e-5);
    close(short.get("penalty").median, 0.25);
    close(short.get("penalty").max, 0.25);
    close(short.get("penalty_polled").median, 1.25);
    let bandwidth = &outcome.bandwidth[0];
    close(bandwidth.get("raw_polled_bytes_per_s").median, f64::from(1 << 20) * 1000.0);
    close(bandwidth.get("ratio").median, 0.8);
    let rate = outcome.message_rate.unwrap();
    close(rate.get("lathide_per_s").median, 1e7);
    close(rate.get("ratio").median, 10.0);
    let processor = outcome.processor;
    close(processor.message.unwrap().get("lathide_s").median, 4e-4 / 20.0);
    close(processor.mib.unwrap().get("raw_s").median, 0.02);
}

#[test]
fn quantiles_and_comparisons_by_hand() {
    let mut outcome = outcome("wan", None);
    let short = &outcome.latency[0];
    close(short.get("lathide_p50_s").median, 5e-6);
    close(short.get("lathide_p99_s").median, 1e-5);
    close(short.get("lathide_greatest_s").max, 3e-5);
    close(short.get("raw_greatest_s").median, 6e-5);
    let [same, blocking, _] = &outcome.comparisons[..] else { panic!("{:?}", outcome.comparisons) };
    assert!(same.what.contains("(A/A), 8 B") && same.pairs == 5, "{same:?}");
    close(same.ratio, 1.0 / 1.01);
    assert!(
        (blocking.ratio, blocking.low, blocking.differs) == (0.25, None, false),
        "five pairs show nothing: {blocking:?}"
    );
    assert!(outcome.median_interval.is_null() && outcome.interval().contains("too few"));
    outcome.median_interval = median_interval(6);
    assert!(outcome.interval().contains("the 96.8 % interval of the median"), "{}", outcome.interval());
    assert_eq!(outcome.rounds.len(), blocks().len());
    let json = serde_json::to_value(outcome.results()).unwrap();
    assert_eq!(
        (&json["rounds"][0]["order"]["kind"], &json["rounds"][0]["order"]["bytes"]),
        (&"OneWay".into(), &8.into())
    );
    assert!(json["rounds"][0]["mine"][0].is_f64() && json["latency"][0]["lathide_greatest_s_max"].is_f64(), "{json}");
}

#[test]
fn overlap_by_hand() {
    let outcome = outcome("wan", None);
    let exchange = &outcome.exchange[0];
    close(exchange.get("speedup").median, 2.0);
    close(exchange.get("penalty").median, 1.0);
    let overlap = &outcome.overlap[0];
    // The slower node's: 1 - (1.2 - 1.1) / 1.
    close(overlap.get("overlap").median, 0.9);
    close(overlap.get("effective_overlap").median, 0.85);
    close(overlap.get("overlap_osu").median, 0.9);
    // (1 + 1.1 - 1.2) / 1.1.
    close(overlap.get("overlap_imb").median, 0.9 / 1.1);
    close(overlap.get("availability").median, 1.0);
    close(overlap.get("availability_spare").median, 0.8);
    assert!(outcome.exchange_overlap.is_empty(), "none was measured both ways");
    close(overlap.get("t_total_s").max, 2.4);
    let loaded = outcome.under_load.unwrap();
    assert_eq!((loaded.samples, loaded.idle_samples), (100, 200));
    close(loaded.p50_ratio, 3.0);
    close(loaded.p99_ratio, 9.0);
    assert_eq!(outcome.fragments.iter().map(|row| row.repeats).collect::<Vec<_>>(), [1, 2], "by size");
    close(outcome.fragments[1].get("s").median, 3e-4);
}

#[test]
fn json_has_the_agreed_members() {
    let json = serde_json::to_value(outcome("ethernet", Some(0.01)).results()).unwrap();
    let arrays = [
        (
            "latency",
            &[
                "bytes",
                "raw_s",
                "raw_polled_s",
                "lathide_s",
                "penalty",
                "penalty_polled",
                "round_trips",
                "lathide_s_max",
            ][..],
        ),
        (
            "bandwidth",
            &["bytes", "raw_bytes_per_s", "raw_polled_bytes_per_s", "lathide_bytes_per_s", "ratio", "messages"],
        ),
        ("exchange", &["bytes", "pingpong_s", "simultaneous_s", "speedup", "speedup_min"]),
        ("fragments", &["fragment_bytes", "s", "s_min", "s_max"]),
        ("overlap", &["bytes", "overlap", "availability", "effective_overlap", "overlap_max"]),
    ];
    for (array, members) in arrays {
        let row = &json[array][0];
        assert!(members.iter().all(|member| row[member].is_number()), "{array}: {row}");
    }
    for member in ["a_s", "b_s_per_byte", "median_error", "p90_error"] {
        assert!(json["hyperbolic"][member].is_f64(), "{member}: {json}");
    }
    for cost in ["o_s", "g_s", "l", "g_r", "o_r", "u_r", "m_ctc", "m_ctm", "m_mtm"] {
        for member in ["startup_s", "s_per_byte", "median_error", "p90_error"] {
            assert!(json["cluster"][cost][member].is_f64(), "{cost}.{member}: {json}");
        }
    }
    assert_eq!((&json["cluster"]["packet_bytes"], &json["cluster"]["buffer_packets"]), (&65_536.into(), &1024.into()));
    assert_eq!(json["schema"], "lathide-link-2");
    assert_eq!(json["link"]["spec"], "delay=50us,rate=10mbit,shared");
    assert!(json["machine"]["cores"].is_u64() && json["raw"]["congestion_control"] == "reno");
    assert!(!contains_median(&json), "a summary was left whole: {json}");
}

fn contains_median(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(contains_median),
        Value::Object(members) => {
            members.len() == 3 && members.contains_key("median") || members.values().any(contains_median)
        }
        _ => false,
    }
}

#[test]
fn text_fits_the_terminal_and_says_what_matters() {
    let shown = text(&outcome("wan", Some(0.4)).results(), false);
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "emulated by a relay",
        "both use reno",
        "8 bytes take 5 us one way with lathide, 0.25 of blocking raw TCP and 1.25 of polled",
        "90 % of a message of 1 MiB hide behind a calculation",
        "10 000 000 messages of 8 bytes per second, 10.00",
        "a message of 1 MiB to the same rank, 8 bytes take 30 us one way (p99 90 us)",
        "a receiver holds 1024 of each sender",
        "O_r to receive in the background 1.000 0.1 ns/byte",
    ] {
        assert!(words.contains(part), "{part} is missing:\n{shown}");
    }
    assert!(text(&outcome("loopback", None).results(), true).contains("\x1b["), "colour where it is wanted");
}

#[test]
fn little_is_shown_as_little() {
    let one = [block(Kind::OneWay, 8, 1, &variants([1.0; 3], 0.0), &variants([1.0; 3], 0.0))];
    let probe = Probe { start_s: 1e-5, byte_s: 1e-9 };
    let link = describe(&LinkSpec::default());
    let outcome = Outcome::new(link.clone(), probe, &one, vec![], None, None).unwrap();
    assert_eq!((outcome.hyperbolic.is_some(), outcome.bandwidth.len()), (false, 0));
    let shown = text(&outcome.results(), false);
    assert!(shown.contains("8 bytes take 500 ms") && !shown.contains("Overlap:"), "{shown}");
    assert!(Outcome::new(link, probe, &[], vec![], None, None).is_none());
}

#[test]
fn quantiles() {
    let values: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| quantile(&values, share).unwrap()), [1.0, 50.0, 99.0, 100.0]);
    assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
    assert_eq!(quantile(&[], 0.5), None);
}
