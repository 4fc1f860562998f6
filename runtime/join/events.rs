//! What reaches the rendezvous, and what it tells the launcher.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::control::Report;
use super::handshake::Guest;
use crate::config::Key;
use crate::ids::Rank;

/// What a rendezvous needs to know.
pub struct Settings {
    /// The number of ranks.
    pub size: u32,
    /// The job's secret.
    pub key: Key,
    /// How long after the first rank joined the others may take.
    pub join_timeout: Duration,
    /// Whether a launcher watches the processes.
    pub launcher: bool,
    /// The host of each rank, if there are several.
    pub hosts: Vec<String>,
    /// Replaces the ranks' addresses by those others shall use: an emulated link's relays.
    pub rewrite: Option<Rewrite>,
}

/// See [`Settings::rewrite`]. What it returns beside the addresses is kept until the rendezvous ends.
pub type Rewrite = Box<dyn FnOnce(Vec<SocketAddr>) -> io::Result<(Vec<SocketAddr>, Box<dyn Send>)> + Send>;

/// The launcher tells the rendezvous.
#[derive(Clone, Debug)]
pub enum Order {
    /// Find out what every rank waits for: [`Event::Shown`].
    Ask,
    /// A process has ended.
    Lost {
        /// Its rank.
        rank: Rank,
        /// How it ended.
        cause: String,
        /// Whether it ended as one that has finalized, with status 0.
        in_peace: bool,
    },
}

/// The rendezvous tells the launcher.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The last rank has joined.
    AllJoined(Instant),
    /// There will be no job: why.
    JoinFailed(String),
    /// A rank has said its last word, or its connection has closed without one. In the order in which they went: a
    /// connection closes before those who notice that can fail.
    Left {
        /// Which.
        rank: Rank,
        /// When.
        at: Instant,
        /// Whether in order.
        finalized: bool,
        /// The rank whose loss made it fail.
        blames: Option<Rank>,
    },
    /// A rank has said what it has observed.
    Observed(Rank, Box<crate::observe::Report>),
    /// Ranks that can never move again: the report.
    Deadlock(String),
    /// Some ranks have stood still for ten seconds, and it is not decided why.
    Stalled(String),
    /// What every rank waits for, as [`Order::Ask`] wanted to know.
    Shown(String),
}

/// All that reaches the rendezvous comes through one queue.
pub(super) enum Input {
    Guest(Box<Guest>),
    Report(Rank, Contact, Box<Report>),
    Closed(Rank, Contact, String),
    /// Nobody listens any more where the rank's peers reach it.
    Ended(Rank, Contact),
    /// What comes on the rank's connection is not what the rank has said.
    Forged(Rank, Contact, String),
    /// It cannot accept connections any more.
    Deaf(io::Error),
    Launcher(Order),
}

/// Which connection of which of the processes that came as a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contact {
    pub(super) incarnation: u64,
    pub(super) epoch: u32,
}
