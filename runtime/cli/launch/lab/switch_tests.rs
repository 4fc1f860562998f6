//! What holds for every network and every order of events.

use std::num::NonZeroU64;
use std::ops::Range;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn cable(delay_ns: u64, rate: u64) -> Cable {
    Cable { delay: Some(Duration::from_nanos(delay_ns)), rate: NonZeroU64::new(rate), ..Cable::default() }
}

fn packet(bytes: u64) -> Count {
    Count { packets: 1, bytes }
}

/// All arrivals until everything is quiet: time, receiver, load; looked at exactly when they happen.
fn arrivals<T: Default>(switch: &mut Switch<T>) -> Vec<(u64, usize, T)> {
    let mut arrivals = Vec::new();
    while let Some((at_ns, ..)) = switch.next() {
        while let Some((to, load)) = switch.receive(at_ns) {
            arrivals.push((at_ns, to, load));
        }
    }
    arrivals
}

#[test]
fn a_lone_packet_takes_the_delay_and_one_passing_time() {
    // 1500 bytes at 50 Mbit/s: 240 us.
    let mut switch = Switch::new(2, cable(25 * MS, 50_000_000), false, 0);
    switch.send(7..=7, 0, Some(1), packet(1500), 'a');
    assert_eq!(switch.wakes_ns(), Some(7 + 25 * MS));
    assert_eq!(arrivals(&mut switch), [(7 + 25 * MS + 240_000, 1, 'a')]);
    // The slower of two cables counts.
    switch.host(30 * MS, 1).cable.rate = NonZeroU64::new(5_000_000);
    switch.send(30 * MS..=30 * MS, 0, Some(1), packet(1500), 'b');
    switch.send(30 * MS..=30 * MS, 1, Some(0), packet(1500), 'c');
    assert_eq!(arrivals(&mut switch), [(57_400_000, 0, 'c'), (57_400_000, 1, 'b')]);
}

#[test]
fn one_after_the_other_at_the_rate() {
    let mut switch = Switch::new(2, cable(MS, 8_000_000_000), false, 0);
    (0..3).for_each(|i| switch.send(0..=0, 0, Some(1), packet(1000), i));
    assert_eq!(arrivals(&mut switch), [(MS + 1000, 1, 0), (MS + 2000, 1, 1), (MS + 3000, 1, 2)]);
}

#[test]
fn packets_that_are_fetched_together_pass_as_if_sent_without_a_pause() {
    // 1250 bytes at 50 Mbit/s: 200 us.
    let mut switch = Switch::new(2, cable(25 * MS, 50_000_000), false, 0);
    let fetch = |switch: &mut Switch<_>, between: RangeInclusive<u64>, loads: Range<usize>| {
        loads.for_each(|load| switch.send(between.clone(), 0, Some(1), packet(1250), load));
    };
    fetch(&mut switch, 0..=MS, 0..6);
    // The cable was busy until 1.2 ms.
    fetch(&mut switch, MS..=2 * MS, 6..8);
    // Idle since 1.6 ms.
    fetch(&mut switch, 3 * MS..=4 * MS, 8..9);
    let sent_us = [0, 200, 400, 600, 800, 1000, 1200, 1400, 3000];
    let expected = sent_us.map(|us| us * 1000 + 25 * MS + 200_000);
    assert_eq!(arrivals(&mut switch).into_iter().map(|(at_ns, ..)| at_ns).collect::<Vec<_>>(), expected);
}

#[test]
fn many_senders_fill_the_queue_to_one() {
    let cable = Cable { queue: Some(2000), ..cable(0, 8_000_000_000) };
    let mut switch = Switch::new(6, cable, false, 0);
    (1..6).for_each(|from| switch.send(0..=0, from, Some(0), packet(1000), from));
    // One passes, two wait, two find no room.
    assert_eq!(arrivals(&mut switch), [(1000, 0, 1), (2000, 0, 2), (3000, 0, 3)]);
    assert_eq!(switch.hosts[0].down.traffic.dropped, Count { packets: 2, bytes: 2000 });
    assert_eq!(switch.hosts[0].down.traffic.passed, Count { packets: 3, bytes: 3000 });
}

