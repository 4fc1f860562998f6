//! What is known of a link that has no connection.

use std::time::Duration;

/// A link that has no connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Down {
    /// When it broke, or was found to be silent.
    pub(crate) since: Duration,
    /// How, for people.
    pub(crate) cause: String,
    /// The task has begun to make another.
    pub(crate) is_known: bool,
}
