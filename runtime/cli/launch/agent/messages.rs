//! What the launcher and an agent tell each other, in frames as [`lathide::launcher::control`] makes them. Pure.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::raw::Raw;
use crate::launch::local::event::End;
use crate::launch::local::output::Stream;
use lathide::launcher::text;

/// Changes with every change to the messages: a launcher and an agent of different numbers do not talk.
pub(super) const PROTOCOL: u32 = 3;
/// The most bytes of output or input in one message.
pub(super) const PIECE_BYTES_MAX: usize = 64 << 10;
/// How many bytes of output an agent may send before the launcher has shown them.
pub(super) const OUTPUT_CREDIT: usize = 1 << 20;

/// The launcher tells an agent. It holds secrets: there is no `Debug`.
#[derive(Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// Look whether this can be done here.
    Prepare(Box<Errand>),
    /// Start the ranks; they find each other here.
    Start(SocketAddr),
    /// Send this signal to every rank.
    Signal(i32),
    /// Rank 0's input; nothing is its end.
    Input(Raw),
    /// So many bytes of output have been shown.
    Taken(usize),
    /// All ranks of the job have ended: clean up.
    Finish,
    /// No job: an examination. What is this host, and does it reach the launcher? It listens for the other hosts then.
    Examine(Box<Examinee>),
    /// What time is it?
    Clock,
    /// Can you reach host number `peer` at any of these, and how is the way there?
    Reach { peer: u32, addresses: Vec<SocketAddr> },
}

/// How an agent comes to the job's key.
#[derive(Serialize, Deserialize)]
pub(super) enum Secret {
    /// Here it is: nobody else hears what the launcher says.
    Told([u8; 32]),
    /// The launcher has left it under this name ([`lathide::launcher::invitation`]).
    Left(String),
}

/// What an agent shall do.
#[derive(Serialize, Deserialize)]
pub(super) struct Errand {
    /// The job's secret.
    pub(super) key: Secret,
    /// The number of ranks of the job.
    pub(super) size: u32,
    /// Those that this agent starts.
    pub(super) ranks: Vec<u32>,
    /// The program, or nothing for the `lathide` program itself.
    pub(super) program: Option<Raw>,
    /// Its arguments.
    pub(super) args: Vec<Raw>,
    /// Variables for every rank.
    pub(super) env: Vec<(Raw, Raw)>,
    /// Where the ranks must run.
    pub(super) directory: Option<Raw>,
    /// Where they run if that is there: the launcher's own directory.
    pub(super) current: Option<Raw>,
    /// Where the rendezvous might be reached; empty if it need not be looked for.
    pub(super) roots: Vec<SocketAddr>,
    /// Whether rank 0 gets input.
    pub(super) input: bool,
    /// Whether a timeline is wanted.
    pub(super) trace: bool,
    /// Whether reports are wanted.
    pub(super) report: bool,
}

/// An agent's place among those that are examined together, and what it is asked first.
#[derive(Serialize, Deserialize)]
pub(super) struct Examinee {
    /// The examination's secret.
    pub(super) key: [u8; 32],
    /// The host's number.
    pub(super) index: u32,
    /// The number of hosts.
    pub(super) hosts: u32,
    /// A program that may be there.
    pub(super) program: Option<Raw>,
    /// The interfaces of which addresses are wanted.
    pub(super) interface: Option<String>,
    /// The ports on which it may wait for the other hosts' connections.
    pub(super) ports: Option<RangeInclusive<u16>>,
    /// Where the launcher might be reached.
    pub(super) roots: Vec<SocketAddr>,
}

/// An agent tells the launcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum FromAgent {
    /// It can be done.
    Ready {
        /// Where the rendezvous was reached, if it was looked for.
        root: Option<SocketAddr>,
        /// What a person should know.
        #[serde(default, deserialize_with = "text::option")]
        note: Option<String>,
    },
    /// It cannot.
    Failed {
        /// The exit status that says it.
        status: u8,
        /// Why.
        #[serde(deserialize_with = "text::string")]
        why: String,
    },
    /// A rank has written.
    Output { rank: u32, stream: Stream, bytes: Raw },
    /// A rank has ended.
    Ended { rank: u32, end: End },
    /// Rank 0 has taken its input: more may come.
    InputTaken,
    /// A piece of what a rank has left for the timeline.
    Events { rank: u32, bytes: Raw },
    /// All is cleaned up and said.
    Done,
    /// What the host is, and on which port it listens, at all of its addresses.
    Examined(Box<Facts>, u16),
    /// Seconds since 1970 by its clock.
    Clock(f64),
    /// How the way to a host is, or why there is none, for each address.
    Reached(Result<Route, Vec<String>>),
}

/// What a host is, as `lathide doctor --json` has it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
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
    /// Addresses that others might know, the likeliest first.
    pub addresses: Vec<IpAddr>,
    /// Where it reaches the launcher.
    pub launcher: Option<IpAddr>,
    /// Or why it cannot.
    #[serde(deserialize_with = "text::option")]
    pub launcher_error: Option<String>,
    /// How far its clock is ahead of the launcher's, in seconds; the launcher finds that out.
    pub clock_ahead_s: f64,
    /// How far that may be wrong.
    pub clock_error_s: f64,
}

/// How the way from one host to another is, as `lathide doctor --json` has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    /// Addresses that did not work, and why.
    pub in_vain: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use lathide::launcher::control::{FRAME_BYTES_MAX, decode, encode};

    #[test]
    fn any_bytes_come_back_as_they_went() {
        let all: Vec<u8> = (0..=255).collect();
        let output = FromAgent::Output { rank: 7, stream: Stream::Stderr, bytes: Raw(all) };
        assert_eq!(decode::<FromAgent>(&encode(&output).unwrap()[4..]).unwrap(), output);
        assert!(decode::<FromAgent>(r#"{"Events":{"rank":1,"bytes":"€"}}"#.as_bytes()).is_err());
    }

    #[test]
    fn the_dearest_piece_fits_a_frame() {
        let bytes = Raw(vec![0; PIECE_BYTES_MAX]);
        let frame = encode(&FromAgent::Output { rank: u32::MAX, stream: Stream::Stdout, bytes }).unwrap();
        assert!(frame.len() <= FRAME_BYTES_MAX, "{}", frame.len());
    }
}
