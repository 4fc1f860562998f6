//! Starting jobs.

#[cfg(feature = "cli")]
pub mod link;
