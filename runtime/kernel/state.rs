//! What a node consists of: the state that its task and the program's threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::callers::Callers;
use super::clock::Clock;
use super::core::Core;
use super::helper::Help;
use super::ownership::Ownership;
use super::poller::Poller;
use super::tuning::spin::Spin;
use super::wake::TaskWake;
use crate::collective::execute::Planner;
use crate::config::Overlap;
use crate::ids::Rank;
use crate::join::control::Report;
use crate::join::mesh;
use crate::observe::Observer;

/// What the node's threads and its task share.
pub(crate) struct Kernel {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(super) overlap: Overlap,
    pub(super) deadlock_timeout: Option<Duration>,
    /// How long a peer's host may not answer.
    pub(super) keepalive: Option<Duration>,
    pub(super) linger: Duration,
    /// Whether the rendezvous is to hear what the node has observed.
    pub(super) reports: bool,
    pub(super) clock: Clock,
    pub(super) core: Mutex<Core>,
    pub(super) poller: Arc<Poller>,
    pub(super) help: Help,
    pub(super) ownership: Ownership,
    pub(super) spin: Spin,
    /// Names this node within its process.
    pub(super) id: u64,
    /// How often a call has found that an operation is not complete.
    pub(super) asked_in_vain: AtomicU64,
    pub(super) callers: Callers,
    pub(crate) observer: Observer,
    /// Futures that wait. In deferred mode the task moves bytes for them, and only for them.
    pub(super) awaiting: AtomicUsize,
    /// The task has stopped early for a waiter, and links may still be ready.
    pub(super) gave_way: AtomicBool,
    pub(super) is_over: AtomicBool,
    /// The last error the program was told.
    pub(super) noted: Mutex<Option<String>>,
    pub(super) wake: Arc<TaskWake>,
    pub(super) planner: Mutex<Planner>,
    /// Whether the task looks for collectives that wait in vain.
    pub(super) asking: AtomicU8,
    /// The program was told why collectives fail.
    pub(super) is_told: AtomicBool,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
    /// Names this run of the job, and whether a launcher has started it.
    pub(super) job: (u64, bool),
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
    pub(super) control: Option<mesh::Control>,
}
