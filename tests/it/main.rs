//! tests.

#[cfg(feature = "cli")]
mod launcher;
#[cfg(feature = "cli")]
mod link;
