//! The versions of a program.

use serde::Serialize;

/// A version of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Version {
    /// As it is usually written: it calculates, then communicates.
    Native,
    /// The same with a barrier before messages, so that all ranks send at once.
    Synchronised,
    /// With communication behind calculation.
    Hidden,
}

impl Version {
    /// As options and programs have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Version::Native => "native",
            Version::Synchronised => "synchronised",
            Version::Hidden => "hidden",
        }
    }
}
