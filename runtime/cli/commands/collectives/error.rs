//! Why a node could not measure.

/// Why a node could not measure.
#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    #[error(transparent)]
    Lathide(#[from] lathide::Error),
    #[error("cannot report results: {0}")]
    Report(#[from] std::io::Error),
    #[error("an algorithm cannot be forced: {0}")]
    Overrides(String),
}

pub(super) type Result<T> = std::result::Result<T, NodeError>;
