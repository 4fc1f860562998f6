//! Regions, entered and left by hand.

use super::counts::SIZES_MAX;
use super::*;
use crate::engine::OpId;
use crate::observe::phases::Phases;
use crate::observe::sends::Sends;

const PEER: Rank = Rank(1);

/// A node with one thread.
#[derive(Default)]
struct One {
    regions: Regions,
    phases: Phases,
}

impl One {
    fn own(&self, now_ns: u64) -> Own {
        let moment = Moment { now_ns, kernel_ns: Some(now_ns / 10) };
        Own { thread: crate::observe::thread_number(), sums: self.phases.own(now_ns), moment }
    }

    fn enter(&self, node: u64, name: &str, now_ns: u64) -> Visit {
        self.regions.enter(node, name, &self.own(now_ns))
    }

    fn leave(&self, visit: &Visit, now_ns: u64) {
        Regions::leave(visit, &self.own(now_ns));
    }

    fn visited(&self, counts: &Counts, now_ns: u64) -> Visited {
        self.regions.visited(counts.clone(), &self.own(now_ns))
    }
}

fn reports(visited: &Visited) -> Vec<&RegionReport> {
    visited.named.iter().map(|one| &one.report).collect()
}

fn sizes(of: &[RegionMessages]) -> Vec<(u64, u64)> {
    of.iter().map(|sized| (sized.bytes, sized.messages)).collect()
}

/// Messages of a region and those inside of it: out, in.
fn through(visited: &OneVisited) -> [u64; 2] {
    let all = |way: usize| visited.traffic.iter().flat_map(move |(_, traffic)| traffic[way]);
    [0, 1].map(|way| all(way).map(|count| count.messages).sum())
}

