//! What the models' property tests share.

use proptest::prelude::*;

use super::BadParameter;

/// Any number at all, more often one that is allowed.
pub(super) fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        1e-9..1e9,
        (-300.0..300.0f64).prop_map(|exponent| 10f64.powf(exponent)),
        proptest::num::f64::ANY,
    ]
}

/// A result is a number of at least 0, or an error that says what, and why.
pub(super) fn sane(result: Result<f64, BadParameter>) -> Result<(), TestCaseError> {
    match result {
        Ok(value) => prop_assert!(value.is_finite() && value >= 0.0, "{value}"),
        Err(error) => prop_assert!(!error.name.is_empty() && !error.domain.is_empty()),
    }
    Ok(())
}
