//! Every golden value of the cluster model.

use super::*;
use crate::golden_reader_tests::{Entry, Tally, argument, check, count, entries, expected_in, list, number, parse};

const GOLDEN: &str = include_str!("../../../tests/golden/cluster.toml");

/// Times of the file are in microseconds, ours in seconds.
const US: f64 = 1e-6;

/// A parameter of Table 1 by its symbol.
fn parameter(symbol: &str) -> Cost {
    let table = Parameters::table_1();
    match symbol {
        "O_s" => table.send,
        "T_s" => Parameters::table_1_t_s(),
        "g_s" => table.send_gap,
        "g_r" => table.receive_gap,
        "O_r" => table.receive,
        "U_r" => table.user_receive,
        "M_ctc" => table.copy_cache_to_cache,
        "M_ctm" => table.copy_cache_to_memory,
        "M_mtm" => table.copy_memory_to_memory,
        other => panic!("no parameter {other}"),
    }
}

/// What our functions give for an entry, in the file's units.
fn evaluate(entry: &Entry) -> f64 {
    let get = |name| argument(entry, name);
    let seconds = |name| argument(entry, name) * US;
    let counted = |name| count(entry, name);
    let table = || Parameters::table_1().packet(get("m"), counted("p"));
    let gaps = || (seconds("gs"), seconds("gr"));
    let packets = |name| u64::from(counted(name));
    let window_arguments = || (counted("p"), seconds("gs"), seconds("gr"), get("B"), packets("i"));
    let value = match entry.formula.as_str() {
        "cl.param" => {
            let cost = parameter(entry.inputs["name"].as_str().expect("a symbol"));
            cost.at(get("m")).map(|s| s / US)
        }
        "cl.L" => table().map(|packet| packet.transfer_s / US),
        "cl.one_way" => table().and_then(|packet| packet.one_way_s()).map(|s| s / US),
        "cl.pingpong" => table().and_then(|packet| packet.ping_pong_s()).map(|s| s / US),
        "cl.bcast_postal" => {
            broadcast_postal_s(packets("k"), counted("p"), seconds("gs"), seconds("L")).map(|s| s / US)
        }
        "cl.bcast" => {
            let packet = Packet {
                send_s: seconds("Os1"),
                send_gap_s: seconds("gs"),
                transfer_s: seconds("L"),
                receive_s: seconds("Or"),
                user_receive_s: seconds("Ur"),
                ..Packet::default()
            };
            broadcast_s(packets("k"), counted("p"), &packet).map(|s| s / US)
        }
        "cl.fill_time" => fill_time_s(get("A"), get("D"), get("B")).map(|time| time.expect("A is above D")),
        "cl.transfer_ratio" => transfer_ratio(get("A"), get("D"), get("B"), packets("k")),
        "cl.lower" => lower_bound(gaps().0, gaps().1).map(f64::from),
        "cl.upper" => upper_bound(gaps().0, gaps().1, get("B"), packets("i")).map(f64::from),
        "cl.window" => {
            let (p, gs, gr, buffer, each) = window_arguments();
            window(p, gs, gr, buffer, each).map(|window| f64::from(window.senders))
        }
        "cl.window_printed" => {
            let (p, gs, gr, buffer, each) = window_arguments();
            window_printed(p, gs, gr, buffer, each).map(|senders| f64::from(senders.expect("a window")))
        }
        "cl.gather_bound" => {
            gather_bound_s(counted("p"), packets("i"), seconds("gr"), seconds("C1"), seconds("C2")).map(|s| s / US)
        }
        "cl.gather_chains" => Plan::with_window(counted("p"), counted("w")).map(|plan| f64::from(plan.longest_chain())),
        // Fig. 3: the four parts of one packet's way.
        "id.sum" => {
            let terms: Vec<f64> = entry.inputs["terms"].as_array().expect("terms").iter().map(number).collect();
            let [send_s, transfer_s, receive_s, user_receive_s] = terms[..] else { panic!("{}: four terms", entry.id) };
            Packet { send_s, transfer_s, receive_s, user_receive_s, ..Packet::default() }.one_way_s()
        }
        other => panic!("{}: no formula {other}", entry.id),
    };
    value.expect("golden inputs are valid")
}

#[test]
fn every_golden_value_is_met() {
    let tally = check(GOLDEN, evaluate);
    assert_eq!(tally.expected, expected_in(GOLDEN), "every value of the file is compared");
    // A file that lost its entries must not pass.
    assert_eq!(tally, Tally { expected: 98, printed: 1, misprints: 0, corrected: 0 });
}

/// Table 1 as the file has it, number by number, against what its lines are here.
#[test]
fn table_1_is_the_paper_s() {
    let file = parse(GOLDEN);
    let table = file["table1"].as_table().expect("Table 1");
    let mut seen = 0;
    for (range, sizes) in [("m_le_40", [0.0, 40.0]), ("m_gt_40", [41.0, 1500.0]), ("any_m", [0.0, 1500.0])] {
        for (symbol, line) in table[range].as_table().expect("lines") {
            let [startup, slope] = &line.as_array().expect("a line")[..] else { panic!("{symbol}: two numbers") };
            for bytes in sizes {
                let expected = number(startup) + number(slope) * bytes;
                let ours = parameter(symbol).at(bytes).expect("a valid size") / US;
                assert!((ours - expected).abs() <= 1e-9, "{symbol} of {bytes} bytes: {ours}, not {expected}");
            }
            seen += 2;
        }
    }
    assert_eq!(seen, 30, "numbers of Table 1");
    let ours = Parameters::table_1();
    assert_eq!(ours.buffer_packets, number(&table["B_L"]));
    let (file, ours) = (table["L"].as_table().expect("L"), ours.transfer);
    let near = |name: &str, value: f64| assert!((value - number(&file[name])).abs() < 1e-12, "{name}: {value}");
    near("per_proc", ours.per_processor_s / US);
    near("startup", ours.alone.at(0.0).expect("0 bytes") / US);
    near("per_byte", (ours.alone.at(1.0).expect("1 byte") - ours.alone.at(0.0).expect("0 bytes")) / US);
    near("aggregate", ours.aggregate_bytes_per_s.expect("a limit") * US);
}

/// Each misprint names the value that stands for the right form, and the manual lists it.
#[test]
fn the_manual_lists_every_misprint() {
    const MANUAL: &str = include_str!("../../manual/models/cluster.rs");
    let file = parse(GOLDEN);
    let known: Vec<String> = entries(GOLDEN).into_iter().map(|entry| entry.id).collect();
    let listed = [
        ("cl.err.eq5_sense", "sentence after eq. (5)"),
        ("cl.err.eq6_lead", "eq. (6)"),
        ("cl.err.eq7_divisor", "eq. (7)"),
        ("cl.err.eq8_rate", "eq. (8)"),
        ("cl.err.Ts", "row T_s"),
        ("cl.err.gs_jump", "g_s at 40 bytes"),
    ];
    let errata = list(&file, "erratum");
    assert_eq!(errata.len(), listed.len());
    for (erratum, (id, place)) in errata.iter().zip(listed) {
        assert_eq!(erratum["id"].as_str(), Some(id));
        assert!(MANUAL.contains(&format!("//! | {place}")), "the manual has no row for {place}");
        if let Some(golden) = erratum.get("golden") {
            assert!(known.iter().any(|id| Some(id.as_str()) == golden.as_str()), "{golden:?} is no entry");
        }
    }
}
