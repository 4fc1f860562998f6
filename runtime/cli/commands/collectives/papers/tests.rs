//! A network in which everything is known, through the fits and the equations to rows, words and JSON.

use lathide_models::fit::cluster::Cost;
use lathide_models::fit::cluster::survey::{Cluster, CostFit};
use lathide_models::hyperbolic::{Block, Network};

use super::known::Known;
use super::plan::{Event, Pattern, Point, Seen};
use super::predict::{PACKET_BYTES, Prediction};
use super::queue::Queue;
use super::results::results;
use super::rows::{Exchange, Measured, Packets, Rows};
use super::verdict::{self, Right};
use crate::commands::common::console::describe;
use crate::launch::link::LinkSpec;
use crate::report::WIDTH;
use crate::report::summary::Summary;
use crate::report::text::text;

const SIZES: [usize; 6] = [8, 512, 4096, 16_384, 65_536, 262_144];
const OVERHEAD_S: f64 = 20e-6;
const GAP_S_PER_BYTE: f64 = 80e-9;
/// A message takes so much longer where the receiver sends one too.
const BOTH_WAYS: f64 = 1.5;

fn near(value: f64, expected: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < 0.02, "{what}: {value} is not {expected}");
}

/// What pairs see on a network: workstations of 20 us and 80 ns/byte, a delay of 100 us.
fn seen(network: Block) -> Vec<Event> {
    let workstation = Block::new(OVERHEAD_S, GAP_S_PER_BYTE).unwrap();
    let network = Network::new(workstation, network, 100e-6).unwrap();
    let mut events = vec![Event::Overhead(OVERHEAD_S)];
    for pairs in [1, 2, 4] {
        for bytes in SIZES {
            let time_s = network.pairs(pairs).unwrap().time_s(bytes as f64).unwrap();
            for (both_ways, longer) in [(false, 1.0), (true, BOTH_WAYS)] {
                events.extend([Event::Pairs(Seen { pairs, both_ways, bytes, time_s: longer * time_s }); 3]);
            }
        }
    }
    events
}

fn switched() -> Vec<Event> {
    seen(Block::FREE)
}

/// All pairs share what one pair can have alone.
fn shared() -> Vec<Event> {
    seen(Block::new(5e-6, GAP_S_PER_BYTE).unwrap())
}

/// g_s 4 % above g_r, as noise would have it; of the processor 6 us in all.
fn cluster() -> Cluster {
    let fit = |startup_s, s_per_byte| {
        let cost = Cost { startup_s, s_per_byte };
        Some(CostFit { cost, median_error: None, p90_error: None })
    };
    Cluster {
        packet_bytes: 65_536,
        buffer_packets: 1,
        processors: 3,
        repeats: 3,
        o_s: fit(3e-6, 0.0),
        g_s: fit(4e-6, 1.04 * GAP_S_PER_BYTE),
        l: None,
        g_r: fit(4e-6, GAP_S_PER_BYTE),
        o_r: fit(2e-6, 0.0),
        u_r: fit(1e-6, 0.0),
        m_ctc: None,
        m_ctm: None,
        m_mtm: None,
        notes: Vec::new(),
    }
}

fn known(events: &[Event]) -> Known {
    Known::new(events, Some(&cluster())).unwrap()
}

#[test]
fn pairs_tell_a_switch_from_a_shared_medium() {
    let switched = known(&switched());
    assert_eq!((switched.is_shared(), switched.shares.b_c_s_per_byte), (Some(false), 0.0));
    near(switched.shares.a_w_s, OVERHEAD_S, "a_W");
    near(switched.shares.a_l_s, 100e-6, "a_L");
    near(switched.shares.b_w_s_per_byte, GAP_S_PER_BYTE, "b_W");
    let shared = known(&shared());
    assert_eq!(shared.is_shared(), Some(true));
    near(shared.shares.b_c_s_per_byte, GAP_S_PER_BYTE, "b_C");
    near(shared.shares.a_c_s, 5e-6, "a_C");
    near(shared.message().a_s, 145e-6, "2 a_W + a_C + a_L");
}

#[test]
fn an_exchange_has_ports_that_send_and_receive() {
    let bytes = 1 << 24;
    let time_s = |events: &[Event]| {
        let known = known(events);
        Prediction { known: &known, queue_bytes: None }.exchange(8, 2, bytes).unwrap().rule_3_s
    };
    near(time_s(&switched()), 2.0 * BOTH_WAYS * GAP_S_PER_BYTE * bytes as f64, "K b_W");
    near(time_s(&shared()), 16.0 * GAP_S_PER_BYTE * bytes as f64, "K N b_C");
}

#[test]
fn repetitions_that_were_disturbed_do_not_count() {
    let mut events = switched();
    for event in events.iter_mut().step_by(3) {
        if let Event::Pairs(seen) = event {
            seen.time_s *= 7.0;
        }
    }
    assert_eq!(known(&events).shares, known(&switched()).shares);
}

#[test]
fn without_two_pairs_it_is_not_said_which() {
    let alone = |event: &Event| !matches!(event, Event::Pairs(seen) if seen.pairs > 1);
    let events: Vec<Event> = shared().into_iter().filter(alone).collect();
    assert_eq!(known(&events).is_shared(), None);
}

