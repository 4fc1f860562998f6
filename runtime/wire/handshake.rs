//! The keyed handshake that opens every connection: HELLO, CHALLENGE, PROOF, READY, and on a link OPEN. Bytes in, bytes out.
//!
//! Every pass has one fixed size and no length field. The job key never travels; both sides show by a MAC that they know it
//! with BLAKE3 in keyed mode over all bytes of the connection so far, so purposes, ranks, nonces, versions, options,
//! incarnation and epoch cannot be changed, replayed, reflected or relayed. What does not fit is named only to a peer
//! that is authenticated; a stranger sees a closed connection.
//!
//! READY may be lost with its connection, and its sender cannot know. So a link counts only when its dialer has answered READY
//! with OPEN; a dialer that had none dials again with a greater epoch, and replaces what is left of its earlier connection. A
//! control connection needs no OPEN: the rank's first report says the same.

mod acceptor;
mod dialer;
mod passes;

pub use super::authentication::job_id;
pub use super::refusal::{RENDEZVOUS, Refusal};
use crate::config::{Config, Key};
pub(crate) use acceptor::Acceptor;
pub(crate) use dialer::Dialer;

/// The protocol versions this build speaks: first and last.
pub const VERSIONS: (u16, u16) = (5, 5);
/// What the kernel counts on when it dials or accepts: the size of each pass in bytes.
pub(crate) const HELLO_BYTES: usize = 8 + 4 + 1 + OPTIONS_BYTES + 16 + 12 + 8 + 4 + NONCE_BYTES;
/// CHALLENGE; not longer than HELLO, so that answering a stranger multiplies nothing.
pub(crate) const CHALLENGE_BYTES: usize = 2 + OPTIONS_BYTES + 8 + NONCE_BYTES + MAC_BYTES;
/// PROOF.
pub(crate) const RESPONSE_BYTES: usize = 8 + MAC_BYTES;
/// READY.
pub(crate) const READY_BYTES: usize = 1 + 8 + MAC_BYTES;
/// OPEN.
pub(crate) const OPEN_BYTES: usize = MAC_BYTES;

const MAGIC: [u8; 8] = *b"lathide\0";
const OPTIONS_BYTES: usize = 1 + 1 + 8 + 4 + 4;
const NONCE_BYTES: usize = 32;
const MAC_BYTES: usize = 32;
const OPEN: &[u8] = b"open";
const _: () = assert!(CHALLENGE_BYTES <= HELLO_BYTES);

/// Random bytes, new for each connection and side.
pub(crate) type Nonce = [u8; NONCE_BYTES];

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A node's connection to the rendezvous.
    Control,
    /// A link between two ranks: its first lane.
    Link,
    /// Another lane of a link that is there, by its number from 1 on.
    Lane(u8),
}

/// What stands for a link; lanes follow.
const LINK: u8 = 2;
/// The last lane's number.
const LANES_MAX: u8 = 63;

impl Purpose {
    fn code(self) -> u8 {
        match self {
            Purpose::Control => 1,
            Purpose::Link => LINK,
            Purpose::Lane(lane) => LINK + lane.min(LANES_MAX),
        }
    }

    fn is_of_link(self) -> bool {
        self != Purpose::Control
    }
}

/// What each side tells the other of itself, inside the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How much may arrive before a read is posted for it.
    pub window_bytes: u64,
    /// How many messages beyond the window may be announced.
    pub envelopes_max: u32,
    /// The most payload its fragments carry.
    pub fragment_bytes: u32,
}

/// The least share of a node's budget that one link has, however many there are: enough for a burst of small messages.
const SHARE_BYTES_MIN: u64 = 64 << 10;

impl Limits {
    /// The limits of a node with this configuration.
    pub fn of(config: &Config) -> Self {
        let share = config.budget_bytes / u64::from(config.size.max(1));
        Limits {
            window_bytes: config.window_bytes.min(share.max(SHARE_BYTES_MIN)),
            envelopes_max: config.envelopes_max,
            fragment_bytes: config.fragment_bytes.try_into().unwrap_or(u32::MAX),
        }
    }
}

/// One end of a handshake: this process as it presents itself.
#[derive(Clone, Debug)]
pub struct Party {
    /// The job's secret.
    pub key: Key,
    /// Its rank, or [`RENDEZVOUS`].
    pub rank: u32,
    /// The number of ranks it believes the job has.
    pub size: u32,
    /// Drawn once per process, so that a process of an earlier run is not taken for this one.
    pub incarnation: u64,
    /// Its limits.
    pub limits: Limits,
    /// Whether it encrypts its links.
    pub encrypts: bool,
    /// Whether it puts checksums in its links; none where it encrypts, which finds more.
    pub checks: bool,
    /// The versions it speaks.
    pub versions: (u16, u16),
}

impl Party {
    fn encrypts(&self, purpose: Purpose) -> bool {
        self.encrypts && purpose.is_of_link()
    }

    fn checks(&self, purpose: Purpose) -> bool {
        self.checks && !self.encrypts && purpose.is_of_link()
    }
}

/// Whom a dialer wants to reach.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What for.
    pub purpose: Purpose,
    /// Its rank, or [`RENDEZVOUS`].
    pub rank: u32,
    /// Its incarnation, if the rendezvous has told it.
    pub incarnation: Option<u64>,
    /// The number of this connection of the link; a later one replaces an earlier one.
    pub epoch: u32,
}

/// What a finished handshake established about the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Established {
    /// Its limits.
    pub limits: Limits,
    /// Its incarnation.
    pub incarnation: u64,
    /// The number of the next frame it expects.
    pub next_expected: u64,
}

/// A dialer that has shown that it knows the key, and whether what it wants fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authenticated {
    /// Its rank, below the job's size if `fits` is `Ok`.
    pub rank: u32,
    /// Which lane of the link it brings; 0: the first.
    pub lane: u8,
    /// The number of this connection of the lane.
    pub epoch: u32,
    /// Its limits, its incarnation, the next frame it expects.
    pub established: Established,
    /// What does not fit, if anything.
    pub fits: Result<(), Refusal>,
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
