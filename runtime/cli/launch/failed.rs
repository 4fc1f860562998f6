//! Why something could not be done, and the exit status that says so.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use lathide::launcher::text;

/// Why something could not be done. Displayed, it says that; who shows it ends with its status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Failed {
    #[serde(deserialize_with = "text::string")]
    pub(crate) message: String,
    /// 1: a measurement; 2: wrong usage; 125: the launcher; 126, 127: the program; 128 + N: signal N.
    pub(crate) status: u8,
}

/// A result, or why there is none.
pub(crate) type Result<T> = std::result::Result<T, Failed>;

impl Failed {
    /// With exit status 1.
    pub(crate) fn new(message: impl ToString) -> Self {
        Failed { message: message.to_string(), status: 1 }
    }

    /// Wrong usage.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Failed { message: message.to_string(), status: 2 }
    }

    /// The launcher cannot do its part.
    pub(crate) fn launcher(message: impl ToString) -> Self {
        Failed { message: message.to_string(), status: 125 }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::new(error)
    }
}

/// For `map_err`: what was tried when the system said no.
pub(super) fn system(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Failed {
    move |error| Failed::launcher(format!("{what}: {error}"))
}
