//! Whatever goes in, no NaN and no infinity comes out; bad arguments are named.

use proptest::prelude::*;

use super::*;
use crate::property_support_tests::{anything, sane};

fn processors() -> impl Strategy<Value = u32> {
    prop_oneof![0..40u32, any::<u32>()]
}

fn packets() -> impl Strategy<Value = u64> {
    prop_oneof![0..4000u64, any::<u64>()]
}

fn line() -> impl Strategy<Value = Line> {
    (anything(), anything()).prop_map(|(startup, slope)| Line::new(startup, slope))
}

/// Costs of every form; such as are refused become a constant.
fn cost() -> impl Strategy<Value = Cost> {
    let lines = (proptest::collection::vec((anything(), line()), 0..3), line());
    let points = proptest::collection::vec((anything(), anything()), 0..4);
    prop_oneof![
        lines.prop_map(|(pieces, last)| Cost::pieces(&pieces, last)),
        points.prop_map(|mut points| {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Cost::measured(&points)
        }),
    ]
    .prop_map(|cost| cost.unwrap_or_else(|_| Cost::constant(1e-6).expect("valid")))
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let shared = (cost(), anything(), proptest::option::of(anything()));
    (proptest::collection::vec(cost(), 8), shared, anything()).prop_map(|(costs, shared, buffer_packets)| {
        let [send, send_gap, receive_gap, receive, user_receive, ctc, ctm, mtm]: [Cost; 8] =
            costs.try_into().expect("eight costs");
        let (alone, per_processor_s, aggregate_bytes_per_s) = shared;
        Parameters {
            send,
            send_gap,
            transfer: Transfer { alone, per_processor_s, aggregate_bytes_per_s },
            receive_gap,
            receive,
            user_receive,
            copy_cache_to_cache: ctc,
            copy_cache_to_memory: ctm,
            copy_memory_to_memory: mtm,
            buffer_packets,
        }
    })
}

fn packet() -> impl Strategy<Value = Packet> {
    proptest::collection::vec(anything(), 7).prop_map(|times| Packet {
        send_s: times[0],
        send_gap_s: times[1],
        transfer_s: times[2],
        receive_gap_s: times[3],
        receive_s: times[4],
        user_receive_s: times[5],
        copy_s: times[6],
    })
}

proptest! {
    #![proptest_config(crate::scale::cases(2000))]

    #[test]
    fn costs_are_numbers(cost in cost(), bytes in anything()) {
        sane(cost.at(bytes))?;
        prop_assert_eq!(cost.at(bytes).is_err_and(|error| error.name == "m"), !(bytes >= 0.0 && bytes.is_finite()));
    }

    #[test]
    fn every_time_of_a_cluster_is_a_number(
        parameters in parameters(), bytes in anything(), mtu in anything(), p in processors(), gap in anything(),
    ) {
        sane(parameters.transfer.at(bytes, p, gap))?;
        sane(parameters.broadcast_s(bytes, mtu, p))?;
        if let Ok(packet) = parameters.packet(bytes, p) {
            for time in [packet.send_s, packet.send_gap_s, packet.transfer_s, packet.receive_gap_s,
                         packet.receive_s, packet.user_receive_s, packet.copy_s] {
                sane(Ok(time))?;
            }
            sane(packet.one_way_s())?;
        }
        if let Ok(gather) = parameters.gather(bytes, mtu, p) {
            sane(Ok(gather.bound_s))?;
            prop_assert!((0.0..=1.0).contains(&gather.all_at_once_ratio));
            prop_assert!(gather.packets_each > 0 && gather.plan.window() > 0);
        }
    }

    #[test]
    fn every_time_of_a_packet_is_a_number(packet in packet(), p in processors(), k in packets()) {
        sane(packet.one_way_s())?;
        sane(packet.ping_pong_s())?;
        sane(packet.gather_bound_s(p, k))?;
        sane(broadcast_s(k, p, &packet))?;
        sane(broadcast_postal_s(k, p, packet.send_gap_s, packet.transfer_s))?;
    }

    #[test]
    fn every_quantity_of_gather_is_a_number(
        p in processors(), i in packets(), a in anything(), b in anything(), c in anything(), w in processors(), j in processors(),
    ) {
        sane(fill_time_s(a, b, c).map(Option::unwrap_or_default))?;
        sane(transfer_ratio(a, b, c, i))?;
        sane(gather_bound_s(p, i, a, b, c))?;
        let bounds = lower_bound(a, b).and_then(|lower| Ok((lower, upper_bound(a, b, c, i)?)));
        let window = window(p, a, b, c, i);
        let printed = window_printed(p, a, b, c, i);
        prop_assert_eq!(window.is_ok(), bounds.is_ok() && p >= 2);
        prop_assert_eq!(printed.is_ok(), window.is_ok());
        if let Ok(window) = window {
            prop_assert_eq!(Ok((window.lower_bound, window.upper_bound)), bounds);
            if window.meets_bounds {
                let last_group = (p - 1) % window.senders;
                prop_assert!(window.lower_bound <= window.senders && window.senders <= window.upper_bound.min(p - 1));
                prop_assert!(last_group == 0 || last_group >= window.lower_bound);
            } else {
                prop_assert_eq!(window.senders, window.lower_bound);
            }
            prop_assert!(printed.unwrap().unwrap_or(0) <= window.senders, "the repair never makes it smaller");
        }
        if let Ok(plan) = Plan::new(p, w, c, i) {
            prop_assert!(1 <= plan.window() && plan.window() < p && plan.longest_chain() < p);
            prop_assert_eq!(plan.waits_for(j).is_ok(), j < p);
            prop_assert_eq!(plan.signals(j).is_ok(), j < p);
        }
    }

    /// With the paper's parameters everything grows with the size and the number of processors.
    #[test]
    fn more_work_takes_more_time(bytes in 41.0..60_000f64, more in 1.0..1000f64, p in 2..2000u32, further in 1..50u32) {
        let table = Parameters::table_1();
        let one_way = |bytes, p| table.packet(bytes, p).unwrap().one_way_s().unwrap();
        prop_assert!(one_way(bytes, p) < one_way(bytes + more, p));
        prop_assert!(one_way(bytes, p) < one_way(bytes, p + further));
        let gather = |bytes, p| table.gather(bytes, 1500.0, p).unwrap().bound_s;
        prop_assert!(gather(bytes, p) < gather(bytes + 1500.0, p));
        prop_assert!(gather(bytes, p) < gather(bytes, p + further));
        prop_assert!(table.broadcast_s(bytes, 1500.0, p).unwrap() < table.broadcast_s(bytes + 1500.0, 1500.0, p).unwrap());
    }
}

