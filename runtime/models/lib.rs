//! The papers' models of communication and of hiding it, as plain functions: no socket, no clock, no thread.
//!
//! What each formula is, where a paper is wrong, and what is taken instead, is in the manual of the package `lathide`
//! (`lathide::manual::models`), for which these models choose, predict and explain.
//!
//! | module | source | answers |
//! | --- | --- | --- |
//! | [`gain`] | Strumpen 1994 | what overlapping calculation and communication can gain |
//! | [`hyperbolic`] | Stoica, Sultan, Keyes 1994 | how long messages of any size take, alone and at once |
//! | [`logp`] | the same, section 6 | how that relates to LogP |
//! | [`cluster`] | Tam, Wang | what a packet, a broadcast and a gather cost on a switch with a finite buffer |
//! | [`multigrid`] | Matheson, Tarjan 1993 | how a multigrid V-cycle runs on a mesh of message-passing processors |
//! | [`decomposition`] | Hanuliak 2014 | strips or blocks, collectives on a shared medium, hops, isoefficiency |
//! | [`fit`] | all of them | the parameters of a model from what was measured, and its error |
//! | [`stats`] | Hoefler, Belli 2015 | what repeated measurements say: medians with intervals, comparisons, the bootstrap |
//!
//! Every function checks its arguments: a wrong one is a [`BadParameter`] that names it. No NaN and no infinity
//! goes in or comes out.

/// A `main` that returns an error has it printed by `Debug`: so that shows the text.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_is_display {
    ($error:ty) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

pub mod cluster;
pub mod decomposition;
pub mod fit;
pub mod gain;
pub mod hyperbolic;
pub mod logp;
pub mod multigrid;
pub mod stats;

#[cfg(test)]
#[path = "../../tests/chance.rs"]
mod chance;
#[cfg(test)]
mod golden_reader_tests;
#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod property_support_tests;
#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
#[path = "../../tests/scale.rs"]
mod scale;

/// An argument outside the domain of a model.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error("{name} is {value}, but must be {domain}")]
pub struct BadParameter {
    /// The argument's name, as in the papers.
    pub name: &'static str,
    /// The value that was given.
    pub value: f64,
    /// The values that are allowed, in words.
    pub domain: &'static str,
}

debug_is_display!(BadParameter);

/// The argument, if it is a finite number above zero.
pub(crate) fn above_zero(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value > 0.0 && value.is_finite(), "a finite number above 0")
}

/// The argument, if it is a finite number of at least zero.
pub(crate) fn at_least_zero(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value >= 0.0 && value.is_finite(), "a finite number of at least 0")
}

/// The argument, if it is a finite number of at least one.
pub(crate) fn at_least_one(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value >= 1.0 && value.is_finite(), "a finite number of at least 1")
}

/// The argument, if it is a fraction.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, (0.0..=1.0).contains(&value), "between 0 and 1")
}

/// A result, if the arguments, each of them fine, are not together too large for it.
pub(crate) fn representable(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value.is_finite(), "small enough for a 64-bit number: an argument is too large")
}

/// The value, or the whole number it misses only by rounding.
///
/// Ratios of measured times in seconds have such errors; without this, `3e-6 / 1e-6` could count as more than 3.
pub(crate) fn snapped(value: f64) -> f64 {
    let whole = value.round();
    if (value - whole).abs() <= 1e-12 * whole.abs().max(1.0) { whole } else { value }
}

pub(crate) fn check(name: &'static str, value: f64, fits: bool, domain: &'static str) -> Result<f64, BadParameter> {
    if fits { Ok(value) } else { Err(BadParameter { name, value, domain }) }
}

/// How far `value` is from `reference`, relative to it: `(value - reference) / reference`.
///
/// # Errors
/// If an argument is not a finite number, `reference` is 0, or the result is too large for a number.
pub fn relative_deviation(reference: f64, value: f64) -> Result<f64, BadParameter> {
    let reference = check("reference", reference, reference != 0.0 && reference.is_finite(), "a finite number but 0")?;
    let value = check("value", value, value.is_finite(), "a finite number")?;
    let deviation = (value - reference) / reference;
    check("deviation", deviation, deviation.is_finite(), "a finite number")
}
