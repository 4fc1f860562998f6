//! Reports on the collectives of a node. Plain data.

use serde::{Deserialize, Serialize};

use crate::operation::Collective;

/// Calls of one collective of about the same size (within a factor of 2), and how its algorithm was selected.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CollectiveReport {
    /// The collective.
    pub collective: Collective,
    /// Bytes of the last call: those of the longest block, or of the whole for broadcast, reduce and allreduce.
    pub bytes: u64,
    /// The number of calls.
    pub calls: u64,
    /// The algorithm of the last call, with its parameters.
    pub algorithm: String,
    /// Every candidate with its predicted time. The fastest was selected, unless it was overridden.
    pub candidates: Vec<CandidateReport>,
}

/// A change of the algorithm for calls of one collective of about the same size, made by what was observed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangeReport {
    /// The number of the call from which on it holds, counting the calls of all collectives from 1.
    pub call: u64,
    /// The collective.
    pub collective: Collective,
    /// Bytes of that call, as in [`CollectiveReport`].
    pub bytes: u64,
    /// The algorithm before, with its parameters.
    pub from: String,
    /// The time of its last calls, in seconds: the median of ranks' medians, with a root the greatest. `None` if no call had ended.
    pub from_observed_s: Option<f64>,
    /// The algorithm since.
    pub to: String,
    /// Its predicted time, in seconds.
    pub predicted_s: f64,
    /// Its observed time, as that of the one before, once ranks have exchanged it.
    pub observed_s: Option<f64>,
}

impl std::fmt::Display for ChangeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ChangeReport { call, collective, bytes, from, from_observed_s, to, predicted_s, observed_s } = self;
        let observed = |seconds: &Option<f64>| match seconds {
            Some(seconds) => format!("observed {:.1} us", seconds * 1e6),
            None => "not observed".to_owned(),
        };
        write!(f, "call {call}, {collective} of {bytes} bytes: {from} ({}) -> {to} ", observed(from_observed_s))?;
        write!(f, "(predicted {:.1} us, {})", predicted_s * 1e6, observed(observed_s))
    }
}

/// An algorithm and its predicted time.
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