#[test]
fn messages_belong_to_the_innermost_region_of_their_node() {
    let (one, mut counts) = (One::default(), Counts::default());
    counts.sends(OpId(90), current(7), (PEER, 1), 0);
    let outer = one.enter(7, "solve", 0);
    counts.sends(OpId(91), current(7), (PEER, 100), 0);
    assert_eq!(current(8), None, "another node's");
    let inner = one.enter(7, "halo", 10);
    counts.sends(OpId(92), current(7), (PEER, 8), 20);
    counts.begins(OpId(1), current(7), 12);
    let in_halo = current(7);
    one.leave(&inner, 30);
    counts.sends(OpId(91), current(7), (PEER, 100), 0);
    one.leave(&outer, 100);
    assert_eq!(current(7), None);
    assert_eq!(counts.ends(OpId(1)), in_halo.map(|place| (place, 12)));
    counts.receives(in_halo, (PEER, 64), Some(40));
    counts.receives(in_halo, (Rank(2), 64), None);
    assert_eq!(counts.ends(OpId(1)), None);
    let visited = one.visited(&counts, 200);
    let [solve, halo] = &reports(&visited)[..] else { panic!("two") };
    assert_eq!([&*solve.name, &*halo.name], ["solve", "halo"]);
    assert_eq!((sizes(&solve.sent), sizes(&solve.received)), (vec![(100, 2)], vec![]));
    assert_eq!((sizes(&halo.sent), sizes(&halo.received)), (vec![(8, 1)], vec![(64, 2)]));
    assert_eq!((halo.entered, halo.within_s, halo.elapsed_s), (1, seconds(20), seconds(20)));
    assert_eq!((halo.received[0].timed, halo.received[0].time_s), (1, Some(seconds(40))));
    assert_eq!((halo.sent[0].timed, halo.sent[0].time_s), (0, None), "not asked for");
    // For times, what is inside belongs to what is around.
    assert_eq!(visited.named.iter().map(through).collect::<Vec<_>>(), [[3, 2], [1, 2]]);
    assert_eq!(visited.named[0].traffic.iter().map(|(peer, _)| peer.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn times_within_a_region_are_told_apart() {
    let one = One::default();
    one.phases.begins(0);
    let solve = one.enter(7, "solve", 1_000);
    one.phases.enters(1_600);
    one.phases.leaves_wait(1_600, 1_900, 250);
    let again = one.enter(7, "solve", 2_000);
    one.leave(&again, 2_100);
    one.leave(&solve, 2_400);
    // Afterwards it waits for long.
    one.phases.enters(2_500);
    one.phases.leaves_wait(2_500, 9_500, u64::MAX);
    let visited = one.visited(&Counts::default(), 10_000);
    let OneVisited { report, times, kernel_s, .. } = &visited.named[0];
    let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
    assert_eq!([times.calc_s, times.wait_s, times.exposed_s].map(nanoseconds), [1_100, 300, 250]);
    let whole = [report.elapsed_s, report.within_s, report.in_calls_s, kernel_s.unwrap()].map(nanoseconds);
    assert_eq!((whole, report.entered), ([1_400, 1_400, 300, 140], 2), "entered within itself, it counts once");
    assert_eq!(visited.counted.map(|counted| counted.report), Some(report.clone()));
}

#[test]
fn a_region_that_is_not_over_counts_until_now() {
    let one = One::default();
    one.phases.begins(0);
    let _solve = one.enter(7, "solve", 1_000);
    let report = |now_ns| one.visited(&Counts::default(), now_ns).named[0].report.clone();
    assert_eq!((report(1_500).within_s, report(1_500).elapsed_s), (seconds(500), seconds(500)));
    assert_eq!(report(4_000).within_s, seconds(3_000), "asking changes nothing");
}

#[test]
fn what_counts_is_solve_or_else_all_that_is_work() {
    let (one, mut counts) = (One::default(), Counts::default());
    let mut visit = |name: &str, inside: Option<&str>, at: u64| {
        let outer = one.enter(7, name, at);
        let inner = inside.map(|name| one.enter(7, name, at + 10));
        counts.sends(OpId(at), current(7), (PEER, 8), at);
        inner.iter().for_each(|inner| one.leave(inner, at + 20));
        one.leave(&outer, at + 100);
    };
    visit("setup", None, 0);
    visit("sweep", Some("halo"), 1_000);
    visit("sums", None, 2_000);
    visit("check", Some("halo"), 3_000);
    let counted = one.visited(&counts, 9_000).counted.expect("some count");
    assert_eq!((&*counted.report.name, counted.report.within_s), ("sweep, halo, sums", seconds(210)));
    assert_eq!((through(&counted), counted.report.sent.len()), ([3, 0], 0), "not in setup");
    one.leave(&one.enter(7, "solve", 5_000), 5_001);
    assert_eq!(&*one.visited(&counts, 9_000).counted.expect("it").report.name, "solve");
    let idle = One::default();
    idle.leave(&idle.enter(8, "setup", 0), 1);
    assert!(idle.visited(&Counts::default(), 9).counted.is_none());
}

#[test]
fn sending_times_are_those_of_their_region() {
    let (one, mut counts) = (One::default(), Counts::new(Some(Sends::new(2))));
    let mut end = 0;
    for op in 0..4u64 {
        let visit = (op != 1).then(|| one.enter(9, "edges", 0));
        counts.sends(OpId(op), current(9), (PEER, 100), 1_000_000 * (op / 2));
        end += 100;
        counts.sends_mut().expect("timed").hands_over(OpId(op), 1, end);
        counts.sends_mut().expect("timed").leaves(1, end as u32 - 1, 1_000_000 * (op / 2) + 30_000 * (op % 2 + 1));
        visit.iter().for_each(|visit| one.leave(visit, 0));
    }
    let visited = one.visited(&counts, 0);
    let edges = reports(&visited)[0];
    assert_eq!((edges.sent[0].timed, edges.sent[0].time_s), (3, Some(seconds(90_000))));
    assert_eq!(edges.sending, [[0.0, 30e-6], [1e-3, 1.06e-3]]);
}

#[test]
fn names_and_sizes_without_end_take_bounded_room() {
    let (one, mut counts) = (One::default(), Counts::default());
    for number in 0..1000u64 {
        let visit = one.enter(1, &number.to_string(), 0);
        (0..1000).for_each(|bytes| counts.sends(OpId(bytes), current(1), (PEER, bytes), 0));
        one.leave(&visit, 0);
    }
    let visited = one.visited(&counts, 0);
    let reports = reports(&visited);
    assert_eq!((reports.len(), &*reports[REGIONS_MAX].name), (REGIONS_MAX + 1, OTHERS));
    assert!(reports.iter().all(|report| report.sent.len() <= SIZES_MAX));
    let all = |report: &RegionReport| report.sent.iter().map(|sized| sized.messages).sum::<u64>();
    assert_eq!(reports.iter().map(|report| all(report)).sum::<u64>(), 1_000_000);
    let counted = visited.counted.expect("all of them");
    assert_eq!((through(&counted)[0], &*counted.report.name), (1_000_000, "0, 1, 2 and 62 others"));
}
