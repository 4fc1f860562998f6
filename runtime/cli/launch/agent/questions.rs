//! What `lathide doctor` asks an agent, and what it answers. Plain data, sent as JSON.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::raw::Raw;
use lathide::launcher::text;

/// The launcher asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// What are you, as far as these interfaces go? And what is this program there, if one is named?
    Facts { program: Option<Raw>, interface: Option<String> },
    /// What time is it?
    Clock,
    /// Wait for the other hosts' connections, on one of these ports.
    Listen { seat: HostSlot, ports: Option<RangeInclusive<u16>> },
    /// Can you reach the launcher at any of these?
    Launcher { seat: HostSlot, roots: Vec<SocketAddr> },
    /// Can you reach host number `peer` at any of these, and how is the way there?
    Reach { seat: HostSlot, peer: u32, addresses: Vec<SocketAddr> },
}

/// An agent's place among those that are examined together.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct HostSlot {
    /// The examination's secret.
    pub(super) key: [u8; 32],
    /// The host's number.
    pub(super) index: u32,
    /// The number of hosts.
    pub(super) hosts: u32,
}

impl std::fmt::Debug for HostSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostSlot({} of {})", self.index, self.hosts)
    }
}

/// An agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    Facts(Box<Facts>),
    /// Seconds since 1970 by its clock.
    Clock(f64),
    /// On this port, at all of its addresses.
    Listening(u16),
    /// Where the launcher was reached, or why not.
    Launcher(Result<SocketAddr, String>),
    /// How the way to a host is, or why there is none, for each address.
    Reached(Result<Route, Vec<String>>),
    /// It cannot be answered.
    Failed(#[serde(deserialize_with = "text::string")] String),
}

/// What a host is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct Facts {
    /// Its own name for itself.
    #[serde(deserialize_with = "text::string")]
    pub name: String,
    /// The version of the `lathide` program there.
    #[serde(deserialize_with = "text::string")]
    pub version: String,
    /// A hash of that program.
    #[serde(deserialize_with = "text::string")]
    pub program_hash: String,
    /// A hash of the user's program there, or why there is none; `None` if none was asked for.
    pub user_program: Option<Result<String, String>>,
    /// The system and its version.
    #[serde(deserialize_with = "text::string")]
    pub system: String,
    /// The kind of machine.
    #[serde(deserialize_with = "text::string")]
    pub machine: String,
    /// Processors that may be used.
    pub cores: usize,
    /// Addresses that others might know, the likeliest first.
    pub addresses: Vec<IpAddr>,
}

/// How the way from one host to another is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct Route {
    /// From this address.
    pub from: IpAddr,
    /// To this one.
    pub to: IpAddr,
    /// The least round trip of eight bytes, in seconds.
    pub round_trip_s: f64,
    /// Bytes per second that arrived, once the connection was up to speed.
    pub bytes_per_s: f64,
    /// How far the clock there is ahead, in seconds; right to half the round trip.
    pub clock_ahead_s: f64,
    /// Addresses that did not work, and why.
    pub in_vain: Vec<String>,
}
