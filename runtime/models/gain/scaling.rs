//! Many processors (Strumpen 1994, section 2.3.2): how G and the speed-ups change with p.
//!
//! Where the instructions `i` and the words `b` of a program are constant, `lambda = p gamma_s / gamma_h` is a constant
//! too, and `x = t_com / t_calc = q p / lambda`. The messages q that a node sends one after another may grow with p.

use std::ops::RangeInclusive;

use super::optimum::ratio_range_for_gain;
use super::{speedup_with_overhead, with_overhead};
use crate::{BadParameter, above_zero, at_least_zero, fraction};

/// How many messages a node sends one after another in a step: `q = factor * p^exponent`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Messages {
    factor: f64,
    exponent: f64,
}

impl Messages {
    /// Every node with every other: q = p.
    pub const ALL_TO_ALL: Self = Self { factor: 1.0, exponent: 1.0 };
    /// Sums over a square mesh: q = sqrt(p), as in the conjugate gradients of section 4.3.
    pub const MESH: Self = Self { factor: 1.0, exponent: 0.5 };

    /// The same number of messages for any number of processors.
    ///
    /// # Errors
    /// If `messages` is not a finite number above 0.
    pub fn constant(messages: f64) -> Result<Self, BadParameter> {
        Self::power(messages, 0.0)
    }

    /// `factor * p^exponent` messages.
    ///
    /// # Errors
    /// If `factor` is not a finite number above 0, or `exponent` not a finite number of at least 0.
    pub fn power(factor: f64, exponent: f64) -> Result<Self, BadParameter> {
        Ok(Self { factor: above_zero("q", factor)?, exponent: at_least_zero("exponent of q", exponent)? })
    }

    /// q for `processors`.
    ///
    /// # Errors
    /// If there are no processors, or q is too large for a number.
    pub fn of(&self, processors: u32) -> Result<f64, BadParameter> {
        let p = above_zero("p", f64::from(processors))?;
        at_least_zero("q", self.factor * p.powf(self.exponent))
    }
}

/// `lambda = p gamma_s / gamma_h`, section 2.3.2: instructions per word of the whole program, over the hardware's.
///
/// # Errors
/// If there are no processors, a granularity is not a finite number above 0, or the result not one of at least 0.
pub fn lambda(processors: u32, gamma_s: f64, gamma_h: f64) -> Result<f64, BadParameter> {
    let p = above_zero("p", f64::from(processors))?;
    let gamma_s = above_zero("gamma_s", gamma_s)?;
    let gamma_h = above_zero("gamma_h", gamma_h)?;
    at_least_zero("lambda = p gamma_s / gamma_h", gamma_s / gamma_h * p)
}

/// A program on any number of processors, eq. (6).
///
/// ```
/// use lathide_models::gain::{Messages, Scaling};
/// let program = Scaling::new(144.0, Messages::ALL_TO_ALL, 1.0, 0.0)?;
/// assert_eq!(program.gain(12)?, 2.0); // lambda = p^2
/// assert_eq!(program.best_for_gain()?, Some(12));
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scaling {
    lambda: f64,
    messages: Messages,
    f: f64,
    omega: f64,
}

impl Scaling {
    /// A program of ratio [`lambda`], of which a fraction `f` can hide `messages`, at the cost `omega` of hiding.
    ///
    /// # Errors
    /// If `lambda` is not a finite number above 0, `f` not between 0 and 1, or `omega` not a finite number of at
    /// least 0.
    pub fn new(lambda: f64, messages: Messages, f: f64, omega: f64) -> Result<Self, BadParameter> {
        Ok(Self {
            lambda: above_zero("lambda", lambda)?,
            messages,
            f: fraction("f", f)?,
            omega: at_least_zero("Omega", omega)?,
        })
    }

    /// `x = t_com / t_calc = q p / lambda`.
    ///
    /// # Errors
    /// If there are no processors, or the result is too large for a number. So for every method with processors.
    pub fn ratio(&self, processors: u32) -> Result<f64, BadParameter> {
        let messages = self.messages.of(processors)?;
        at_least_zero("x = q p / lambda", messages * (f64::from(processors) / self.lambda))
    }

    /// Speed-up S without hiding: `p / (1 + q p / lambda)`.
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn speedup(&self, processors: u32) -> Result<f64, BadParameter> {
        speedup_with_overhead(processors, self.ratio(processors)?, 0.0, 0.0)
    }

