//! Collectives in the kernel: how they begin, and what the task does for those that wait in vain. They go on with
//! whoever drives the engine: see [`Kernel::carry_on`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::completion::{Chosen, Completion, OfCollective};
use super::core::Core;
use super::hand_over::Leaves;
use super::shared::SharedCompletion;
use super::state::asking;
use super::team::Team;
use super::wake::Reason;
use super::{CollectiveCall, Kernel};
use crate::collective::execute::{Deferred, Job, Members, Numbered, Plan, Planned, Start};
use crate::collective::{Call, Prepared};
use crate::cost::CostModel;
use crate::engine::{Completed, OpId};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::observe::event::What;
use crate::observe::{nanoseconds, regions};
use crate::operation::Operation;
use crate::overrides::Overrides;

/// How often the task looks for collectives that wait in vain, and for how long one has not moved then.
pub(super) const ASK_TICK: Duration = Duration::from_millis(500);

impl Kernel {
    /// The cost model by which algorithms are chosen.
    pub(crate) fn cost_model(&self) -> CostModel {
        self.calls.job.planner.lock().cost_model()
    }

    /// From the next call on algorithms are chosen by the prices of `model`, and not by what is observed.
    pub(crate) fn adopt(self: &Arc<Self>, model: CostModel) {
        self.change_planner(move |planner| planner.adopt(model));
    }

    /// From the next call on links are those of this line.
    pub(crate) fn adopt_line(self: &Arc<Self>, a_s: f64, b_s_per_byte: f64) {
        self.change_planner(move |planner| planner.adopt_line(a_s, b_s_per_byte));
    }

    /// From the next call on these algorithms are used.
    pub(crate) fn override_algorithms(self: &Arc<Self>, overrides: Overrides) {
        self.change_planner(move |planner| planner.override_algorithms(overrides));
    }

    /// Begins a neighbours' exchange of a team and posts its first steps; a burst of what it sends leaves at once.
    pub(crate) fn initexchange(&self, team: &Team, operation: Operation, start: Start) -> Result<SharedCompletion> {
        let call = self.call_collective(team)?;
        let of = OfCollective::new(peers(&start.schedule, &team.members), Chosen::Nothing);
        self.post_collective(operation, of, (call.is_nested, None), |core, now| core.start(now, start))
    }

    /// How a collective of a team is carried out. [`Planned::Later`]: the selection of its algorithm is still being agreed on.
    ///
    /// # Errors
    /// [`Misuse`] if its root does not exist.
    pub(crate) fn plan(&self, team: &Team, call: &Call) -> Result<Planned> {
        team.check(self.rank, call.root)?;
        // Only the whole job's follow what is observed, and may have to wait for that.
        let is_later = team.is_job() && self.defers();
        let planned = if is_later { Planned::Later } else { team.planner.lock().next(call) };
        if let Planned::Now { plan, .. } = &planned {
            tracing::debug!(rank = %self.rank, collective = %call.collective, choice = %plan.choice, "begins");
        }
        Ok(planned)
    }

    /// Begins a collective of a team as it is planned and as `make` says, and posts its first steps; a burst of what it sends leaves
    /// at once. It is `numbered` if its caller has carried out some of it. If it is to be planned later, it begins then. `waits`: the
    /// caller waits for it at once.
    pub(crate) fn initcollective(
        self: &Arc<Self>,
        team: &Team,
        (operation, call): (Operation, &Call),
        planned: Planned,
        (numbered, waits): (Option<Numbered>, bool),
        make: impl FnOnce(&Plan) -> Start + Send + 'static,
    ) -> Result<SharedCompletion> {
        let Planned::Now { plan, exchanges } = planned else { return self.defer(operation, call, make) };
        let start = make(&plan);
        let of_group = (!team.is_job()).then(|| peers(&start.schedule, &team.members));
        let of = OfCollective::planned(plan, of_group);
        let gathers = numbered.as_ref().map(|numbered| numbered.gathers);
        let completion = self.post_collective(operation, of, (waits, gathers), |core, now| match numbered {
            Some(numbered) => core.start_numbered(now, numbered, start),
            None => core.start(now, start),
        })?;
        if exchanges {
            self.exchange_observations();
        }
        Ok(completion)
    }

