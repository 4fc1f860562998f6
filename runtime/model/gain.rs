//! The gain of communication latency hiding (Strumpen 1994, sections 2.1 to 2.3.1).
//!
//! One step of a parallel loop calculates for `t_calc` and communicates for `t_com`; `gamma = t_calc / t_com` is
//! its software granularity. Done one after the other, a step takes `t_calc + t_com`. Where a fraction `f` of the
//! calculation can go on while the message travels, and hiding costs `Omega * t_calc` of processor time, it takes
//! `(1 - f) t_calc + max((f + Omega) t_calc, t_com)`. The gain G is the ratio of the two.
//!
//! ```
//! use lathide::model::gain;
//! assert_eq!(gain::ideal(1.0)?, 2.0);
//! assert_eq!(gain::partial(2.0, 0.5)?, 1.5);
//! let with_overhead = gain::with_overhead(1.0, 0.95, 0.03)?;
//! assert!(1.8 < with_overhead && with_overhead < 2.0);
//! # Ok::<(), lathide::model::BadParameter>(())
//! ```

use super::{BadParameter, above_zero, at_least_zero, fraction};

/// G of ideal hiding, eq. (1): `(1 + 1/gamma) / max(1, 1/gamma)`.
///
/// It is `1 + gamma` up to `gamma = 1`, where it reaches its maximum of 2, and `1 + 1/gamma` from there on.
///
/// # Errors
/// If `gamma` is not a finite number above 0.
pub fn ideal(gamma: f64) -> Result<f64, BadParameter> {
    partial(gamma, 1.0)
}

/// G where only a fraction `f` of the calculation can hide communication, section 2.1:
/// `(1 + 1/gamma) / ((1 - f) + max(f, 1/gamma))`.
///
/// Its maximum is `1 + f`, at `gamma = 1/f`.
///
/// # Errors
/// If `gamma` is not a finite number above 0, or `f` not between 0 and 1.
pub fn partial(gamma: f64, f: f64) -> Result<f64, BadParameter> {
    let gamma = above_zero("gamma", gamma)?;
    let f = fraction("f", f)?;
    // Both sides of the fraction are multiplied by gamma, so that a tiny gamma has no infinite reciprocal.
    Ok((gamma + 1.0) / ((1.0 - f) * gamma + (f * gamma).max(1.0)))
}

/// G with the overhead of hiding, eq. (4): `(1 + x) / ((1 - f) + max(f + Omega, x))`.
///
/// `x = t_com / t_calc = 1/gamma` is the whole of the paper's `q (i_cs/(i/p) + gamma_h/gamma_s)`; see
/// [`communication_ratio`]. `omega` is the overhead relative to `t_calc`. There is a loss (G below 1) exactly
/// where `x < omega`.
///
/// # Errors
/// If `x` or `omega` is not a finite number of at least 0, or `f` not between 0 and 1.
pub fn with_overhead(x: f64, f: f64, omega: f64) -> Result<f64, BadParameter> {
    let x = at_least_zero("x", x)?;
    let f = fraction("f", f)?;
    let omega = at_least_zero("Omega", omega)?;
    Ok((1.0 + x) / ((1.0 - f) + (f + omega).max(x)))
}

/// The greatest G that an overhead allows where all calculation can hide, section 2.3.1:
/// `2 - Omega / (1 + Omega)`, reached at `x = 1 + Omega`.
///
/// # Errors
/// If `omega` is not a finite number of at least 0.
pub fn maximum(omega: f64) -> Result<f64, BadParameter> {
    let omega = at_least_zero("Omega", omega)?;
    Ok(2.0 - omega / (1.0 + omega))
}

