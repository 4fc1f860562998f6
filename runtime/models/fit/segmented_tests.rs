use proptest::prelude::*;

use super::super::noise::{Noise, exact, near, sizes};
use super::super::{HeldOut, hyperbolic};
use super::*;

fn segmented(start_s: f64, segments: &[(f64, f64)]) -> Segmented {
    let segments = segments.iter().map(|&(from_bytes, s_per_byte)| Segment { from_bytes, s_per_byte }).collect();
    Segmented { start_s, segments }
}

/// The greatest relative difference over the sizes.
fn distance(one: &Segmented, other: &Segmented) -> f64 {
    sizes().into_iter().map(|bytes| (one.seconds(bytes) / other.seconds(bytes) - 1.0).abs()).fold(0.0, f64::max)
}

/// Links as they are today: a cache left behind, a window that grows, a reader that is woken instead of polling.
fn todays_links() -> [Segmented; 3] {
    [
        segmented(4e-6, &[(0.0, 0.15e-9), (524_288.0, 0.6e-9)]),
        segmented(25e-3, &[(0.0, 5e-6), (65_536.0, 0.2e-6)]),
        segmented(4e-6, &[(0.0, 0.2e-9), (16_384.0, 2e-9), (32_768.0, 0.3e-9)]),
    ]
}

#[test]
fn the_form_by_hand() {
    let model = segmented(1.0, &[(0.0, 2.0), (10.0, 0.0), (20.0, 1.0)]);
    assert_eq!([0, 5, 10, 15, 20, 30].map(|bytes| model.seconds(bytes)), [1.0, 11.0, 21.0, 21.0, 21.0, 31.0]);
    assert_eq!(model.knots().collect::<Vec<_>>(), [10.0, 20.0]);
}

#[test]
fn known_links_come_out_exactly() {
    for link in todays_links() {
        let fitted = fit(&exact(&sizes(), |bytes| link.seconds(bytes))).unwrap().model;
        assert_eq!(fitted.knots().count(), link.knots().count(), "{link:?} {fitted:?}");
        assert!(distance(&fitted, &link) < 1e-3, "{link:?} {fitted:?}");
        assert!(fitted.knots().zip(link.knots()).all(|(found, true_one)| near(found, true_one, 0.01)), "{fitted:?}");
    }
}

#[test]
fn a_knot_between_two_sizes_is_found() {
    for knot in [700.0, 11_000.0, 400_000.0] {
        let link = segmented(5e-6, &[(0.0, 10e-9), (knot, 90e-9)]);
        let fitted = fit(&exact(&sizes(), |bytes| link.seconds(bytes))).unwrap().model;
        let found: Vec<f64> = fitted.knots().collect();
        assert!(found.len() == 1 && near(found[0], knot, 0.05), "{knot}: {found:?}");
        assert!(distance(&fitted, &link) < 5e-3, "{fitted:?}");
    }
}

#[test]
fn a_straight_line_needs_no_knot() {
    let line = segmented(20e-6, &[(0.0, 1e-9)]);
    let fitted = fit(&exact(&sizes(), |bytes| line.seconds(bytes))).unwrap();
    assert_eq!(fitted.model.segments.len(), 1);
    assert!(near(fitted.model.start_s, 20e-6, 1e-9) && near(fitted.model.segments[0].s_per_byte, 1e-9, 1e-9));
    assert!(fitted.quality.unwrap().p90_error < 1e-6);
}

#[test]
fn noise_and_gross_outliers_are_survived() {
    for (index, link) in todays_links().into_iter().enumerate() {
        for seed in 0..3 {
            let mut noise = Noise::new(100 * index as u64 + seed);
            let fitted = fit(&noise.samples(&sizes(), 20, |bytes| link.seconds(bytes))).unwrap();
            assert!(distance(&fitted.model, &link) < 0.06, "{seed} {link:?} {:?}", fitted.model);
            let median = fitted.quality.unwrap().median_error;
            assert!(median < 0.08, "about the noise itself: {median}");
        }
    }
}

#[test]
fn repetitions_that_agree_are_believed() {
    // Loopback as measured: flat to 32 KiB, three times as long at 64 KiB, then a slope, a steeper one beyond the cache.
    let time_s = |bytes: u64| match bytes {
        0..=32_768 => 8.6e-6 + 20e-12 * bytes as f64,
        _ => 15e-6 + 0.2e-9 * bytes as f64 + 0.5e-9 * (bytes as f64 - 2_097_152.0).max(0.0),
    };
    for seed in 0..3 {
        let mut noise = Noise::new(seed);
        let mut samples = Vec::new();
        for bytes in sizes() {
            samples.extend((0..5).map(|_| Sample { bytes, time_s: time_s(bytes) * (1.0 + 0.02 * noise.normal()) }));
        }
        let fitted = fit(&samples).unwrap().model;
        for bytes in sizes() {
            assert!(near(fitted.seconds(bytes), time_s(bytes), 0.08), "{seed}, {bytes} bytes: {fitted:?}");
        }
    }
}

#[test]
fn noise_buys_few_knots() {
    let line = segmented(20e-6, &[(0.0, 1e-9)]);
    let knots = |seed| {
        let samples = Noise::new(seed).samples(&sizes(), 5, |bytes| line.seconds(bytes));
        fit_series(&Series::new(&samples, 2).unwrap(), KNOTS_MAX).knots().count()
    };
    let knots: usize = (0..40).map(knots).sum();
    assert!(knots <= 12, "{knots} knots in 40 straight lines");
}