    /// `waits`: the caller waits for it at once. `gathers`: whether what it sends may wait for what the next ones send, if that is known.
    pub(super) fn post_collective(
        &self,
        operation: Operation,
        of: OfCollective,
        (waits, gathers): (bool, Option<bool>),
        post: impl FnOnce(&mut Core, Duration) -> Result<OpId>,
    ) -> Result<SharedCompletion> {
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        let mut core = self.lock();
        core.latest = now;
        let gathers = gathers.unwrap_or_else(|| self.gathers(&mut core, operation.bytes, now));
        let op = post(&mut core, now).map_err(|error| error.during(operation))?;
        let completion = SharedCompletion::new(Completion::of_collective(operation, op, of));
        core.expect(completion.clone());
        if let Some(observed) = &mut core.observed {
            observed.regions.begins(op, regions::current(self.names.node), nanoseconds(now));
        }
        let core = self.begin_collective(core, op, gathers);
        let is_gathered = gathers && core.engine.has_pending();
        self.leave_begun(core, &completion, waits);
        if is_gathered {
            self.wake.because(Reason::Gathered);
        }
        // Not yet the task: that would wake it on a core that computes.
        if self.calls.asking.load(Ordering::Relaxed) == asking::IDLE {
            let _ =
                self.calls.asking.compare_exchange(asking::IDLE, asking::BEGUN, Ordering::SeqCst, Ordering::Relaxed);
        }
        let left = self.clock.now();
        self.calls.left.store(nanoseconds(left), Ordering::Relaxed);
        completion.set_begun(left);
        self.observer.leaves_post(now, left, (op, operation), false);
        if let Some(choice) = completion.choice() {
            self.observer.tell(|| left, || What::Chosen { op: op.0, choice: choice.to_string() });
        }
        self.ownership.program_leaves(left);
        Ok(completion)
    }

    /// A collective of `bytes` begins, at `now`. Returns whether what it sends may wait for what the next ones send.
    pub(super) fn gathers(&self, core: &mut Core, bytes: u64, now: Duration) -> bool {
        let before = Duration::from_nanos(self.calls.left.load(Ordering::Relaxed));
        self.task_may_move() && core.collective_gathers(bytes, before, now)
    }

    /// The calling thread calls a collective of a team, as long as what is returned lives.
    ///
    /// # Errors
    /// [`Misuse::Threads`] if another thread calls them too; then every rank of the team is told.
    pub(crate) fn call_collective<'a>(&self, team: &'a Team) -> Result<CollectiveCall<'a>> {
        if self.program.is_over.load(Ordering::Relaxed) {
            return Err(self.over());
        }
        team.callers.enter().map_err(|why| {
            let misuse = Misuse::Threads { rank: self.rank, why: why.clone() };
            self.intervene(|core| {
                core.collectives.fail_all(&mut core.engine, self.clock.now(), team.number, why);
                core.flush();
            });
            misuse.into()
        })
    }

    /// The program waits for something, or looks whether it is there: from now on the task looks now and then whether
    /// collectives wait in vain.
    pub(crate) fn begin_asking(&self) {
        let state = &self.calls.asking;
        if state.load(Ordering::Relaxed) == asking::BEGUN
            && state.compare_exchange(asking::BEGUN, asking::ASKING, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        {
            self.wake.because(Reason::CollectiveAwaited);
        }
    }

    /// The task's look at collectives that do not move: other ranks may have called something else. Returns whether
    /// it is to look again.
    pub(super) fn ask(&self) -> bool {
        // In deferred mode bytes move for those who wait only.
        let may_move = self.task_may_move() || self.help.is_wanted();
        let mut core = self.lock();
        let is_idle = core.collectives.is_idle();
        if is_idle {
            // Under the lock: what begins afterwards says so again.
            self.calls.asking.store(asking::IDLE, Ordering::SeqCst);
        } else if may_move {
            core.ask(ASK_TICK);
            core.flush();
        }
        self.unlock(core);
        !is_idle
    }

    /// Why collectives fail, if the program was not told.
    pub(super) fn untold(&self, core: &Core) -> Option<Error> {
        core.collectives.failure().filter(|_| !self.calls.is_told.load(Ordering::Relaxed))
    }
}

impl Core {
    /// A message has ended while collectives wait for some: if it is none of theirs, it is the program's.
    pub(super) fn complete_for_collectives(&mut self, completion: Completed) {
        let clock = self.clock;
        if let Some(completion) = self.collectives.complete(&mut self.engine, || clock.now(), completion) {
            self.fill_slot(completion);
        }
    }

    /// Hands on what collectives have come to. Returns whether that may have ended something.
    pub(super) fn hand_on_collectives(&mut self) -> bool {
        // The way of most messages: neither the clock nor a call more than this.
        if !self.engine.has_strangers() && self.collectives.has_nothing_to_say() {
            return false;
        }
        let mut goes_on = true;
        if self.engine.has_strangers() {
            self.collectives.meet_strangers(&mut self.engine, self.clock.now());
        } else if self.collectives.has_failures() {
            goes_on = self.collectives.fail_late(&mut self.engine, self.clock.now());
        }
        self.observe_traffic(None);
        while let Some(completion) = self.collectives.poll_completion() {
            self.fill_slot(completion);
        }
        goes_on
    }

