//! Why there is no lab.

use std::io;

/// Why there is no lab, or why it did not do what was asked.
#[derive(thiserror::Error)]
pub(crate) enum LabError {
    /// What was asked makes no sense here.
    #[error("{0}")]
    Usage(String),
    /// The system does not let this user make one.
    #[error("there can be no lab here: {what}: {error}; {remedy}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
        /// What to do.
        remedy: String,
    },
    /// Something else failed.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

lathide_models::debug_is_display!(LabError);

impl LabError {
    /// The exit status that says it: 2 or 125.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            LabError::Usage(_) => 2,
            LabError::Refused { .. } | LabError::System { .. } => 125,
        }
    }
}

/// For `map_err`: what was tried when the system said no.
pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
    let what = what.into();
    move |error| LabError::System { what, error }
}
