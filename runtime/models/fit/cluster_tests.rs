use proptest::prelude::*;

use super::super::noise::{Noise, exact, near};
use super::*;

/// Packets as in the paper, up to an Ethernet frame.
const SIZES: [u64; 8] = [41, 64, 128, 256, 512, 800, 1100, 1500];

/// Table 1 for m > 40, in seconds.
const O_S: Cost = Cost { startup_s: 6.37e-6, s_per_byte: 0.0253e-6 };
const G_S: Cost = Cost { startup_s: 3.027e-6, s_per_byte: 0.0796e-6 };
const G_R: Cost = Cost { startup_s: 4.986e-6, s_per_byte: 0.0788e-6 };
const O_R: Cost = Cost { startup_s: 12.176e-6, s_per_byte: 0.0429e-6 };
const U_R: Cost = Cost { startup_s: 9.93e-6, s_per_byte: 0.0 };

fn meets(found: Cost, expected: Cost, tolerance: f64) {
    let startup = (found.startup_s - expected.startup_s).abs() <= tolerance * expected.startup_s.max(1e-7);
    let slope = (found.s_per_byte - expected.s_per_byte).abs() <= tolerance * expected.s_per_byte.max(1e-10);
    assert!(startup && slope, "{found:?} is not {expected:?}");
}

/// Whether the costs differ by no more than this at any size.
fn close(found: Cost, expected: Cost, tolerance: f64) {
    for bytes in SIZES {
        assert!(near(found.seconds(bytes), expected.seconds(bytes), tolerance), "{bytes}: {found:?}, not {expected:?}");
    }
}

#[test]
fn direct_costs_come_out_exactly() {
    for (procedure, cost) in [
        (send_time as fn(&[Sample]) -> _, O_S),
        (user_receive, U_R),
        (memory_copy, Cost { startup_s: 1.756e-6, s_per_byte: 0.0314e-6 }),
        (memory_copy, Cost { startup_s: 0.0, s_per_byte: 0.1e-9 }),
    ] {
        let fitted = procedure(&exact(&SIZES, |bytes| cost.seconds(bytes))).unwrap();
        meets(fitted.model, cost, 1e-7);
        assert!(fitted.quality.unwrap().p90_error < 1e-6);
        for seed in 0..10 {
            let noisy = procedure(&Noise::new(seed).samples(&SIZES, 20, |bytes| cost.seconds(bytes))).unwrap();
            close(noisy.model, cost, 0.04);
            assert!((0.02..0.07).contains(&noisy.quality.unwrap().median_error));
        }
    }
}

fn streams(mut measure: impl FnMut(f64) -> f64) -> Vec<Stream> {
    let mut all = Vec::new();
    for bytes in SIZES {
        for packets in [50, 100, 200, 400] {
            // The queue takes 16 messages at once, at the speed of the processor.
            let exact = 16.0 * O_S.seconds(bytes) + f64::from(packets - 16) * G_S.seconds(bytes);
            all.push(Stream { bytes, packets, time_s: measure(exact) });
        }
    }
    all
}

#[test]
fn the_send_gap_is_what_a_further_message_takes() {
    let fitted = send_gap(&streams(|time_s| time_s)).unwrap();
    meets(fitted.model, G_S, 1e-6);
    assert_eq!(fitted.quality.unwrap().samples, SIZES.len(), "one gap for each size");
    let mut noise = Noise::new(3);
    close(send_gap(&streams(|time_s| time_s * (1.0 + 0.02 * noise.normal()))).unwrap().model, G_S, 0.05);
}

#[test]
fn the_receive_gap_is_the_least_of_all_numbers_of_senders() {
    let mut noise = Noise::new(5);
    let mut arrivals = |exactly: bool| {
        let mut all = Vec::new();
        for bytes in SIZES {
            for senders in [1, 2, 4, 8] {
                // One sender cannot fill the receiver; the switch delays eight of them.
                let gap = match senders {
                    1 => G_S.seconds(bytes) + 4e-6,
                    8 => 1.4 * G_R.seconds(bytes),
                    _ => G_R.seconds(bytes),
                };
                let run = |gap: f64| Arrivals { bytes, senders, packets: 101, time_s: 100.0 * gap };
                all.extend((0..9).map(|_| run(if exactly { gap } else { noise.measure(gap) })));
            }
        }
        all
    };
    meets(receive_gap(&arrivals(true)).unwrap().model, G_R, 1e-6);
    close(receive_gap(&arrivals(false)).unwrap().model, G_R, 0.08);
}

