use proptest::prelude::*;

use super::super::noise::{Noise, exact, near, sizes};
use super::*;

fn time(model: Hyperbolic) -> impl Fn(u64) -> f64 {
    move |bytes| model.seconds(bytes)
}

/// Models whose a and b both show between 8 bytes and 16 MiB.
fn models(count: u32) -> impl Iterator<Item = (Hyperbolic, Noise)> {
    (0..count).map(|seed| {
        let mut noise = Noise::new(seed.into());
        let a_s = noise.between(2e-6, 50e-3);
        let b_s_per_byte = a_s / noise.between(256.0, 262_144.0);
        (Hyperbolic { a_s, b_s_per_byte }, noise)
    })
}

#[test]
fn the_form_by_hand() {
    let model = Hyperbolic { a_s: 4.0, b_s_per_byte: 0.5 };
    assert_eq!(model.seconds(0), 4.0);
    assert_eq!(model.seconds(8), 3.0 / 4.0 * 8.0, "three quarters of the straight line where b x = a");
    let free = Hyperbolic { a_s: 0.0, b_s_per_byte: 0.5 };
    assert_eq!((free.seconds(0), free.seconds(6)), (0.0, 3.0), "no 0/0");
    // The packet form: 100 us for each packet of 1000 bytes and 0.5 us/byte on top is b = 0.6 us/byte.
    let packets = Hyperbolic { a_s: 100e-6, b_s_per_byte: 0.6e-6 };
    assert!(near(packets.beyond_packets_s_per_byte(1000).unwrap(), 0.5e-6, 1e-9));
    assert_eq!(packets.beyond_packets_s_per_byte(100).unwrap_err().name, "m = b - a/p", "packets overlap");
    assert_eq!(packets.beyond_packets_s_per_byte(0).unwrap_err().name, "p");
}

#[test]
fn known_parameters_come_out_exactly() {
    for (model, _) in models(40) {
        let fitted = fit(&exact(&sizes(), time(model))).unwrap();
        assert!(near(fitted.model.a_s, model.a_s, 1e-9), "{model:?} {:?}", fitted.model);
        assert!(near(fitted.model.b_s_per_byte, model.b_s_per_byte, 1e-9), "{model:?} {:?}", fitted.model);
        let quality = fitted.quality.unwrap();
        assert!(quality.p90_error < 1e-8 && quality.samples == 22, "{quality:?}");
    }
}

#[test]
fn noise_and_gross_outliers_are_survived() {
    for (model, mut noise) in models(60) {
        let fitted = fit(&noise.samples(&sizes(), 20, time(model))).unwrap();
        assert!(near(fitted.model.a_s, model.a_s, 0.03), "{model:?} {:?}", fitted.model);
        assert!(near(fitted.model.b_s_per_byte, model.b_s_per_byte, 0.03), "{model:?} {:?}", fitted.model);
        let median = fitted.quality.unwrap().median_error;
        assert!((0.02..0.07).contains(&median), "about the noise itself: {median}");
    }
}

#[test]
fn even_one_sample_of_each_size_survives_them() {
    for (model, mut noise) in models(60) {
        let fitted = fit(&noise.samples(&sizes(), 1, time(model))).unwrap().model;
        assert!(near(fitted.a_s, model.a_s, 0.25), "{model:?} {fitted:?}");
        assert!(near(fitted.b_s_per_byte, model.b_s_per_byte, 0.25), "{model:?} {fitted:?}");
    }
}

#[test]
fn small_messages_count_as_much_as_large_ones() {
    // A thousand samples of 16 MiB, and few of the others, that do not quite fit one hyperbola.
    let bent = |bytes: u64| 20e-6 + 1e-9 * bytes as f64;
    let mut samples = exact(&sizes(), bent);
    samples.extend((0..1000).map(|_| Sample { bytes: 1 << 24, time_s: bent(1 << 24) }));
    let (many, few) = (fit(&samples).unwrap(), fit(&exact(&sizes(), bent)).unwrap());
    assert!(near(many.model.a_s, few.model.a_s, 1e-6), "{:?} {:?}", many.model, few.model);
    let (many, few) = (many.quality.unwrap(), few.quality.unwrap());
    assert!(near(many.p90_error, few.p90_error, 1e-3) && many.samples == few.samples + 1000);
}

