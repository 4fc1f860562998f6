//! The communication kernel: one task per node, on a thread of its own, and what it shares with the program's
//! threads. It alone does I/O; the engine decides what.
//!
//! Three kinds of threads drive the engine, each under the core's lock and never while sleeping: the kernel's
//! task while the program computes, a helping waiter ([`help`]), and the thread that posts a write, which sends
//! the first burst itself, or calls a short collective, which it may carry out to its end ([`carried`]).

mod awaited;
mod cache;
mod calibrate;
mod callers;
mod carried;
mod clock;
mod collectives;
mod completion;
mod conditions;
mod core;
mod cuts;
mod deadlock;
mod down;
mod forked;
mod groups;
mod hand_over;
mod help;
mod helper;
mod listen;
#[cfg(test)]
mod look_tests;
mod observed;
mod ownership;
#[cfg(test)]
mod ownership_tests;
mod panics;
mod patience;
mod poller;
mod posting;
mod ready;
#[cfg(test)]
mod ready_tests;
#[cfg(test)]
mod schedules;
mod shared;
mod state;
mod sync;
mod task;
mod team;
mod timers;
mod tuning;
mod wake;
mod windows;
mod withdraw;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::sync::mpsc;

use crate::collective::calibration::EXCHANGE_WINDOW_BYTES;
use crate::collective::execute::Planner;
use crate::config::Config;
use crate::controllers::Controller;
use crate::cost::{CostModel, Hosts};
use crate::engine::{Engine, LANES_MAX};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::join::control::Report;
use crate::join::cores::Polling;
use crate::join::handshake::is_local;
use crate::join::{keepalive, mesh};
use crate::observe::{self, Observer};
use cache::Cache;
pub(crate) use callers::CollectiveCall;
pub(crate) use carried::Carried;
use clock::Clock;
pub(crate) use completion::Completion;
use conditions::Until;
use core::Core;
pub(crate) use helper::HasCompletion;
use helper::Help;
use observed::Observed;
use ownership::Ownership;
use patience::Patience;
use poller::Poller;
pub(crate) use ready::Ready;
pub(crate) use shared::SharedCompletion;
pub(crate) use state::Kernel;
use state::{Calls, Names, Order, Program, Settings, Started, TaskThread};
pub(crate) use team::Team;
use tuning::spin::Spin;
use wake::TaskWake;

/// The cost model with what is known of where ranks are, unless it says so itself.
fn placed(model: CostModel, ranks_per_core: f64, addresses: &[IpAddr]) -> CostModel {
    let per_host = team::per_host(addresses).filter(|ranks| *ranks > 1);
    // Several hosts with several ranks each.
    let hosts = model.hosts.or_else(|| per_host.filter(|ranks| (*ranks as usize) < addresses.len()).map(Hosts::of));
    // Whoever tells wrong numbers gets wrong prices, but some.
    let shared = if ranks_per_core.is_finite() { ranks_per_core.clamp(1.0, 1e6) } else { 1.0 };
    // The guess is of a network. On one host there is none, and where ranks share its cores, an algorithm that suits a network takes up
    // to twice as long.
    let model = match per_host {
        Some(ranks) if ranks as usize == addresses.len() && shared > 1.0 && model == CostModel::lan() => {
            let Hosts { local, .. } = Hosts::of(ranks);
            model.with_link(local.fixed, local.per_byte)
        }
        _ => model,
    };
    CostModel { ranks_per_core: model.ranks_per_core.max(shared), hosts, ..model }
}

/// The next node's name within this process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Orders that may wait; reports beyond are dropped, the next says the same.
const ORDERS_MAX: usize = 64;

