//! Says what the node waits for when nothing moves, so that no job hangs in silence.
//!
//! The task looks once a second. A node *waits* if a thread has been in a call of lathide's for a second, if a future of a
//! handle is pending, or if the program keeps asking (`test`, `wait_timeout`) in vain. If it waits and no byte has come or
//! gone for some seconds, the task tells the rendezvous what is outstanding. Whether that is *certain* to last, as far as
//! this process goes, [`crate::observe::threads`] finds out; the rendezvous puts the ranks' reports together
//! ([`crate::join::deadlock`]).

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Kernel;
use super::core::Core;
use super::helper::Condition;
use crate::error::Error;
use crate::ids::Rank;
use crate::join::control::{Outstanding, Report, Snapshot, Unread};
use crate::join::deadlock::{self, Seen};
use crate::observe::say;
use crate::observe::threads::{self, Look, Waiting};
use crate::operation::{Operation, OperationKind};

/// How often the task looks, and how long a thread waits before it counts as waiting.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// After how long a snapshot of a job of one is worth a word.
const WORD_AFTER: Duration = Duration::from_secs(10);

/// One thread's wait, as long as it lasts.
pub(crate) struct LongWait {
    pub(crate) began: Duration,
    waiting: Option<Waiting>,
}

impl LongWait {
    /// A wait that began at `began`.
    pub(crate) fn new(began: Duration) -> Self {
        LongWait { began, waiting: None }
    }

    /// The wait goes on. Once it has lasted, it is known of.
    pub(crate) fn tick(&mut self, kernel: &Kernel, condition: &dyn Condition, has_deadline: bool) {
        if self.waiting.is_some() || kernel.clock.now().saturating_sub(self.began) < kernel.look_every() {
            return;
        }
        let mut peers: Vec<Rank> = condition.completions().flat_map(|completion| completion.peers()).copied().collect();
        if peers.is_empty() {
            peers = kernel.lock().engine.outstanding().iter().map(|waiting| waiting.peer).collect();
        }
        peers.sort_unstable();
        peers.dedup();
        self.waiting = Some(Waiting::new(kernel.names.node, kernel.names.job, has_deadline, peers));
    }
}

/// What the task has seen of its node so far.
#[derive(Default)]
pub(super) struct Detector {
    /// When something last moved, and what had passed by then.
    moved: Duration,
    traffic: (Vec<u64>, Vec<u64>),
    /// How often the program had asked in vain.
    asked: u64,
    look: Look,
    has_reported: bool,
    /// For a job of one, which has nobody to ask.
    alone: Seen,
    has_said: bool,
}

impl Kernel {
    /// Whether the task looks at all.
    pub(super) fn looks(&self) -> bool {
        self.settings.deadlock_timeout.is_some()
    }

    /// How often the task looks whether the node stands still.
    pub(super) fn look_every(&self) -> Duration {
        self.settings.deadlock_timeout.map_or(TICK, |limit| limit.min(TICK))
    }

    /// Looks whether the node stands still. Returns what the rendezvous is to hear.
    pub(super) fn detect(&self, detector: &mut Detector) -> Option<Report> {
        let now = self.clock.now();
        let asked = self.program.asked_in_vain.load(Ordering::Relaxed);
        let keeps_asking = std::mem::replace(&mut detector.asked, asked) != asked;
        let waits =
            keeps_asking || self.help.awaiting.load(Ordering::SeqCst) > 0 || threads::has_waits(self.names.node);
        let core = self.lock();
        // An operator may take long, and is no wait.
        let traffic = core.traffic();
        let moves = traffic != detector.traffic || core.collectives.is_running();
        if !waits || moves || core.engine.failure().is_some() {
            (detector.moved, detector.traffic) = (now, traffic);
            drop(core);
            (detector.look, detector.alone, detector.has_said) = Default::default();
            return std::mem::take(&mut detector.has_reported).then_some(Report::Moving);
        }
        let (limit, still) = (self.settings.deadlock_timeout?, now.saturating_sub(detector.moved));
        if still + self.look_every() < limit {
            return None;
        }
        // Files are read: not with the core locked. What moves meanwhile shows in the counts.
        drop(core);
        let look = Look::take();
        let mut core = self.lock();
        let is_still = look.is_still_since(&detector.look, self.names.node, self.names.job);
        let mut snapshot = self.snapshot(&core, &look);
        detector.look = look;
        if still < limit {
            return None;
        }
        snapshot.certain &= is_still;
        detector.has_reported = true;
        if self.size > 1 {
            return Some(Report::Stalled(snapshot));
        }
        detector.alone.stalled(snapshot);
        let ranks = std::slice::from_ref(&detector.alone);
        let set = deadlock::deadlocked(ranks);
        if !set.is_empty() {
            core.engine.fail(Error::Deadlock { report: deadlock::report(&set, ranks).into() });
            core.hand_on();
        } else if still >= WORD_AFTER && !std::mem::replace(&mut detector.has_said, true) {
            say(self.rank, &deadlock::undecided(ranks, still.as_secs_f64()));
        }
        self.unlock(core);
        None
    }