#[test]
fn a_straight_line_is_where_the_form_fails() {
    let fitted = fit(&exact(&sizes(), |bytes| 20e-6 + 1e-9 * bytes as f64)).unwrap();
    let worst = fitted.held_out.iter().max_by(|a, b| a.error().unwrap().total_cmp(&b.error().unwrap())).unwrap();
    // b x = a at 20 000 bytes.
    assert!((8192..=65_536).contains(&worst.bytes), "{worst:?}");
    assert!((0.05..0.25).contains(&worst.error().unwrap()), "{worst:?}");
    assert!(fitted.held_out.is_sorted_by_key(|pair| pair.bytes));
}

#[test]
fn what_does_not_show_is_nothing() {
    let constant = fit(&exact(&sizes(), |_| 3e-6)).unwrap().model;
    assert!(near(constant.a_s, 3e-6, 1e-9) && constant.b_s_per_byte == 0.0, "{constant:?}");
    let proportional = fit(&exact(&sizes(), |bytes| 2e-9 * bytes as f64)).unwrap().model;
    assert!(near(proportional.b_s_per_byte, 2e-9, 1e-9) && proportional.a_s < 1e-20, "{proportional:?}");
    let falling = fit(&exact(&sizes(), |bytes| 1.0 / bytes as f64)).unwrap().model;
    assert!(falling.a_s > 0.0 && falling.b_s_per_byte >= 0.0 && falling.b_s_per_byte < 1e-6, "{falling:?}");
    let with_empty = fit(&exact(&[0, 1, 1000], |bytes| 1e-6 * (bytes as f64).max(1.0))).unwrap().model;
    assert!(near(with_empty.a_s, 1e-6, 0.5), "{with_empty:?}");
}

#[test]
fn two_sizes_are_fitted_but_not_judged() {
    let model = Hyperbolic { a_s: 1e-4, b_s_per_byte: 1e-8 };
    let fitted = fit(&exact(&[8, 1 << 20], time(model))).unwrap();
    assert!(near(fitted.model.a_s, 1e-4, 1e-9) && near(fitted.model.b_s_per_byte, 1e-8, 1e-9));
    assert_eq!((fitted.quality, fitted.held_out.len()), (None, 0));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let one = Sample { bytes: 8, time_s: 1e-6 };
    assert_eq!(fit(&[]).unwrap_err().to_string(), "0 samples cannot determine 2 parameters");
    assert_eq!(fit(&[one]).unwrap_err(), FitError::TooFewSamples { samples: 1, parameters: 2 });
    let error = fit(&[one, one]).unwrap_err();
    assert_eq!(error.to_string(), "all samples have the same size, 8: measure at least two");
    let bad = Sample { bytes: 64, time_s: f64::NAN };
    assert!(fit(&[one, bad]).unwrap_err().to_string().starts_with("sample 1 cannot be used: time_s is NaN"));
}

proptest! {
    #![proptest_config(crate::scale::cases(128))]

    /// Whatever is put in, numbers come out, or an error.
    #[test]
    fn no_nan_comes_out(samples in proptest::collection::vec((any::<u64>(), prop_oneof![1 => any::<f64>(), 40 => (-15.0..15.0).prop_map(|e: f64| 10_f64.powf(e)), 40 => (-7.0..-1.0).prop_map(|e: f64| 10_f64.powf(e))]), 0..12)) {
        let samples: Vec<Sample> = samples.into_iter().map(|(bytes, time_s)| Sample { bytes: bytes >> (bytes % 64), time_s }).collect();
        let Ok(fitted) = fit(&samples) else { return Ok(()) };
        let Hyperbolic { a_s, b_s_per_byte } = fitted.model;
        prop_assert!(a_s.is_finite() && a_s >= 0.0 && b_s_per_byte.is_finite() && b_s_per_byte >= 0.0, "{:?}", fitted.model);
        prop_assert!(fitted.held_out.iter().all(|pair| pair.predicted_s.is_finite() && pair.error().is_ok()));
        prop_assert!(fitted.quality.is_none_or(|quality| quality.median_error <= quality.p90_error));
        prop_assert!([0, 1, u64::MAX].iter().all(|bytes| fitted.model.seconds(*bytes).is_finite()));
    }
}