#[test]
fn bad_arguments_are_named() {
    let table = Parameters::table_1();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(table.packet(bad, 2).unwrap_err().name, "m");
        assert_eq!(table.broadcast_s(bad, 1500.0, 2).unwrap_err().name, "message size");
        assert_eq!(table.gather(1.0, bad, 2).unwrap_err().name, "packet size");
        assert_eq!(fill_time_s(bad, 1.0, 1.0).unwrap_err().name, "A");
        assert_eq!(fill_time_s(1.0, bad, 1.0).unwrap_err().name, "D");
        assert_eq!(fill_time_s(2.0, 1.0, bad).unwrap_err().name, "B");
        assert_eq!(transfer_ratio(1.0, bad, 1.0, 1).unwrap_err().name, "D");
        assert_eq!(lower_bound(bad, 1.0).unwrap_err().name, "g_s");
        assert_eq!(upper_bound(1.0, bad, 1.0, 1).unwrap_err().name, "g_r");
        assert_eq!(window(2, 1.0, 1.0, bad, 1).unwrap_err().name, "B");
        assert_eq!(gather_bound_s(2, 1, bad, 1.0, 1.0).unwrap_err().name, "g_r");
        assert_eq!(gather_bound_s(2, 1, 1.0, bad, 1.0).unwrap_err().name, "C1");
        assert_eq!(gather_bound_s(2, 1, 1.0, 1.0, bad).unwrap_err().name, "C2");
        assert_eq!(broadcast_postal_s(1, 2, bad, 1.0).unwrap_err().name, "g_s");
        assert_eq!(broadcast_postal_s(1, 2, 1.0, bad).unwrap_err().name, "L");
        for (name, packet) in [
            ("O_s", Packet { send_s: bad, ..Packet::default() }),
            ("L", Packet { transfer_s: bad, ..Packet::default() }),
            ("O_r", Packet { receive_s: bad, ..Packet::default() }),
            ("U_r", Packet { user_receive_s: bad, ..Packet::default() }),
        ] {
            assert_eq!(packet.one_way_s().unwrap_err().name, name);
        }
        let transfer = Transfer { per_processor_s: bad, ..table.transfer.clone() };
        assert_eq!(transfer.at(1.0, 2, 1e-6).unwrap_err().name, "transfer time per processor");
        let transfer = Transfer { aggregate_bytes_per_s: Some(bad), ..table.transfer.clone() };
        assert_eq!(transfer.at(1.0, 2, 1e-6).unwrap_err().name, "aggregate bandwidth");
    }
    assert_eq!(table.packet(1.0, 0).unwrap_err().name, "p");
    assert_eq!(table.broadcast_s(1.0, 1500.0, 0).unwrap_err().name, "p");
    assert_eq!(table.broadcast_s(1.0, 0.0, 2).unwrap_err().name, "packet size");
    assert_eq!(table.broadcast_s(1e300, 1e-300, 2).unwrap_err().name, "number of packets");
    assert_eq!(broadcast_postal_s(0, 2, 1.0, 1.0).unwrap_err().name, "k");
    assert_eq!(transfer_ratio(0.0, 1.0, 1.0, 1).unwrap_err().name, "A");
    assert_eq!(transfer_ratio(1.0, 1.0, 1.0, 0).unwrap_err().name, "k");
    assert_eq!(upper_bound(1.0, 1.0, 1.0, 0).unwrap_err().name, "i");
    assert_eq!(gather_bound_s(0, 1, 1.0, 1.0, 1.0).unwrap_err().name, "p");
    assert_eq!(gather_bound_s(2, 0, 1.0, 1.0, 1.0).unwrap_err().name, "i");
    let alone = window(1, 1.0, 1.0, 1.0, 1).unwrap_err();
    assert_eq!(alone.to_string(), "p is 1, but must be at least 2: one gathers, another sends");
    assert_eq!(Plan::with_window(2, 0).unwrap_err().name, "w");
    assert_eq!(Plan::with_window(2, 1).unwrap().waits_for(2).unwrap_err().name, "j");
}
