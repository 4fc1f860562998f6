//! A quantity that depends on the number of processors, together with its slope.
//!
//! The best number of processors is where the slope of the time is 0. Searching for the least time instead would find it
//! to half the digits only.

use std::ops::{Add, Mul};

/// A value and its derivative by ln P.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Smooth {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl Smooth {
    /// P itself.
    pub(super) fn processors(processors: f64) -> Self {
        Self { value: processors, slope: processors }
    }

    pub(super) fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    pub(super) fn power(self, exponent: f64) -> Self {
        let value = self.value.powf(exponent);
        Self { value, slope: exponent * value * (self.slope / self.value) }
    }

    pub(super) fn log2(self) -> Self {
        Self { value: self.value.log2(), slope: self.slope / (self.value * std::f64::consts::LN_2) }
    }
}

impl Add for Smooth {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, slope: self.slope + other.slope }
    }
}

impl Mul for Smooth {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { value: self.value * other.value, slope: self.slope * other.value + self.value * other.slope }
    }
}

impl Mul<f64> for Smooth {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { value: self.value * factor, slope: self.slope * factor }
    }
}
