//! The selection of algorithms follows what ranks observe: when they exchange that, and the calls that wait for it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use super::Kernel;
use super::cache::Cache;
use super::completion::{Chosen, OfCollective};
use super::core::Core;
use super::shared::SharedCompletion;
use crate::collective::calibration::Line;
use crate::collective::execute::{Plan, Planned, Planner, Start, Typed};
use crate::collective::{Blocks, Call, Prepared, allgather};
use crate::cost::CostModel;
use crate::error::{Error, Result};
use crate::ids::Rank;
use crate::operation::Operation;

/// Of so many messages one is earlier than what counts as usual.
const USUAL: usize = 4;
/// The other ranks have fewer calls than this one, so one of them calls something else.
const NO_EXCHANGE: &str = "another rank has left without calling it; do all ranks call the same?";

impl Kernel {
    /// Whether collectives are deferred: then the next one is, too. Only the thread that calls them defers any.
    pub(super) fn defers(&self) -> bool {
        self.calls.has_deferred.load(Ordering::Relaxed) && {
            let has_deferred = self.lock().collectives.has_deferred();
            self.calls.has_deferred.store(has_deferred, Ordering::Relaxed);
            has_deferred
        }
    }

    /// Begins a collective when ranks have agreed on its algorithm.
    pub(super) fn defer(
        self: &Arc<Self>,
        operation: Operation,
        call: &Call,
        make: impl FnOnce(&Plan) -> Start + Send + 'static,
    ) -> Result<SharedCompletion> {
        self.calls.has_deferred.store(true, Ordering::Relaxed);
        let (kernel, call, chosen) = (Arc::downgrade(self), call.clone(), Arc::new(OnceLock::new()));
        let choice = Chosen::Later(chosen.clone());
        let begin = move || {
            let Some(kernel) = kernel.upgrade() else { return Err(Error::Shutdown { rank: operation.rank }) };
            let planned = kernel.calls.job.planner.lock().next(&call);
            let Planned::Now { plan, exchanges } = planned else {
                return Err(Error::Collective { number: 0, rank: kernel.rank, cause: NO_EXCHANGE.into() });
            };
            let _ = chosen.set(plan.choice.clone());
            if exchanges {
                kernel.exchange_observations();
            }
            Ok(Some(make(&plan)))
        };
        let peers = (0..self.size).map(Rank).filter(|peer| *peer != self.rank).collect();
        let of = OfCollective::new(peers, choice);
        self.post_collective(operation, of, (false, None), |core, now| core.defer(now, Box::new(begin)))
    }

    /// Changes how calls are planned from the next one on.
    pub(super) fn change_planner(self: &Arc<Self>, change: impl FnOnce(&mut Planner) + Send + 'static) {
        if !self.defers() {
            return change(&mut self.calls.job.planner.lock());
        }
        let kernel = Arc::downgrade(self);
        let change = move || {
            if let Some(kernel) = kernel.upgrade() {
                change(&mut kernel.calls.job.planner.lock());
            }
            Ok(None)
        };
        // A job that has failed plans nothing more.
        let _ = self.lock().defer(self.clock.now(), Box::new(change));
    }

    /// Leaves what was learnt of the links to later jobs.
    pub(super) fn remember(&self) {
        let learnt = self.calls.job.planner.lock().learnt();
        if let (Some(cache), Some(line)) = (&self.calls.cache, learnt)
            && let Err(error) = cache.store(line)
        {
            tracing::debug!(rank = %self.rank, %error, "what was learnt of the links is not kept");
        }
    }

    /// Has ranks exchange what they have observed, beside the collective that begins now.
    pub(super) fn exchange_observations(&self) {
        let model = self.cost_model();
        let core = self.lock();
        let (line, delay_s, losses) = core.observations(&model);
        drop(core);
        tracing::debug!(rank = %self.rank, ?line, ?delay_s, losses, "what is observed of the links");
        let cache = self.calls.cache.as_ref().filter(|_| self.calls.job.planner.lock().learnt().is_none());
        let remembered = cache.and_then(Cache::load).map(|(a, b)| Line { a_s: Some(a), b_s_per_byte: Some(b) });
        let remembered = remembered.unwrap_or_default();
        let exchange = self.calls.job.planner.lock().exchange(line, delay_s, remembered, losses);
        let Some((number, own, result)) = exchange else { return };
        let schedule: Arc<Prepared> =
            allgather::bruck::schedule(self.rank, self.size, &Blocks::Equal(own.len() as u64)).into();
        let mut all = vec![0.0; own.len() * self.size as usize];
        let at = own.len() * self.rank.index();
        all[at..at + own.len()].copy_from_slice(&own);
        // Whoever plans the call for which it is reads it there.
        let work = Typed::new(&schedule, Vec::new(), all, None, move |_, all: Vec<f64>| _ = result.set(all));
        let start = Start { group: 0, schedule, signature: None, work: Box::new(work), timed: None };
        let mut core = self.lock();
        if let Some(op) = core.calibrate(number, start) {
            core = self.begin_collective(core, op, false);
        }
        self.unlock(core);
    }
}

impl Core {
    /// What this rank has observed of its links: their usual line, TCP's delay, and how often their packets were lost so far.
    fn observations(&self, model: &CostModel) -> (Line, Option<f64>, u64) {
        let (own, hosts, shares_cores) = (self.engine.rank(), model.hosts, model.shares_cores());
        let delay_s = self.half_round_trip().map(|time| time.as_secs_f64());
        // Messages within a host say nothing of the network.
        let is_far = |peer: Rank| peer != own && hosts.is_none_or(|hosts| hosts.host(peer.0) != hosts.host(own.0));
        // Threads that wait for a core make some messages late, and most where ranks share cores. Of the earliest some are too
        // early, as long as the difference of the clocks is not known well.
        let quantiles = if shares_cores { &[usize::MAX, 8, USUAL][..] } else { &[USUAL] };
        let line_of =
            |of: usize| self.observed.as_ref().map(|observed| Line::through(&observed.links.usual(is_far, of)));
        let lines = || quantiles.iter().filter_map(|of| line_of(*of));
        let is_whole = |line: &Line| line.a_s.is_some() && line.b_s_per_byte.is_some();
        let mut line = lines().find(is_whole).or_else(|| lines().next_back()).unwrap_or_default();
        if let Some((observed_s, delay_s)) = line.a_s.zip(delay_s).filter(|_| shares_cores) {
            // All of them may have waited. TCP's answers come without a thread, and waits for cores have a price of their own.
            line.a_s = Some(observed_s.min(delay_s + 2.0 * model.node.fixed));
            // The earliest long ones have passed at once where a network lets bursts pass. Most that waited have done so as long as short
            // ones.
            line.b_s_per_byte = line_of(USUAL).and_then(|usual| usual.b_s_per_byte).or(line.b_s_per_byte);
        }
        (line, delay_s, self.retransmitted())
    }
}
