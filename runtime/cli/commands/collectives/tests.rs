//! Rounds worked out by hand, through the analysis to JSON and text; the grid by prices known beforehand.

use crate::launch::link::LinkSpec;
use crate::report::WIDTH;
use crate::report::text::text;
use lathide::Collective;
use lathide::CostModel;
use lathide::launcher::collective::Prices;

use serde_json::Value;

use super::overlap;
use super::plan::{self, Hidden, Measured, Parameters, Plan, Point, Times};
use crate::commands::common::console::describe;
use crate::report::results::Results;

const ROUNDS: [f64; 5] = [1.0, 1.5, 1.0, 0.5, 1.0];

fn point(algorithm: &str, bytes: u64, predicted_s: f64, is_chosen: bool, time_s: f64) -> Point {
    let times_s = ROUNDS.map(|slower| slower * time_s).to_vec();
    Point { algorithm: algorithm.to_owned(), bytes, predicted_s, is_chosen, times_s }
}

fn of(operation: Collective, points: Vec<Point>) -> Measured {
    let parameters = Parameters {
        operation,
        ranks: 4,
        a_s: 1e-4,
        b_s_per_byte: 1e-8,
        overhead_s: 1e-5,
        is_shared: false,
        is_fitted: true,
    };
    Measured { parameters, points, hidden: Vec::new() }
}

/// Four ranks: of two sizes of a broadcast the choice is good for one; a barrier; an allgather without its choice.
fn measured() -> Vec<Measured> {
    let mut broadcast = of(
        Collective::Broadcast,
        vec![
            point("serial", 8, 1.0e-3, true, 1.05e-3),
            point("chain", 8, 3.0e-3, false, 1.0e-3),
            point("serial", 65_536, 9.0e-3, false, 1.0e-2),
            point("chain", 65_536, 4.0e-3, true, 1.2e-2),
        ],
    );
    let collective = [1.2e-2, 1.3e-2, 2.2e-2].map(|total_s| Times { calc_s: 1.2e-2, com_s: 1.0e-2, total_s });
    let messages = collective.map(|times| Times { total_s: times.total_s - 1.0e-3, ..times });
    broadcast.hidden = vec![Hidden { bytes: 65_536, collective: collective.into(), messages: messages.into() }];
    let barrier = of(Collective::Barrier, vec![point("dissemination", 0, 1.0e-3, true, 2.0e-3)]);
    let allgather = of(Collective::Allgather, vec![point("ring", 65_536, 2.0e-3, false, 2.0e-3)]);
    vec![allgather, barrier, broadcast]
}

fn results(measured: &[Measured], background_load: Option<f64>) -> Option<Results> {
    super::results::results(describe(&LinkSpec::default()), measured, background_load)
}

fn outcome(background_load: Option<f64>) -> Results {
    results(&measured(), background_load).unwrap()
}

#[test]
fn errors_choice_and_overlap_are_those_worked_out_by_hand() {
    let outcome = outcome(None);
    assert_eq!((&outcome.data["repeats"], outcome.rows("points").len()), (&5.into(), 6));
    let is_chain = |point: &&Value| point["algorithm"] == "chain" && point["bytes"] == 65_536;
    let chain = outcome.rows("points").iter().find(is_chain).unwrap();
    let near =
        |left: &Value, right: f64| assert!((left.as_f64().unwrap() - right).abs() < 1e-9, "{left} is not {right}");
    near(&chain["measured_s"], 1.2e-2);
    near(&chain["measured_s_min"], 0.6e-2);
    near(&chain["measured_s_max"], 1.8e-2);
    near(&chain["over_fastest"], 1.2);
    near(&chain["error"], 4.0 / 12.0 - 1.0);
    // Of 1/1.05 - 1, 3 - 1, 9/10 - 1 and 4/12 - 1.
    let errors = |of| outcome.rows("errors").iter().find(|errors| errors["operation"] == of).unwrap();
    let broadcast = errors("broadcast");
    near(&broadcast["median"], (0.1 + 8.0 / 12.0) / 2.0);
    near(&broadcast["p90"], 2.0);
    near(&errors("barrier")["p90"], 0.5);
    // Serial takes 1.05 of chain's time with 8 bytes, chain 1.2 of serial's with more. Nothing else has a choice.
    assert_eq!(outcome.data["choice"], serde_json::json!({ "points": 2, "good": 1, "share": 0.5 }));
    let overlap = &outcome.rows("overlap")[0];
    near(&overlap["overlap"], 0.9);
    near(&overlap["overlap_min"], 0.0);
    near(&overlap["overlap_max"], 1.0);
    near(&overlap["messages_overlap"], 1.0);
    near(&overlap["messages_overlap_min"], 0.1);
    near(&overlap["messages_overlap_max"], 1.1);
}

#[test]
fn json_has_what_the_manual_promises() {
    let json = serde_json::to_value(outcome(Some(0.1))).unwrap();
    let point = &json["points"][1];
    for member in ["measured_s", "measured_s_min", "measured_s_max", "predicted_s", "error", "ranks", "bytes"] {
        assert!(point[member].is_number(), "{member}: {point}");
    }
    assert!(
        point["operation"].is_string() && point["algorithm"].is_string() && point["chosen"].is_boolean(),
        "{point}"
    );
    assert!(json["errors"][0]["median"].is_f64() && json["errors"][1]["operation"] == "barrier", "{json}");
    assert_eq!((&json["choice"]["points"], &json["choice"]["share"]), (&2.into(), &0.5.into()));
    let parameters = &json["parameters"][0];
    assert_eq!((&parameters["operation"], &parameters["a_s"]), (&"allgather".into(), &1e-4.into()));
    assert_eq!((&json["schema"], &json["link"]["spec"]), (&"lathide-collectives-2".into(), &"loopback".into()));
    assert!(json["machine"]["cores"].is_u64() && json["overlap"][0]["overlap"].is_f64(), "{json}");
}

