//! What a node sees of itself: where its threads spend their time, what its links carry and how long that takes.
//!
//! | module | what |
//! | --- | --- |
//! | `phases` | time outside calls (t_calc), in posts, in waits; per thread, a few stores per call |
//! | `links` | messages and bytes by size; a bounded sample of one-way times |
//! | `offset` | how far clocks are apart, by the minimum round trip |
//! | `report` | all of that beside the models: [`Report`] |
//! | `advice` | what limits a program and what would change it: [`Advice`] |
//!
//! One message of 32 carries a *stamp*, the time at which it was posted; so the receiver learns how long it was on its
//! way. What that costs is measured by `cargo bench --bench observe`; `LATHIDE_OBSERVE=off` does without.

mod advice;
pub(crate) mod links;
pub(crate) mod offset;
mod phases;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use crate::config::{Config, Overlap};
use crate::error::Operation;
use crate::ids::Rank;
pub use advice::{Advice, Figure, Limit};
use links::{Link, Links, Typical};
use phases::Phases;
pub(crate) use phases::number as thread_number;
use report::Facts;
pub use report::{HyperbolicReport, LinkReport, Report, SizeReport};

/// What the node's threads tell of themselves. Switched off, every method returns at once.
pub(crate) struct Observer {
    is_on: bool,
    rank: Rank,
    size: u32,
    overlap: bool,
    phases: Phases,
    typical: Arc<Typical>,
    /// When finalize began, in nanoseconds; 0 before.
    ended: AtomicU64,
    /// The kernel's thread, as the system numbers it; 0 if that is not known.
    kernel_thread: AtomicI32,
    /// Its processor time when the job began.
    kernel_began_ns: AtomicU64,
}

impl Observer {
    pub(crate) fn new(config: &Config) -> Self {
        Observer {
            is_on: config.observe,
            rank: config.rank,
            size: config.size,
            overlap: config.overlap == Overlap::On,
            phases: Phases::default(),
            typical: Arc::new(Typical::new(if config.observe { config.size } else { 0 })),
            ended: AtomicU64::new(0),
            kernel_thread: AtomicI32::new(0),
            kernel_began_ns: AtomicU64::new(0),
        }
    }

    /// What is to be counted under the kernel's lock, if anything is.
    pub(crate) fn links(&self) -> Option<Links> {
        self.is_on.then(|| Links::new(self.typical.clone()))
    }

    /// The calling thread is the kernel's, and the job begins.
    pub(crate) fn kernel_runs_here(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.kernel_thread.store(thread, Ordering::Relaxed);
        self.kernel_began_ns.store(processor_time_ns(thread).unwrap_or(0), Ordering::Relaxed);
    }

    /// The program begins on the calling thread.
    pub(crate) fn begins(&self, now: Duration) {
        if self.is_on {
            self.phases.begins(nanoseconds(now));
        }
    }

    /// The program ends: what follows is finalize's.
    pub(crate) fn ends(&self, now: Duration) {
        if self.is_on {
            self.phases.enters(nanoseconds(now));
            self.ended.store(nanoseconds(now), Ordering::Relaxed);
        }
    }

    /// The calling thread enters a call.
    pub(crate) fn enters(&self, now: Duration) {
        if self.is_on {
            self.phases.enters(nanoseconds(now));
        }
    }

    /// Whether the end of the post that the calling thread is in is to be timed, as it is not for every short one.
    pub(crate) fn times_post(&self) -> bool {
        self.is_on && self.phases.times_post()
    }

    /// The calling thread leaves a post that was timed.
    pub(crate) fn leaves_post(&self, entered: Duration, now: Duration, is_short: bool) {
        if self.is_on {
            self.phases.leaves_post(nanoseconds(entered), nanoseconds(now), is_short);
        }
    }

    /// The calling thread leaves a wait for any of `operations`. Without any it was finalize's.
    pub(crate) fn leaves_wait(&self, entered: Duration, now: Duration, operations: impl Iterator<Item = Operation>) {
        if !self.is_on {
            return;
        }
        let typical = |of: Operation| self.typical.time_ns(of.peer, of.bytes);
        match operations.map(typical).max() {
            Some(typical) => self.phases.leaves_wait(nanoseconds(entered), nanoseconds(now), typical),
            None => self.phases.leaves(nanoseconds(now)),
        }
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

    /// Sums up. `links`: what passed over them, `now` at the latest.
    pub(crate) fn report(&self, now: Duration, links: &[(Rank, Link)]) -> Report {
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
        })
    }

    fn kernel_s(&self) -> Option<f64> {
        let now = processor_time_ns(self.kernel_thread.load(Ordering::Relaxed))?;
        Some(now.saturating_sub(self.kernel_began_ns.load(Ordering::Relaxed)) as f64 * 1e-9)
    }
}

/// The processor time a thread of this process has used.
fn processor_time_ns(thread: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}