#[test]
fn a_shared_medium_has_one_packet_at_a_time_and_turns() {
    let mut switch = Switch::new(4, cable(10, 8_000_000_000), true, 0);
    for from in 0..2 {
        (0..2).for_each(|i| switch.send(0..=0, from, Some(from + 2), packet(1000), (from, i)));
    }
    // Both ways too.
    switch.send(0..=0, 2, Some(0), packet(500), (2, 0));
    let expected = [(1010, 2, (0, 0)), (2010, 3, (1, 0)), (2510, 0, (2, 0)), (3510, 2, (0, 1)), (4510, 3, (1, 1))];
    assert_eq!(arrivals(&mut switch), expected);
}

#[test]
fn a_cut_cable_loses_all_and_is_mended() {
    let mut switch = Switch::new(3, cable(10 * MS, 1_000_000), false, 0);
    (0..3).for_each(|i| switch.send(0..=0, 0, Some(1), packet(1000), i));
    switch.send(0..=0, 2, Some(1), packet(1000), 9);
    switch.host(MS, 0).cut();
    switch.send(2 * MS..=2 * MS, 0, Some(1), packet(1000), 3);
    switch.send(2 * MS..=2 * MS, 1, Some(0), packet(1000), 4);
    assert_eq!(arrivals(&mut switch).into_iter().map(|(_, to, load)| (to, load)).collect::<Vec<_>>(), [(1, 9)]);
    assert_eq!(switch.hosts[0].up.traffic.cut.packets + switch.hosts[0].down.traffic.cut.packets, 5);
    assert!(switch.hosts[0].is_cut && !switch.hosts[1].is_cut);
    switch.host(60 * MS, 0).is_cut = false;
    switch.send(60 * MS..=60 * MS, 0, Some(1), packet(1000), 5);
    assert_eq!(arrivals(&mut switch), [(78 * MS, 1, 5)]);
}

#[test]
fn what_is_on_its_way_is_bounded() {
    let mut switch = Switch::new(2, cable(60_000 * MS, 0), false, 0);
    let sent = 2 * FLYING_BYTES_MAX / 1500;
    (0..sent).for_each(|i| switch.send(i..=i, 0, Some(1), packet(1500), ()));
    let arrived = arrivals(&mut switch).len() as u64;
    assert!((FLYING_BYTES_MAX / 1500..FLYING_BYTES_MAX / 1500 + 3).contains(&arrived), "{arrived}");
    assert_eq!(switch.hosts[0].up.traffic.dropped.packets + arrived, sent);
    assert_eq!((switch.hosts[0].up.flying_bytes, switch.hosts[1].down.flying_bytes), (0, 0));
}

#[test]
fn a_host_is_not_its_own_neighbour() {
    let mut switch = Switch::new(2, Cable::default(), false, 0);
    switch.send(0..=0, 0, Some(0), packet(10), ());
    switch.send(0..=0, 0, None, packet(20), ());
    assert_eq!(switch.hosts[0].up.traffic.stray, Count { packets: 2, bytes: 30 });
    assert_eq!((switch.receive(u64::MAX), switch.wakes_ns()), (None, None));
}

#[test]
fn losses_are_as_many_as_asked_for() {
    let mut switch = Switch::new(2, Cable { loss: Some(0.1), ..Cable::default() }, false, 1);
    (0..20_000).for_each(|i| switch.send(i..=i, 0, Some(1), packet(100), ()));
    // The standard deviation is 42.
    assert!((17_700..18_300).contains(&arrivals(&mut switch).len()));
}

/// A network and what its hosts send: after how many ns, from, to, bytes.
#[derive(Clone, Debug)]
struct Run {
    hosts: usize,
    cable: Cable,
    shared: bool,
    sends: Vec<(u64, usize, usize, u64)>,
}

fn run() -> impl Strategy<Value = Run> {
    let rate = prop_oneof![Just(0), 1_000_000..2_000_000_000u64];
    let cable =
        (0..3 * MS, rate, 0..20_000u64, prop_oneof![Just(0.0), 0.0..0.5]).prop_map(|(delay_ns, rate, queue, loss)| {
            Cable { loss: Some(loss), queue: Some(queue), ..cable(delay_ns, rate) }
        });
    (2..5usize, cable, any::<bool>()).prop_flat_map(|(hosts, cable, shared)| {
        let send = (0..400_000u64, 0..hosts, 0..hosts, 20..1500u64);
        let sends = proptest::collection::vec(send, 1..120);
        sends.prop_map(move |sends| Run { hosts, cable, shared, sends })
    })
}

type Arrivals = Vec<(u64, usize, (usize, usize, u64))>;

