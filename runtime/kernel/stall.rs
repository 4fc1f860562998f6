//! A thread that waits long says what the node waits for, so that no job hangs in silence.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Kernel;
use super::core::Core;
use super::help::Condition;
use crate::error::Error;
use crate::ids::Rank;
use crate::launch::control::{Outstanding, Report, Standstill};
use crate::launch::stall::{self, Seen};

/// How often a long wait looks again.
const TICK: Duration = Duration::from_secs(1);

/// The threads that use a node, and which of them wait.
#[derive(Default)]
pub(crate) struct Crew(Mutex<HashMap<ThreadId, Member>>);

struct Member {
    alive: Weak<()>,
    /// The ranks any of which could end the thread's wait, once it has waited long.
    waits_for: Option<Vec<Rank>>,
}

thread_local! {
    /// Dropped when the thread ends, which a `Weak` can see.
    static ALIVE: Arc<()> = Arc::new(());
    /// The node this thread has made itself known to last.
    static KNOWN_TO: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Crew {
    /// The calling thread uses the node: as long as it lives and does not wait, the node is not stuck.
    pub(crate) fn join(&self) {
        let node = std::ptr::from_ref(self).addr();
        // While a thread ends its locals are gone; then it does not count any more.
        let _ = KNOWN_TO.try_with(|known| {
            if known.replace(node) != node {
                let _ = ALIVE.try_with(|alive| {
                    let member = || Member { alive: Arc::downgrade(alive), waits_for: None };
                    self.0.lock().entry(std::thread::current().id()).or_insert_with(member);
                });
            }
        });
    }

    fn set_waiting(&self, waits_for: Option<Vec<Rank>>) {
        if let Some(member) = self.0.lock().get_mut(&std::thread::current().id()) {
            member.waits_for = waits_for;
        }
    }

    /// What the waiting threads wait for, and whether no thread is left that does not.
    fn waits(&self) -> (Vec<Vec<Rank>>, bool) {
        let mut crew = self.0.lock();
        crew.retain(|_, member| member.alive.strong_count() > 0);
        let certain = crew.values().all(|member| member.waits_for.is_some());
        let mut waits: Vec<_> = crew.values().filter_map(|member| member.waits_for.clone()).collect();
        waits.sort();
        (waits, certain)
    }
}

/// One thread's wait, as long as it lasts.
pub(crate) struct Patience {
    limit: Option<Duration>,
    next_look: Option<Instant>,
    /// When something last moved, as far as this thread has seen.
    moved: Instant,
    frames: (Vec<u32>, Vec<u32>),
    has_reported: bool,
    /// For a job of one, which has nobody to ask.
    alone: Seen,
}

impl Kernel {
    /// The patience of a wait that begins.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            limit: self.stall_timeout,
            next_look: None,
            moved: Instant::now(),
            frames: Default::default(),
            has_reported: false,
            alone: Seen::default(),
        }
    }
}

impl Patience {
    /// The wait goes on. Looks once a second whether anything moves, and reports when nothing has for long.
    pub(crate) fn tick(&mut self, kernel: &Kernel, condition: &dyn Condition) {
        let (Some(limit), now) = (self.limit, Instant::now()) else { return };
        let next_look = *self.next_look.get_or_insert(self.moved + TICK.min(limit));
        if now < next_look {
            return;
        }
        self.next_look = Some(now + TICK.min(limit));
        let mut core = kernel.lock();
        let frames = core.engine.frames();
        // A collective's operator may take long, and is no wait.
        if frames != self.frames || core.collectives.is_running() {
            (self.frames, self.moved) = (frames, now);
            kernel.unlock(core);
            return self.end(kernel);
        }
        if now.duration_since(self.moved) >= limit {
            self.report(kernel, condition, &mut core);
        }
        kernel.unlock(core);
    }

    /// The wait is over, or something moves again.
    pub(crate) fn end(&mut self, kernel: &Kernel) {
        if std::mem::take(&mut self.has_reported) {
            kernel.crew.set_waiting(None);
            kernel.report(Report::Moving);
        }
    }

    fn report(&mut self, kernel: &Kernel, condition: &dyn Condition, core: &mut Core) {
        let mut waits_for: Vec<Rank> = condition.slots().iter().flat_map(|slot| slot.peers()).copied().collect();
        if waits_for.is_empty() {
            waits_for = core.engine.outstanding().iter().map(|waiting| waiting.peer).collect();
        }
        waits_for.sort_unstable();
        waits_for.dedup();
        kernel.crew.set_waiting(Some(waits_for));
        let standstill = kernel.standstill(core);
        if !std::mem::replace(&mut self.has_reported, true) {
            tracing::warn!(rank = %kernel.rank, outstanding = ?standstill.outstanding, "nothing moves");
        }
        if kernel.size > 1 {
            return kernel.report(Report::Stalled(standstill));
        }
        self.alone.stalled(standstill);
        let ranks = std::slice::from_ref(&self.alone);
        let set = stall::deadlocked(ranks);
        if !set.is_empty() {
            core.engine.fail(Error::Deadlock { report: stall::report(&set, ranks).into() });
            core.hand_on();
        }
    }
}

impl Kernel {
    /// What the node waits for.
    pub(crate) fn standstill(&self, core: &Core) -> Standstill {
        let now = self.clock.now();
        let outstanding = core.engine.outstanding().into_iter().map(|waiting| Outstanding {
            kind: waiting.kind,
            peer: waiting.peer,
            tag: waiting.tag,
            bytes: waiting.bytes,
            done: waiting.done,
            since_s: now.saturating_sub(waiting.since).as_secs_f64(),
            state: waiting.state.to_owned(),
        });
        let outstanding = outstanding.collect();
        let (waits, certain) = self.crew.waits();
        let (sent, received) = core.engine.frames();
        let widen = |counts: Vec<u32>| counts.into_iter().map(u64::from).collect();
        Standstill { outstanding, waits, certain, sent: widen(sent), received: widen(received) }
    }
}
