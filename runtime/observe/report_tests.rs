//! Reports of links and phases made by hand.

use std::sync::Arc;

use super::*;
use crate::engine::Arrival;
use crate::observe::advice::Limit;
use crate::observe::closing;
use crate::observe::links::{CLASSES, Links, Typical};
use crate::wire::frame::Stamp;
use lathide_models::gain;

/// A peer 1 to which and from which `messages` of each size went, over a link of 100 us and 10 ns per byte.
fn links(sizes: &[(u64, u64)]) -> Vec<(Rank, Link)> {
    let mut links = Links::new(Arc::new(Typical::new(2)));
    let mut now = 1_000_000_000;
    let way = |bytes: u64| 100_000 + 10 * bytes;
    // The peer's clock is 5 ms behind; it has seen what takes 100 us the other way.
    let stamp = |sent: u64| Stamp { sent_ns: sent - 5_000_000, echo_ns: Some(100_000 - 5_000_000) };
    links.arrives(now + 100_000, &Arrival { peer: Rank(1), bytes: None, stamp: stamp(now), answers: 0 });
    for &(bytes, messages) in sizes {
        for _ in 0..messages {
            now += 10_000_000;
            links.posts(now, Rank(1), bytes);
            links.receives(Rank(1), bytes);
            let arrival = Arrival { peer: Rank(1), bytes: Some(bytes), stamp: stamp(now), answers: 0 };
            links.arrives(now + way(bytes), &arrival);
        }
    }
    links.iter().map(|(peer, link)| (peer, link.clone())).collect()
}

fn report(times: Times, links: &[(Rank, Link)]) -> Report {
    Report::new(&Facts {
        rank: Rank(0),
        size: 2,
        overlap: true,
        elapsed_s: 10.0,
        threads: 1,
        times,
        kernel_s: Some(0.02),
        links,
        regions: &Visited::default(),
    })
}

const TIMES: Times = Times { calc_s: 1.0, covered_s: 0.9, post_s: 0.03, wait_s: 0.4, exposed_s: 0.2 };

