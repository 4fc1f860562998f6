//! Windows in the kernel: how operations on them begin, and who carries out what others ask: whoever drives the engine, so
//! the task while the program computes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Kernel;
use super::completion::Completion;
use super::core::Core;
use super::shared::SharedCompletion;
use crate::buffer::SendBuffer;
use crate::engine::{Completed, Engine, OpId};
use crate::error::{Error, Result};
use crate::ids::{Rank, Tag};
use crate::operation::{Operation, OperationKind};
use crate::window::{Gather, OwnPart, Request, Windows};
use crate::wire::frame::{Context, MatchKey};

/// Operations of so many bytes are worth a look at the clock when they have been posted.
const LONG_BYTES: u64 = 64 << 10;

impl Kernel {
    /// Adds this rank's part of a window: others may use it from now on. Returns the window's number.
    pub(crate) fn add_window(&self, part: OwnPart) -> u32 {
        let mut core = self.lock();
        let Core { engine, windows, .. } = &mut *core;
        let window = windows.add(engine, self.clock.now(), part);
        core.hand_on();
        self.unlock(core);
        window
    }

    /// This rank's part of a window is gone.
    pub(crate) fn remove_window(&self, window: u32) {
        let part = self.with_windows(|windows, engine, now| windows.remove(engine, now, window));
        // Its memory may be large.
        drop(part);
    }

    /// The program had memory of a window that others want.
    pub(crate) fn serve_windows(&self) {
        let _ = self.with_windows(|windows, engine, now| windows.serve(engine, now));
    }

    /// `None`: a thread has panicked with the core locked, and nothing of it is touched any more.
    fn with_windows<T>(&self, change: impl FnOnce(&mut Windows, &mut Engine, Duration) -> T) -> Option<T> {
        let mut core = self.lock();
        if core.is_broken {
            return None;
        }
        let Core { engine, windows, .. } = &mut *core;
        let changed = change(windows, engine, self.clock.now());
        self.send_or_leave(&mut core);
        self.unlock(core);
        Some(changed)
    }

    /// Begins an operation that brings elements back.
    pub(crate) fn init_gather(
        &self,
        to: Rank,
        request: Request,
        operands: &[u8],
        gather: Box<dyn Gather>,
    ) -> Result<SharedCompletion> {
        self.post_window(to, request, |windows, driven| windows.begin_gather(driven, to, request, operands, gather))
    }

    /// Begins an operation whose operands are all of `source`.
    pub(crate) fn init_window_write(
        &self,
        to: Rank,
        request: Request,
        source: Box<dyn SendBuffer>,
    ) -> Result<SharedCompletion> {
        self.post_window(to, request, |windows, driven| windows.begin_write(driven, to, request, source))
    }

    /// Begins to wait until all earlier requests to `to` have been carried out.
    pub(crate) fn init_flush(&self, to: Rank, request: Request) -> Result<SharedCompletion> {
        self.post_window(to, request, |windows, driven| windows.begin_flush(driven, to, request))
    }

    fn post_window(
        &self,
        to: Rank,
        request: Request,
        begin: impl FnOnce(&mut Windows, (&mut Engine, Duration)) -> Result<OpId>,
    ) -> Result<SharedCompletion> {
        if self.program.is_over.load(Ordering::Relaxed) {
            return Err(Error::Shutdown { rank: self.rank });
        }
        let bytes = request.count.saturating_mul(request.element_bytes.into());
        let operation = Operation::new(OperationKind::Window(request.call), self.rank, to, None, bytes);
        let now = self.clock.now();
        self.ownership.program_enters(now);
        self.observer.enters(now);
        let mut core = self.lock();
        // Who posts goes on to compute, as far as can be known; a wait says otherwise.
        core.is_helped = self.help.is_held();
        let Core { engine, windows, .. } = &mut *core;
        let op = begin(windows, (engine, now)).map_err(|error| error.unnamed().during(operation))?;
        let completion = SharedCompletion::new(Completion::new(operation, op, KEY));
        core.expect(completion.clone());
        self.send_or_leave(&mut core);
        self.unlock(core);
        let is_short = bytes < LONG_BYTES;
        if !is_short || self.observer.times_post() {
            let left = self.clock.now();
            self.observer.leaves_post(now, left, (op, operation), is_short);
            if !is_short {
                self.ownership.program_leaves(left);
            }
        }
        Ok(completion)
    }

    /// Sends what windows have to say, if bytes may move now.
    fn send_or_leave(&self, core: &mut Core) {
        if self.task_may_move() { core.flush() } else { core.hand_on() }
    }
}

/// The key of no message: an operation on a window has several.
const KEY: MatchKey = MatchKey::new(Context::Window, Tag(0));

impl Core {
    /// A message has ended while windows wait for some: if it is none of theirs, it is a collective's or the program's.
    pub(super) fn complete_for_windows(&mut self, completion: Completed) {
        let now = self.clock.now();
        if let Some(completion) = self.windows.complete(&mut self.engine, now, completion) {
            self.complete_for_collectives(completion);
        }
    }

    /// Hands on what windows have come to. Returns whether that may have ended something.
    pub(super) fn hand_on_windows(&mut self) -> bool {
        self.windows.fail_with(&self.engine);
        // The way of most messages: neither the clock nor a call more than this.
        if !self.engine.has_requests() && !self.windows.has_news() {
            return false;
        }
        let now = self.clock.now();
        self.windows.meet(&mut self.engine, now);
        while let Some(late) = self.windows.poll_late() {
            if !self.refuse_late(late.op, &late.error) {
                self.keep_refusal(late.error);
            }
        }
        while let Some(completion) = self.windows.poll_completion() {
            self.fill_slot(completion);
        }
        while let Some(error) = self.windows.poll_refusal() {
            self.keep_refusal(error);
        }
        true
    }

    /// Whether neither collectives nor windows have something to do.
    pub(super) fn is_idle(&self) -> bool {
        self.collectives.is_idle() && self.windows.is_idle()
    }

    /// The program's operations on windows, in the order in which they were called, and since when.
    pub(super) fn window_calls_under_way(&self) -> impl Iterator<Item = (Operation, Duration)> {
        let since =
            |completion: &Completion| Some((completion.op, completion.operation(), self.windows.since(completion.op)?));
        let mut all: Vec<_> = self.under_way().filter_map(since).collect();
        all.sort_by_key(|(op, ..)| *op);
        all.into_iter().map(|(_, operation, since)| (operation, since))
    }
}
