//! The communication kernel: one task per node, on a thread of its own, and what it shares with the program's
//! threads. It alone does I/O; the engine decides what.
//!
//! Three kinds of threads drive the engine, each under the core's lock and never while sleeping: the kernel's
//! task while the program computes, a helping waiter ([`help`]), and the thread that posts a write, which sends
//! the first burst itself.

mod cache;
mod calibrate;
mod callers;
mod clock;
mod collectives;
mod completion;
mod conditions;
mod core;
mod deadlock;
mod hand_over;
mod help;
mod helper;
mod observed;
mod ownership;
mod panics;
mod poller;
#[cfg(test)]
mod schedules;
mod state;
mod sync;
mod task;
mod timers;
mod tuning;
mod wake;
mod windows;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::buffer::{ElementType, ReceiveBuffer, SendBuffer};
use crate::collective::calibration::EXCHANGE_WINDOW_BYTES;
use crate::collective::execute::Planner;
use crate::config::Config;
use crate::controllers::Controller;
use crate::cost::{CostModel, Hosts};
use crate::engine::{Engine, OpId};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::join::control::Report;
use crate::join::{keepalive, mesh};
use crate::observe::{self, Observer};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::MatchKey;
use cache::Cache;
pub(crate) use callers::CollectiveCall;
use clock::Clock;
pub(crate) use completion::Completion;
use completion::Detached;
use conditions::{AnyOf, Until};
use core::Core;
pub(crate) use helper::HasCompletion;
use helper::Help;
use observed::Observed;
use ownership::Ownership;
use poller::Poller;
pub(crate) use state::Kernel;
use state::{Calls, Names, Order, Program, Settings, Started, TaskThread};
use tuning::spin::Spin;
use wake::{Reason, TaskWake};

/// The cost model with what is known of where ranks are, unless it says so itself.
fn placed(model: CostModel, ranks_per_core: f64, addresses: &[IpAddr]) -> CostModel {
    let hosts = model.hosts.or_else(|| Some(Hosts::of(ranks_per_host(addresses)?)));
    // Whoever tells wrong numbers gets wrong prices, but some.
    let shared = if ranks_per_core.is_finite() { ranks_per_core.clamp(1.0, 1e6) } else { 1.0 };
    CostModel { ranks_per_core: model.ranks_per_core.max(shared), hosts, ..model }
}

/// How many ranks each host has, if it is several hosts with as many each, one after the other.
fn ranks_per_host(addresses: &[IpAddr]) -> Option<u32> {
    let first = *addresses.first()?;
    let ranks = addresses.iter().take_while(|address| **address == first).count();
    let mut hosts: Vec<IpAddr> = addresses.chunks(ranks).map(|host| host[0]).collect();
    let is_even = addresses.chunks(ranks).all(|host| host.iter().all(|address| *address == host[0]));
    let count = hosts.len();
    hosts.sort_unstable();
    hosts.dedup();
    (is_even && ranks > 1 && count > 1 && hosts.len() == count).then_some(ranks as u32)
}