impl Kernel {
    /// Starts the kernel's thread, joins the job and returns when every link is up.
    pub(crate) fn start(config: Config) -> Result<Arc<Kernel>> {
        let (rank, name) = (config.rank, format!("lathide-{}", config.rank));
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let run = move || task::run(config, sender);
        let failed = |cause: String| Error::Join { rank, cause: cause.into() };
        let thread = std::thread::Builder::new().name(name).spawn(run);
        let thread = thread.map_err(|error| failed(format!("the kernel's thread did not start: {error}")))?;
        let kernel = receiver.recv().map_err(|_| failed("the kernel's thread ended at its start".into()))??;
        *kernel.task.handle.lock() = Some(thread);
        kernel.calls.job.callers.begin();
        kernel.observer.begins(kernel.clock.now());
        Ok(kernel)
    }

    fn prepare(config: &Config, membership: mesh::Membership) -> std::io::Result<Started> {
        let mesh::Membership { links, control, limits, launcher, job, ranks_per_core, addresses, polling, rejoin } =
            membership;
        let mut engine = Engine::new(config.rank, &limits);
        if !config.disabled.leaves(Controller::FragmentBatch) {
            engine.disable_batches();
        }
        let (poller, clock) = (Arc::new(Poller::new()?), Clock::start());
        let wake = Arc::new(TaskWake::new());
        for (rank, link) in (0..).map(Rank).zip(&links) {
            let Some(link) = link else { continue };
            keepalive::limit(&link.stream, config.keepalive, keepalive::EndedBy::Look)?;
            if is_local(&SockRef::from(&link.stream)) {
                engine.stays_within_host(rank);
                // One that needs this core to read is to have it soon, and what is here then to be in the caches.
                if polling == Polling::Own {
                    engine.reads_beside(rank);
                }
            }
        }
        let mut core = Core::new(engine, links, poller.clone(), clock, wake.clone(), config.disabled)?;
        core.is_advised = control.is_some();
        core.resumes = config.resume.filter(|_| rejoin.is_some());
        core.lanes_max = config.lanes_max.min(LANES_MAX);
        let observer = Observer::new(config);
        core.observed = Observed::new(&observer, observer.open(job, || clock.now())?);
        core.record_departures().map_err(|error| {
            std::io::Error::new(
                error.kind(),
                format!("the system does not tell when messages leave ({error}): LATHIDE_OBSERVE=on"),
            )
        })?;
        core.ask_clocks();
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let cost_model = placed(config.cost_model, ranks_per_core, &addresses);
        let has_room = limits.iter().all(|limits| limits.window_bytes >= EXCHANGE_WINDOW_BYTES);
        let calibrates = config.calibrate && config.size > 1 && has_room;
        let planner = Planner::new(config.rank, cost_model, config.overrides.clone(), calibrates);
        let cache = config.cache.as_ref().filter(|_| calibrates && config.rank == 0);
        let cache = cache.and_then(|path| Cache::of(path, &addresses));
        let polling = if config.disabled.leaves(Controller::Spin) { polling } else { Polling::Never };
        let kernel = Kernel {
            rank: config.rank,
            size: config.size,
            everyone: (0..config.size).map(Rank).collect(),
            names: Names {
                node: NEXT_ID.fetch_add(1, Ordering::Relaxed),
                process: std::process::id(),
                job,
                has_launcher: launcher,
            },
            settings: Settings::of(config),
            clock,
            core: Mutex::new(core),
            help: Help::new(poller.clone(), Spin::new(polling)),
            poller,
            ownership: Ownership::new(),
            wake,
            task: TaskThread { orders: sender, handle: Mutex::new(None) },
            calls: Calls::new(Team::of_job(config.rank, config.size, planner), cache),
            patience: Patience::default(),
            program: Program::default(),
            observer,
        };
        Ok(Started { kernel: Arc::new(kernel), orders, control, rejoin })
    }

