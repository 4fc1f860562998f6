//! What a node reports of its collectives. Plain data.

use serde::{Deserialize, Serialize};

use crate::operation::Collective;

/// Calls of one collective with about as many bytes (within a factor of 2), and how its algorithm was chosen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CollectiveReport {
    /// What was called.
    pub collective: Collective,
    /// Bytes of the last call: of the longest block, or of the whole for broadcast, reduce and allreduce.
    pub bytes: u64,
    /// How often it was called.
    pub calls: u64,
    /// What carried the last call out, with its parameters.
    pub algorithm: String,
    /// Every algorithm with its price; the cheapest was taken, unless another was forced.
    pub candidates: Vec<CandidateReport>,
}

/// An algorithm and its price.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CandidateReport {
    /// Its name, with its parameters.
    pub algorithm: String,
    /// Its predicted time, in seconds.
    pub predicted_s: f64,
}

impl std::fmt::Display for CollectiveReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CollectiveReport { collective, bytes, calls, algorithm, candidates } = self;
        write!(f, "{calls} {collective} of {bytes} bytes: {algorithm}")?;
        for (index, CandidateReport { algorithm, predicted_s }) in candidates.iter().enumerate() {
            let between = if index == 0 { " (predicted: " } else { "; " };
            write!(f, "{between}{algorithm} {:.1} us", predicted_s * 1e6)?;
        }
        f.write_str(if candidates.is_empty() { "" } else { ")" })
    }
}
