use serde_json::{Value, json};

use super::*;
use crate::commands::common::inventory::reports::read;
use crate::commands::common::inventory::reports::tests::rank;

fn inventory(reports: Value, per: Option<&str>) -> Result<Inventory, String> {
    Inventory::of(&read(&reports).expect("reports"), per)
}

#[test]
fn a_class_is_per_unit_and_rank_that_sends() {
    let (mut first, second, mut third) = (rank(0, 3), rank(1, 3), rank(2, 3));
    first["regions"][1]["sent"] = json!([
        {"bytes": 1000, "messages": 20, "timed": 20, "time_s": 0.2},
        {"bytes": 8, "messages": 40, "timed": 10, "time_s": 0.1},
    ]);
    third["regions"][1]["sent"] = json!([]);
    let all = inventory(json!([first, second, third]), None).unwrap();
    assert_eq!((all.per.as_deref(), all.units, all.ranks), (Some("iteration"), 10, 3));
    assert_eq!((all.unit_s, all.outside_and_inside_s), (Some(0.2), Some([0.15, 0.05])));
    assert_eq!(all.classes.len(), 1, "no messages were posted in iteration itself: {all:?}");
    let halo = &all.classes[0];
    assert_eq!((halo.name.as_str(), halo.sent.ranks, halo.received.ranks), ("halo", 2, 3));
    let messages = [Messages { bytes: 8.0, count: 2.0 }, Messages { bytes: 1000.0, count: 2.0 }];
    assert_eq!(halo.sent.messages, messages);
    // 0.2 and 0.2 s, and four times 0.1 s: in ten units of two ranks.
    assert!((halo.sent.measured_s.unwrap() - 0.04).abs() < 1e-15);
    assert_eq!(halo.sent.busiest, Some((0, [6.0, 2032.0])));
    assert!((halo.received.measured_s.unwrap() - 0.04).abs() < 1e-15);
    assert_eq!(halo.sent.count(), [4.0, 2016.0]);
    // 20 visits of each: 80 messages are sent by two ranks, 60 are received by three.
    assert_eq!((halo.sent.at_once, halo.received.at_once), (2.0, 1.0));
    assert!(all.notes.is_empty());
}

#[test]
fn senders_are_counted_on_one_clock() {
    // The clock of rank 1 is half a second ahead of that of rank 0: 1.5 to 2.5 there is the same second.
    let (first, mut second) = (rank(0, 2), rank(1, 2));
    let senders = |reports: Value| inventory(reports, None).unwrap().classes[0].senders;
    let mut unlinked = first.clone();
    unlinked["links"] = json!([]);
    second["regions"][1]["sending"] = json!([[1.5, 2.5]]);
    assert_eq!(senders(json!([unlinked, second])), Some(2.0));
    second["links"] = json!([]);
    assert_eq!(senders(json!([unlinked, second])), None, "nobody knows its clock");
    let mut untimed = first.clone();
    untimed["regions"][1]["sending"] = json!([]);
    assert_eq!(senders(json!([untimed, rank(1, 2)])), None);
}

#[test]
fn what_was_not_timed_is_unknown() {
    let mut first = rank(0, 2);
    first["regions"][1]["sent"][0]["time_s"] = Value::Null;
    first["regions"][0]["in_calls_s"] = Value::Null;
    let all = inventory(json!([first, rank(1, 2)]), None).unwrap();
    assert_eq!((all.classes[0].sent.measured_s, all.outside_and_inside_s), (None, None));
    assert!(all.classes[0].received.measured_s.is_some());
}

#[test]
fn the_unit_is_named_or_usual_or_the_job() {
    let unit = |name: &str, per: Option<&str>| {
        let reports = [0, 1].map(|number| {
            let mut rank = rank(number, 2);
            rank["regions"][0]["name"] = json!(name);
            rank
        });
        inventory(json!(reports), per).map(|all| (all.unit().to_owned(), all.units))
    };
    assert_eq!(unit("cycle", None), Ok(("cycle".to_owned(), 10)));
    assert_eq!(unit("sweep", None), Ok(("job".to_owned(), 1)));
    assert_eq!(unit("sweep", Some("sweep")), Ok(("sweep".to_owned(), 10)));
    let said = unit("sweep", Some("cycle")).unwrap_err();
    assert!(said.contains("no region cycle") && said.contains("sweep, halo"), "{said}");
}

#[test]
fn what_has_no_classes_is_refused() {
    let said = inventory(json!([{"rank": 0, "size": 1}]), None).unwrap_err();
    assert!(said.contains("named no regions"), "{said}");
    let mut idle = rank(0, 1);
    idle["regions"][1]["sent"] = json!([]);
    idle["regions"][1]["received"] = json!([]);
    let said = inventory(json!([idle]), None).unwrap_err();
    assert!(said.contains("no messages") && said.contains("iteration, halo"), "{said}");
}

#[test]
fn unequal_ranks_are_noted() {
    let mut first = rank(0, 2);
    first["regions"][0]["entered"] = json!(9);
    let all = inventory(json!([first, rank(1, 2)]), None).unwrap();
    assert_eq!(all.units, 10);
    assert!(all.notes[0].contains("not all ranks were in iteration as often"), "{:?}", all.notes);
}
