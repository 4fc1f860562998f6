//! The papers' models, as plain functions: no socket, no clock, no thread.
//!
//! | module | source | answers |
//! | --- | --- | --- |
//! | [`decomposition`] | Hanuliak 2014 | strips or blocks, collectives on a shared medium, hops, isoefficiency |
//! | [`fit`] | all of them | the parameters of a model from what was measured, and its error |
//! | [`gain`] | Strumpen 1994, section 2 | what overlapping calculation and communication can gain |
//!
//! Every function checks its arguments: a wrong one is a [`BadParameter`] that names it. No NaN and no infinity
//! goes in or comes out.

pub mod decomposition;
pub mod fit;
pub mod gain;

/// An argument outside the domain of a model.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("{name} is {value}, but must be {domain}")]
pub struct BadParameter {
    /// The argument's name, as in the papers.
    pub name: &'static str,
    /// The value that was given.
    pub value: f64,
    /// The values that are allowed, in words.
    pub domain: &'static str,
}

/// The argument, if it is a finite number above zero.
pub(crate) fn above_zero(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value > 0.0 && value.is_finite(), "a finite number above 0")
}

/// The argument, if it is a finite number of at least zero.
pub(crate) fn at_least_zero(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, value >= 0.0 && value.is_finite(), "a finite number of at least 0")
}

/// The argument, if it is a fraction.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<f64, BadParameter> {
    check(name, value, (0.0..=1.0).contains(&value), "between 0 and 1")
}

fn check(name: &'static str, value: f64, fits: bool, domain: &'static str) -> Result<f64, BadParameter> {
    if fits { Ok(value) } else { Err(BadParameter { name, value, domain }) }
}
