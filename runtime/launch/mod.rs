//! Starting jobs.
