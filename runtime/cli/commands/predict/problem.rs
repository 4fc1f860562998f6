//! Why there is no answer.

use lathide_models::BadParameter;

/// Why there is no answer. Always what was typed, or the file it names.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    #[error("{0}")]
    Other(String),
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Problem::Other(message.into())
    }
}
