//! Rounds worked out by hand, through the analysis to JSON and text; the grid by prices known beforehand.

use crate::launch::link::LinkSpec;
use crate::report::WIDTH;
use crate::report::text::text;
use lathide::Collective;
use lathide::CostModel;
use lathide::launcher::collective::Prices;

use super::overlap;
use super::plan::{self, Event, Hidden, Parameters, Plan, Point, Times, Variant};
use super::results::{Heard, Outcome, results};
use crate::commands::common::console::describe;

fn variant(operation: Collective, algorithm: &str) -> Variant {
    Variant { operation, algorithm: algorithm.to_owned() }
}

fn point(operation: Collective, algorithm: &str, bytes: u64, predicted_s: f64, is_chosen: bool) -> Point {
    Point { variant: variant(operation, algorithm), bytes, predicted_s, is_chosen }
}

/// Four ranks: of two sizes of a broadcast the choice is good for one; a barrier; an allgather without its choice.
fn heard() -> Heard {
    let mut events = Vec::new();
    let operation = Collective::Broadcast;
    let parameters =
        Parameters { operation, ranks: 4, a_s: 1e-4, b_s_per_byte: 1e-8, overhead_s: 1e-5, is_fitted: true };
    events.push(Event::Parameters(parameters));
    events.push(Event::Grid(vec![
        point(Collective::Broadcast, "serial", 8, 1.0e-3, true),
        point(Collective::Broadcast, "chain", 8, 3.0e-3, false),
        point(Collective::Broadcast, "serial", 65_536, 9.0e-3, false),
        point(Collective::Broadcast, "chain", 65_536, 4.0e-3, true),
        point(Collective::Barrier, "dissemination", 0, 1.0e-3, true),
        point(Collective::Allgather, "ring", 65_536, 2.0e-3, false),
    ]));
    for slower in [1.0, 1.5, 1.0, 0.5, 1.0] {
        events.push(Event::Round([1.05e-3, 1.0e-3, 1.0e-2, 1.2e-2, 2.0e-3, 2.0e-3].map(|time| slower * time).to_vec()));
    }
    for total_s in [1.2e-2, 1.3e-2, 2.2e-2] {
        let collective = Times { calc_s: 1.2e-2, com_s: 1.0e-2, total_s };
        let messages = Times { total_s: total_s - 1.0e-3, ..collective };
        let (operation, bytes) = (Collective::Broadcast, 65_536);
        events.push(Event::Hidden(Hidden { operation, bytes, collective, messages }));
    }
    Heard::of(events)
}

fn outcome(background_load: Option<f64>) -> Outcome {
    Outcome::new(describe(&LinkSpec::default()), &[heard()], background_load).unwrap()
}

#[test]
fn errors_choice_and_overlap_are_those_worked_out_by_hand() {
    let outcome = outcome(None);
    assert_eq!((outcome.repeats, outcome.points.len()), (5, 6));
    let chain = outcome.points.iter().find(|point| point.algorithm == "chain" && point.bytes == 65_536).unwrap();
    let near = |left: f64, right: f64| assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    near(chain.measured_s.median, 1.2e-2);
    near(chain.measured_s.min, 0.6e-2);
    near(chain.measured_s.max, 1.8e-2);
    near(chain.over_fastest.unwrap(), 1.2);
    near(chain.error, 4.0 / 12.0 - 1.0);
    // Of 1/1.05 - 1, 3 - 1, 9/10 - 1 and 4/12 - 1.
    let errors = |of| outcome.errors.iter().find(|errors| errors.operation == of).unwrap();
    let broadcast = errors(Collective::Broadcast);
    near(broadcast.median, (0.1 + 8.0 / 12.0) / 2.0);
    near(broadcast.p90, 2.0);
    near(errors(Collective::Barrier).p90, 0.5);
    // Serial takes 1.05 of chain's time with 8 bytes, chain 1.2 of serial's with more. Nothing else has a choice.
    assert_eq!((outcome.choice.points, outcome.choice.good, outcome.choice.share), (2, 1, Some(0.5)));
    let overlap = outcome.overlap[0];
    near(overlap.overlap.median, 0.9);
    near(overlap.overlap.min, 0.0);
    near(overlap.overlap.max, 1.0);
    near(overlap.messages_overlap.median, 1.0);
    near(overlap.messages_overlap.min, 0.1);
    near(overlap.messages_overlap.max, 1.1);
}

#[test]
fn json_has_what_the_manual_promises() {
    let json = serde_json::to_value(outcome(Some(0.1)).results()).unwrap();
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
    assert_eq!((&parameters["operation"], &parameters["a_s"]), (&"broadcast".into(), &1e-4.into()));
    assert_eq!((&json["schema"], &json["link"]["spec"]), (&"lathide-collectives-2".into(), &"loopback".into()));
    assert!(json["machine"]["cores"].is_u64() && json["overlap"][0]["overlap"].is_f64(), "{json}");
}

