//! Fitting the papers' models to what was measured. Pure: samples in, parameters and their error out.
//!
//! | module | source | from | to |
//! | --- | --- | --- | --- |
//! | [`hyperbolic`] | Stoica, Sultan, Keyes 1994, eq. (3), section 4 | (bytes, seconds) | a, b |
//! | [`segmented`] | extension, not in a paper | (bytes, seconds) | a service time of several slopes |
//! | [`gain`] | Strumpen 1994, eq. (4) | t_calc, t_com, t_i1, t_i3 at several gamma | f, Omega |
//! | [`sweep`] | the same, over a sweep | points | the same, cross-validated in halves |
//! | [`cluster`] | Tam, Wang, section 3.2 | what each procedure measures | cost functions of size |
//! | [`contention`] | Stoica, Sultan, Keyes, section 4, eqs. (16), (17) | messages of several pairs at once | a_c, b_c, and what the pairs share |
//! | [`flood`] | Tam, Wang, section 3.2, eq. (4) | bursts from several senders, and what was lost | B_L |
//! | [`by_size`] | | repetitions at several sizes | any of these, cross-validated by size |
//!
//! All fits are robust least squares on the *relative* error: a microsecond counts at 8 bytes and not at 16 MiB, every
//! size counts the same however often it was measured, and a sample far off loses weight instead of bending the rest
//! (iteratively reweighted, Huber). [`Quality`] is never taken on the data a fit has seen: each size (or point) is left
//! out in turn, the rest is fitted, and the fit is asked for what was left out.
//!
//! ```
//! use lathide_models::fit::{Sample, hyperbolic};
//! let sizes = [8, 256, 4096, 65_536, 1 << 20, 16 << 20];
//! let samples: Vec<Sample> = sizes
//!     .iter()
//!     .map(|&bytes| Sample { bytes, time_s: 20e-6 + 1e-9 * bytes as f64 }) // a straight line, not a hyperbola
//!     .collect();
//! let fitted = hyperbolic::fit(&samples)?;
//! assert!((fitted.model.b_s_per_byte / 1e-9 - 1.0).abs() < 0.05);
//! assert!(fitted.quality.unwrap().median_error < 0.15);
//! # Ok::<(), lathide_models::fit::FitError>(())
//! ```

pub mod by_size;
pub mod cluster;
pub mod contention;
pub mod flood;
pub mod gain;
pub mod hyperbolic;
mod linear;
#[cfg(test)]
#[path = "noise_tests.rs"]
mod noise;
mod robust;
pub mod segmented;
mod series;
pub mod sweep;
pub mod traffic;

use serde::{Deserialize, Serialize};

use super::BadParameter;

/// One observed message, transfer or copy.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// Its size.
    pub bytes: u64,
    /// How long it took.
    pub time_s: f64,
}

/// A model fitted to samples, and how well it does on samples it has not seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fitted<M> {
    /// The model, fitted to all samples.
    pub model: M,
    /// Its error on held-out samples; `None` if too few sizes were measured to leave one out.
    pub quality: Option<Quality>,
    /// The held-out samples by size, each beside what a fit to the other sizes says. Shows *where* a model fails.
    pub held_out: Vec<HeldOut>,
}

/// The error on held-out samples, relative to what was measured. Every size has the same weight.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quality {
    /// Half of the samples are predicted with at most this error (0.05: 5 percent).
    pub median_error: f64,
    /// Nine tenths of the samples are predicted with at most this error.
    pub p90_error: f64,
    /// How many samples were predicted.
    pub samples: usize,
}

/// A sample beside its prediction by a fit to samples of other sizes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeldOut {
    /// Its size.
    pub bytes: u64,
    /// What was measured.
    pub measured_s: f64,
    /// What a fit without this size predicts.
    pub predicted_s: f64,
}

impl HeldOut {
    /// `|predicted / measured - 1|`.
    ///
    /// # Errors
    /// If a time is not a finite number (the measured one above 0), or the result is too large for a number.
    pub fn error(&self) -> Result<f64, BadParameter> {
        deviation(("measured_s", self.measured_s), ("predicted_s", self.predicted_s))
    }
}

/// How far a prediction is from what was measured, relative to that.
fn deviation(measured: (&'static str, f64), predicted: (&'static str, f64)) -> Result<f64, BadParameter> {
    let reference = super::above_zero(measured.0, measured.1)?;
    let predicted = super::at_least_zero(predicted.0, predicted.1)?;
    super::representable("error", (predicted / reference - 1.0).abs())
}

/// Why nothing can be fitted.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A cost that was given is outside the domain.
    #[error("a given cost cannot be used: {cause}")]
    BadCost {
        /// What is wrong with it.
        cause: BadParameter,
    },
    /// A sample is outside the domain.
    #[error("sample {index} cannot be used: {cause}")]
    BadSample {
        /// Its place in the input, from 0.
        index: usize,
        /// What is wrong with it.
        cause: BadParameter,
    },
    /// A cost that is measured as a difference came out as nothing.
    #[error("{what} at {bytes} bytes came out as {value_s} s: it drowns in noise; measure more repetitions or packets")]
    Drowned {
        /// The cost.
        what: &'static str,
        /// The size it was measured at.
        bytes: u64,
        /// The median of what was measured.
        value_s: f64,
    },
    /// One thing was measured at one value only, so nothing says how a cost depends on it.
    #[error("all samples have the same {what}, {value}: measure at least two")]
    OneValue {
        /// What does not vary.
        what: &'static str,
        /// The value it has.
        value: f64,
    },
    /// Fewer samples than parameters.
    #[error("{samples} samples cannot determine {parameters} parameters")]
    TooFewSamples {
        /// The number of samples.
        samples: usize,
        /// The number of parameters.
        parameters: usize,
    },
}

debug_is_display!(FitError);

/// The least and the greatest time that is accepted, in seconds: with margins for computing, and no physical meaning.
const TIME_S: std::ops::RangeInclusive<f64> = 1e-15..=1e15;

/// The time of a sample, if it can be computed with.
fn checked_time(index: usize, name: &'static str, time_s: f64) -> Result<f64, FitError> {
    super::check(name, time_s, TIME_S.contains(&time_s), "between 1e-15 and 1e15 seconds")
        .map_err(|cause| FitError::BadSample { index, cause })
}

/// The number of something in a sample, if there is at least `least` of it.
fn checked_count(index: usize, name: &'static str, count: u32, least: u32) -> Result<u32, FitError> {
    let domain = if least == 1 { "at least 1" } else { "at least 2" };
    super::check(name, count.into(), count >= least, domain).map_err(|cause| FitError::BadSample { index, cause })?;
    Ok(count)
}