#[test]
fn what_is_missing_is_said() {
    assert!(Known::new(&[], Some(&cluster())).unwrap_err().contains("between two ranks"));
    assert!(Known::new(&switched(), None).unwrap_err().contains("cluster model"));
    let lost = Cluster { g_r: None, notes: vec!["g_r is not known: why".into()], ..cluster() };
    assert!(Known::new(&switched(), Some(&lost)).unwrap_err().contains("g_r is not known: why"));
    let lost = Cluster { o_r: None, ..cluster() };
    assert!(Known::new(&switched(), Some(&lost)).unwrap().notes[0].starts_with("O_r drowned"));
}

#[test]
fn a_gather_is_predicted_by_eq_8_and_its_window() {
    let known = known(&switched());
    let limited = Prediction { known: &known, queue_bytes: Some(65_536.0) };
    let packet = known.packet(65_536, 8).unwrap();
    let gather = limited.gather(8, 1 << 20).unwrap();
    assert_eq!((gather.packets_each, gather.senders, gather.window.lower_bound), (16, 1, 1), "4 % are noise");
    // The first packet passes the receiver's port once.
    let g_r = packet.receive_gap_s;
    let ends_s = packet.send_s + packet.transfer_s + packet.receive_s + packet.user_receive_s;
    near(gather.bound_s, ends_s + (7.0 * 16.0 - 1.0) * g_r, "eq. (8)");
    near(gather.loose_s, gather.bound_s + g_r, "with that packet twice");
    // With its headers, a fourth block of 16 KiB finds no room: 1 + 3 may send.
    assert_eq!(limited.gather(8, 16 << 10).unwrap().senders, 4);
    assert_eq!(limited.gather(8, 1 << 10).unwrap().senders, 7, "everything fits");
    let free = Prediction { known: &known, queue_bytes: None };
    assert_eq!(free.gather(8, 1 << 20).unwrap().senders, 7);
}

#[test]
fn jobs_hold_what_there_is_time_for() {
    let known = known(&switched());
    let count = |prediction: &Prediction<'_>, ranks, seconds| -> Vec<usize> {
        prediction.jobs(ranks, seconds).unwrap().iter().map(|job| job.points.len()).collect()
    };
    let limited = Prediction { known: &known, queue_bytes: Some(65_536.0) };
    // Simple and windowed gathers, broadcasts, exchanges with 1, 2 and 4 neighbours; four ranks have no four others.
    assert_eq!(count(&limited, 8, f64::INFINITY), [6, 6, 12, 4, 4, 4]);
    assert_eq!(count(&limited, 4, f64::INFINITY), [6, 6, 12, 4, 4]);
    assert_eq!(count(&limited, 2, f64::INFINITY), [6, 12, 4], "one sender is both forms");
    let free = Prediction { known: &known, queue_bytes: None };
    assert_eq!(count(&free, 8, f64::INFINITY), [6, 12, 4, 4, 4], "the window is all of them");
    let jobs = limited.jobs(8, 5.0).unwrap();
    let spent_s: f64 = jobs.iter().map(|job| job.round_s).sum();
    assert!(6.0 * spent_s <= 5.0, "two passes of three rounds: {spent_s}");
    let longest = jobs[0].points.iter().map(|point| point.bytes).max();
    assert!(longest < Some(1 << 20), "the longest goes first: {longest:?}");
    assert!(!count(&limited, 8, 1e-3).is_empty(), "something is left");
}

/// Everything, measured as long as the model says, in a first and a second job, and a gather a tenth longer.
fn as_predicted(prediction: &Prediction<'_>) -> Vec<Measured> {
    let mut measured = Vec::new();
    for ranks in [4, 8] {
        for job in prediction.jobs(ranks, f64::INFINITY).unwrap() {
            for point in job.points {
                let bytes = point.bytes;
                let time_s = match point.pattern {
                    Pattern::Simple => 2.2 * prediction.gather(ranks, bytes).unwrap().bound_s,
                    Pattern::Windowed { .. } => 1.1 * prediction.gather(ranks, bytes).unwrap().bound_s,
                    Pattern::Packets { packets } => prediction.packets(ranks, packets, bytes).unwrap().postal_s,
                    Pattern::Tree | Pattern::Serial => prediction.broadcast(point.pattern, ranks, bytes).unwrap(),
                    Pattern::Exchange { neighbours } => prediction.exchange(ranks, neighbours, bytes).unwrap().rule_3_s,
                };
                measured.push(Measured { ranks, point: point.clone(), times_s: vec![0.9 * time_s, time_s] });
                measured.push(Measured { ranks, point, times_s: vec![1.1 * time_s] });
            }
        }
    }
    measured
}

