//! tests.

#[cfg(feature = "cli")]
mod link;