#[test]
fn a_report_by_hand() {
    let report = report(TIMES, &links(&[(100_000, 500)]));
    let close = |value: Option<f64>, wanted: f64| {
        let value = value.unwrap_or(f64::NAN);
        assert!((value / wanted - 1.0).abs() < 1e-3, "{value} is not {wanted}: {report:#?}");
    };
    close(report.t_com_s, 500.0 * 1.1e-3);
    close(report.gamma, 1.0 / 0.55);
    close(report.f, 0.9);
    close(report.omega, 0.05);
    close(report.hidden, 1.0 - 0.2 / 0.55);
    close(report.gain_observed, 1.55 / 1.23);
    close(report.gain_model, gain::with_overhead(0.55, 0.9, 0.05).unwrap());
    close(report.gain_ideal, 1.55);
    let link = &report.links[0];
    close(link.clock_offset_s, 5e-3);
    close(link.clock_error_s, 100e-6);
    assert_eq!((link.messages_sent, link.bytes_sent, link.messages_received), (500, 50_000_000, 500));
    assert_eq!(link.sizes.len(), 1);
    assert_eq!((link.sizes[0].bytes, link.sizes[0].samples), (100_000, 32));
    assert_eq!(link.hyperbolic, None);
    assert!(link.note.as_ref().unwrap().contains("do not tell a from b"), "{link}");
    let text = report.to_string();
    for word in ["gamma = t_calc/t_com = 1.8", "eq. (4)", "64 % of the communication was hidden", "500 messages"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
}

#[test]
fn sizes_apart_are_fitted_and_foretell_the_sizes_between() {
    let sizes = [(64, 20), (1000, 20), (10_000, 20), (100_000, 20), (1_000_000, 20)];
    let mut links = links(&sizes);
    let report = report(TIMES, &links);
    let fit = report.links[0].hyperbolic.unwrap();
    assert!((fit.a_s / 100e-6 - 1.0).abs() < 0.2 && (fit.b_s_per_byte / 10e-9 - 1.0).abs() < 0.1, "{fit:?}");
    assert!(fit.median_error.unwrap() < 0.15, "{fit:?}");
    assert!(report.links[0].note.is_none() && report.to_string().contains("eq. (3)"));
    let t_com_s = report.t_com_s.unwrap();
    // One more size, without samples, is priced by the fit.
    links[1].1.sent[super::super::links::class(400_000)] = Count { messages: 10_000, bytes: 4_000_000_000 };
    let more_s = super::tests::report(TIMES, &links).t_com_s.unwrap() - t_com_s;
    assert!((more_s / (10_000.0 * 4.1e-3) - 1.0).abs() < 0.1, "{more_s}");
}

#[test]
fn a_short_message_does_not_say_what_a_long_one_takes() {
    let mut links = links(&[(0, 20)]);
    let short_s = report(TIMES, &links).t_com_s.unwrap();
    links[1].1.sent[super::super::links::class(400_000)] = Count { messages: 1, bytes: 400_000 };
    let with_long_s = report(TIMES, &links).t_com_s.unwrap();
    assert!(with_long_s <= short_s + 100.0 * short_s / 20.0, "400 000 times what no bytes take: {with_long_s}");
    // Another link has shown it.
    let other = super::tests::links(&[(400_000, 20)]);
    links.push((Rank(2), other[1].1.clone()));
    let shown_s = report(TIMES, &links).t_com_s.unwrap() - report(TIMES, &other).t_com_s.unwrap();
    assert!((shown_s / (short_s + 4.1e-3) - 1.0).abs() < 0.3, "{shown_s}");
}

#[test]
fn what_is_not_known_is_said() {
    let nothing = report(TIMES, &[]);
    assert_eq!((nothing.t_com_s, nothing.gamma, nothing.advice.limit), (Some(0.0), None, Limit::Nothing));
    let mut links = Links::new(Arc::new(Typical::new(2)));
    links.posts(10, Rank(1), 8);
    let links: Vec<_> = links.iter().map(|(peer, link)| (peer, link.clone())).collect();
    let one_way = report(TIMES, &links);
    assert_eq!((one_way.t_com_s, one_way.hidden, one_way.advice.limit), (None, None, Limit::Unknown));
    assert!(one_way.to_string().contains("not known"), "{one_way}");
    let idle = report(Times::default(), &links);
    assert_eq!((idle.f, idle.omega, idle.gain_model), (None, None, None));
    let own = vec![(Rank(0), links[1].1.clone())];
    assert!(report(TIMES, &own).links.is_empty(), "a node's messages to itself pass no link");
}

#[test]
fn the_slower_direction_counts() {
    let mut links = links(&[(100_000, 100)]);
    let both_s = report(TIMES, &links).t_com_s.unwrap();
    links[1].1.received = [Count::default(); CLASSES];
    assert_eq!(report(TIMES, &links).t_com_s, Some(both_s), "out alone takes as long as both at once");
}

#[test]
fn cuts_are_told_where_there_were_some() {
    let mut links = Links::new(Arc::new(Typical::new(3)));
    links.posts(10, Rank(1), 8);
    let all = |links: &Links| links.iter().map(|(peer, link)| (peer, link.clone())).collect::<Vec<_>>();
    let quiet = report(TIMES, &all(&links));
    assert!(!quiet.to_string().contains("cut") && quiet.links.len() == 1, "{quiet}");
    links.is_damaged(Rank(1));
    links.goes_down(1_000_000_000, Rank(1));
    links.is_down_no_more(1_250_000_000, Rank(1));
    links.goes_down(9_500_000_000, Rank(1));
    // A link that has carried nothing, and adds no words about times that are not known.
    links.goes_down(2_000_000_000, Rank(2));
    links.is_down_no_more(2_001_000_000, Rank(2));
    let mut all = all(&links);
    all[1].1.downs.again = 777;
    let report = report(TIMES, &all);
    let [one, two] = &report.links[..] else { panic!("{report}") };
    assert_eq!((one.cuts, one.sent_again_bytes, two.cuts), (2, 777, 1));
    assert_eq!((one.wrong_checksums, two.wrong_checksums), (1, 0));
    assert!((one.down_s - 0.75).abs() < 1e-9 && (two.down_s - 1e-3).abs() < 1e-9, "the second is not over: {report:?}");
    let text = report.to_string();
    for words in [
        "; cut 2 times (1 by a wrong checksum), down for 750.000 ms, 777 bytes sent again",
        "; cut once, down for 1.000 ms, 0 bytes",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!((report.t_com_s, &report.notes), (quiet.t_com_s, &quiet.notes));
    assert!(closing(&[quiet], 3).iter().all(|line| !line.contains("cut")));
    let lines = closing(&[report], 3).join("\n");
    assert!(
        lines.contains("2 links were cut 3 times for 0.751 s in all, 777 bytes were sent again; ranks 0 and 1 2 times, for 0.750 s; 1 by a wrong checksum"),
        "{lines}"
    );
}

/// Files of versions that knew no cuts.
#[test]
fn reports_without_cuts_are_read() {
    let report = report(TIMES, &links(&[(64, 5)]));
    let mut json = serde_json::to_value(&report).unwrap();
    let link = json["links"][0].as_object_mut().unwrap();
    for name in ["cuts", "wrong_checksums", "down_s", "sent_again_bytes"] {
        assert!(link.remove(name).is_some(), "{name}");
    }
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}

#[test]
fn json_comes_back() {
    let report = report(TIMES, &links(&[(64, 20), (100_000, 5)]));
    let json = serde_json::to_string(&report).unwrap();
    let back: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(back.to_string(), report.to_string(), "{json}");
    assert_eq!((back.advice.limit, back.links.len()), (report.advice.limit, 1));
}
