//! What the launcher and an agent tell each other. Pure.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::errand::Errand;
use super::lines::raw;
use super::resumption::Resumption;
use crate::launch::failed::Failed;
use crate::launch::local::event::End;
use crate::launch::local::output::Output;
use lathide::launcher::text;

/// Changes with every change to the messages: a launcher and an agent of different numbers do not talk.
pub(super) const PROTOCOL: u32 = 5;
/// How many messages with output an agent may send before the launcher has shown them.
pub(super) const OUTPUT_CREDIT: usize = 128;

/// The launcher tells an agent.
#[derive(Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// Look whether this can be done here.
    Prepare(Box<Errand>),
    /// Start the ranks; they find each other here.
    Start(SocketAddr),
    /// Send this signal to every rank.
    Signal(i32),
    /// Rank 0's input; nothing is its end.
    Input(#[serde(with = "raw")] Vec<u8>),
    /// The output of one message has been shown.
    Taken,
    /// All ranks of the job have ended: clean up.
    Finish,
    /// Do not run this job: what is this host? Listen for the other hosts.
    Examine(Box<Errand>),
    /// Can you reach host number `peer`, or the launcher, at any of these, and how is the way there?
    Reach { peer: u32, addresses: Vec<SocketAddr> },
}

/// An agent tells the launcher.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromAgent {
    /// It can be done.
    Ready {
        /// Where the rendezvous was reached, if it was looked for.
        root: Option<SocketAddr>,
        /// What a person should know.
        #[serde(deserialize_with = "text::option")]
        note: Option<String>,
        /// How to find the agent again when the connection was cut; without it, that ends the agent.
        resumption: Option<Resumption>,
    },
    /// It cannot.
    Failed(Failed),
    /// A rank has written.
    Output(Output),
    /// A rank has ended.
    Ended { rank: u32, end: End },
    /// Rank 0 has taken its input: more may come.
    InputTaken,
    /// A piece of what a rank has left for the timeline.
    Events {
        rank: u32,
        #[serde(with = "raw")]
        bytes: Vec<u8>,
    },
    /// All is cleaned up and said.
    Done,
    /// What the host is.
    Examined(Box<Facts>),
    /// How the way to a host is, if there is one, and what came of each address that did not work.
    Reached(Option<Route>, Vec<String>),
}

/// What a host is, as `lathide doctor --json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// A hash of the user's program there, if one was asked for.
    #[serde(deserialize_with = "text::option")]
    pub user_program_hash: Option<String>,
    /// Or why there is none.
    #[serde(deserialize_with = "text::option")]
    pub user_program_error: Option<String>,
    /// The system and its version.
    #[serde(deserialize_with = "text::string")]
    pub system: String,
    /// The kind of machine.
    #[serde(deserialize_with = "text::string")]
    pub machine: String,
    /// Processors that may be used.
    pub cores: usize,
    /// Where others might reach it while it is examined, the likeliest first.
    pub addresses: Vec<SocketAddr>,
}

/// How the way from one host to another is, as `lathide doctor --json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Route {
    /// From this address.
    pub from_address: IpAddr,
    /// To this one.
    pub to_address: IpAddr,
    /// The least round trip of eight bytes, in seconds.
    pub round_trip_s: f64,
    /// Bytes per second that arrived, once the connection was up to speed.
    pub bytes_per_s: f64,
    /// How far the clock there is ahead, in seconds; right to half the round trip.
    pub clock_ahead_s: f64,
}