#[test]
fn the_receive_overhead_is_what_slows_a_calculation() {
    let mut noise = Noise::new(8);
    let mut runs = |spread: f64| {
        let mut all = Vec::new();
        for bytes in SIZES {
            for _ in 0..15 {
                let alone_s = 20e-3 * (1.0 + spread * noise.normal());
                let slowed_s = alone_s + 500.0 * O_R.seconds(bytes) * (1.0 + spread * noise.normal());
                all.push(Slowed { bytes, packets: 500, alone_s, slowed_s });
            }
        }
        all
    };
    meets(asynchronous_receive(&runs(0.0)).unwrap().model, O_R, 1e-6);
    close(asynchronous_receive(&runs(0.05)).unwrap().model, O_R, 0.05);
}

fn round_trips(network: &Transfer, mut measure: impl FnMut(f64) -> f64) -> Vec<RoundTrip> {
    let overhead = O_S + O_R + U_R;
    let mut all = Vec::new();
    for bytes in SIZES {
        for processors in [2, 4, 8, 16] {
            let time_s = 2.0 * (overhead.seconds(bytes) + network.seconds(bytes, processors));
            all.extend((0..10).map(|_| RoundTrip { bytes, processors, time_s: measure(time_s) }));
        }
    }
    all
}

const NETWORK: Transfer =
    Transfer { startup_s: 16.684e-6, per_processor_s: 1.556e-6, s_per_byte: 0.0826e-6, saturation: None };

fn table_1() -> Transfer {
    Transfer { saturation: Some(Saturation { bytes_per_s: 90e6, send_gap: G_S }), ..NETWORK }
}

/// Whether two networks take the same for all sizes and numbers of processors.
fn same_network(found: &Transfer, expected: &Transfer, tolerance: f64) {
    for bytes in SIZES {
        for processors in [2, 4, 8, 16] {
            let (found_s, expected_s) = (found.seconds(bytes, processors), expected.seconds(bytes, processors));
            assert!(near(found_s, expected_s, tolerance), "{bytes} bytes, p = {processors}: {found:?}");
        }
    }
}

#[test]
fn table_1_by_hand() {
    // L(1500, 16): 16 * 1500 / (90 g_s) = 24 000 / (90 * 122.427) = 2.17815.
    let expected = 1.556 * 16.0 + 16.684 + 0.0826 * 1500.0 * (24_000.0 / (90.0 * 122.427));
    assert!(near(table_1().seconds(1500, 16), expected * 1e-6, 1e-12));
    assert!(near(table_1().seconds(1500, 4), (1.556 * 4.0 + 16.684 + 0.0826 * 1500.0) * 1e-6, 1e-12));
}

#[test]
fn the_transfer_time_is_what_is_left_of_a_round_trip() {
    let overhead = O_S + O_R + U_R;
    let fitted = transfer(&round_trips(&NETWORK, |time_s| time_s), overhead, Some(G_S)).unwrap();
    assert_eq!(fitted.model.saturation, None, "nothing shows it");
    same_network(&fitted.model, &NETWORK, 1e-6);
    assert!(fitted.quality.unwrap().p90_error < 1e-6);
    let fitted = transfer(&round_trips(&table_1(), |time_s| time_s), overhead, Some(G_S)).unwrap();
    let saturation = fitted.model.saturation.expect("it shows");
    assert!(near(saturation.bytes_per_s, 90e6, 1e-3), "{saturation:?}");
    same_network(&fitted.model, &table_1(), 1e-3);
    let mut noise = Noise::new(11);
    let noisy = round_trips(&table_1(), |time_s| noise.measure(time_s));
    same_network(&transfer(&noisy, overhead, Some(G_S)).unwrap().model, &table_1(), 0.15);
}

