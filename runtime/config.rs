//! The configuration of a node: plain data. Every limit is named `*_max` or has its unit in its name.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::controllers::Disabled;
use crate::cost::CostModel;
use crate::ids::Rank;
use crate::interfaces::Interfaces;
use crate::overrides::Overrides;

/// The default of [`Config::keepalive`].
pub const KEEPALIVE: Duration = Duration::from_secs(3);

/// The default of [`Config::join_timeout`].
pub const JOIN: Duration = Duration::from_secs(30);

/// The default of [`Config::resume`].
pub const RESUME: Duration = Duration::from_secs(30);

/// A node's rank in its job, and its limits. [`Config::alone`] is a job of one rank. `lathide::init` reads the
/// configuration from the environment ([`crate::manual::launching`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// This node's rank.
    pub rank: Rank,
    /// The number of nodes in the job.
    pub size: u32,
    /// `host:port` of the rendezvous coordinator; required if `size` is above 1. Rank 0 listens there if no coordinator
    /// does yet.
    pub root: Option<String>,
    /// How the ranks find each other if the starter gives no coordinator or no key.
    pub(crate) discovery: Option<Discovery>,
    /// The address of this host on which the node listens. Default: the one from which it reaches the coordinator.
    pub interface: Option<Interfaces>,
    /// The ports on which it may listen; any if `None`.
    pub ports: Option<RangeInclusive<u16>>,
    /// The address that it announces to the others, such as that of a router in front of it. Default: the one on which
    /// it listens.
    pub advertise: Option<IpAddr>,
    /// The job's key, which authenticates all connections. A job of several ranks needs one, the same on all of them.
    pub key: Key,
    /// Whether links are encrypted (`LATHIDE_ENCRYPT=on`). Must be the same on every rank. Needs the feature `encrypt`.
    /// What ranks send to the coordinator (addresses, failures, reports) is authenticated, not encrypted.
    pub encrypt: bool,
    /// Whether what links carry has checksums, CRC-32C (`LATHIDE_CHECKSUM=on`): a connection on which bits have flipped is ended before
    /// anything wrong is delivered, and the link goes on over another ([`Config::resume`]). Must be the same on every rank.
    /// Without effect on links that are encrypted, where every change is found anyway ([`crate::Error::Tampered`]).
    pub checksum: bool,
    /// Whether messages move while the program computes.
    pub overlap: Overlap,
    /// The maximum payload of a fragment. Default: the paper's 4 KiB.
    pub fragment_bytes: usize,
    /// The window of a link: how many bytes may arrive before their reads are posted.
    pub window_bytes: u64,
    /// The same for all links together. Each link's window is the smaller of `window_bytes` and an equal share of this,
    /// but at least 64 KiB. The node's link to itself counts too.
    pub budget_bytes: u64,
    /// The maximum number of messages per link that may be announced beyond the window.
    pub envelopes_max: u32,
    /// How many connections a link may have beside its first, for long messages, at most 8 (`LATHIDE_LANES`): short messages then never
    /// wait behind long ones, and a path that loses packets carries more. They are opened when a path asks for them. 0: a
    /// link has one connection for all. None are opened without [`Config::resume`].
    pub lanes_max: u8,
    /// The size of a link's send buffer and of its receive buffer in the system (SO_SNDBUF, SO_RCVBUF), from 2 KiB to
    /// 1 GiB. Default: `None`, the system sizes them by the traffic. A fixed size less than the link's bandwidth times its
    /// round trip limits the link; it is for experiments such as section 4.2 of the paper.
    pub socket_buffer_bytes: Option<u32>,
    /// The cost model that selects the algorithms of collectives at first. Must be the same on every rank.
    pub cost_model: CostModel,
    /// Whether the cost model and the selection follow what ranks observe while the program runs
    /// (`LATHIDE_CALIBRATE=on`, the default). Must be the same on every rank. Needs windows of at least 64 KiB.
    pub calibrate: bool,
    /// The file from which rank 0 takes what earlier jobs on these hosts have learnt of their links, for the first prices, and
    /// in which it leaves what this job has learnt (`LATHIDE_CACHE`). Not used among ranks on loopback addresses. Default:
    /// none; of a configuration from the environment `~/.cache/lathide/links.json`.
    pub cache: Option<PathBuf>,
    /// Algorithms that override the selection (`LATHIDE_COLLECTIVE`). Must be the same on every rank.
    pub overrides: Overrides,
    /// How long the node tries to join its job.
    pub join_timeout: Duration,
    /// How long no byte may move before waiting ranks report what they wait for (deadlock detection). `None`: never.
    pub deadlock_timeout: Option<Duration>,
    /// How long a host may not answer before its connections are suspected, and made anew
    /// ([`Config::resume`]). `None`: as long as TCP takes, which can be a quarter of an hour. The host answers for a rank
    /// that computes, so such a rank is not suspected. Use the same value on every rank ([`crate::manual::launching`]).
    pub keepalive: Option<Duration>,
    /// For how long a connection that was cut, or is suspected, is made anew: the link goes on where it stopped, and nothing
    /// is lost or comes twice. After that the peer is lost. `None`: the end of a connection is the loss of its peer at once.
    /// Use the same value on every rank.
    pub resume: Option<Duration>,
    /// How long `finalize` waits for peers to confirm that everything has arrived.
    pub linger: Duration,
    /// Whether the node records what it does ([`crate::Node::report`]). If not, reports are empty.
    pub observe: bool,
    /// Whether the node also records when the last byte of each message has left the host, and so the sending times of regions
    /// ([`crate::observe::RegionMessages::time_s`]). It costs a system call or two per message.
    pub times_sends: bool,
    /// The file for a timeline of all ranks in the Chrome trace format. Each rank writes its own events to a file
    /// beside it.
    pub trace: Option<PathBuf>,
    /// Whether the node sends its report to the coordinator when it leaves.
    pub report: bool,
    /// What does not tune the node, for benches.
    pub(crate) disabled: Disabled,
}

impl Config {
    /// A job of one rank.
    pub fn alone() -> Self {
        Config::new(0, 1, None)
    }

    /// A node of a job of `size` ranks, with the coordinator at `root` (`host:port`). From two ranks on it needs a
    /// [`Config::key`].
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
            checksum: false,
            overlap: Overlap::On,
            fragment_bytes: 4096,
            window_bytes: 64 << 20,
            budget_bytes: 512 << 20,
            envelopes_max: 1024,
            lanes_max: 8,
            socket_buffer_bytes: None,
            cost_model: CostModel::lan(),
            calibrate: true,
            cache: None,
            overrides: Overrides::none(),
            join_timeout: JOIN,
            deadlock_timeout: Some(Duration::from_secs(3)),
            keepalive: Some(KEEPALIVE),
            resume: Some(RESUME),
            linger: Duration::from_secs(5),
            observe: true,
            times_sends: false,
            trace: None,
            report: false,
            disabled: Disabled::default(),
        }
    }
}

/// Whether bytes move while the program computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overlap {
    /// The kernel moves bytes while the program computes (`LATHIDE_OVERLAP=on`, the default).
    #[default]
    On,
    /// Deferred mode: bytes move only while a thread is inside a wait (`LATHIDE_OVERLAP=off`), as in a message-passing
    /// library without asynchronous progress. This is the baseline of the gain.
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

/// The job's key. It is never printed. The default is no key, which is enough for a job of one rank only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(pub(crate) [u8; 32]);

impl Key {
    /// A key of these 32 bytes. They must be random, as from `head -c 32 /dev/urandom`.
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
