//! Environment variables: how one is looked up, and what is said of one that makes no sense.

use crate::error::{Error, Misuse, Result};

/// The environment, as a function.
pub(super) struct Variables<'a>(pub(super) &'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// A variable's value; one that is empty counts as absent, because `NAME= program` is how shells unset one.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty())
    }
}

/// A whole number within `range`.
pub(super) fn number(name: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    match value.parse::<u64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => wrong(name, value, format!("this is a whole number from {} to {}", range.start(), range.end())),
    }
}

/// The error for a value that makes no sense.
pub(super) fn wrong<T>(name: &str, value: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Misuse(Misuse::Config { name: name.into(), value: value.into(), why: why.into() }))
}
