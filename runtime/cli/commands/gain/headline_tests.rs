use lathide_models::gain::with_overhead;
use lathide_models::stats::Method;

use super::super::analysis::evaluate;
use super::super::plan::Measured;
use super::*;
use crate::commands::common::strip::Shape;

const F: f64 = 0.95;
const OMEGA: f64 = 0.02;

/// Repetitions as eq. (4) has them, with times that vary by so much; I.1 twice.
fn point(gamma: f64, repeats: u32, noise: f64, random: &mut fastrand::Rng) -> Point {
    let mut vary = |time_s: f64| time_s * (1.0 + noise * (random.f64() - 0.5));
    let round = |sequence| {
        let (t_com, t_calc) = (0.05, 0.05 * gamma);
        let t_i1 = t_com + t_calc;
        Round {
            sequence,
            work: 1,
            t_calc: vary(t_calc),
            interior: F * t_calc,
            t_com: vary(t_com),
            t_i1: vary(t_i1),
            t_i1_again: Some(vary(t_i1)),
            t_i2: vary(t_i1),
            t_i3: vary(t_i1 / with_overhead(1.0 / gamma, F, OMEGA).unwrap()),
            t_raw_exchange: vary(t_i1),
            t_raw_pingpong: Some(vary(t_i1 + t_com)),
            busy: F * t_calc,
            ..Round::default()
        }
    };
    let rounds = (0..repeats).map(round).collect();
    let shape = Shape { rows: 10, columns: 4, work: 1 };
    evaluate(&Measured { gamma_wanted: gamma, shape, steps: 1, rounds }, repeats).unwrap()
}

fn points(gammas: &[f64], repeats: u32, noise: f64, seed: u64) -> Vec<Point> {
    let mut random = fastrand::Rng::with_seed(seed);
    gammas.iter().map(|gamma| point(*gamma, repeats, noise, &mut random)).collect()
}

#[test]
fn the_fits_interval_holds_the_gain_and_is_the_same_each_time() {
    let truth = with_overhead(1.0, F, OMEGA).unwrap();
    let mut held = 0;
    for seed in 0..20 {
        let points = points(&[0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 4.0], 6, 0.04, seed);
        let headline = headline(&points).unwrap();
        assert_eq!(headline.from, From::Fit);
        let interval = headline.interval.unwrap();
        assert_eq!(interval.method, Method::Bootstrap);
        assert!(interval.low <= headline.gain && headline.gain <= interval.high, "{headline:?}");
        assert_eq!(super::headline(&points), Some(headline));
        held += u32::from(interval.low <= truth && truth <= interval.high);
    }
    assert!(held >= 16, "{held} of 20 intervals hold G = {truth}");
}

#[test]
fn one_point_near_to_one_stands_for_it_and_one_far_does_not() {
    let near = headline(&points(&[1.0], 6, 0.0, 1)).unwrap();
    assert_eq!((near.from, near.interval.unwrap().method), (From::Point, Method::OrderStatistics));
    assert!(
        near.in_words().contains("G = 1.90 at gamma = 1 as measured (96 % interval 1.90 to 1.90, by order"),
        "{near:?}"
    );
    assert_eq!(headline(&points(&[0.5], 6, 0.0, 1)), None);
    assert_eq!(headline(&[]), None);
    assert!(headline(&points(&[1.0], 3, 0.0, 1)).unwrap().in_words().contains("too few repetitions for an interval"));
}

#[test]
fn what_is_compared_with_itself_does_not_differ_and_hiding_does() {
    let mut claims = 0;
    for seed in 0..100 {
        let compared = comparisons(&points(&[1.0], 6, 0.04, seed));
        assert_eq!(compared.len(), 4);
        assert!(compared[0].what.contains("A/A") && compared[0].pairs == 6);
        claims += u32::from(compared[0].differs);
        let hiding = &compared[2];
        assert!(hiding.differs && hiding.ratio > 1.8 && hiding.low.unwrap() <= hiding.ratio, "{hiding:?}");
    }
    assert!(claims <= 10, "{claims} of 100 claim that I.1 differs from itself");
    assert!(comparisons(&[]).is_empty());
}
