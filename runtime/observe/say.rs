//! What is said to whoever runs the program.

use std::io::Write;

use crate::ids::Rank;

/// Says what no call returns: through `tracing`, or on standard error if the program has set up no subscriber, for a job
/// must not hang in silence.
pub(crate) fn say(rank: Rank, text: &str) {
    if tracing::dispatcher::has_been_set() {
        tracing::warn!(%rank, "{text}");
    } else {
        let _ = writeln!(std::io::stderr(), "lathide: rank {rank}: {text}");
    }
}
