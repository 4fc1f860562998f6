//! What the launcher and an agent tell each other, in frames as [`lathide::launcher::control`] makes them. Pure.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::questions::{Answer, Question};
use super::raw::Raw;
use crate::launch::local::end::End;
use crate::launch::local::output::Stream;
use lathide::launcher::text;

/// Changes with every change to the messages: a launcher and an agent of different numbers do not talk.
pub(super) const PROTOCOL: u32 = 2;
/// The most bytes of output or input in one message.
pub(super) const PIECE_BYTES_MAX: usize = 64 << 10;
/// How many bytes of output an agent may send before the launcher has shown them.
pub(super) const OUTPUT_CREDIT: usize = 1 << 20;

/// The launcher tells an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// No job: an examination.
    Question(Box<Question>),
}

/// How an agent comes to the job's key.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Secret {
    /// Here it is: nobody else hears what the launcher says.
    Told([u8; 32]),
    /// The launcher has left it under this name ([`lathide::launcher::invitation`]).
    Left(String),
}

/// What an agent shall do.
#[derive(Clone, Serialize, Deserialize)]
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

impl std::fmt::Debug for Errand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key, and the variables may be secret too.
        f.debug_struct("Errand").field("ranks", &self.ranks).field("program", &self.program).finish_non_exhaustive()
    }
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
    Output {
        /// Which.
        rank: u32,
        /// Where.
        stream: Stream,
        /// What.
        bytes: Raw,
    },
    /// A rank has ended.
    Ended {
        /// Which.
        rank: u32,
        /// How.
        end: End,
    },
    /// Rank 0 has taken its input: more may come.
    InputTaken,
    /// A piece of what a rank has left for the timeline.
    Events {
        /// Which.
        rank: u32,
        /// The piece.
        bytes: Raw,
    },
    /// All is cleaned up and said.
    Done,
    /// To a question.
    Answer(Box<Answer>),
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

    #[test]
    fn an_errand_shows_no_secret() {
        let errand = Errand {
            key: Secret::Told([77; 32]),
            size: 1,
            ranks: vec![0],
            program: None,
            args: Vec::new(),
            env: vec![(Raw(b"PASSWORD".to_vec()), Raw(b"hidden".to_vec()))],
            directory: None,
            current: None,
            roots: Vec::new(),
            input: false,
            trace: false,
            report: false,
        };
        let shown = format!("{:?}", ToAgent::Prepare(Box::new(errand)));
        assert!(!shown.contains("77") && !shown.contains("hidden"), "{shown}");
    }
}
