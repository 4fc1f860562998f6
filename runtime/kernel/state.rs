//! What a node consists of: the state that its task and the program's threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::thread::JoinHandle;
use std::time::Duration;

use lathide_sys::fork;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::cache::Cache;
use super::clock::Clock;
use super::core::Core;
use super::helper::Help;
use super::ownership::Ownership;
use super::patience::Patience;
use super::poller::Poller;
use super::team::Team;
use super::wake::TaskWake;
use crate::config::{Config, Overlap};
use crate::controllers::Disabled;
use crate::ids::Rank;
use crate::join::caller::Control;
use crate::join::control::Report;
use crate::join::rejoin::Rejoin;
use crate::observe::Observer;

/// What the node's threads and its task share.
pub(crate) struct Kernel {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    /// All ranks.
    pub(super) everyone: Arc<[Rank]>,
    pub(super) names: Names,
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    /// The engine with its sockets: whoever has locked it drives.
    pub(super) core: Mutex<Core>,
    /// Tells which links are ready.
    pub(super) poller: Arc<Poller>,
    /// Who drives while threads wait.
    pub(super) help: Help,
    /// Who watches the links while none does.
    pub(super) ownership: Ownership,
    /// Wakes the task, and tells it why.
    pub(super) wake: Arc<TaskWake>,
    pub(super) task: TaskThread,
    /// The program's calls of collectives.
    pub(crate) calls: Calls,
    /// Whether it pays to wait before a buffer goes back.
    pub(super) patience: Patience,
    pub(super) program: Program,
    pub(crate) observer: Observer,
}

/// What tells this node and its job from others.
pub(super) struct Names {
    /// The node, within its process.
    pub(super) node: u64,
    /// That process.
    pub(super) process: u32,
    /// This run of the job.
    pub(super) job: u64,
    /// Whether a launcher has started the job, and watches its processes: it does not outlive the launcher.
    pub(super) has_launcher: bool,
}

/// What was configured, as far as it holds for the node's whole life.
pub(super) struct Settings {
    pub(super) overlap: Overlap,
    pub(super) deadlock_timeout: Option<Duration>,
    /// How long a peer's host may not answer.
    pub(super) keepalive: Option<Duration>,
    /// How long a link may be down.
    pub(super) resume: Option<Duration>,
    pub(super) linger: Duration,
    /// Whether the rendezvous is to hear what the node has observed.
    pub(super) reports: bool,
    /// What does not tune the node.
    pub(super) disabled: Disabled,
}

impl Settings {
    pub(super) fn of(config: &Config) -> Self {
        Settings {
            overlap: config.overlap,
            deadlock_timeout: config.deadlock_timeout,
            keepalive: config.keepalive,
            resume: config.resume,
            linger: config.linger,
            reports: config.report,
            disabled: config.disabled,
        }
    }
}

/// The task's thread, and what it is told in words.
pub(super) struct TaskThread {
    pub(super) orders: mpsc::Sender<Order>,
    /// Until the node is finished.
    pub(super) handle: Mutex<Option<JoinHandle<()>>>,
}

/// The program's calls of collectives.
pub(crate) struct Calls {
    /// All ranks of the job: who calls their collectives, and how calls are carried out.
    pub(crate) job: Arc<Team>,
    /// Whether the task looks for collectives that wait in vain: one of [`asking`].
    pub(super) asking: AtomicU8,
    /// Where what is learnt of the links is kept for later jobs: rank 0's.
    pub(super) cache: Option<Cache>,
    /// When the program left the last call that began one, in nanoseconds.
    pub(super) left: AtomicU64,
    /// Some calls were deferred, and perhaps still are.
    pub(super) has_deferred: AtomicBool,
    /// The program was told why collectives fail.
    pub(super) is_told: AtomicBool,
}

impl Calls {
    pub(super) fn new(job: Team, cache: Option<Cache>) -> Self {
        Calls {
            job: Arc::new(job),
            asking: AtomicU8::new(asking::IDLE),
            cache,
            left: AtomicU64::new(0),
            has_deferred: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
        }
    }
}

/// Whether the task looks for collectives that wait in vain.
pub(super) mod asking {
    /// No collective is under way.
    pub(in crate::kernel) const IDLE: u8 = 0;
    /// One has begun, and nobody has waited since.
    pub(in crate::kernel) const BEGUN: u8 = 1;
    /// The task looks, until none is under way.
    pub(in crate::kernel) const ASKING: u8 = 2;
}

/// What the program has been told, and has asked for.
#[derive(Default)]
pub(super) struct Program {
    /// It has finalized, or was forked from the process that joined, and may not call any more.
    pub(super) is_over: fork::Flag,
    /// How often a call has found that an operation is not complete.
    pub(super) asked_in_vain: AtomicU64,
    /// The last error that it was told.
    pub(super) noted: Mutex<Option<String>>,
}

/// What the program's threads tell the kernel's task.
pub(crate) enum Order {
    /// Pass a report on to the rendezvous.
    Report(Report),
    /// Say the last word, if it is not said yet, and end.
    Leave(Option<Report>),
}

/// A node at its start: where the task continues.
pub(super) struct Started {
    pub(super) kernel: Arc<Kernel>,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) control: Option<Control>,
    pub(super) rejoin: Option<Rejoin>,
}
