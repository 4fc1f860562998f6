//! Why a node could not measure.

/// Why a node could not measure.
#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    #[error(transparent)]
    Lathide(#[from] lathide::Error),
    #[error("the raw TCP connection between the nodes failed: {0}")]
    Raw(#[from] std::io::Error),
    #[error("there is no raw TCP connection between these nodes")]
    NoRaw,
    #[error("cannot report results: {0}")]
    Report(std::io::Error),
    #[error("an order or its reply cannot be read: {0}")]
    Order(#[from] serde_json::Error),
    #[error("{0} nodes; the measurement takes 2, or 3 for the cluster model")]
    Size(u32),
}

pub(super) type Result<T> = std::result::Result<T, NodeError>;
