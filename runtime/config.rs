//! What a node needs to know before it starts: plain data, every limit named `*_max` or with its unit.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::cost::CostModel;
use crate::ids::Rank;
use crate::interfaces::Interfaces;
use crate::overrides::Overrides;

/// How long a connection may be silent, unless a configuration says otherwise.
pub const KEEPALIVE: Duration = Duration::from_secs(10);

/// A node's place in its job and its limits. [`Config::alone`] is a job of one; `lathide::init` fills it from
/// the environment (see the manual's launch contract).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// This node's rank.
    pub rank: Rank,
    /// The number of nodes in the job.
    pub size: u32,
    /// `host:port` of the rendezvous; needed when `size` is above 1. Rank 0 listens there if nobody does yet.
    pub root: Option<String>,
    /// How the ranks find each other where the starter names no rendezvous or no key.
    pub(crate) discovery: Option<Discovery>,
    /// Which of this host's addresses the node listens on, if not the one from which it reaches the rendezvous.
    pub interface: Option<Interfaces>,
    /// The ports it may listen on; any if `None`.
    pub ports: Option<RangeInclusive<u16>>,
    /// The address that it tells the others, if not the one on which it listens: that of a router in front of it, say.
    pub advertise: Option<IpAddr>,
    /// The job's secret: who does not know it cannot connect. A job of several ranks needs one, the same on all of them.
    pub key: Key,
    /// Whether what passes between ranks is encrypted, the same on every rank (`LATHIDE_ENCRYPT=on`). Needs the feature
    /// `encrypt`. What ranks tell the rendezvous (addresses, failures, their reports) cannot be changed by others, but it can be
    /// read.
    pub encrypt: bool,
    /// Whether messages move while the program computes.
    pub overlap: Overlap,
    /// The most payload one fragment carries. The paper's 4 KiB is the default.
    pub fragment_bytes: usize,
    /// Per link: how much may arrive before a read is posted for it.
    pub window_bytes: u64,
    /// For all links together: how much may arrive before reads are posted for it. Each link's window is an equal share of
    /// it, the node's link to itself counted, or `window_bytes` if that is less; but at least 64 KiB.
    pub budget_bytes: u64,
    /// Per link: how many messages beyond the window may be announced at a time.
    pub envelopes_max: u32,
    /// The cost model by which the algorithm of a collective is chosen. It must be the same on every rank.
    pub cost_model: CostModel,
    /// Algorithms that are used whatever they cost (`LATHIDE_COLLECTIVE`). They must be the same on every rank.
    pub overrides: Overrides,
    /// How long the node tries to reach its job before it gives up.
    pub join_timeout: Duration,
    /// How long a job may stand still before ranks report what they wait for. `None`: never.
    pub deadlock_timeout: Option<Duration>,
    /// How long a network may be cut: a peer whose host does not answer for this and one more attempt is lost. `None`: as
    /// long as TCP takes, which can be a quarter of an hour. A rank that computes is answered for by its host, and never
    /// lost so. Of all ranks alike ([`crate::manual::launching`]).
    pub keepalive: Option<Duration>,
    /// How long `finalize` waits for peers to confirm that all has arrived.
    pub linger: Duration,
    /// Whether the node counts what it does ([`crate::Node::report`]). Off, reports are empty.
    pub observe: bool,
    /// The file that gets a timeline of all ranks in the Chrome trace format. Each rank writes its events beside it.
    pub trace: Option<PathBuf>,
    /// Whether the node sends its report to the rendezvous when it leaves.
    pub report: bool,
}

impl Config {
    /// A job of one node.
    pub fn alone() -> Self {
        Config::new(0, 1, None)
    }

    /// A node of a job of `size`, whose rendezvous is at `root` (`host:port`). From two ranks on it needs a [`Config::key`].
    pub fn new(rank: impl Into<Rank>, size: u32, root: Option<String>) -> Self {
        Config {
            rank: rank.into(),
            size,
            root,
            discovery: None,
            interface: None,
            ports: None,
            advertise: None,
            key: Key::default(),
            encrypt: false,
            overlap: Overlap::On,
            fragment_bytes: 4096,
            window_bytes: 64 << 20,
            budget_bytes: 512 << 20,
            envelopes_max: 1024,
            cost_model: CostModel::lan(),
            overrides: Overrides::none(),
            join_timeout: Duration::from_secs(30),
            deadlock_timeout: Some(Duration::from_secs(3)),
            keepalive: Some(KEEPALIVE),
            linger: Duration::from_secs(5),
            observe: true,
            trace: None,
            report: false,
        }
    }
}

/// Whether bytes move while the program computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overlap {
    /// They do: the kernel moves them (`LATHIDE_OVERLAP=on`, the default).
    #[default]
    On,
    /// Deferred mode: bytes move only while a thread is inside a wait (`LATHIDE_OVERLAP=off`), as in a
    /// message-passing library without asynchronous progress. The baseline for the gain.
    Off,
}

/// Where the job's 32-byte secret comes from, before it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeySource {
    /// An open file descriptor (`LATHIDE_KEY_FD`).
    Descriptor(u32),
    /// A file only its owner can read (`LATHIDE_KEY_FILE`).
    File(PathBuf),
}

/// The job's secret. Never shown. The default is none: enough for a job of one rank only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(pub(crate) [u8; 32]);

impl Key {
    /// A key of these 32 bytes, which must be random: such as `head -c 32 /dev/urandom` gives.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Key(bytes)
    }

    /// Whether no key was given.
    pub(crate) fn is_none(&self) -> bool {
        self.0 == [0; 32]
    }

    /// Whether anybody would guess it: all its bytes are equal, as those of no key are.
    pub(crate) fn is_guessable(&self) -> bool {
        self.0.iter().all(|byte| *byte == self.0[0])
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A job whose ranks find each other through an invitation (`join::invitation`) of rank 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Discovery {
    /// For people: which job.
    pub(crate) name: String,
    /// The same on all ranks, and different from any other job's.
    pub(crate) identity: Identity,
    /// Whether all ranks are on this host.
    pub(crate) is_local: bool,
    /// Whether the key was given; otherwise rank 0 makes one.
    pub(crate) has_key: bool,
}

/// What tells jobs apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Identity {
    /// What the starter calls the job.
    Named(Vec<String>),
    /// The process that started the ranks: the nearest ancestor whose environment does not have this variable.
    Process(&'static str),
}
