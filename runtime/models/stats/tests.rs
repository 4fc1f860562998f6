//! What holds for all samples, by hand and by simulation.

use proptest::prelude::*;

use super::*;

#[test]
fn medians_and_quantiles_by_hand() {
    assert_eq!((median(&[4.0, 1.0]), median(&[9.0, 1.0, 2.0])), (Some(2.5), Some(2.0)));
    assert_eq!((median(&[]), median(&[1.0, f64::NAN])), (None, None));
    let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!(
        [0.0, 0.5, 0.99, 1.0, 7.0].map(|share| quantile(&hundred, share)),
        [1.0, 50.0, 99.0, 100.0, 100.0].map(Some)
    );
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn intervals_by_the_table() {
    // Le Boudec, table A.1: n, and the ranks of both ends.
    for (n, k) in [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (30, 10), (70, 27)] {
        let samples: Vec<f64> = (1..=n).map(f64::from).collect();
        let interval = median_interval(&samples).unwrap();
        assert_eq!((interval.low, interval.high), (f64::from(k), f64::from(n + 1 - k)), "{n}");
    }
    assert!((median_interval(&[1.0; 6]).unwrap().confidence - 0.96875).abs() < 1e-12);
    assert_eq!(median_interval(&[1.0; SAMPLES_MIN - 1]), None, "too few");
}

#[test]
fn the_sign_test_by_hand() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    close(sign_test(6, 0), 2.0 / 64.0);
    close(sign_test(0, 5), 2.0 / 32.0);
    close(sign_test(8, 1), 2.0 * 10.0 / 512.0);
    assert_eq!([sign_test(0, 0), sign_test(3, 3), sign_test(4, 3)], [1.0; 3]);
    assert!(sign_test(3000, 1000) > 0.0 && sign_test(3000, 1000) < 1e-100, "no factor is too large");
}

/// A time of about a second, longer now and then, as times are.
fn time_s(random: &mut fastrand::Rng, slower: f64) -> f64 {
    let late = if random.f64() < 0.2 { 0.3 * random.f64() } else { 0.0 };
    slower * (1.0 + 0.03 * random.f64() + late)
}

/// In how many of 1 000 simulated runs a difference is claimed, where the second variant takes so many times as long. The machine
/// is up to half as fast at times.
fn claims(pairs: usize, slower: f64) -> usize {
    let mut random = fastrand::Rng::with_seed(1994);
    let mut run = || {
        let drift: Vec<f64> = (0..pairs).map(|_| 1.0 + random.f64()).collect();
        let first: Vec<f64> = drift.iter().map(|drift| drift * time_s(&mut random, slower)).collect();
        let second: Vec<f64> = drift.iter().map(|drift| drift * time_s(&mut random, 1.0)).collect();
        Comparison::of(&first, &second).unwrap().differs
    };
    (0..1000).filter(|_| run()).count()
}

#[test]
fn no_difference_is_rarely_claimed_and_a_real_one_is_found() {
    for pairs in [5, 6, 9, 12, 30] {
        let wrong = claims(pairs, 1.0);
        assert!(wrong <= 65, "{wrong} of 1 000 runs of {pairs} pairs claim a difference where there is none");
    }
    assert_eq!(claims(5, 1.2), 0, "five pairs show nothing");
    for (pairs, least) in [(6, 600), (12, 950), (30, 999)] {
        let right = claims(pairs, 1.2);
        assert!(right >= least, "{right} of 1 000 runs of {pairs} pairs find 20 %");
    }
}

#[test]
fn the_bootstrap_is_seeded_and_holds_what_it_should() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut held = 0;
    for seed in 0..100 {
        let samples: Vec<f64> = (0..30).map(|_| random.f64()).collect();
        let of = |seed| {
            bootstrap(seed, 400, |draw| median(&draw.of(&samples).into_iter().copied().collect::<Vec<_>>())).unwrap()
        };
        let interval = of(seed);
        assert_eq!(interval, of(seed));
        assert_eq!(interval.method, Method::Bootstrap);
        held += u32::from(interval.low <= 0.5 && 0.5 <= interval.high);
    }
    assert!((85..=100).contains(&held), "{held} of 100");
}

#[test]
fn a_bootstrap_without_results_is_none() {
    assert_eq!(bootstrap(1, 100, |_| None), None);
    assert_eq!(bootstrap(1, 0, |_| Some(1.0)), None);
    let mut call = 0;
    let mut rarely = |_: &mut Draw| {
        call += 1;
        (call % 2 == 0).then_some(1.0)
    };
    assert_eq!(bootstrap(1, 100, &mut rarely), None, "half of all is not enough");
    assert_eq!(bootstrap(1, 100, |draw| Some(draw.of::<f64>(&[]).len() as f64)).unwrap().high, 0.0);
}

#[test]
fn what_cannot_be_compared_is_not() {
    for (first, second) in [(&[][..], &[][..]), (&[1.0], &[1.0, 2.0]), (&[0.0], &[1.0]), (&[1.0], &[f64::NAN])] {
        assert_eq!(Comparison::of(first, second), None);
    }
}

fn samples() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1e-6..1e6f64, 1..60)
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn an_interval_lies_around_the_median_within_the_samples(samples in samples()) {
        let median = median(&samples).unwrap();
        let [least, most] = [0.0, 1.0].map(|share| quantile(&samples, share).unwrap());
        prop_assert!(least <= median && median <= most);
        let interval = median_interval(&samples);
        prop_assert_eq!(interval.is_some(), samples.len() >= SAMPLES_MIN);
        if let Some(Interval { low, high, confidence, .. }) = interval {
            prop_assert!(least <= low && low <= median && median <= high && high <= most);
            prop_assert!((CONFIDENCE..=1.0).contains(&confidence));
        }
    }

    #[test]
    fn a_scale_changes_no_comparison(samples in samples(), factor in 0.1..10.0f64) {
        let doubled: Vec<f64> = samples.iter().map(|value| factor * value).collect();
        let one = Comparison::of(&doubled, &samples).unwrap();
        prop_assert!((one.ratio / factor - 1.0).abs() < 1e-9 && (one.ratio_of_medians / factor - 1.0).abs() < 1e-9);
        let same = Comparison::of(&samples, &samples).unwrap();
        prop_assert!(same.p == 1.0 && !same.differs && same.ratio == 1.0);
    }

    #[test]
    fn what_is_swapped_is_turned_over(above in 0usize..200, below in 0usize..200) {
        prop_assert_eq!(sign_test(above, below), sign_test(below, above));
        prop_assert!((0.0..=1.0).contains(&sign_test(above, below)));
    }

    #[test]
    fn no_sample_gives_a_wrong_number(samples in prop::collection::vec(crate::property_support_tests::anything(), 0..20)) {
        for value in [median(&samples), quantile(&samples, 0.9)].into_iter().flatten() {
            prop_assert!(value.is_finite());
        }
        prop_assert!(median_interval(&samples).is_none_or(|it| it.low.is_finite() && it.low <= it.high));
    }
}