    /// What the node has observed so far.
    pub(crate) fn observed(&self) -> observe::Report {
        let mut core = self.lock();
        (0..self.size).for_each(|peer| core.observe_departures(Rank(peer)));
        let observed = core.observed.as_ref();
        let mut links = observed.map(|observed| observed.links()).unwrap_or_default();
        links.iter_mut().for_each(|(peer, link)| link.downs.again = core.engine.sent_again(*peer));
        let counts = observed.map(|observed| observed.regions.clone()).unwrap_or_default();
        let refusals: Vec<String> = core.refusals().map(|error| format!("not told yet: {error}")).collect();
        self.unlock(core);
        let mut report = self.observer.report(self.clock.now(), &links, counts);
        report.notes.extend(refusals);
        let (collectives, changes) = self.calls.job.planner.lock().report();
        observe::Report { collectives, changes, ..report }
    }

    /// The calling thread enters a region of the program.
    pub(crate) fn enter_region(&self, name: &str) -> Option<observe::Visit> {
        self.observer.enters_region(|| self.clock.now(), self.names.node, name)
    }

    /// It leaves it.
    pub(crate) fn leave_region(&self, visit: &observe::Visit) {
        self.observer.leaves_region(self.clock.now(), visit);
    }

    /// The program has asked whether an operation is complete, and it is not.
    pub(crate) fn asks_in_vain(&self) {
        self.program.asked_in_vain.fetch_add(1, Ordering::Relaxed);
    }

    /// The program is told of `error`. If it ends without finalizing, this is why.
    pub(crate) fn note_failure(&self, error: &Error) {
        let is_collective =
            matches!(error, Error::Collective { .. } | Error::Disagreement { .. } | Error::PeerLost { .. });
        if is_collective || matches!(error, Error::Misuse(Misuse::Threads { .. })) {
            self.calls.is_told.store(true, Ordering::Relaxed);
        }
        *self.program.noted.lock() = Some(error.to_string());
    }

    /// The last error the program was told.
    pub(crate) fn noted_failure(&self) -> Option<String> {
        self.program.noted.lock().clone()
    }

    /// The first refusal that no handle has returned.
    pub(crate) fn take_refusal(&self) -> Option<Error> {
        self.lock().take_refusal()
    }

    /// Ends the node: all messages leave, peers confirm the goodbye (for at most the linger time), the task ends.
    /// `failed`: why this node fails its job, if it does; then nothing is waited for.
    ///
    /// # Errors
    /// What the job failed with, or a refusal nobody was told of.
    pub(crate) fn finish(&self, failed: Option<String>) -> Result<()> {
        if self.program.is_over.swap(true, Ordering::SeqCst) {
            return Err(self.over());
        }
        self.observer.ends(self.clock.now());
        if failed.is_none() {
            self.begin_asking();
            let is_drained = |core: &mut Core| core.is_idle() && core.engine.is_drained() && !core.is_suspicious();
            self.wait(&Until(self, |core| core.engine.failure().is_some() || is_drained(core)), None);
            self.agree();
            self.remember();
        }
        let failure = self.lock().engine.failure().cloned();
        let blames = failure.as_ref().and_then(Error::blames);
        let error = failed.or_else(|| failure.as_ref().map(Error::to_string));
        if error.is_some() {
            // First of all to the rendezvous, so that nobody takes a rank that this failure takes along for its cause.
            self.order(Order::Report(Report::Leaving { finalized: false, error: error.clone(), blames, sent: vec![] }));
        }
        let mut core = self.lock();
        if !core.is_broken {
            core.engine.goodbye(error.as_deref().map(|error| (blames.unwrap_or(self.rank), error)));
            core.flush();
        }
        self.unlock(core);
        let failure = self.linger(error.is_some()).or(failure);
        if self.settings.reports {
            self.order(Order::Report(Report::Observed(Box::new(self.observed()))));
        }
        let last = error.is_none().then(|| Report::Leaving {
            finalized: failure.is_none(),
            error: failure.as_ref().map(Error::to_string),
            blames: failure.as_ref().and_then(Error::blames),
            sent: self.lock().traffic().0,
        });
        self.order(Order::Leave(last));
        let thread = self.task.handle.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        let mut core = self.lock();
        if !core.is_broken {
            core.engine.fail(Error::Shutdown { rank: self.rank });
            core.hand_on();
        }
        core.close();
        let (refusal, untold) = (core.take_refusal(), self.untold(&core));
        self.unlock(core);
        if let Err(error) = self.observer.close(self.clock.now(), self.names.job, self.names.has_launcher) {
            tracing::warn!(rank = %self.rank, %error, "the timeline is not complete");
        }
        // In the order in which they came: nothing is heard any more when the job has failed; and why collectives fail is
        // rather their ranks' disagreement than that these have left.
        refusal.or(untold).or(failure).map_or(Ok(()), Err)
    }

