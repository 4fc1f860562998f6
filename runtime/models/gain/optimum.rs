//! The best granularity, and the range of granularities for a wanted G (Strumpen 1994, sections 2.3.1 and 2.3.3).
//!
//! Over `x = t_com / t_calc = 1/gamma`, eq. (4) rises as `(1 + x) / (1 + Omega)` up to `x = f + Omega` and falls as
//! `(1 + x) / (1 - f + x)` from there on. Everything here follows from these two branches.

use super::with_overhead;
use crate::{BadParameter, above_zero, at_least_zero, check, fraction};

/// A range, both ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The lower end.
    pub least: f64,
    /// The upper end.
    pub most: f64,
}

impl Range {
    /// Whether `value` is inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// The greatest G that f and Omega allow: `1 + f / (1 + Omega)`, reached at [`best_gamma`].
///
/// With `f = 1` it is the paper's `2 - Omega / (1 + Omega)` ([`maximum`](super::maximum), section 2.3.1), with
/// `Omega = 0` its `1 + f` (section 2.1).
///
/// # Errors
/// If `f` is not between 0 and 1, or `omega` not a finite number of at least 0.
pub fn maximum_partial(f: f64, omega: f64) -> Result<f64, BadParameter> {
    let f = fraction("f", f)?;
    let omega = at_least_zero("Omega", omega)?;
    Ok(1.0 + f / (1.0 + omega))
}

/// The granularity gamma = t_calc / t_com with the greatest G: `1 / (f + Omega)`, sections 2.1 and 2.3.1.
///
/// `None` where `f` is 0: nothing is hidden, and no granularity is better than another.
///
/// ```
/// use lathide_models::gain;
/// assert_eq!(gain::best_gamma(0.5, 0.0)?, Some(2.0));
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If `f` is not between 0 and 1, `omega` not a finite number of at least 0, or the result too large for a number.
pub fn best_gamma(f: f64, omega: f64) -> Result<Option<f64>, BadParameter> {
    let f = fraction("f", f)?;
    let omega = at_least_zero("Omega", omega)?;
    if f == 0.0 {
        return Ok(None);
    }
    reciprocal(f + omega).map(Some)
}

/// The granularity gamma above which hiding loses (G below 1): `1 / Omega`, sections 2.3.1 and 2.3.2.
///
/// It does not depend on f. `None` where `omega` is 0, or so small that no number is that large: then there is no loss.
///
/// # Errors
/// If `omega` is not a finite number of at least 0.
pub fn break_even_gamma(omega: f64) -> Result<Option<f64>, BadParameter> {
    Ok(Some(1.0 / at_least_zero("Omega", omega)?).filter(|gamma| gamma.is_finite()))
}

/// The granularities gamma whose G by eq. (4) is at least `target`, section 2.3.1; `None` if no granularity has it.
///
/// With `f = 1` and `Omega = 0` it is `[target - 1, 1 / (target - 1)]`.
///
/// # Errors
/// If `target` is not a finite number above 1, `f` not between 0 and 1, `omega` not a finite number of at least 0,
/// or an end of the range too large for a number.
pub fn gamma_range_for_gain(target: f64, f: f64, omega: f64) -> Result<Option<Range>, BadParameter> {
    let Some(x) = ratio_range_for_gain(target, f, omega)? else { return Ok(None) };
    Ok(Some(Range { least: reciprocal(x.most)?, most: reciprocal(x.least)? }))
}

/// The software granularities gamma_s whose G is at least `target`, section 2.3.1, for long messages.
///
/// `gamma_h` is the hardware's granularity and `messages` is q; `gamma_s = q gamma_h gamma`. With `f = q = 1` and
/// `Omega = 0` it is `[gamma_h (target - 1), gamma_h / (target - 1)]`: a larger gamma_h has the wider range. `None` if
/// no granularity has that gain.
///
/// ```
/// use lathide_models::gain;
/// let range = gain::software_range_for_gain(1.5, 1.0, 0.0, 10.0, 1.0)?.expect("G reaches 2");
/// assert_eq!((range.least, range.most), (5.0, 20.0));
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// As [`gamma_range_for_gain`], and if `gamma_h` or `messages` is not a finite number above 0.
pub fn software_range_for_gain(
    target: f64,
    f: f64,
    omega: f64,
    gamma_h: f64,
    messages: f64,
) -> Result<Option<Range>, BadParameter> {
    let Some(gamma) = gamma_range_for_gain(target, f, omega)? else { return Ok(None) };
    let end = |gamma| software_granularity(gamma, gamma_h, messages);
    Ok(Some(Range { least: end(gamma.least)?, most: end(gamma.most)? }))
}

/// The software granularity that makes `gamma = t_calc / t_com`, section 2.2, for long messages: `q gamma_h gamma`.
///
/// With [`best_gamma`] it answers the programmer's question of section 2.3.3.
///
/// # Errors
/// If an argument is not a finite number above 0, or the result not one of at least 0.
pub fn software_granularity(gamma: f64, gamma_h: f64, messages: f64) -> Result<f64, BadParameter> {
    let gamma = above_zero("gamma", gamma)?;
    let gamma_h = above_zero("gamma_h", gamma_h)?;
    let messages = above_zero("q", messages)?;
    at_least_zero("gamma_s = q gamma_h gamma", messages * gamma_h * gamma)
}

/// The hardware granularity that makes `gamma = t_calc / t_com`, section 2.2, for long messages:
/// `gamma_s / (q gamma)`.
///
/// With [`best_gamma`] it answers the architect's question of section 2.3.3.
///
/// # Errors
/// If an argument is not a finite number above 0, or the result not one of at least 0.
pub fn hardware_granularity(gamma: f64, gamma_s: f64, messages: f64) -> Result<f64, BadParameter> {
    let gamma = above_zero("gamma", gamma)?;
    let gamma_s = above_zero("gamma_s", gamma_s)?;
    let messages = above_zero("q", messages)?;
    at_least_zero("gamma_h = gamma_s / (q gamma)", gamma_s / messages / gamma)
}

/// A machine as its programmer sees it, section 2.3.3: long messages, everything in them relative to calculation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hardware {
    gamma_h: f64,
    omega: f64,
}

