//! What nodes and the rendezvous tell each other during a job. Pure. Words come in harmless for a terminal
//! ([`crate::wire::text`]).

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cores::Cores;
use super::framing::{ControlError, encode};
use crate::ids::{Rank, Tag};
use crate::observe;
use crate::operation::OperationKind;
use crate::wire::text;

/// The most operations and the most waiting threads a [`Snapshot`] lists.
pub(crate) const OUTSTANDING_MAX: usize = 1024;
/// The most links a report names.
const LINKS_MAX: usize = 128;

/// A node tells the rendezvous.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// I am here; the first report on every connection.
    Join {
        /// Where peers reach it.
        address: SocketAddr,
        /// Its process, so that the launcher and the job's history name the same one.
        process: u32,
        /// lathide's package version, for people.
        #[serde(deserialize_with = "text::string")]
        version: String,
        /// How long its host may not answer.
        keepalive: Option<Duration>,
        /// How long it then calls again.
        #[serde(default)]
        resume: Option<Duration>,
        /// Where it may run.
        cores: Box<Cores>,
    },
    /// Every operation I have stands still.
    Stalled(Snapshot),
    /// I move again.
    Moving,
    /// What I wait for now, as asked.
    Shows(Snapshot),
    /// Peers reach me elsewhere now: this host has another address.
    Moved {
        /// Where.
        address: SocketAddr,
    },
    /// What I have observed.
    Observed(Box<observe::Report>),
    /// My last word on this connection.
    Leaving {
        /// Whether the node was finalized in order.
        finalized: bool,
        /// Why it leaves, if it failed.
        #[serde(default, deserialize_with = "text::option")]
        error: Option<String>,
        /// The rank whose loss made it fail, if that is why: the launcher looks for the first cause.
        #[serde(default)]
        blames: Option<Rank>,
        /// The bytes sent to each rank.
        #[serde(default)]
        sent: Vec<u64>,
    },
}

/// The rendezvous tells a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// All have joined.
    Table {
        /// Where each rank is reached.
        addresses: Vec<SocketAddr>,
        /// Each rank's incarnation, so that nobody talks to a process of an earlier run.
        incarnations: Vec<u64>,
        /// Whether a launcher watches the processes: it sees a death that no connection shows.
        launcher: bool,
        /// Which ranks may poll, since each rank of their host can have a core of its own.
        may_poll: Vec<bool>,
        /// How many ranks share a core on the host where most do.
        ranks_per_core: f64,
    },
    /// A rank is gone.
    Lost {
        /// Which.
        rank: Rank,
        /// Why, as far as it is known.
        #[serde(deserialize_with = "text::string")]
        cause: String,
    },
    /// No rank of a set can move any more.
    Deadlock {
        /// Who waits for whom, and what to change.
        #[serde(deserialize_with = "text::string")]
        report: String,
    },
    /// A rank is reached elsewhere now.
    Moved {
        /// Which.
        rank: Rank,
        /// Where.
        address: SocketAddr,
    },
    /// Say what you wait for.
    Ask,
    /// The rendezvous ends, with the process that serves it: it is not to be called again.
    Over,
    /// There will be no job.
    Refused {
        /// Why.
        #[serde(deserialize_with = "text::string")]
        cause: String,
    },
}

/// A node that stands still: what it waits for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Its operations under way; at most [`OUTSTANDING_MAX`].
    pub(crate) outstanding: Vec<Outstanding>,
    /// Messages that have come and that no read has asked for; at most [`OUTSTANDING_MAX`].
    pub(crate) unread: Vec<Unread>,
    /// For each thread and each future that waits, the ranks any of which could end its wait.
    pub(crate) waits: Vec<Vec<Rank>>,
    /// Whether nothing in its process can act unless a message comes.
    pub(crate) certain: bool,
    /// Bytes sent to each rank.
    pub(crate) sent: Vec<u64>,
    /// Bytes received from each rank.
    pub(crate) received: Vec<u64>,
}

impl Snapshot {
    /// Whether nothing has moved since `before`. Ages differ, so they do not count.
    pub(crate) fn same_as(&self, before: &Snapshot) -> bool {
        let same = |(a, b): (&Outstanding, &Outstanding)| a.same_as(b);
        self.certain == before.certain
            && self.waits == before.waits
            && self.unread == before.unread
            && self.sent == before.sent
            && self.received == before.received
            && self.outstanding.len() == before.outstanding.len()
            && self.outstanding.iter().zip(&before.outstanding).all(same)
    }