/// `x = t_com / t_calc` from granularities, eq. (4): `q (startup + gamma_h / gamma_s)`.
///
/// `messages` is q, the messages sent one after another in a step; `startup` is `i_cs / (i/p)`, the instructions
/// that start a message relative to those of a step; `gamma_h` and `gamma_s` are the hardware's and the
/// software's granularity. The two cases of eq. (5) are `startup = 0` (long messages) and `gamma_h = 0` (short).
///
/// # Errors
/// If `gamma_s` is not a finite number above 0, another argument not one of at least 0, or the result too large
/// for a number.
pub fn communication_ratio(messages: f64, startup: f64, gamma_h: f64, gamma_s: f64) -> Result<f64, BadParameter> {
    let messages = at_least_zero("q", messages)?;
    let startup = at_least_zero("startup", startup)?;
    let gamma_h = at_least_zero("gamma_h", gamma_h)?;
    let gamma_s = above_zero("gamma_s", gamma_s)?;
    at_least_zero("x = q (startup + gamma_h/gamma_s)", messages * (startup + gamma_h / gamma_s))
}

/// Speed-up S of `processors` without hiding, eq. (2): `p / (1 + 1/gamma)`.
///
/// # Errors
/// If there are no processors, or `gamma` is not a finite number above 0.
pub fn speedup(processors: u32, gamma: f64) -> Result<f64, BadParameter> {
    speedup_hidden(processors, gamma, 0.0)
}

/// Speed-up S_lh of `processors` with hiding, eq. (2): `p / ((1 - f) + max(f, 1/gamma))`.
///
/// # Errors
/// If there are no processors, `gamma` is not a finite number above 0, or `f` not between 0 and 1.
pub fn speedup_hidden(processors: u32, gamma: f64, f: f64) -> Result<f64, BadParameter> {
    let p = above_zero("p", f64::from(processors))?;
    let gamma = above_zero("gamma", gamma)?;
    let f = fraction("f", f)?;
    Ok(p * (gamma / ((1.0 - f) * gamma + (f * gamma).max(1.0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden values that belong to this module: the papers' own numbers, and regression values.
    const GOLDEN: &str = include_str!("../../tests/golden/gain.toml");

    fn number(inputs: &toml::Table, name: &str) -> f64 {
        match &inputs[name] {
            toml::Value::Integer(value) => *value as f64,
            toml::Value::Float(value) => *value,
            other => panic!("{name} is no number: {other:?}"),
        }
    }

    /// What our function gives for a golden entry; `None` for a formula that is not in this module.
    fn evaluate(formula: &str, inputs: &toml::Table) -> Option<f64> {
        let get = |name| number(inputs, name);
        let value = match formula {
            "gain.G" => partial(get("gamma"), get("f")),
            "gain.S" => speedup(get("p") as u32, get("gamma")),
            "gain.S_lh" => speedup_hidden(get("p") as u32, get("gamma"), get("f")),
            "gain.G_gran" => communication_ratio(get("q"), get("startup"), get("gh"), get("gs"))
                .and_then(|x| with_overhead(x, get("f"), get("Omega"))),
            "gain.max_overhead" => maximum(get("Omega")),
            _ => return None,
        };
        Some(value.expect("golden inputs are valid"))
    }

    #[test]
    fn golden_values() {
        let golden: toml::Table = GOLDEN.parse().expect("valid TOML");
        let mut seen = std::collections::BTreeMap::new();
        for entry in golden["value"].as_array().expect("an array of values") {
            let (id, formula) = (&entry["id"], entry["eval"].as_str().expect("a formula's name"));
            let Some(value) = evaluate(formula, entry["inputs"].as_table().expect("inputs")) else { continue };
            let expected = entry["expected"].as_float().expect("one number");
            assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{id:?}: {value}, not {expected}");
            if let Some(printed) = entry.get("printed").and_then(toml::Value::as_float) {
                let tolerance = entry["tol"].as_float().expect("a tolerance").max(1e-12);
                assert!((value - printed).abs() <= tolerance, "{id:?}: {value}, printed {printed}");
            }
            *seen.entry(formula.to_owned()).or_insert(0) += 1;
        }
        // A file that lost its entries must not pass.
        for (formula, at_least) in
            [("gain.G", 7), ("gain.S", 1), ("gain.S_lh", 1), ("gain.G_gran", 16), ("gain.max_overhead", 3)]
        {
            assert!(seen.get(formula).copied().unwrap_or(0) >= at_least, "{formula}: too few values in {seen:?}");
        }
    }

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
}
