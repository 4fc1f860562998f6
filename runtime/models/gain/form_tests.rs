//! Properties of eqs. (1) to (5) at chosen places.

use super::*;

#[test]
fn the_forms_agree() {
    for gamma in [0.01, 0.3, 1.0, 1.7, 50.0] {
        for f in [0.0, 0.25, 0.9, 1.0] {
            let g = partial(gamma, f).unwrap();
            let of_speedups = speedup_hidden(2, gamma, f).unwrap() / speedup(2, gamma).unwrap();
            assert!((g - of_speedups).abs() < 1e-12);
            assert!((g - with_overhead(1.0 / gamma, f, 0.0).unwrap()).abs() < 1e-12);
            assert!((1.0..=1.0 + f + 1e-12).contains(&g), "G = {g} at gamma {gamma}, f {f}");
        }
    }
}

#[test]
fn overhead_bounds_the_gain() {
    for omega in [0.0, 0.1, 0.7, 3.0] {
        let most = maximum(omega).unwrap();
        assert!((with_overhead(1.0 + omega, 1.0, omega).unwrap() - most).abs() < 1e-12);
        for x in [0.01, 0.5, 1.0, 1.3, 8.0] {
            assert!(with_overhead(x, 1.0, omega).unwrap() <= most + 1e-12);
            let g = with_overhead(x, 0.6, omega).unwrap();
            assert_eq!(g < 1.0 - 1e-12, x < omega, "loss exactly below Omega: G = {g}, x = {x}, Omega = {omega}");
        }
    }
}

#[test]
fn bad_arguments_are_named() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ideal(bad).unwrap_err().name, "gamma");
        assert_eq!(speedup(2, bad).unwrap_err().name, "gamma");
        assert_eq!(communication_ratio(1.0, 0.0, 1.0, bad).unwrap_err().name, "gamma_s");
    }
    for bad in [-0.1, 1.1, f64::NAN] {
        assert_eq!(partial(1.0, bad).unwrap_err().name, "f");
        assert_eq!(with_overhead(1.0, bad, 0.0).unwrap_err().name, "f");
        assert_eq!(speedup_hidden(2, 1.0, bad).unwrap_err().name, "f");
    }
    for bad in [-1.0, f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        assert_eq!(with_overhead(bad, 1.0, 0.0).unwrap_err().name, "x");
        assert_eq!(with_overhead(1.0, 1.0, bad).unwrap_err().name, "Omega");
        assert_eq!(maximum(bad).unwrap_err().name, "Omega");
    }
    assert_eq!(speedup(0, 1.0).unwrap_err().name, "p");
    assert_eq!(ideal(-1.0).unwrap_err().to_string(), "gamma is -1, but must be a finite number above 0");
    assert!(communication_ratio(f64::MAX, 1.0, f64::MAX, f64::MIN_POSITIVE).is_err(), "overflow is an error");
}

#[test]
fn extreme_arguments_give_numbers() {
    for gamma in [f64::MIN_POSITIVE, 5e-324, 1e-300, 1e300, f64::MAX] {
        for f in [0.0, 0.5, 1.0] {
            assert!(partial(gamma, f).unwrap().is_finite());
            assert!(speedup_hidden(u32::MAX, gamma, f).unwrap().is_finite());
        }
    }
    for x in [0.0, 5e-324, f64::MAX] {
        for omega in [0.0, f64::MAX] {
            assert!(with_overhead(x, 1.0, omega).unwrap().is_finite());
            assert!(maximum(omega).unwrap().is_finite());
        }
    }
}