    /// Waits until it is known whether all ranks have called the same collectives: who has said goodbye can neither tell nor
    /// be told. Not for ever: another rank may compute for long before it calls as many.
    fn agree(&self) {
        let mut core = self.lock();
        core.leave_collectives();
        core.flush();
        self.unlock(core);
        let is_agreed = |core: &mut Core| core.is_agreed() && !core.is_suspicious();
        let is_over = |core: &mut Core| core.engine.failure().is_some() || is_agreed(core);
        if !self.wait_for_links(&is_over, self.settings.linger) {
            tracing::warn!(rank = %self.rank, "not every rank has called as many collectives as this one");
        }
    }

    /// Waits until every peer has confirmed the goodbye. Returns what failed the job meanwhile: a peer that is lost
    /// before it has confirmed may not have received all.
    fn linger(&self, is_failed: bool) -> Option<Error> {
        let patience = if is_failed { self.settings.linger.min(FAILED_LINGER) } else { self.settings.linger };
        let is_confirmed = |core: &mut Core| core.engine.is_farewelled() && !core.is_suspicious();
        let is_over = |core: &mut Core| is_confirmed(core) || (!is_failed && core.engine.failure().is_some());
        let is_met = if is_failed {
            self.wait(&Until(self, is_over), Some(Instant::now() + patience))
        } else {
            self.wait_for_links(&is_over, patience)
        };
        let mut core = self.lock();
        core.confirm_loss();
        let failure = core.engine.failure().cloned();
        self.unlock(core);
        if !is_met && !is_failed && failure.is_none() {
            tracing::warn!(rank = %self.rank, "not every peer confirmed that all has arrived");
        }
        failure
    }

    /// Waits for at most `patience`, and as long as a link is down that may go on. Returns whether `condition` is met.
    fn wait_for_links(&self, condition: &impl Fn(&mut Core) -> bool, patience: Duration) -> bool {
        loop {
            if self.wait(&Until(self, condition), Some(Instant::now() + patience)) {
                return true;
            }
            if self.lock().down.is_empty() {
                return false;
            }
        }
    }

    /// Gives the task an order that must reach it.
    fn order(&self, order: Order) {
        // Not tokio's blocking call: a node may end inside a runtime of the program's. A task that has ended needs no
        // orders, and one that is there takes them at once.
        let mut order = order;
        while let Err(mpsc::error::TrySendError::Full(rest)) = self.task.orders.try_send(order) {
            order = rest;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// How long a node that failed tries to tell its peers.
const FAILED_LINGER: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_guess_is_of_where_ranks_are() {
        let [here, there] = [[127, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let lan = CostModel::lan();
        assert_eq!(placed(lan, 1.0, &[here; 2]), lan);
        assert_eq!(placed(lan, f64::NAN, &[here, there]), lan);
        let crowded = placed(lan, 2.0, &[here; 4]);
        assert_eq!((crowded.ranks_per_core, crowded.hosts), (2.0, None));
        assert!(crowded.node.per_byte < lan.node.per_byte);
        // What the program says stands.
        let own = CostModel::ethernet_1994();
        assert_eq!(placed(own, 2.0, &[here; 4]), CostModel { ranks_per_core: 2.0, ..own });
        let several = placed(lan, 2.0, &[here, here, there, there]);
        assert_eq!(several, CostModel { ranks_per_core: 2.0, hosts: Some(Hosts::of(2)), ..lan });
    }
}