#[test]
fn text_fits_the_terminal_and_says_what_matters() {
    let shown = text(&outcome(Some(0.4)).results(), false);
    assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "too wide:\n{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "broadcast. 4 ranks: a = 100 us (10 us of processor at each end), b = 10 ns per byte, fitted. ranks",
        "4 64 KiB chain 12.0 6.00 .. 18.0 4.00 -67 <- 1.20",
        "broadcast 4 64 KiB 12.0 10.0 13.0 90 0 .. 100 100 10 .. 110",
        "broadcast 4 38 200",
        "the fastest or within 10 % of it in 1 of 2 cases (50 %)",
        "Other programs had 40 %",
        "4 ranks; curves: predicted",
    ] {
        assert!(words.contains(part), "{part} is missing:\n{shown}");
    }
    assert!(text(&outcome(None).results(), true).contains("\x1b["), "colour where it is wanted");
    let over = |spec: &str| {
        let shown = text(&results(describe(&spec.parse().unwrap()), &[heard()], None).unwrap(), false);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (spec, has_paths) in [("delay=1ms", true), ("loopback", false), ("ethernet", false)] {
        assert_eq!(over(spec).contains("Prices are of ranks with one port each"), has_paths, "{spec}");
    }
}

#[test]
fn nothing_measured_is_no_result() {
    assert_eq!(Outcome::new(describe(&LinkSpec::default()), &[], None), None);
    assert_eq!(Outcome::new(describe(&LinkSpec::default()), &[Heard::default()], None), None);
}

#[test]
fn the_grid_has_a_price_for_every_algorithm_and_one_choice_each() {
    let variants: Vec<Variant> = Collective::ALL.into_iter().flat_map(plan::variants).collect();
    let wanted = Plan { variants: variants.clone(), bytes: Some(vec![3, 65_536]), seconds: 1.0 };
    let points = plan::grid(&wanted, 4, &mut Prices::new(CostModel::lan()));
    // A barrier has no size.
    assert_eq!(points.len(), 2 * variants.len() - 1);
    for operation in Collective::ALL {
        for bytes in points.iter().filter(|point| point.variant.operation == operation).map(|point| point.bytes) {
            let cell: Vec<&Point> =
                points.iter().filter(|point| point.variant.operation == operation && point.bytes == bytes).collect();
            assert_eq!(cell.iter().filter(|point| point.is_chosen).count(), 1, "{operation} of {bytes}: {cell:?}");
            let chosen_s = cell.iter().find(|point| point.is_chosen).unwrap().predicted_s;
            assert!(cell.iter().all(|point| point.predicted_s >= chosen_s), "the cheapest: {cell:?}");
        }
    }
    // A reduction's elements have 8 bytes.
    assert!(points.iter().any(|point| point.variant == variant(Collective::Reduce, "binary") && point.bytes == 8));
    assert_eq!(overlap::cases(&points).len(), 3);
    let windows: Vec<String> =
        plan::variants(Collective::Alltoall).into_iter().map(|variant| variant.algorithm).collect();
    assert_eq!(windows, ["pairwise/1", "pairwise/0"]);
}

#[test]
fn sizes_are_left_out_where_time_is_short() {
    let plan = |seconds| Plan { variants: plan::variants(Collective::Broadcast), bytes: None, seconds };
    let slow = CostModel::ethernet_1994();
    let sizes = |seconds| plan::grid(&plan(seconds), 8, &mut Prices::new(slow)).len() / 4;
    assert_eq!((sizes(0.01), sizes(1e6)), (1, 7), "the shortest in any case");
    assert!((2..7).contains(&sizes(20.0)), "{}", sizes(20.0));
}

#[test]
fn every_operation_has_a_plan_and_its_share_of_the_time() {
    let variants = vec![
        variant(Collective::Gather, "simple"),
        variant(Collective::Broadcast, "chain"),
        variant(Collective::Gather, "binomial"),
    ];
    let plans = Plan { variants: variants.clone(), bytes: Some(vec![8]), seconds: 12.0 }.by_operation(2);
    let part = |variants: Vec<Variant>| Plan { variants, bytes: Some(vec![8]), seconds: 3.0 };
    assert_eq!(plans, [part(vec![variants[1].clone()]), part(vec![variants[0].clone(), variants[2].clone()])]);
}

#[test]
fn algorithms_are_found_in_every_operation_that_has_them() {
    let operations = [Collective::Broadcast, Collective::Gather];
    let all: Vec<Variant> = operations.into_iter().flat_map(plan::variants).collect();
    let chosen = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        plan::chosen_variants(&operations, &all, &names)
    };
    let expected = vec![
        variant(Collective::Broadcast, "binomial"),
        variant(Collective::Gather, "binomial"),
        variant(Collective::Gather, "windowed/2"),
    ];
    assert_eq!(chosen(&["binomial", "windowed/2", "binomial"]), Ok(expected));
    let error = chosen(&["ring"]).unwrap_err();
    assert!(error.contains("\"ring\"") && error.contains("granted"), "{error}");
}