    /// What the node waits for now, to be shown: nothing is decided by it.
    pub(super) fn shows(&self) -> Snapshot {
        Snapshot { certain: false, ..self.snapshot(&self.lock(), &Look::take()) }
    }

    /// What the node waits for. `certain`: as far as the engine goes.
    fn snapshot(&self, core: &Core, look: &Look) -> Snapshot {
        let mut waits: Vec<Vec<Rank>> =
            look.waits(self.names.node, self.names.job).map(|wait| wait.peers.clone()).collect();
        // A thread's wait has wakers too, at times: those say nothing new.
        let known: Vec<Rank> = waits.iter().flatten().copied().collect();
        waits.extend(core.awaited().filter(|peers| !peers.iter().all(|peer| known.contains(peer))));
        waits.sort();
        let (sent, received) = core.traffic();
        let certain = !core.may_move();
        Snapshot { outstanding: self.outstanding(core), unread: unread(core), waits, certain, sent, received }
    }

    /// The operations under way: the program's own messages, and its collectives instead of their messages.
    fn outstanding(&self, core: &Core) -> Vec<Outstanding> {
        let now = self.clock.now();
        let all = core.engine.outstanding();
        let (messages, inner): (Vec<_>, Vec<_>) = all.into_iter().partition(|waiting| waiting.tag.is_some());
        let outstanding = messages.into_iter().map(|waiting| Outstanding {
            kind: waiting.kind,
            peer: waiting.peer,
            tag: waiting.tag,
            bytes: waiting.bytes,
            done: waiting.done,
            since_s: now.saturating_sub(waiting.since).as_secs_f64(),
            state: waiting.state.to_owned(),
        });
        let mut outstanding: Vec<_> = outstanding.collect();
        let oldest = inner.iter().map(|waiting| waiting.since).min().unwrap_or(now);
        let mut partners: Vec<Rank> = inner.iter().map(|waiting| waiting.peer).collect();
        partners.sort_unstable();
        partners.dedup();
        let state = match &partners[..] {
            [] => "not begun, or an operator works".to_owned(),
            _ => format!("messages from or to {} are missing", deadlock::listed(&partners)),
        };
        outstanding.extend(core.collectives_under_way().map(|operation| Outstanding {
            kind: operation.kind,
            peer: operation.peer,
            tag: None,
            bytes: operation.bytes,
            done: 0,
            since_s: now.saturating_sub(oldest).as_secs_f64(),
            state: state.clone(),
        }));
        outstanding.extend(core.window_calls_under_way().map(|(operation, since)| Outstanding {
            kind: operation.kind,
            peer: operation.peer,
            tag: None,
            bytes: operation.bytes,
            done: 0,
            since_s: now.saturating_sub(since).as_secs_f64(),
            state: "not answered; the program there uses the memory, or moves no bytes".to_owned(),
        }));
        outstanding
    }
}

/// The messages that have come and that no read has asked for.
fn unread(core: &Core) -> Vec<Unread> {
    let unmatched = core.engine.unmatched(crate::wire::frame::Context::User);
    unmatched.into_iter().map(|(from, key, count)| Unread { from, tag: key.tag, count: count as u64 }).collect()
}

impl Core {
    /// Whether something of this node's own may still happen without a message from outside.
    fn may_move(&self) -> bool {
        // A link that has no connection may have one again, and a peer may wait to hear what has come.
        let goes_on = !self.down.is_empty() || self.engine.has_untold();
        goes_on || self.engine.has_any_output() || self.has_due() || self.collectives.is_running()
    }

    /// For each operation that a future waits for, the ranks that could complete it.
    fn awaited(&self) -> impl Iterator<Item = Vec<Rank>> {
        self.under_way().filter(|completion| completion.has_waker()).map(|completion| completion.peers().to_vec())
    }

    /// In the order in which they were called.
    fn collectives_under_way(&self) -> impl Iterator<Item = Operation> {
        let is_one = |kind| matches!(kind, OperationKind::Collective(_) | OperationKind::Exchange);
        let mut all: Vec<_> = self.under_way().filter(|completion| is_one(completion.operation().kind)).collect();
        all.sort_by_key(|completion| completion.op);
        all.into_iter().map(|completion| completion.operation())
    }
}
