//! Why a command has no result.

/// Why a command has no result, and the exit status that says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failed {
    pub(crate) message: String,
    pub(crate) status: u8,
}

/// A result, or why there is none.
pub(crate) type Result<T> = std::result::Result<T, Failed>;

impl Failed {
    /// With exit status 1.
    pub(crate) fn new(message: impl ToString) -> Self {
        Failed { message: message.to_string(), status: 1 }
    }

    /// What was typed is wrong: with exit status 2.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Failed { message: message.to_string(), status: 2 }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::new(error)
    }
}
