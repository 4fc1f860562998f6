//! How a launcher finds an agent again whose connection was cut. Pure.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where an agent waits, and what lets the launcher in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Resumption {
    /// A socket on the agent's host that only its user reaches.
    pub(super) socket: PathBuf,
    pub(super) token: Token,
}

/// The first line over another connection. It goes through standard input: nobody else on the host sees it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) resumption: Resumption,
    /// Which try this is: of two that come, the later one counts.
    pub(super) attempt: u64,
    /// The number of the next message that the launcher expects.
    pub(super) expected: u64,
}

/// What only an agent and its launcher know.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(random: [u8; 32]) -> Self {
        Token(random)
    }
}

impl PartialEq for Token {
    /// In a time that tells nothing about either.
    fn eq(&self, other: &Self) -> bool {
        blake3::Hash::from_bytes(self.0) == blake3::Hash::from_bytes(other.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_and_not_shown() {
        assert!(Token([1; 32]) == Token([1; 32]) && Token([1; 32]) != Token([2; 32]));
        assert_eq!(format!("{:?}", Token([1; 32])), "Token");
    }
}