/// Sends everything; looks whenever `wakes_ns` says so if `lazy`, and otherwise at every event.
fn play(run: &Run, lazy: bool) -> (Switch<(usize, usize, u64)>, Arrivals) {
    let mut switch = Switch::new(run.hosts, run.cable, run.shared, 3);
    let (mut now_ns, mut arrived) = (0, Vec::new());
    let mut look = |switch: &mut Switch<_>, until_ns: u64| {
        while let Some(at_ns) = if lazy { switch.wakes_ns() } else { switch.next().map(|(at_ns, ..)| at_ns) }
            && at_ns <= until_ns
        {
            while let Some((to, load)) = switch.receive(at_ns) {
                arrived.push((at_ns, to, load));
            }
        }
    };
    for (index, &(after_ns, from, to, bytes)) in run.sends.iter().enumerate() {
        now_ns += after_ns;
        look(&mut switch, now_ns);
        switch.send(now_ns..=now_ns, from, Some(to), packet(bytes), (from, index, bytes));
        let waiting = &switch.hosts[from].up;
        assert!(waiting.waiting_bytes <= run.cable.queue_bytes() || waiting.waiting.len() == 1);
        assert_eq!(waiting.waiting_bytes, waiting.waiting.iter().map(|packet| packet.count.bytes).sum::<u64>());
    }
    look(&mut switch, u64::MAX);
    (switch, arrived)
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn every_packet_arrives_or_is_counted(run in run()) {
        let (switch, arrived) = play(&run, false);
        let (mut sent, mut ended) = (Count::default(), Count::default());
        run.sends.iter().for_each(|&(.., bytes)| sent += packet(bytes));
        arrived.iter().for_each(|&(_, _, (_, _, bytes))| ended += packet(bytes));
        for host in 0..run.hosts {
            let (up, down) = (switch.hosts[host].up.traffic, switch.hosts[host].down.traffic);
            for lost in [up.dropped, up.lost, up.cut, up.stray, down.dropped, down.lost, down.cut] {
                ended += lost;
            }
            prop_assert_eq!(down.passed.packets, arrived.iter().filter(|&&(_, to, _)| to == host).count() as u64);
            if run.cable.loss() == 0.0 {
                prop_assert_eq!(up.lost.packets + down.lost.packets, 0);
            }
        }
        prop_assert_eq!(sent, ended);
    }

    #[test]
    fn the_order_of_each_pair_is_kept(run in run()) {
        let (_, arrived) = play(&run, false);
        for from in 0..run.hosts {
            for to in 0..run.hosts {
                let of_pair = arrived.iter().filter(|&&(_, at, (by, ..))| at == to && by == from);
                let order: Vec<usize> = of_pair.map(|&(_, _, (_, index, _))| index).collect();
                prop_assert!(order.is_sorted(), "{from} to {to}: {order:?}");
            }
        }
    }

    #[test]
    fn the_rate_is_never_exceeded_and_the_delay_never_undercut(run in run()) {
        let (_, arrived) = play(&run, false);
        let sent_ns: Vec<u64> = run.sends.iter().scan(0, |now, &(after, ..)| { *now += after; Some(*now) }).collect();
        let least_ns = |index: usize, bytes| sent_ns[index] + 2 * run.cable.half_delay_ns() + run.cable.passing_ns(bytes);
        for &(at_ns, _, (_, index, bytes)) in &arrived {
            prop_assert!(at_ns >= least_ns(index, bytes));
        }
        for host in 0..run.hosts {
            let of_host: Vec<_> = arrived.iter().filter(|&&(_, to, _)| run.shared || to == host).collect();
            for pair in of_host.windows(2) {
                let (before, (after_ns, _, (_, _, bytes))) = (pair[0].0, *pair[1]);
                prop_assert!(after_ns - before >= run.cable.passing_ns(bytes), "{pair:?}");
            }
        }
    }

    #[test]
    fn to_look_as_late_as_allowed_changes_nothing(run in run()) {
        let ((eager, arrived), (lazy, late)) = (play(&run, false), play(&run, true));
        prop_assert_eq!(arrived.len(), late.len());
        // At the same time, the order among receivers is arbitrary.
        let sorted = |mut arrivals: Arrivals| { arrivals.sort_unstable(); arrivals };
        prop_assert_eq!(sorted(arrived), sorted(late));
        for host in 0..run.hosts {
            prop_assert_eq!(eager.hosts[host].up.traffic, lazy.hosts[host].up.traffic);
            prop_assert_eq!(eager.hosts[host].down.traffic, lazy.hosts[host].down.traffic);
        }
    }
}