#[test]
fn text_fits_the_terminal_and_says_what_matters() {
    let shown = text(&outcome(Some(0.4)), false);
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "broadcast. 4 ranks: a = 100 us (10 us of processor at each end), b = 10 ns per byte, fitted. ranks",
        "4 64 KiB chain 12.0 6.00 .. 18.0 4.00 -67 <- 1.20",
        "broadcast 4 64 KiB 12.0 10.0 13.0 90 0 .. 100 100 10 .. 110",
        "broadcast 4 38 200",
        "the fastest or within 10 % of it in 1 of 2 cases (50 %)",
        "4 ranks; curves: predicted",
    ] {
        assert!(words.contains(part), "{part} is missing:\n{shown}");
    }
    assert!(text(&outcome(None), true).contains("\x1b["), "colour where it is wanted");
    let over = |spec: &str| {
        let link = describe(&spec.parse().unwrap());
        let shown = text(&super::results::results(link, &measured(), None).unwrap(), false);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (spec, has_paths) in [("delay=1ms", true), ("loopback", false), ("ethernet", false)] {
        assert_eq!(over(spec).contains("Prices are of ranks with one port each"), has_paths, "{spec}");
    }
}

#[test]
fn nothing_measured_is_no_result() {
    assert_eq!(results(&[], None), None);
    assert_eq!(results(&[of(Collective::Barrier, Vec::new())], None), None);
}

#[test]
fn the_grid_has_a_price_for_every_algorithm_and_one_choice_each() {
    let mut hidden = 0;
    for (operation, algorithms) in plan::algorithms(&Collective::ALL, None).unwrap() {
        let bytes = Some(vec![3, 65_536]);
        let wanted = Plan { operation, algorithms: algorithms.clone(), bytes, seconds: 1.0, repeats_min: None };
        let points = plan::grid(&wanted, 4, &mut Prices::new(CostModel::lan()));
        // A barrier has no size; a reduction's elements have 8 bytes.
        let sizes: &[u64] = match operation {
            Collective::Barrier => &[0],
            Collective::Allreduce
            | Collective::Exscan
            | Collective::Reduce
            | Collective::ReduceScatter
            | Collective::Scan => &[8, 65_536],
            _ => &[3, 65_536],
        };
        assert_eq!(points.len(), sizes.len() * algorithms.len(), "{points:?}");
        for bytes in sizes {
            let cell: Vec<&Point> = points.iter().filter(|point| point.bytes == *bytes).collect();
            assert_eq!(cell.len(), algorithms.len(), "{operation} of {bytes}: {cell:?}");
            assert_eq!(cell.iter().filter(|point| point.is_chosen).count(), 1, "{operation} of {bytes}: {cell:?}");
            let chosen_s = cell.iter().find(|point| point.is_chosen).unwrap().predicted_s;
            assert!(cell.iter().all(|point| point.predicted_s >= chosen_s), "the cheapest: {cell:?}");
        }
        hidden += overlap::sizes(operation, &points).len();
    }
    assert_eq!(hidden, 3);
    let alltoall = plan::algorithms(&[Collective::Alltoall], None).unwrap();
    assert_eq!(alltoall[&Collective::Alltoall], ["pairwise/1", "pairwise/0", "bruck", "serial"]);
}

#[test]
fn sizes_are_left_out_where_time_is_short() {
    let broadcast = plan::algorithms(&[Collective::Broadcast], None).unwrap();
    let plan = |seconds| plan::plans(broadcast.clone(), None, (seconds, 1), None).remove(0);
    let slow = CostModel::ethernet_1994();
    let sizes = |seconds| plan::grid(&plan(seconds), 8, &mut Prices::new(slow)).len() / 4;
    assert_eq!((sizes(0.01), sizes(1e6)), (1, 7), "the shortest in any case");
    assert!((2..7).contains(&sizes(20.0)), "{}", sizes(20.0));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_operation_has_a_plan_and_its_share_of_the_time() {
    let [gather, broadcast] = [names(&["simple", "binomial"]), names(&["chain"])];
    let algorithms = [(Collective::Gather, gather.clone()), (Collective::Broadcast, broadcast.clone())];
    let plans = plan::plans(algorithms.into(), Some(&[8]), (12.0, 2), Some(4));
    let part = |operation, algorithms| Plan {
        operation,
        algorithms,
        bytes: Some(vec![8]),
        seconds: 3.0,
        repeats_min: Some(4),
    };
    assert_eq!(plans, [part(Collective::Broadcast, broadcast), part(Collective::Gather, gather)]);
}

#[test]
fn algorithms_are_found_in_every_operation_that_has_them() {
    let operations = [Collective::Broadcast, Collective::Gather];
    let chosen = |wanted: &[&str]| plan::algorithms(&operations, Some(&names(wanted)));
    let expected =
        [(Collective::Broadcast, names(&["binomial"])), (Collective::Gather, names(&["binomial", "windowed/2"]))];
    assert_eq!(chosen(&["binomial", "windowed/2", "binomial"]), Ok(expected.into()));
    let error = chosen(&["ring"]).unwrap_err();
    assert!(error.contains("\"ring\"") && error.contains("granted"), "{error}");
}
