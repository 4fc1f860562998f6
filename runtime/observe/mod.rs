//! Observation: where the threads of a node spend their time, what its links carry, and how long that takes.
//!
//! | module | what |
//! | --- | --- |
//! | `phases` | time outside calls (t_calc), in posts, in waits; per thread, a few stores per call |
//! | `links` | messages and bytes by size class; a bounded sample of one-way times |
//! | `downs` | when a link had no connection |
//! | `offset` | clock offsets, by the minimum round trip |
//! | `regions` | times and messages by the region of the program |
//! | `sends` | when messages have left the host, for their sending times; only if asked for |
//! | `transfer` | what messages take on their way: [`LinkReport`] |
//! | `figures` | the figures of Strumpen's model: [`Figures`] |
//! | `report` | the summary, beside the models: [`Report`] |
//! | `advice` | what limits a program, and what would improve it: [`Advice`] |
//! | `event`, `tape` | events, through a bounded channel into a file; only for a timeline |
//! | `threads` | what the threads of this process do, by the system's information |
//! | [`timeline`] | merges the files of all ranks into one timeline, on one clock |
//!
//! One message of 32 carries a *timestamp*, the time at which it was posted, so the receiver can determine its one-way
//! time. `cargo bench --bench observe` measures the cost; `LATHIDE_OBSERVE=off` switches observation off.

mod advice;
mod downs;
pub(crate) mod event;
mod figures;
pub mod file;
pub(crate) mod links;
pub(crate) mod offset;
mod phases;
pub(crate) mod regions;
mod report;
mod say;
pub(crate) mod sends;
mod summary;
pub(crate) mod tape;
pub(crate) mod threads;
pub mod timeline;
mod transfer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use crate::collective::{CandidateReport, ChangeReport, CollectiveReport};
use crate::config::{Config, Overlap};
use crate::engine::OpId;
use crate::ids::Rank;
use crate::operation::Operation;
pub use advice::{Advice, Figure, Limit};
use event::{Awaited, Head, What};
pub use figures::Figures;
use lathide_sys::processor::ThreadClock;
use links::{Link, Links, Typical};
use phases::Phases;
pub(crate) use phases::number as thread_number;
pub(crate) use regions::Visit;
pub use regions::{BESIDE, RegionMessages, RegionReport};
use regions::{Counts, Moment, Own, Regions};
use report::Facts;
pub use report::Report;
pub(crate) use say::say;
use sends::Sends;
pub use summary::closing;
pub(crate) use tape::Tape;
use tape::rank_file;
pub use transfer::{HyperbolicReport, LinkReport, SizeReport};

/// Records what the node's threads do. If it is switched off, every method returns at once.
pub(crate) struct Observer {
    is_on: bool,
    rank: Rank,
    size: u32,
    overlap: bool,
    times_sends: bool,
    phases: Phases,
    regions: Regions,
    typical: Arc<Typical>,
    /// When finalize began, in nanoseconds; 0 before.
    ended: AtomicU64,
    /// The processor time of the kernel's thread, if the system tells it.
    kernel_clock: OnceLock<ThreadClock>,
    /// Its processor time when the job began.
    kernel_began_ns: AtomicU64,
    /// Where the timeline goes, if one is asked for.
    trace: Option<PathBuf>,
    tape: OnceLock<Arc<Tape>>,
}

impl Observer {
    pub(crate) fn new(config: &Config) -> Self {
        // A timeline needs the links' clocks.
        let is_on = config.observe || config.times_sends || config.trace.is_some();
        Observer {
            is_on,
            rank: config.rank,
            size: config.size,
            overlap: config.overlap == Overlap::On,
            times_sends: config.times_sends,
            phases: Phases::default(),
            regions: Regions::default(),
            typical: Arc::new(Typical::new(if is_on { config.size } else { 0 })),
            ended: AtomicU64::new(0),
            kernel_clock: OnceLock::new(),
            kernel_began_ns: AtomicU64::new(0),
            trace: config.trace.clone(),
            tape: OnceLock::new(),
        }
    }

