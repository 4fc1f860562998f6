use proptest::prelude::*;

use super::super::noise::{Noise, near};
use super::*;

fn gain(f: f64, omega: f64) -> Gain {
    Gain { f, omega, f_points: 0, omega_points: 0 }
}

/// gamma from 1/5 to 5, as the command sweeps it.
fn sweep() -> Vec<f64> {
    vec![0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0]
}

fn points(model: &Gain, gammas: &[f64]) -> Vec<Point> {
    gammas.iter().map(|gamma| Point { x: 1.0 / gamma, gain: model.at(1.0 / gamma).unwrap() }).collect()
}

#[test]
fn known_parameters_come_out_exactly() {
    for f in [0.0, 0.3, 0.75, 0.95, 1.0] {
        for omega in [0.0, 0.02, 0.1, 0.4] {
            let fitted = fit(&points(&gain(f, omega), &sweep())).unwrap();
            let found = fitted.model;
            assert!((found.f - f).abs() < 1e-9, "{f} {omega} {found:?}");
            // gamma of at most 5 shows no Omega where f + Omega is below 1/5.
            let shows = f + omega >= 0.2;
            assert!((found.omega - if shows { omega } else { 0.0 }).abs() < 1e-9, "{f} {omega} {found:?}");
            assert_eq!(found.f_points + found.omega_points, 13);
            assert_eq!(found.f_points, sweep().iter().filter(|gamma| 1.0 / **gamma > found.f + found.omega).count());
            let quality = fitted.quality.unwrap();
            assert!(quality.median_error < 1e-9 && quality.samples == 13, "{f} {omega} {quality:?}");
        }
    }
}

#[test]
fn noise_and_gross_outliers_are_survived() {
    for seed in 0..crate::scale::scaled(60) {
        let mut noise = Noise::new(seed);
        let model = gain(0.5 + 0.5 * noise.even(), 0.3 * noise.even());
        let gammas: Vec<f64> = (0..200).map(|_| noise.between(0.3, 4.0)).collect();
        let mut measured = points(&model, &gammas);
        for point in &mut measured {
            point.gain = noise.measure(point.gain);
        }
        let fitted = fit(&measured).unwrap();
        let found = fitted.model;
        assert!((found.f - model.f).abs() < 0.06 && (found.omega - model.omega).abs() < 0.04, "{model:?} {found:?}");
        for x in [0.2, 0.5, 1.0, 2.0, 4.0] {
            assert!(near(found.at(x).unwrap(), model.at(x).unwrap(), 0.04), "at {x}: {model:?} {found:?}");
        }
        assert!((0.02..0.07).contains(&fitted.quality.unwrap().median_error));
    }
}

#[test]
fn what_does_not_show_is_ideal() {
    // Calculation is always the longer part: only the overhead shows.
    let short = fit(&points(&gain(0.9, 0.05), &[2.0, 3.0, 4.0])).unwrap().model;
    assert_eq!((short.f, short.f_points, short.omega_points), (1.0, 0, 3));
    assert!((short.omega - 0.05).abs() < 1e-9);
    // Communication is: only f shows.
    let long = fit(&points(&gain(0.9, 0.05), &[0.1, 0.3, 0.5])).unwrap().model;
    assert_eq!((long.omega, long.f_points, long.omega_points), (0.0, 3, 0));
    assert!((long.f - 0.9).abs() < 1e-9);
}

#[test]
fn luck_does_not_leave_the_domain() {
    // More gain than any f and Omega allow, and less.
    let lucky = fit(&[Point { x: 1.0, gain: 2.4 }, Point { x: 0.5, gain: 1.9 }, Point { x: 2.0, gain: 1.7 }]).unwrap();
    assert_eq!((lucky.model.f, lucky.model.omega), (1.0, 0.0));
    let poor = fit(&[Point { x: 3.0, gain: 0.5 }, Point { x: 2.0, gain: 0.5 }, Point { x: 0.5, gain: 0.5 }]).unwrap();
    assert!((0.0..=1.0).contains(&poor.model.f) && poor.model.omega > 0.5, "{poor:?}");
}