    /// Whether there is anything to say about it.
    pub(crate) fn waits_for_something(&self) -> bool {
        !self.outstanding.is_empty() || !self.unread.is_empty() || !self.waits.is_empty()
    }

    /// Cut to what fits a frame. What is cut cannot be judged, so it is not certain then.
    fn bounded(mut self) -> Self {
        self.outstanding.truncate(OUTSTANDING_MAX);
        self.unread.truncate(OUTSTANDING_MAX);
        let ranks: usize = self.waits.iter().map(Vec::len).sum();
        if self.waits.len() > OUTSTANDING_MAX || ranks > 16 * OUTSTANDING_MAX {
            self.waits.clear();
            self.certain = false;
        }
        for operation in &mut self.outstanding {
            if operation.state.len() > 256 {
                operation.state = operation.state.chars().take(64).collect();
            }
        }
        self
    }
}

/// An operation under way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Outstanding {
    /// Read or write.
    pub(crate) kind: OperationKind,
    /// The rank on the other side.
    pub(crate) peer: Rank,
    /// `None` for a collective's own messages.
    pub(crate) tag: Option<Tag>,
    /// The bytes written, or the most that can be read.
    pub(crate) bytes: u64,
    /// How many of them have moved.
    pub(crate) done: u64,
    /// Seconds since it was posted.
    pub(crate) since_s: f64,
    /// What it waits for, in words.
    #[serde(deserialize_with = "text::string")]
    pub(crate) state: String,
}

/// Messages of one tag that have come and that no read has asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Unread {
    /// Who wrote them.
    pub(crate) from: Rank,
    /// Their tag.
    pub(crate) tag: Tag,
    /// How many.
    pub(crate) count: u64,
}

impl Outstanding {
    fn same_as(&self, before: &Outstanding) -> bool {
        (self.kind, self.peer, self.tag, self.bytes, self.done)
            == (before.kind, before.peer, before.tag, before.bytes, before.done)
    }
}

/// The frame of a report, cut to the limit if it lists too much.
pub(crate) fn report_frame(report: Report) -> Result<Vec<u8>, ControlError> {
    match report {
        Report::Stalled(snapshot) => encode(&Report::Stalled(snapshot.bounded())),
        Report::Shows(snapshot) => encode(&Report::Shows(snapshot.bounded())),
        Report::Observed(mut report) => {
            report.keep_busiest_links(LINKS_MAX);
            encode(&Report::Observed(report))
        }
        Report::Leaving { finalized, error, blames, sent } => {
            encode(&Report::Leaving { finalized, error: error.map(text::bounded), blames, sent })
        }
        other => encode(&other),
    }
}