    /// Opens the file that events go to, if a timeline is asked for. `job` names this run of the job, `now` is the node's
    /// clock.
    ///
    /// # Errors
    /// If there can be no such file.
    pub(crate) fn open(&self, job: u64, now: impl Fn() -> Duration) -> io::Result<Option<Arc<Tape>>> {
        let Some(trace) = &self.trace else { return Ok(None) };
        let path = rank_file(trace, self.rank.0);
        let machine = || nanoseconds(lathide_sys::clock::monotonic());
        let read = |path: &str| Some(std::fs::read_to_string(path).ok()?.trim().to_owned());
        let head = Head {
            schema: event::SCHEMA.to_owned(),
            job,
            rank: self.rank,
            size: self.size,
            process: std::process::id(),
            host: read("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()),
            boot: read("/proc/sys/kernel/random/boot_id"),
            began_ns: offset::began_ns(machine, || nanoseconds(now())),
            overlap: self.overlap,
        };
        let started = Tape::start(path.clone(), &head);
        let tape = Arc::new(started.map_err(|error| named(&path, &error))?);
        Ok(Some(self.tape.get_or_init(|| tape).clone()))
    }

    /// Writes the last of the events. Where no launcher does it, the last rank puts the timeline together.
    ///
    /// # Errors
    /// If something cannot be written.
    pub(crate) fn close(&self, now: Duration, job: u64, has_launcher: bool) -> io::Result<()> {
        let (Some(tape), Some(trace)) = (self.tape.get(), &self.trace) else { return Ok(()) };
        let path = rank_file(trace, self.rank.0);
        tape.end(nanoseconds(now), &path).map_err(|error| named(&path, &error))?;
        if has_launcher {
            return Ok(());
        }
        timeline::merge_if_complete(trace, job, self.size).map_err(|error| named(trace, &error))
    }

    /// Whether events are written down.
    pub(crate) fn is_taped(&self) -> bool {
        self.tape.get().is_some()
    }

    /// Tells of an event on the calling thread, if a timeline is asked for.
    pub(crate) fn tell(&self, now: impl FnOnce() -> Duration, what: impl FnOnce() -> What) {
        if let Some(tape) = self.tape.get() {
            tape.tell(nanoseconds(now()), what());
        }
    }

    /// What is to be counted under the kernel's lock, if anything is.
    pub(crate) fn links(&self) -> Option<Links> {
        self.is_on.then(|| Links::new(self.typical.clone()))
    }

    /// The calling thread is the kernel's, and the job begins.
    pub(crate) fn kernel_runs_here(&self) {
        if let Some(clock) = ThreadClock::here() {
            self.kernel_began_ns.store(clock.read().map_or(0, nanoseconds), Ordering::Relaxed);
            _ = self.kernel_clock.set(clock);
        }
    }

    /// The program begins on the calling thread.
    pub(crate) fn begins(&self, now: Duration) {
        if self.is_on {
            self.phases.begins(nanoseconds(now));
            self.tell(|| now, || What::Begin);
        }
    }

    /// The program ends: what follows is finalize's.
    pub(crate) fn ends(&self, now: Duration) {
        if self.is_on {
            self.phases.enters(nanoseconds(now));
            self.ended.store(nanoseconds(now), Ordering::Relaxed);
            self.tell(|| now, || What::Finalize);
        }
    }

    /// The calling thread enters a call.
    pub(crate) fn enters(&self, now: Duration) {
        if self.is_on {
            self.phases.enters(nanoseconds(now));
        }
    }

    /// Whether the end of the short post that the calling thread is in is to be timed.
    pub(crate) fn times_post(&self) -> bool {
        self.is_on && (self.phases.times_post() || self.is_taped())
    }

    /// The calling thread leaves a post that was timed.
    pub(crate) fn leaves_post(&self, entered: Duration, now: Duration, (op, of): (OpId, Operation), is_short: bool) {
        if self.is_on {
            let since_ns = nanoseconds(entered);
            self.phases.leaves_post(since_ns, nanoseconds(now), is_short);
            let Operation { kind, peer, tag, bytes, .. } = of;
            self.tell(|| now, || What::Post { since_ns, op: op.0, kind, peer, tag, bytes });
        }
    }

    /// The calling thread, which is in a call, begins to wait for any of `operations`.
    pub(crate) fn begins_wait(&self, now: Duration, mut operations: impl Iterator<Item = (OpId, Operation)>) {
        if self.is_taped() {
            let first = operations.next().map(|(op, of)| {
                let Operation { kind, peer, tag, bytes, .. } = of;
                Awaited { op: op.0, kind, peer, tag, bytes }
            });
            let count = u64::from(first.is_some()) + operations.count() as u64;
            self.tell(|| now, || What::Wait { first, count });
        }
    }

    /// The calling thread leaves a wait in which it has spent no time.
    pub(crate) fn leaves_at_once(&self, now: Duration) {
        self.tell(|| now, || What::Waited);
    }

    /// The calling thread leaves a wait for any of `operations`. Nothing is known of how long one without any must take.
    pub(crate) fn leaves_wait(
        &self,
        entered: Duration,
        now: Duration,
        operations: impl Iterator<Item = (OpId, Operation)>,
    ) {
        if !self.is_on {
            return;
        }
        let typical = |(_, of): (OpId, Operation)| self.typical.time_ns(of.peer, of.bytes);
        self.tell(|| now, || What::Waited);
        if self.ended.load(Ordering::Relaxed) > 0 {
            // It was finalize's.
            return self.phases.leaves(nanoseconds(now));
        }
        let typical = operations.map(typical).max().unwrap_or(u64::MAX);
        self.phases.leaves_wait(nanoseconds(entered), nanoseconds(now), typical);
    }

    /// The calling thread enters a region of the program, at `node`.
    pub(crate) fn enters_region(&self, now: impl FnOnce() -> Duration, node: u64, name: &str) -> Option<Visit> {
        if !self.is_on {
            return None;
        }
        let now = now();
        self.tell(|| now, || What::Region { name: name.to_owned() });
        Some(self.regions.enter(node, name, &self.own(nanoseconds(now))))
    }

    /// It leaves it.
    pub(crate) fn leaves_region(&self, now: Duration, visit: &Visit) {
        Regions::leave(visit, &self.own(nanoseconds(now)));
        self.tell(|| now, || What::RegionEnds);
    }

    /// The calling thread so far.
    fn own(&self, now_ns: u64) -> Own {
        let kernel_ns = self.kernel_clock.get().and_then(|clock| clock.read()).map(nanoseconds);
        Own { thread: thread_number(), sums: self.phases.own(now_ns), moment: Moment { now_ns, kernel_ns } }
    }

    /// What is to be counted of regions.
    pub(crate) fn counts(&self) -> Counts {
        Counts::new(self.times_sends.then(|| Sends::new(self.size)))
    }

    /// The calling thread has got a handle. Returns what to give back when that is gone.
    pub(crate) fn opens(&self) -> u32 {
        if self.is_on {
            self.phases.opens();
            return thread_number();
        }
        0
    }

    /// A handle is gone.
    pub(crate) fn closes(&self, opener: u32) {
        if self.is_on {
            self.phases.closes(opener);
        }
    }

    /// Sums up. `links`: what passed over them, `now` at the latest; `counts`: by region.
    pub(crate) fn report(&self, now: Duration, links: &[(Rank, Link)], counts: Counts) -> Report {
        let ended = self.ended.load(Ordering::Relaxed);
        let now = if ended > 0 { ended } else { nanoseconds(now) };
        let (sums, threads) = self.phases.sums(now);
        Report::new(&Facts {
            rank: self.rank,
            size: self.size,
            overlap: self.overlap,
            elapsed_s: now as f64 * 1e-9,
            threads,
            times: sums.times(),
            kernel_s: self.kernel_s(),
            links,
            regions: &self.regions.visited(counts, &self.own(now)),
        })
    }

    fn kernel_s(&self) -> Option<f64> {
        let now = nanoseconds(self.kernel_clock.get()?.read()?);
        Some(now.saturating_sub(self.kernel_began_ns.load(Ordering::Relaxed)) as f64 * 1e-9)
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}