    /// Begins a collective, at `now`. Its first steps are posted when its part has run: it is due.
    ///
    /// # Errors
    /// What the job has failed with, or why no collective can be called any more.
    pub(crate) fn start(&mut self, now: Duration, start: Start) -> Result<OpId> {
        self.collectives.start(&mut self.engine, now, start)
    }

    /// [`Core::start`] of one that has its number, and whose first messages may have left.
    ///
    /// # Errors
    /// As [`Core::start`].
    pub(super) fn start_numbered(&mut self, now: Duration, numbered: Numbered, start: Start) -> Result<OpId> {
        self.collectives.start_numbered(&mut self.engine, now, numbered, start)
    }

    /// Asks the ranks that collectives which have not moved for `patience` wait for.
    pub(crate) fn ask(&mut self, patience: Duration) {
        self.collectives.ask(&mut self.engine, self.clock.now(), patience);
    }

    /// This node calls no more collectives.
    pub(super) fn leave_collectives(&mut self) {
        self.collectives.leave(&mut self.engine, self.clock.now());
    }

    /// Whether all others are known to have called the same, or nothing more can be known.
    pub(super) fn is_agreed(&self) -> bool {
        self.collectives.is_agreed(&self.engine)
    }

    /// A collective's part that can go on, to be run without the lock and put back.
    #[inline]
    pub(crate) fn take_due(&mut self) -> Option<Job> {
        self.collectives.take_due()
    }

    /// [`Core::start`], once the selection of its algorithm is agreed on.
    ///
    /// # Errors
    /// As [`Core::start`].
    pub(super) fn defer(&mut self, now: Duration, deferred: Deferred) -> Result<OpId> {
        self.collectives.defer(&mut self.engine, now, deferred)
    }

    /// Begins an exchange of observations.
    pub(super) fn calibrate(&mut self, number: u64, start: Start) -> Option<OpId> {
        self.collectives.calibrate(&mut self.engine, self.clock.now(), number, start)
    }

    /// [`Core::take_due`] of one collective.
    pub(crate) fn take_due_of(&mut self, op: OpId) -> Option<Job> {
        self.collectives.take_due_of(op)
    }

    /// The rank whose message a collective needs next, if it waits for one.
    pub(super) fn next_sender(&self, whole: OpId) -> Option<Rank> {
        self.collectives.next_sender(whole)
    }

    /// Whether a collective can go on.
    pub(crate) fn has_due(&self) -> bool {
        self.collectives.has_due()
    }

    /// Takes a collective's part back and posts what it has made ready, but for short messages that have gone before that.
    pub(crate) fn put_back(&mut self, mut job: Job, leaves: Leaves) {
        // The first steps of a short collective are ready as it is called. One that has ended is not quick any more: how long it took
        // is told.
        if !(job.is_quick() && self.collectives.has_begun_at(&job, self.latest)) {
            self.latest = self.clock.now();
        }
        let now = self.latest;
        let failed = match leaves {
            Leaves::AtOnce => self.send_at_once(now, &mut job).err(),
            Leaves::Together => {
                self.collectives.copy_writes(&mut self.engine, now, &mut job);
                None
            }
            Leaves::Later => None,
        };
        self.collectives.put_back(&mut self.engine, now, job);
        self.observe_traffic(Some(now));
        if let Some((to, error)) = failed {
            self.write_failed(to.into(), &error);
        }
    }

    /// Sends the messages of a part that has run, one by one, as long as they are short and leave as a whole.
    ///
    /// # Errors
    /// To whom the next could not be sent, because its connection has ended. It is to be posted, and shares its fate.
    fn send_at_once(&mut self, now: Duration, job: &mut Job) -> std::result::Result<(), (Rank, io::Error)> {
        while let Some((to, key, element, source)) = self.collectives.first_write(job) {
            let Some(bytes) = source.all() else { break };
            let sent = self.write_at_once(now, to, key, element, bytes).map_err(|error| (to, error))?;
            let Some(op) = sent else { break };
            self.collectives.has_left(job, op);
            // Whether the next one is to be noticed depends on what has been sent.
            self.observe_traffic(Some(now));
        }
        Ok(())
    }

    /// Whether something is to be done once the lock is free: somebody is to be woken, or something dropped.
    pub(crate) fn has_left_over(&self) -> bool {
        let has_spent = self.collectives.has_spent() || self.windows.has_spent() || self.has_unwanted();
        has_spent || self.has_wakers()
    }

    /// What is to be dropped once the lock is free.
    pub(crate) fn take_spent(&mut self) -> impl Send + use<> {
        (self.collectives.take_spent(), self.windows.take_spent(), self.take_unwanted())
    }
}

/// With which ranks of the job a schedule among `members` exchanges messages.
pub(super) fn peers(schedule: &Prepared, members: &Members) -> Arc<[Rank]> {
    match members.is_job() {
        true => schedule.peers().clone(),
        false => schedule.peers().iter().map(|&member| members.rank(member)).collect(),
    }
}