#[test]
fn points_are_medians_of_ratios_within_a_repetition() {
    let phases = |speed: f64, t_i3_s: f64| Phases {
        t_calc_s: 2.0 * speed,
        t_com_s: 1.0 * speed,
        t_i1_s: 3.0 * speed,
        t_i3_s: t_i3_s * speed,
    };
    // The machine's speed drifts threefold; the ratios do not.
    let point = Phases::point(&[phases(1.0, 2.0), phases(3.0, 2.0), phases(0.5, 30.0)]).unwrap().unwrap();
    assert_eq!((point.x, point.gain), (0.5, 1.5));
    assert_eq!(phases(1.0, 1.0).gamma(), Ok(2.0));
    assert_eq!(Phases::point(&[]), Ok(None));
    let error = Phases::point(&[phases(1.0, 2.0), phases(1.0, 0.0)]).unwrap_err();
    assert!(matches!(error, FitError::BadSample { index: 1, cause } if cause.name == "t_i3_s"), "{error}");
}

#[test]
fn a_held_out_point_is_not_fitted() {
    // Only one point shows Omega. Without it Omega is ideal, so its own prediction must be off by it.
    let fitted = fit(&points(&gain(0.9, 0.25), &[0.2, 0.4, 0.6, 5.0])).unwrap();
    assert!((fitted.model.omega - 0.25).abs() < 1e-9);
    let alone = fitted.held_out[3];
    assert!(near(alone.predicted, alone.measured * 1.25, 1e-9), "{alone:?}");
    assert!(fitted.held_out[..3].iter().all(|pair| pair.error().unwrap() < 1e-9));
    assert_eq!(fit(&points(&gain(0.9, 0.25), &[0.2, 5.0])).unwrap().quality, None);
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let point = Point { x: 1.0, gain: 1.5 };
    assert_eq!(fit(&[point]).unwrap_err(), FitError::TooFewSamples { samples: 1, parameters: 2 });
    assert_eq!(
        fit(&[point, point]).unwrap_err().to_string(),
        "all samples have the same t_com / t_calc, 1: measure at least two"
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e30] {
        let error = fit(&[point, Point { gain: bad, ..point }]).unwrap_err();
        assert!(matches!(error, FitError::BadSample { index: 1, cause } if cause.name == "G"), "{error}");
        assert!(fit(&[Point { x: bad, ..point }, point]).is_err());
        let phases = Phases { t_calc_s: 1.0, t_com_s: bad, t_i1_s: 1.0, t_i3_s: 1.0 };
        assert!(fit_phases(&[phases, phases]).is_err());
    }
    assert!(Phases { t_calc_s: 1.0, t_com_s: 0.0, t_i1_s: 1.0, t_i3_s: 1.0 }.gamma().is_err());
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    /// Whatever is put in, numbers come out, or an error.
    #[test]
    fn no_nan_comes_out(points in proptest::collection::vec((prop_oneof![1 => any::<f64>(), 40 => (-9.0..9.0).prop_map(|e: f64| 10_f64.powf(e)), 40 => 0.1..10.0], prop_oneof![1 => any::<f64>(), 40 => (-9.0..9.0).prop_map(|e: f64| 10_f64.powf(e)), 40 => 0.5..3.0]), 0..12)) {
        let points: Vec<Point> = points.into_iter().map(|(x, gain)| Point { x, gain }).collect();
        let Ok(fitted) = fit(&points) else { return Ok(()) };
        prop_assert!((0.0..=1.0).contains(&fitted.model.f) && fitted.model.omega >= 0.0 && fitted.model.omega.is_finite());
        prop_assert!(fitted.held_out.iter().all(|pair| pair.predicted.is_finite() && pair.error().is_ok()));
        prop_assert!(fitted.model.at(1.0).is_ok());
    }
}