#[test]
fn one_number_of_processors_has_no_slope_in_it() {
    let mut trips = round_trips(&NETWORK, |time_s| time_s);
    trips.retain(|trip| trip.processors == 2);
    let found = transfer(&trips, O_S + O_R + U_R, Some(G_S)).unwrap().model;
    assert_eq!((found.per_processor_s, found.saturation), (0.0, None));
    assert!(near(found.startup_s, (16.684 + 2.0 * 1.556) * 1e-6, 1e-6));
    // More overhead than there is time: nothing is left, and nothing is negative.
    let nothing = transfer(&trips, Cost { startup_s: 1.0, s_per_byte: 0.0 }, None).unwrap().model;
    assert_eq!((nothing.startup_s, nothing.s_per_byte), (0.0, 0.0));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let stream = |bytes, packets, time_s| Stream { bytes, packets, time_s };
    let error = send_gap(&[stream(8, 10, 1.0), stream(9, 20, 1.0)]).unwrap_err();
    assert_eq!(error.to_string(), "all samples have the same number of packets at a size, 10: measure at least two");
    let error = send_gap(&[stream(8, 10, 2.0), stream(8, 20, 1.0)]).unwrap_err();
    assert!(error.to_string().starts_with("the send gap g_s at 8 bytes came out as -0.1 s: it drowns"), "{error}");
    let error = send_gap(&[stream(8, 0, 1.0)]).unwrap_err();
    assert_eq!(error.to_string(), "sample 0 cannot be used: packets is 0, but must be at least 1");
    let run = Slowed { bytes: 8, packets: 1, alone_s: 2.0, slowed_s: 1.0 };
    assert!(matches!(asynchronous_receive(&[run, run]).unwrap_err(), FitError::Drowned { bytes: 8, .. }));
    assert!(asynchronous_receive(&[Slowed { packets: 0, ..run }]).is_err());
    assert!(asynchronous_receive(&[Slowed { alone_s: f64::NAN, ..run }]).is_err());
    let arrivals = Arrivals { bytes: 8, senders: 2, packets: 2, time_s: 1.0 };
    let error = receive_gap(&[arrivals; 5]).unwrap_err();
    assert_eq!(error, FitError::TooFewSamples { samples: 1, parameters: 2 }, "five runs, but one size");
    assert!(receive_gap(&[Arrivals { packets: 1, ..arrivals }]).is_err());
    assert!(receive_gap(&[Arrivals { senders: 0, ..arrivals }]).is_err());
    let trip = |bytes, processors| RoundTrip { bytes, processors, time_s: 1.0 };
    assert!(transfer(&[trip(8, 2), trip(9, 1)], O_S, None).is_err(), "one processor has no partner");
    let bad = Cost { startup_s: -1.0, s_per_byte: 0.0 };
    let error = transfer(&[trip(8, 2), trip(9, 2)], bad, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a given cost cannot be used: startup_s is -1, but must be a finite number of at least 0"
    );
    assert!(transfer(&[trip(8, 2), trip(9, 2)], O_S, Some(bad)).is_err());
    assert_eq!(
        transfer(&[trip(8, 2), trip(9, 4)], O_S, Some(G_S)).unwrap_err(),
        FitError::TooFewSamples { samples: 2, parameters: 4 }
    );
}

proptest! {
    #![proptest_config(crate::scale::cases(64))]

    /// Whatever is put in, numbers come out, or an error.
    #[test]
    fn no_nan_comes_out(raw in proptest::collection::vec((any::<u64>(), 0..20u32, prop_oneof![1 => any::<f64>(), 40 => (-15.0..15.0).prop_map(|e: f64| 10_f64.powf(e)), 40 => (-7.0..-1.0).prop_map(|e: f64| 10_f64.powf(e))], 1e-7..1e-1), 0..10)) {
        let number = |cost: &Cost| cost.startup_s.is_finite() && cost.startup_s >= 0.0 && cost.s_per_byte.is_finite() && cost.s_per_byte >= 0.0;
        let of = |result: Result<Fitted<Cost>, FitError>| result.map_or(true, |fitted| number(&fitted.model)
            && fitted.held_out.iter().all(|pair| pair.error().is_ok()));
        let all = |keep: fn(&(u64, u32, f64, f64)) -> bool| raw.iter().copied().filter(keep).collect::<Vec<_>>();
        for raw in [all(|_| true), all(|(_, n, t, _)| *n > 1 && (1e-15..1e15).contains(t))] {
            let bytes = |bytes: u64| bytes >> (bytes % 64);
            let samples: Vec<_> = raw.iter().map(|r| Sample { bytes: bytes(r.0), time_s: r.2 }).collect();
            let streams: Vec<_> = raw.iter().map(|r| Stream { bytes: bytes(r.0) % 4, packets: r.1, time_s: r.2 }).collect();
            let arrivals: Vec<_> = raw.iter().map(|r| Arrivals { bytes: bytes(r.0), senders: r.1, packets: r.1, time_s: r.2 }).collect();
            let slowed: Vec<_> = raw.iter().map(|r| Slowed { bytes: bytes(r.0), packets: r.1, alone_s: r.3, slowed_s: r.2 }).collect();
            let trips: Vec<_> = raw.iter().map(|r| RoundTrip { bytes: bytes(r.0), processors: r.1, time_s: r.2 }).collect();
            prop_assert!(of(memory_copy(&samples)) && of(send_gap(&streams)) && of(receive_gap(&arrivals)) && of(asynchronous_receive(&slowed)));
            if let Ok(fitted) = transfer(&trips, O_S, Some(G_S)) {
                let Transfer { startup_s, per_processor_s, s_per_byte, .. } = fitted.model;
                prop_assert!([startup_s, per_processor_s, s_per_byte].iter().all(|value| value.is_finite() && *value >= 0.0));
                prop_assert!(fitted.model.seconds(u64::MAX, u32::MAX).is_finite());
                prop_assert!(fitted.held_out.iter().all(|pair| pair.error().is_ok()));
            }
        }
    }
}