    /// Speed-up S_lh with hiding: `p / ((1 - f) + max(f + Omega, q p / lambda))`.
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn speedup_hidden(&self, processors: u32) -> Result<f64, BadParameter> {
        speedup_with_overhead(processors, self.ratio(processors)?, self.f, self.omega)
    }

    /// G = S_lh / S, eq. (6).
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn gain(&self, processors: u32) -> Result<f64, BadParameter> {
        with_overhead(self.ratio(processors)?, self.f, self.omega)
    }

    /// The number of processors with the greatest S: where `x = 1/e`, for q growing as `p^e`.
    ///
    /// `None` if S still grows at `u32::MAX` processors, as it does for ever where q is constant.
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn best_for_speedup(&self) -> Result<Option<u32>, BadParameter> {
        self.best(1.0 / self.messages.exponent, |p| self.speedup(p))
    }

    /// The least number of processors with the greatest S_lh: where `x = max(f + Omega, (1 - f)/e)`.
    ///
    /// `None` if S_lh still grows at `u32::MAX` processors, as it does for ever where q is constant and f below 1.
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn best_for_speedup_hidden(&self) -> Result<Option<u32>, BadParameter> {
        let exposed = 1.0 - self.f;
        let falls_from = if exposed > 0.0 { exposed / self.messages.exponent } else { 0.0 };
        self.best(falls_from.max(self.f + self.omega), |p| self.speedup_hidden(p))
    }

    /// The number of processors with the greatest G: where `x = f + Omega`.
    ///
    /// `None` if nothing can be hidden (`f` = 0), or if G still grows at `u32::MAX` processors.
    ///
    /// # Errors
    /// As [`Scaling::ratio`].
    pub fn best_for_gain(&self) -> Result<Option<u32>, BadParameter> {
        if self.f == 0.0 {
            return Ok(None);
        }
        self.best(self.f + self.omega, |p| self.gain(p))
    }

    /// The numbers of processors whose G is at least `target` (to twelve digits); `None` if none has it.
    ///
    /// # Errors
    /// If `target` is not a finite number above 1.
    pub fn processors_for_gain(&self, target: f64) -> Result<Option<RangeInclusive<u32>>, BadParameter> {
        let Some(x) = ratio_range_for_gain(target, self.f, self.omega)? else { return Ok(None) };
        // One further on each side: rounding must not lose a whole number that fits.
        let ends = (self.processors_at(x.least).ceil() - 1.0, self.processors_at(x.most).floor() + 1.0);
        let fits = |p: u32| self.gain(p).is_ok_and(|gain| gain >= target * (1.0 - 1e-12));
        let (mut least, mut most) = (whole(ends.0), whole(ends.1));
        for _ in 0..2 {
            least += u32::from(!fits(least) && least < most);
            most -= u32::from(!fits(most) && least < most);
        }
        Ok((fits(least) && fits(most)).then_some(least..=most))
    }

    /// The number of processors, not yet a whole one, at which `q p / lambda` is `x`.
    fn processors_at(&self, x: f64) -> f64 {
        // Powers are taken first: neither the product nor the quotient of the three is a number for all of them.
        let root = |value: f64| value.powf(1.0 / (1.0 + self.messages.exponent));
        root(x) * root(self.lambda) / root(self.messages.factor)
    }

    /// The better of the whole numbers around the place where `x` is best.
    fn best(&self, x: f64, value: impl Fn(u32) -> Result<f64, BadParameter>) -> Result<Option<u32>, BadParameter> {
        let place = self.processors_at(x);
        if place.is_nan() || place >= f64::from(u32::MAX) {
            return Ok(None);
        }
        better(whole(place.floor()), whole(place.ceil()), value).map(Some)
    }
}

/// The number of processors with the greater value; of equals the smaller number.
pub(super) fn better(
    fewer: u32,
    more: u32,
    value: impl Fn(u32) -> Result<f64, BadParameter>,
) -> Result<u32, BadParameter> {
    Ok(if value(more)? > value(fewer)? { more } else { fewer })
}

/// The nearest number of processors that there can be.
pub(super) fn whole(processors: f64) -> u32 {
    (processors as u32).max(1)
}
