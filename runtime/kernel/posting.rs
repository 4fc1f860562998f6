//! Posting reads and writes, and waiting for several of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Kernel;
use super::completion::Completion;
use super::conditions::{AnyMember, AnyOf};
use super::core::Core;
use super::helper::HasCompletion;
use super::ready::Ready;
use super::wake::Reason;
use crate::buffer::{ElementType, ReceiveBuffer, SendBuffer};
use crate::engine::{OpId, Unposted};
use crate::error::Result;
use crate::ids::Rank;
use crate::observe::regions;
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::MatchKey;

/// Posting so many bytes may take as long as a short computation: they are sent from within the call.
const BURST_BYTES: u64 = 64 << 10;

impl Kernel {
    /// Posts a read.
    pub(crate) fn initread(
        &self,
        from: Rank,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
        bytes: u64,
    ) -> Result<Arc<Completion>, Unposted> {
        let operation = Operation::new(OperationKind::Read, self.rank, from, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        self.post(operation, key, |core, now| core.engine.initread(now, from, key, element, place))
    }

    /// Posts a read of any origin.
    pub(crate) fn initread_any(
        &self,
        key: MatchKey,
        element: ElementType,
        place: Box<dyn ReceiveBuffer>,
        bytes: u64,
    ) -> Result<Arc<Completion>, Unposted> {
        let operation = Operation::new(OperationKind::ReadAny, self.rank, self.rank, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: place.into_any() });
        }
        self.post(operation, key, |core, now| core.engine.initread_any(now, key, element, place))
    }

    /// Posts a write and sends its first burst, if it may go and there is room.
    pub(crate) fn initwrite(
        &self,
        to: Rank,
        key: MatchKey,
        element: ElementType,
        source: Box<dyn SendBuffer>,
    ) -> Result<Arc<Completion>, Unposted> {
        let bytes = source.bytes().len() as u64;
        let operation = Operation::new(OperationKind::Write, self.rank, to, key.user_tag(), bytes);
        if let Err(error) = self.check_open() {
            return Err(Unposted { error, buffer: source.into_any() });
        }
        self.post(operation, key, |core, now| core.engine.initwrite(now, to, key, element, source))
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
        post: impl FnOnce(&mut Core, Duration) -> Result<OpId, Unposted>,
    ) -> Result<Arc<Completion>, Unposted> {
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        let mut core = self.lock();
        // Who posts goes on to compute, as far as can be known; a wait says otherwise.
        core.is_helped = self.help.is_held();
        let op = post(&mut core, now)
            .map_err(|unposted| Unposted { error: unposted.error.during(operation), ..unposted })?;
        let completion = Arc::new(match operation.kind {
            OperationKind::ReadAny => Completion::of_any(operation, op, key, self.everyone.clone()),
            _ => Completion::new(operation, op, key),
        });
        core.expect(completion.clone());
        core.observe_post(&completion, regions::current(self.names.node), now);
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
