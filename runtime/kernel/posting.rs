//! Posting reads and writes, and waiting for several of them.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Kernel;
use super::completion::Completion;
use super::conditions::{AnyMember, AnyOf};
use super::core::Core;
use super::helper::HasCompletion;
use super::ready::Ready;
use super::shared::SharedCompletion;
use super::wake::Reason;
use crate::buffer::copied::Copied;
use crate::buffer::{ElementType, ReceiveBuffer, SendBuffer};
use crate::engine::{COPY_BYTES_MAX, OpId, Unposted, Written};
use crate::error::Result;
use crate::ids::Rank;
use crate::observe::regions;
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::MatchKey;

/// Posting so many bytes may take as long as a short computation: they are sent from within the call.
const BURST_BYTES: u64 = 64 << 10;

/// What has been posted.
struct Posted {
    op: OpId,
    /// It waits for others to leave with.
    gathers: bool,
    /// The buffer of a write whose bytes have left or, if it `gathers`, were copied: it may be reused at once.
    over: Option<Box<dyn SendBuffer>>,
    /// The connection has ended as it was tried to send it.
    error: Option<io::Error>,
}

impl Posted {
    fn new(op: OpId) -> Self {
        Posted { op, gathers: false, over: None, error: None }
    }
}

impl HasCompletion for SharedCompletion {
    fn completion(&self) -> &Completion {
        self
    }
}

impl Core {
    /// Posts a write. One that `gathers` is copied, if the link is sure to take it: so whoever waits for it need not send it, and
    /// the next one can leave with it. A receiver that refuses it does so when it has left, as with any small message.
    fn post_write(
        &mut self,
        now: Duration,
        (to, key): (Rank, MatchKey),
        element: ElementType,
        source: Box<dyn SendBuffer>,
        gathers: bool,
    ) -> Result<Posted, Unposted> {
        if gathers
            && let Some(bytes) = source.all()
            && self.engine.takes_at_once(to, bytes.len() as u64)
        {
            let copy = Box::new(Copied::new(bytes));
            return match self.engine.initwrite(now, to, key, element, copy) {
                Ok(op) => Ok(Posted { gathers, over: Some(source), ..Posted::new(op) }),
                Err(unposted) => Err(Unposted { buffer: source.into_any(), ..unposted }),
            };
        }
        let op = self.engine.initwrite(now, to, key, element, source)?;
        Ok(Posted { gathers, ..Posted::new(op) })
    }
}

impl Kernel {
    /// Posts a read.
    pub(crate) fn initread(
        &self,
        from: Rank,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
        bytes: u64,
    ) -> Result<SharedCompletion, Unposted> {
        let operation = Operation::new(OperationKind::Read, self.rank, from, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        self.post(operation, key, |core, now| core.engine.initread(now, from, key, element, place).map(Posted::new))
    }

    /// Posts a read of any origin.
    pub(crate) fn initread_any(
        &self,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
        bytes: u64,
    ) -> Result<SharedCompletion, Unposted> {
        let operation = Operation::new(OperationKind::ReadAny, self.rank, self.rank, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        self.post(operation, key, |core, now| core.engine.initread_any(now, key, element, place).map(Posted::new))
    }

    /// Posts a write and sends its first burst, if it may go and there is room.
    pub(crate) fn initwrite(
        &self,
        to: Rank,
        key: MatchKey,
        element: ElementType,
        source: Box<dyn SendBuffer>,
    ) -> Result<SharedCompletion, Unposted> {
        let bytes = source.bytes().len() as u64;
        let operation = Operation::new(OperationKind::Write, self.rank, to, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: source.into_any() });
        }
        let may_move = self.task_may_move();
        self.post(operation, key, |core, now| {
            let gathers = may_move && core.gathers(to, bytes, now);
            // The buffer may be the program's own code: that of a long one, which cannot leave at once, is not asked in vain.
            let is_short = may_move && !gathers && bytes <= COPY_BYTES_MAX as u64;
            let sent = match if is_short { source.all() } else { None } {
                Some(bytes) => core.write_at_once(now, to, key, element, bytes),
                None => Ok(None),
            };
            if let Ok(Some(op)) = sent {
                return Ok(Posted { over: Some(source), ..Posted::new(op) });
            }
            let posted = core.post_write(now, (to, key), element, source, gathers)?;
            Ok(Posted { error: sent.err(), ..posted })
        })
    }

    fn check_open(&self) -> Result<()> {
        match self.program.is_over.load(Ordering::Relaxed) {
            true => Err(self.over()),
            false => Ok(()),
        }
    }

    fn post(
        &self,
        operation: Operation,
        key: MatchKey,
        post: impl FnOnce(&mut Core, Duration) -> Result<Posted, Unposted>,
    ) -> Result<SharedCompletion, Unposted> {
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        let mut core = self.lock();
        // Who posts goes on to compute, as far as can be known; a wait says otherwise.
        core.is_helped = self.help.is_held();
        core.latest = now;
        let Posted { op, gathers, over, error } = post(&mut core, now)
            .map_err(|unposted| Unposted { error: unposted.error.during(operation), ..unposted })?;
        let has_left = over.is_some() && !gathers;
        let completion = SharedCompletion::new(match (operation.kind, over) {
            (OperationKind::ReadAny, _) => Completion::of_any(operation, op, key, self.everyone.clone()),
            (_, Some(source)) => Completion::written(operation, op, key, Written::whole(source)),
            (_, None) => Completion::new(operation, op, key),
        });
        core.observe_post(&completion, regions::current(self.names.node), now);
        if completion.was_over() {
            core.end_at_once(completion.clone());
        } else {
            core.begin_post(completion.clone());
        }
        if let Some(error) = error {
            core.write_failed(operation.peer.into(), &error);
        }
        let is_write = operation.kind == OperationKind::Write;
        match (self.task_may_move() && !gathers, is_write) {
            (true, true) if has_left => core.was_sent(operation.peer),
            (true, true) => core.send(operation.peer),
            (true, false) => core.flush(),
            (false, _) => core.hand_on(),
        }
        core.end_post();
        self.unlock(core);
        if gathers {
            self.wake.because(Reason::Gathered);
        }
        let is_short = operation.bytes < BURST_BYTES;
        if has_left {
            // Its wait takes no time.
            self.ownership.program_leaves(now);
        }
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
        // What was over as it was posted takes no time. Short writes end so by the million: the clock is not read.
        if of.iter().any(|one| one.completion().was_over()) && !self.observer.is_taped() {
            return true;
        }
        if !of.iter().any(|one| one.completion().is_done()) {
            self.begin_asking();
        }
        self.wait(&AnyOf::few(of), deadline)
    }

    /// Waits for a collective that the same call has begun.
    pub(crate) fn wait_in_call(&self, of: &SharedCompletion) {
        if !of.is_done() {
            self.begin_asking();
        }
        self.wait_since(of.begun().unwrap_or_else(|| self.clock.now()), &AnyOf::few(std::slice::from_ref(of)), None);
    }

    /// Waits for the first of any number of operations, all of this node, of which most are members of a set.
    pub(crate) fn wait_any_of_many(&self, of: &[impl HasCompletion], ready: &Ready) {
        self.begin_asking();
        self.wait(&AnyMember::of_list(self, of, ready), None);
    }

    /// Waits for the first of a set's members. `false`: `deadline` came first.
    pub(crate) fn wait_any_member(&self, of: &[impl HasCompletion], ready: &Ready, deadline: Option<Instant>) -> bool {
        self.begin_asking();
        self.wait(&AnyMember::of_set(of, ready), deadline)
    }
}