#[test]
fn all_of_it_is_shown() {
    let known = known(&switched());
    let queue = Queue::of(Some(65_536), None).unwrap();
    let prediction = Prediction { known: &known, queue_bytes: queue.bytes };
    let measured = as_predicted(&prediction);
    let link = describe(&LinkSpec::default());
    let results = results(link, (&prediction, &queue), Some(&cluster()), &measured, Some(0.1)).unwrap();
    assert_eq!(results.data["repeats"], 3, "of both jobs");
    assert_eq!(
        [12, 8, 16, 20],
        ["gather", "packets", "broadcast", "exchange"].map(|member| results.rows(member).len())
    );
    let error = |what: &str| {
        let row = results.rows("errors").iter().find(|row| row["what"] == what).unwrap();
        (row["mean"].as_f64().unwrap(), row["greatest"].as_f64().unwrap())
    };
    let (mean, greatest) = error("gather, eq. (8)");
    near(mean, 1.0 / 11.0, "mean");
    near(greatest, 1.0 / 11.0, "greatest");
    assert!(error("broadcast, tree").1 < 1e-9 && error("exchange, rule 3").1 < 1e-9);
    assert_eq!(results.data["verdicts"]["packets"]["right"], "first");
    assert_eq!(results.data["verdicts"]["exchange"]["right"], "second");
    let shown = text(&results, false);
    for part in [
        "switched, b_C = 0",
        "B_L: 64 KiB, as given (--queue)",
        "mean error 9.1 %, greatest 9 %",
        "up to 2.00 times as long",
        "Eq. (1), Postal, is right here",
        "rule 3 for the workstation too, is right here",
    ] {
        assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part} is missing: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
    assert!(super::results::results(describe(&LinkSpec::default()), (&prediction, &queue), None, &[], None).is_none());
}

fn always(time_s: f64) -> Summary {
    Summary { median: time_s, min: time_s, max: time_s }
}

#[test]
fn the_equation_that_is_right_is_found() {
    let rows = |measured_s: f64, postal_s: f64, cluster_s: f64| {
        let row = |packets, factor: f64| Packets {
            ranks: 8,
            packets,
            bytes: PACKET_BYTES,
            measured_s: always(factor * measured_s),
            postal_s: factor * postal_s,
            postal_error: postal_s / measured_s - 1.0,
            cluster_s: factor * cluster_s,
            cluster_error: cluster_s / measured_s - 1.0,
        };
        vec![row(4, 1.0), row(16, 4.0)]
    };
    let words = |rows: &[Packets], reception_s, is_shared| {
        let verdict = verdict::packets(rows, reception_s, 2e-4, is_shared).unwrap();
        (verdict.right, verdict.words)
    };
    let (right, said) = words(&rows(3.0, 2.9, 2.0), 1e-4, false);
    assert_eq!(right, Right::First);
    assert!(
        said.contains("mean error 3 %, of printed eq. (2) 33 %") && said.contains("leaves one of them out"),
        "{said}"
    );
    let (right, said) = words(&rows(3.0, 2.0, 2.9), 3e-4, false);
    assert_eq!(right, Right::Second);
    assert!(said.contains("Printed eq. (2) is right here") && said.contains("as the paper says"), "{said}");
    let (right, said) = words(&rows(3.0, 2.9, 2.0), 3e-4, false);
    assert!(right == Right::First && said.contains("by which it should be eq. (2)"), "{said}");
    let (right, said) = words(&rows(9.0, 3.0, 2.0), 1e-4, true);
    assert_eq!(right, Right::Neither);
    assert!(said.contains("p - 1 copies of a packet share one medium"), "{said}");
    let (right, said) = words(&rows(3.0, 2.0, 2.05), 1e-4, false);
    assert!(right == Right::Both && said.contains("Up to 16 packets"), "{said}");
    assert_eq!(verdict::packets(&[], 1e-4, 2e-4, false), None);
}

#[test]
fn the_exchange_has_its_own_verdict() {
    let row = |measured_s: f64, printed_s, rule_3_s| Exchange {
        neighbours: 2,
        ranks: 8,
        bytes: 8,
        measured_s: always(measured_s),
        printed_s,
        printed_error: 0.0,
        rule_3_s,
        rule_3_error: 0.0,
    };
    let right = |row: Exchange| verdict::exchange(&[row]).unwrap().right;
    assert_eq!(right(row(2.0, 1.0, 2.0)), Right::Second);
    assert_eq!(right(row(1.0, 1.0, 2.0)), Right::First);
    assert_eq!(right(row(2.0, 2.0, 2.0)), Right::Both);
    let neither = verdict::exchange(&[row(9.0, 1.0, 2.0)]).unwrap();
    assert!(neither.right == Right::Neither && neither.words.ends_with("K b_W, by rule 3, is nearer."), "{neither:?}");
}

#[test]
fn a_gather_without_its_simple_form_stands_alone() {
    let known = known(&switched());
    let prediction = Prediction { known: &known, queue_bytes: None };
    let point = Point { pattern: Pattern::Windowed { window: 3 }, bytes: 1024 };
    let measured = [Measured { ranks: 4, point, times_s: vec![1e-3] }];
    let rows = Rows::new(&measured, &prediction).unwrap();
    assert_eq!((rows.gather[0].simple_s, rows.gather[0].simple_over_windowed), (None, None));
    assert!(verdict::gather(&rows.gather).unwrap().contains("which is the simple gather"));
    assert_eq!(verdict::gather(&[]), None);
}
