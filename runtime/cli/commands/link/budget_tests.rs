use super::*;

/// A first look as it comes out on a link of so many seconds and bits per second.
fn probe(start_s: f64, bits_per_s: f64) -> Probe {
    Probe { start_s, byte_s: 8.0 / bits_per_s }
}

fn options(bytes: Option<Vec<usize>>) -> Options {
    let bytes = bytes.map(|bytes| bytes.into_iter().collect());
    Options { seconds: 45.0, repeats: 5, repeats_min: 3, deadline_s: None, bytes, shared: false, yields: true }
}

fn total_s(options: &Options, probe: &Probe) -> f64 {
    let budget = Budget { options, probe, unit_s: 1e-7 };
    let round_s = sum_s(&budget.schedule());
    round_s * f64::from(options.repeats + 1)
}

#[test]
fn every_link_fits_into_the_time() {
    let links = [(28e-6, 40e9), (170e-6, 1e9), (120e-6, 10e6), (25.2e-3, 50e6), (1e-3, 1e6), (5e-3, 256e3)];
    for (start_s, rate) in links {
        let probe = probe(start_s, rate);
        for shared in [false, true] {
            let total_s = total_s(&Options { shared, ..options(None) }, &probe);
            // With the sweep, and with 12 s for starting and ending, that is a minute.
            assert!(total_s + 45.0 * (FRAGMENTS + CLUSTER) <= 48.0, "{probe:?}: {total_s} s");
            assert!(total_s >= 2.0, "{probe:?}: {total_s} s, there is time for more");
        }
    }
}

#[test]
fn a_fast_link_gets_all_sizes() {
    let orders = schedule(&options(None), &probe(28e-6, 40e9), 1e-7);
    let of = |kind| orders.iter().filter(move |order| order.kind == kind);
    assert_eq!(of(Kind::OneWay).count(), 22, "8 B to 16 MiB: {orders:?}");
    let count = of(Kind::Alone).count();
    assert!(count >= 76 && count.is_multiple_of(76), "three between each two from 64 B, and those: {orders:?}");
    assert!(of(Kind::Stream).any(|order| order.bytes == 16 << 20), "{orders:?}");
    assert!(of(Kind::Loaded).any(|order| order.bytes == LOADED_MAX), "{orders:?}");
}

#[test]
fn chosen_sizes_are_all_measured() {
    let options = options(Some(vec![8, 3000, 1 << 26]));
    let orders = schedule(&options, &probe(1e-3, 1e6), 1e-7);
    let sizes = |kind| orders.iter().filter(|order| order.kind == kind).map(|order| order.bytes).collect::<Vec<_>>();
    assert_eq!(sizes(Kind::OneWay), [8, 3000, 1 << 26]);
    for kind in [Kind::Stream, Kind::Exchange, Kind::Overlap, Kind::ExchangeOverlap] {
        assert_eq!(sizes(kind), [3000, 1 << 26], "{kind:?}");
    }
}

#[test]
fn sizes_thin_out_from_the_longest() {
    assert_eq!(every(1, 64).collect::<Vec<_>>(), [8, 16, 32, 64]);
    assert_eq!(every(2, 64).collect::<Vec<_>>(), [8, 16, 64]);
    assert_eq!(every(3, 64).collect::<Vec<_>>(), [8, 64]);
    assert_eq!(every(5, 8).collect::<Vec<_>>(), [8]);
}

#[test]
fn the_sweep_fits_too() {
    let cheap = sweep(&options(None), &probe(28e-6, 40e9), 0.1);
    assert_eq!((cheap.fragment_bytes.len(), cheap.order.bytes), (16, 1 << 20), "{cheap:?}");
    assert_eq!(
        cheap.fragment_bytes[..8].iter().rev().collect::<Vec<_>>(),
        cheap.fragment_bytes[8..].iter().collect::<Vec<_>>()
    );
    let wide = sweep(&options(None), &probe(25e-3, 50e6), 0.5);
    assert!(wide.fragment_bytes.contains(&4096) && wide.fragment_bytes.len() >= 3, "{wide:?}");
    let slow = sweep(&options(None), &probe(1.0, 1e4), 1.0);
    assert_eq!((slow.fragment_bytes.len(), slow.repeats), (3, 3));
}

#[test]
fn the_cluster_trials_fit_too() {
    let (fast, repeats) = trials(&options(None), &probe(28e-6, 40e9));
    assert_eq!((fast.len(), repeats), (TRIAL_SIZES.len(), 5), "{fast:?}");
    let (wide, _) = trials(&options(None), &probe(25e-3, 50e6));
    assert!(wide.len() >= TRIAL_LEAST, "{wide:?}");
    let (slow, repeats) = trials(&options(None), &probe(1.0, 1e4));
    assert_eq!((slow.len(), repeats), (TRIAL_LEAST, 3), "the least there is");
    assert!(slow.iter().all(|trial| trial.packets == PACKETS_MIN && trial.round_trips == 2), "{slow:?}");
}

#[test]
fn one_way_times_alone_fit_and_can_be_fitted() {
    let sizes = |seconds, start_s, rate| {
        let orders = sizes_in(seconds, 5, &probe(start_s, rate));
        assert!(orders.iter().all(|order| order.kind == Kind::Alone && order.count >= 1), "{orders:?}");
        orders.len()
    };
    assert_eq!(sizes(5.0, 28e-6, 40e9), PLAIN_SIZES.len());
    assert_eq!(sizes(0.01, 1.0, 1e4), TRIAL_LEAST, "the least there is");
    assert!((TRIAL_LEAST..PLAIN_SIZES.len()).contains(&sizes(5.0, 1e-3, 10e6)));
}

#[test]
fn the_calculation_follows_the_exchange() {
    let order = |kind, work| Order { kind, bytes: 1, count: 2, work };
    let next = |kind, calc_s, com_s| {
        let [mine, theirs] = [[calc_s, com_s], [calc_s, com_s / 2.0]].map(Vec::from);
        correct(&Block { order: order(kind, 1000), mine, theirs })
    };
    for kind in [Kind::Overlap, Kind::ExchangeOverlap] {
        assert_eq!(next(kind, 1.0, 1.0), order(kind, 1100));
        assert_eq!(next(kind, 1.1, 1.0), order(kind, 1000));
        assert_eq!(next(kind, 1.0, 100.0), order(kind, 5000), "bounded");
        assert_eq!(next(kind, 0.0, 1.0), order(kind, 1000));
    }
    assert_eq!(next(Kind::Stream, 1.0, 100.0), order(Kind::Stream, 1000));
}

#[test]
fn a_firm_time_has_its_parts() {
    let [survey, sweep, cluster] = ends_s(10.0);
    assert!(0.0 < survey && survey < sweep && sweep < cluster && cluster < 10.0);
    assert_eq!(ends_s(0.1), [0.0; 3], "too short for anything is not below nothing");
    let orders = schedule(&options(None), &probe(28e-6, 40e9), 1e-7);
    let first = orders.iter().position(|order| order.kind == Kind::Alone).unwrap();
    assert!(orders[first..].iter().all(|order| order.kind == Kind::Alone), "what counts more comes first");
    assert_eq!(orders.iter().filter(|order| order.kind == Kind::Twice).count(), 1);
}