impl Hardware {
    /// The machine `(gamma_h, Omega)`.
    ///
    /// # Errors
    /// If an argument is not a finite number of at least 0.
    pub fn new(gamma_h: f64, omega: f64) -> Result<Self, BadParameter> {
        Ok(Self { gamma_h: at_least_zero("gamma_h", gamma_h)?, omega: at_least_zero("Omega", omega)? })
    }

    /// G of a program of software granularity `gamma_s` on this machine, eqs. (4) and (5) with long messages.
    ///
    /// # Errors
    /// As [`communication_ratio`](super::communication_ratio) and [`with_overhead`].
    pub fn gain(&self, gamma_s: f64, f: f64, messages: f64) -> Result<f64, BadParameter> {
        with_overhead(super::communication_ratio(messages, 0.0, self.gamma_h, gamma_s)?, f, self.omega)
    }

    /// The least G of all software granularities in `gamma_s`, Example 2 of section 2.3.1.
    ///
    /// It is at one end of the range, since G over gamma_s rises and then falls.
    ///
    /// # Errors
    /// As [`Hardware::gain`], and if the range's lower end is above its upper end.
    pub fn least_gain(&self, gamma_s: Range, f: f64, messages: f64) -> Result<f64, BadParameter> {
        let Range { least, most } = gamma_s;
        check("gamma_s", least, least <= most, "a range whose lower end is not above its upper end")?;
        Ok(self.gain(least, f, messages)?.min(self.gain(most, f, messages)?))
    }
}

/// The machine with the greatest G for a program, and that G; Example 1 of section 2.3.1.
///
/// The answer is the machine's place in `machines`; of equals the first.
///
/// # Errors
/// If there are no machines, or as [`Hardware::gain`].
pub fn best_machine(machines: &[Hardware], gamma_s: f64, f: f64, messages: f64) -> Result<(usize, f64), BadParameter> {
    let mut best = None;
    for (place, machine) in machines.iter().enumerate() {
        let gain = machine.gain(gamma_s, f, messages)?;
        if best.is_none_or(|(_, greatest)| gain > greatest) {
            best = Some((place, gain));
        }
    }
    best.ok_or(BadParameter { name: "number of machines", value: 0.0, domain: "at least 1" })
}

/// The ratios `x = t_com / t_calc` whose G is at least `target`.
pub(super) fn ratio_range_for_gain(target: f64, f: f64, omega: f64) -> Result<Option<Range>, BadParameter> {
    let target = check("G", target, target > 1.0 && target.is_finite(), "a finite number above 1")?;
    let f = fraction("f", f)?;
    let omega = at_least_zero("Omega", omega)?;
    if target > maximum_partial(f, omega)? {
        return Ok(None);
    }
    let excess = target - 1.0;
    let summit = f + omega;
    // On each side of the summit its own branch; rounding must not move an end across it.
    let least = (excess * (1.0 + omega) + omega).min(summit);
    let most = (f / excess - (1.0 - f)).max(summit);
    Ok(Some(Range { least, most }))
}

fn reciprocal(x: f64) -> Result<f64, BadParameter> {
    above_zero("gamma", 1.0 / x)
}