/// The frame of a notice. Its words are cut: a rank's own may be quoted in them, and all must hear it.
pub(crate) fn notice_frame(notice: Notice) -> Result<Vec<u8>, ControlError> {
    encode(&match notice {
        Notice::Lost { rank, cause } => Notice::Lost { rank, cause: text::bounded(cause) },
        Notice::Deadlock { report } => Notice::Deadlock { report: text::bounded(report) },
        Notice::Refused { cause } => Notice::Refused { cause: text::bounded(cause) },
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::framing::{FRAME_BYTES_MAX, decode, frame_length};

    fn operation(n: u32) -> Outstanding {
        Outstanding {
            kind: OperationKind::Read,
            peer: Rank(n),
            tag: Some(Tag(n)),
            bytes: u64::MAX,
            done: 3,
            since_s: 1.25,
            state: "no message yet".into(),
        }
    }

    #[test]
    fn reports_and_notices_come_back_as_they_went() {
        let snapshot = Snapshot {
            outstanding: vec![operation(1), Outstanding { tag: None, kind: OperationKind::Write, ..operation(2) }],
            unread: vec![Unread { from: Rank(1), tag: Tag(u32::MAX), count: 1 << 40 }],
            waits: vec![vec![Rank(1)], vec![]],
            certain: true,
            sent: vec![0, 1 << 60],
            received: vec![2, 3],
        };
        let cores = Box::new(Cores { host: "a".into(), mask: vec![u64::MAX, 1], at_once: 65 });
        let keepalive = Some(Duration::from_millis(1500));
        let reports = [
            Report::Join {
                address: "[::1]:80".parse().unwrap(),
                process: 9,
                version: "0.1.0".into(),
                keepalive,
                resume: Some(Duration::from_secs(30)),
                cores,
            },
            Report::Stalled(snapshot.clone()),
            Report::Shows(snapshot),
            Report::Moving,
            Report::Moved { address: "[::1]:81".parse().unwrap() },
            Report::Leaving {
                finalized: false, error: Some("é\n".into()), blames: Some(Rank(2)), sent: vec![1 << 40]
            },
        ];
        for report in reports {
            let frame = report_frame(report.clone()).unwrap();
            assert_eq!(frame_length(frame[..4].try_into().unwrap()).unwrap(), frame.len() - 4);
            assert_eq!(decode::<Report>(&frame[4..]).unwrap(), report);
            for cut in 4..frame.len() {
                assert!(decode::<Report>(&frame[4..cut]).is_err());
            }
        }
        let table = Notice::Table {
            addresses: vec!["127.0.0.1:1".parse().unwrap(); 2],
            incarnations: vec![1, u64::MAX],
            launcher: true,
            may_poll: vec![true, false],
            ranks_per_core: 1.5,
        };
        assert_eq!(decode::<Notice>(&encode(&table).unwrap()[4..]).unwrap(), table);
    }

    #[test]
    fn no_length_beyond_the_limit_is_believed_or_sent() {
        assert!(frame_length(u32::MAX.to_le_bytes()).is_err());
        assert!(frame_length(((FRAME_BYTES_MAX + 1) as u32).to_le_bytes()).is_err());
        assert!(frame_length((FRAME_BYTES_MAX as u32).to_le_bytes()).is_ok());
        let cause = "x".repeat(FRAME_BYTES_MAX);
        assert!(matches!(encode(&Notice::Refused { cause }), Err(ControlError::TooLong(_))));
    }

    /// What a program's error says may be long, and is quoted to the others: with signs that take more room than before.
    #[test]
    fn no_words_are_too_long_to_be_passed_on() {
        for words in ["x".repeat(2 * FRAME_BYTES_MAX), "\u{80}\\\"".repeat(FRAME_BYTES_MAX / 8)] {
            let last =
                Report::Leaving { finalized: false, error: Some(words), blames: None, sent: vec![u64::MAX; 1000] };
            let frame = report_frame(last).expect("it fits");
            let Ok(Report::Leaving { error: Some(cause), .. }) = decode(&frame[4..]) else {
                panic!("it is another one")
            };
            assert!(cause.ends_with(" bytes more)"));
            let rank = Rank(1);
            let quoted = format!("rank 1 was lost: {cause}");
            for notice in [
                Notice::Lost { rank, cause: quoted.clone() },
                Notice::Deadlock { report: quoted.repeat(100) },
                Notice::Refused { cause: quoted },
            ] {
                let frame = notice_frame(notice).expect("it fits");
                assert!(frame.len() < 200 << 10, "{} bytes", frame.len());
                decode::<Notice>(&frame[4..]).expect("it is one");
            }
        }
    }

    #[test]
    fn a_long_standstill_is_cut_to_a_frame() {
        let outstanding = (0..100_000).map(|n| Outstanding { state: "y".repeat(1000), ..operation(n) }).collect();
        let waits = vec![vec![Rank(1); 100]; 1000];
        let snapshot = Snapshot { outstanding, waits, certain: true, ..Snapshot::default() };
        let frame = report_frame(Report::Stalled(snapshot)).unwrap();
        let Report::Stalled(cut) = decode(&frame[4..]).unwrap() else { panic!("another report") };
        assert_eq!((cut.outstanding.len(), cut.certain), (OUTSTANDING_MAX, false));
    }

    #[test]
    fn only_age_may_differ_in_an_unchanged_standstill() {
        let one = Snapshot { outstanding: vec![operation(1)], ..Snapshot::default() };
        let older = Snapshot { outstanding: vec![Outstanding { since_s: 9.0, ..operation(1) }], ..one.clone() };
        assert!(one.same_as(&older));
        let moved = Snapshot { outstanding: vec![Outstanding { done: 4, ..operation(1) }], ..one.clone() };
        assert!(!one.same_as(&moved));
        assert!(!one.same_as(&Snapshot { received: vec![1], ..one.clone() }));
    }
}
