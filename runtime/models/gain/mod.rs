//! The gain of communication latency hiding (Strumpen 1994, sections 2, 4.1 and 4.3).
//!
//! One step of a parallel loop calculates for `t_calc` and communicates for `t_com`; `gamma = t_calc / t_com` is
//! its software granularity. Done one after the other, a step takes `t_calc + t_com`. Where a fraction `f` of the
//! calculation can go on while the message travels, and hiding costs `Omega * t_calc` of processor time, it takes
//! `(1 - f) t_calc + max((f + Omega) t_calc, t_com)`. The gain G is the ratio of the two.
//!
//! | question | answer | place in the paper |
//! | --- | --- | --- |
//! | what is G? | [`ideal`], [`partial`], [`with_overhead`] with [`communication_ratio`] | eqs. (1), (4), (5) |
//! | what can it be at most, and at which granularity? | [`maximum_partial`], [`best_gamma`], [`break_even_gamma`] | 2.1, 2.3.1 |
//! | which granularities gain at least so much? | [`gamma_range_for_gain`], [`software_range_for_gain`] | 2.3.1 |
//! | which machine is best for a program? | [`best_machine`], [`Hardware::least_gain`] | Examples 1 and 2, 2.3.3 |
//! | which number of processors? | [`Scaling`] | eq. (6), 2.3.2 |
//! | what of tasks that differ? | [`job`] | 2.2 |
//! | what of a known algorithm? | [`ConjugateGradient`] | 4.3 |
//! | what of several steps for each exchange? | [`DeepHalo`] | beyond eq. (1) |
//! | what does hiding cost a small message? | [`penalty`] | 4.1, Tables 1 and 2 |
//!
//! ```
//! use lathide_models::gain;
//! assert_eq!(gain::ideal(1.0)?, 2.0);
//! assert_eq!(gain::partial(2.0, 0.5)?, 1.5);
//! let with_overhead = gain::with_overhead(1.0, 0.95, 0.03)?;
//! assert!(1.8 < with_overhead && with_overhead < 2.0);
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod conjugate_gradient;
#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod golden_tests;
mod halo;
mod optimum;
pub mod penalty;
#[cfg(test)]
mod property_tests;
mod scaling;
mod tasks;
#[cfg(test)]
mod tasks_tests;

pub use conjugate_gradient::{ConjugateGradient, Costs};
pub use halo::DeepHalo;
pub use optimum::{
    Hardware, Range, best_gamma, best_machine, break_even_gamma, gamma_range_for_gain, hardware_granularity,
    maximum_partial, software_granularity, software_range_for_gain,
};
pub use scaling::{Messages, Scaling, lambda};
pub use tasks::{Job, Task, job};

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

/// Speed-up S_lh of `processors` with hiding and its overhead, section 2.3.2: `p / ((1 - f) + max(f + Omega, x))`.
///
/// With `f` and `omega` 0 it is S, the speed-up without hiding.
///
/// # Errors
/// If there are no processors, `f` is not between 0 and 1, or `x` or `omega` not a finite number of at least 0.
pub fn speedup_with_overhead(processors: u32, x: f64, f: f64, omega: f64) -> Result<f64, BadParameter> {
    let p = above_zero("p", f64::from(processors))?;
    let x = at_least_zero("x", x)?;
    let f = fraction("f", f)?;
    let omega = at_least_zero("Omega", omega)?;
    Ok(p / ((1.0 - f) + (f + omega).max(x)))
}