/// The next node's name within this process.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Posting so many bytes may take as long as a short computation: they are sent from within the call.
const BURST_BYTES: u64 = 64 << 10;
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
        kernel.calls.callers.begin();
        kernel.observer.begins(kernel.clock.now());
        Ok(kernel)
    }

    fn prepare(config: &Config, membership: mesh::Membership) -> std::io::Result<Started> {
        let mesh::Membership { links, control, limits, launcher, job, ranks_per_core, addresses, may_poll } =
            membership;
        let mut engine = Engine::new(config.rank, &limits);
        if !config.disabled.leaves(Controller::FragmentBatch) {
            engine.disable_batches();
        }
        let (poller, clock) = (Arc::new(Poller::new()?), Clock::start());
        let wake = Arc::new(TaskWake::new());
        for link in links.iter().flatten() {
            keepalive::limit(&link.stream, config.keepalive, keepalive::EndedBy::Look)?;
        }
        let mut core = Core::new(engine, links, poller.clone(), clock, wake.clone(), config.disabled)?;
        core.is_advised = control.is_some();
        let observer = Observer::new(config);
        core.observed = Observed::new(&observer, observer.open(job, || clock.now())?);
        core.ask_clocks();
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let cost_model = placed(config.cost_model, ranks_per_core, &addresses);
        let has_room = limits.iter().all(|limits| limits.window_bytes >= EXCHANGE_WINDOW_BYTES);
        let calibrates = config.calibrate && config.size > 1 && has_room;
        let planner = Planner::new(config.rank, cost_model, config.overrides.clone(), calibrates);
        let cache = config.cache.as_ref().filter(|_| calibrates && config.rank == 0);
        let cache = cache.and_then(|path| Cache::of(path, &addresses));
        let kernel = Kernel {
            rank: config.rank,
            size: config.size,
            names: Names { node: NEXT_ID.fetch_add(1, Ordering::Relaxed), job, has_launcher: launcher },
            settings: Settings::of(config),
            clock,
            core: Mutex::new(core),
            help: Help::new(poller.clone(), Spin::new(may_poll && config.disabled.leaves(Controller::Spin))),
            poller,
            ownership: Ownership::new(),
            wake,
            task: TaskThread { orders: sender, handle: Mutex::new(None) },
            calls: Calls::new(planner, cache),
            program: Program::default(),
            observer,
        };
        Ok(Started { kernel: Arc::new(kernel), orders, control })
    }

    /// Posts a read.
    pub(crate) fn initread(
        &self,
        from: Rank,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
        bytes: u64,
    ) -> Result<Arc<Completion>> {
        let operation = Operation::new(OperationKind::Read, self.rank, from, key.user_tag(), bytes);
        self.post(operation, key, |core, now| core.engine.initread(now, from, key, element, place))
    }

    /// Posts a write and sends its first burst, if it may go and there is room.
    pub(crate) fn initwrite(
        &self,
        to: Rank,
        key: MatchKey,
        element: ElementType,
        source: Box<dyn SendBuffer>,
    ) -> Result<Arc<Completion>> {
        let bytes = source.bytes().len() as u64;
        let operation = Operation::new(OperationKind::Write, self.rank, to, key.user_tag(), bytes);
        self.post(operation, key, |core, now| core.engine.initwrite(now, to, key, element, source))
    }

    fn post(
        &self,
        operation: Operation,
        key: MatchKey,
        post: impl FnOnce(&mut Core, Duration) -> Result<OpId>,
    ) -> Result<Arc<Completion>> {
        if self.program.is_over.load(Ordering::Relaxed) {
            return Err(Error::Shutdown { rank: self.rank });
        }
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        let mut core = self.lock();
        // Who posts goes on to compute, as far as can be known; a wait says otherwise.
        core.is_helped = self.help.is_held();
        let op = post(&mut core, now).map_err(|error| error.during(operation))?;
        let completion = Arc::new(Completion::new(operation, op, key));
        core.expect(completion.clone());
        core.observe_post(&completion, now);
        let may_move = self.task_may_move();
        let is_write = operation.kind == OperationKind::Write;
        let gathers = may_move && is_write && core.gathers(operation.peer, operation.bytes, now);
        match (may_move && !gathers, is_write) {
            (true, true) => core.send(operation.peer),
            (true, false) => core.flush(),
            (false, _) => core.hand_on(),
        }
        self.unlock(core);
        if gathers {
            self.wake.because(Reason::Gathered);
        }
        let is_short = operation.bytes < BURST_BYTES;
        if !is_short || self.observer.times_post() {
            let left = self.clock.now();
            self.observer.leaves_post(now, left, (op, operation), is_short);
            if !is_short {
                self.ownership.program_leaves(left);
            }
        }
        Ok(completion)
    }

    /// Waits for the first of a few operations to complete; drives meanwhile. `false`: `deadline` came first.
    pub(crate) fn wait_any(&self, of: &[impl HasCompletion], deadline: Option<Instant>) -> bool {
        if !of.iter().any(|one| one.completion().is_done()) {
            self.begin_asking();
        }
        self.wait(&AnyOf::few(of), deadline)
    }

    /// The same for any number of operations, all of this node.
    pub(crate) fn wait_any_of_many(&self, of: &[impl HasCompletion]) {
        if !of.iter().any(|one| one.completion().is_done()) {
            self.begin_asking();
        }
        self.wait(&AnyOf::many(self, of), None);
    }

    /// What the node has observed so far.
    pub(crate) fn observed(&self) -> observe::Report {
        let core = self.lock();
        let links = core.observed.as_ref().map(|observed| observed.links()).unwrap_or_default();
        let refusals: Vec<String> = core.refusals().map(|error| format!("not told yet: {error}")).collect();
        self.unlock(core);
        let mut report = self.observer.report(self.clock.now(), &links);
        report.notes.extend(refusals);
        let (collectives, changes) = self.calls.planner.lock().report();
        observe::Report { collectives, changes, ..report }
    }

    /// The program has asked whether an operation is complete, and it is not.
    pub(crate) fn asks_in_vain(&self) {
        self.program.asked_in_vain.fetch_add(1, Ordering::Relaxed);
    }

    /// A handle is gone before its operation was complete.
    pub(crate) fn abandon(&self, completion: &Completion) {
        match completion.detach() {
            Detached::UnderWay if completion.operation().kind == OperationKind::Read => {
                let mut core = self.lock();
                core.withdraw(completion);
                self.unlock(core);
            }
            Detached::Refused(error) => self.lock().keep_refusal(error),
            Detached::UnderWay | Detached::Over => {}
        }
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
            return Err(Error::Shutdown { rank: self.rank });
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
            sent: self.lock().traffic.0.clone(),
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
        if !self.wait(&Until(self, is_over), Some(Instant::now() + self.settings.linger)) {
            tracing::warn!(rank = %self.rank, "not every rank has called as many collectives as this one");
        }
    }

    /// Waits until every peer has confirmed the goodbye. Returns what failed the job meanwhile: a peer that is lost
    /// before it has confirmed may not have received all.
    fn linger(&self, is_failed: bool) -> Option<Error> {
        let patience = if is_failed { self.settings.linger.min(FAILED_LINGER) } else { self.settings.linger };
        let is_confirmed = |core: &mut Core| core.engine.is_farewelled() && !core.is_suspicious();
        let is_over = |core: &mut Core| is_confirmed(core) || (!is_failed && core.engine.failure().is_some());
        let is_met = self.wait(&Until(self, is_over), Some(Instant::now() + patience));
        let mut core = self.lock();
        core.confirm_loss();
        let failure = core.engine.failure().cloned();
        self.unlock(core);
        if !is_met && !is_failed && failure.is_none() {
            tracing::warn!(rank = %self.rank, "not every peer confirmed that all has arrived");
        }
        failure
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