#[test]
fn it_stands_where_two_parameters_fail() {
    for link in todays_links() {
        let samples = exact(&sizes(), |bytes| link.seconds(bytes));
        let two = hyperbolic::fit(&samples).unwrap().quality.unwrap();
        let straight = fit_with(&samples, 0).unwrap().quality.unwrap();
        let more = fit(&samples).unwrap().quality.unwrap();
        assert!(two.p90_error > 0.10, "{link:?}: {two:?}");
        assert!(straight.p90_error > 0.10, "{link:?}: {straight:?}");
        assert!(more.median_error < 0.01 && more.p90_error < 0.10, "{link:?}: {more:?}");
    }
}

#[test]
fn the_line_alone_is_that_of_no_knots() {
    for (seed, link) in (0..).zip(todays_links()) {
        let samples = Noise::new(seed).samples(&sizes(), 3, |bytes| link.seconds(bytes));
        assert_eq!(line(&samples).unwrap(), fit_with(&samples, 0).unwrap().model, "{link:?}");
    }
    assert_eq!(
        line(&[Sample { bytes: 8, time_s: 1e-6 }]).unwrap_err(),
        fit_with(&[Sample { bytes: 8, time_s: 1e-6 }], 0).unwrap_err()
    );
}

#[test]
fn a_bend_a_jump_and_two_caches_take_five_knots() {
    // Slopes and places as `lathide link` finds them on loopback, with noise.
    let beyond = [(1448.0, 0.074e-9), (54_000.0, 0.45e-9), (66_000.0, 0.09e-9), (459_000.0, 0.12e-9), (5.5e6, 0.2e-9)];
    let link = segmented(4.8e-6, &[&[(0.0, 0.37e-9)], &beyond[..]].concat());
    let quarters: Vec<u64> = (12..=96).map(|quarter| 2.0_f64.powf(f64::from(quarter) / 4.0).round() as u64).collect();
    for seed in 0..2 {
        let mut noise = Noise::new(seed);
        let mut samples = exact(&quarters.repeat(3), |bytes| link.seconds(bytes));
        samples.iter_mut().for_each(|sample| sample.time_s *= (0.03 * noise.normal()).exp());
        let nine_of_ten = |knots| {
            let fitted = fit_with(&samples, knots).unwrap();
            // What was held out, against the truth: the noise of what was measured is no fault of the model.
            let error = |out: &HeldOut| ((out.predicted_s / link.seconds(out.bytes) - 1.0).abs(), 1.0);
            (fitted.model.knots().count(), quantile(fitted.held_out.iter().map(error), 0.9).unwrap())
        };
        let (four, five) = (nine_of_ten(4), nine_of_ten(KNOTS_MAX));
        assert!(five.0 == 5 && five.1 < 0.06 && five.1 < four.1, "{seed}: {five:?}, with four at most {four:?}");
    }
}

#[test]
fn it_never_falls() {
    // Times that fall with size, as when a larger message wakes its reader earlier.
    let dip = |bytes: u64| if bytes < 4096 { 30e-6 } else { 12e-6 + 1e-9 * bytes as f64 };
    let fitted = fit(&exact(&sizes(), dip)).unwrap().model;
    let times: Vec<f64> = (0..30).map(|exponent| fitted.seconds(1 << exponent)).collect();
    assert!(times.is_sorted(), "{fitted:?}");
}

#[test]
fn few_sizes_get_few_knots() {
    let link = &todays_links()[0];
    for count in 2..=6 {
        let sizes: Vec<u64> = sizes().into_iter().rev().step_by(3).take(count).collect();
        let fitted = fit(&exact(&sizes, |bytes| link.seconds(bytes))).unwrap();
        assert!(fitted.model.knots().count() <= count.saturating_sub(2) / 4, "{:?}", fitted.model);
        assert_eq!(fitted.quality.is_some(), count > 2);
    }
    assert!(fit(&[]).is_err() && fit(&exact(&[7, 7], |_| 1.0)).is_err());
}

proptest! {
    #![proptest_config(crate::scale::cases(48))]

    /// Whatever is put in, numbers come out, or an error.
    #[test]
    fn no_nan_comes_out(samples in proptest::collection::vec((any::<u64>(), prop_oneof![1 => any::<f64>(), 40 => (-15.0..15.0).prop_map(|e: f64| 10_f64.powf(e)), 40 => (-7.0..-1.0).prop_map(|e: f64| 10_f64.powf(e))]), 0..16)) {
        let samples: Vec<Sample> = samples.into_iter().map(|(bytes, time_s)| Sample { bytes: bytes >> (bytes % 64), time_s }).collect();
        let Ok(fitted) = fit(&samples) else { return Ok(()) };
        let model = &fitted.model;
        prop_assert!(model.start_s.is_finite() && model.start_s >= 0.0);
        prop_assert!(model.segments.iter().all(|s| s.from_bytes >= 0.0 && s.s_per_byte >= 0.0 && s.s_per_byte.is_finite()));
        prop_assert!(model.segments.is_sorted_by(|a, b| a.from_bytes < b.from_bytes), "{:?}", model);
        prop_assert!(fitted.held_out.iter().all(|pair| pair.predicted_s.is_finite() && pair.error().is_ok()));
        prop_assert!([0, 1, u64::MAX].iter().all(|bytes| model.seconds(*bytes).is_finite()));
    }
}
