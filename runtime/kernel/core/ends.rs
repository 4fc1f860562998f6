//! How operations end: outcomes go to their completions, refusals that no handle tells are kept.

use super::Core;
use crate::engine::{Completed, LateRefusal, OpId, Outcome};
use crate::error::Error;
use crate::kernel::shared::SharedCompletion;

/// Refusals kept until the program asks.
const REFUSALS_MAX: usize = 64;
/// Completed writes kept at hand in case the receiver refuses late.
const RECENT_MAX: usize = 64;

impl Core {
    /// Hands outcomes to their completions, if there are some.
    #[inline]
    pub(crate) fn hand_on(&mut self) {
        if self.engine.has_news() || !self.collectives.has_nothing_to_say() || self.windows.has_news() {
            self.hand_on_news();
        }
    }

    fn hand_on_news(&mut self) {
        loop {
            while let Some(completion) = self.engine.poll_completion() {
                if self.windows.awaits_messages() {
                    self.complete_for_windows(completion);
                } else if self.collectives.awaits_messages() {
                    self.complete_for_collectives(completion);
                } else {
                    self.fill_slot(completion);
                }
            }
            if self.hand_on_collectives() || self.hand_on_windows() {
                continue;
            }
            // What it has said about collectives before says more: it is heard first, and passed on.
            let Some((culprit, cause)) = self.engine.poll_failed_peer() else { break };
            self.write_pending();
            self.suspect(culprit, cause);
        }
        while let Some(LateRefusal { op, error }) = self.engine.poll_refusal() {
            if !self.refuse_late(op, &error) {
                self.keep_refusal(error);
            }
        }
    }

    /// A write that was complete was refused. Returns whether its handle says so.
    pub(in crate::kernel) fn refuse_late(&mut self, op: Option<OpId>, error: &Error) -> bool {
        let completion = self.recent.iter().find(|(recent, _)| Some(*recent) == op);
        completion.is_some_and(|(_, completion)| completion.refuse(error))
    }

    /// A write was refused, and no handle is there to say so.
    pub(crate) fn keep_refusal(&mut self, error: Error) {
        tracing::warn!(rank = %self.engine.rank(), %error, "a message that had left was refused");
        let Some(error) = self.windows.keep(error) else { return };
        if self.refusals.len() < REFUSALS_MAX {
            self.refusals.push_back(error);
        }
    }

    pub(in crate::kernel) fn fill_slot(&mut self, Completed { op, outcome }: Completed) {
        let posted = self.posted.take_if(|completion| completion.op == op);
        match posted.or_else(|| self.completions.remove(op)) {
            Some(completion) => self.end(completion, outcome),
            None => match &mut self.awaited {
                Some(awaited) if awaited.read == op => awaited.outcome = Some(outcome),
                _ => self.unwanted.push(outcome),
            },
        }
    }

    /// An operation is complete.
    pub(in crate::kernel) fn end(&mut self, completion: SharedCompletion, mut outcome: Outcome) {
        self.observe_end(&completion, &mut outcome);
        let is_written = matches!(outcome, Outcome::Written(_));
        let (waker, unclaimed) = completion.complete(outcome);
        self.wakers.extend(waker);
        if let Some(Outcome::Read(place, origin)) = unclaimed {
            self.give_back(&completion, origin, place);
        } else if let Some(outcome) = unclaimed {
            if let Some(refusal) = completion.as_refusal(&outcome) {
                self.keep_refusal(refusal);
            }
            self.unwanted.push(outcome);
        }
        self.count_end(is_written.then_some(completion));
    }

    /// A write has ended as it was posted: nobody listens yet.
    pub(in crate::kernel) fn end_at_once(&mut self, completion: SharedCompletion) {
        self.tell_end(completion.op, false);
        self.count_end(Some(completion));
    }

    /// One operation more has ended: `written`, which may be refused late, or another.
    fn count_end(&mut self, written: Option<SharedCompletion>) {
        self.completed_count += 1;
        self.wakers.append(&mut self.watchers);
        if let Some(completion) = written {
            if self.recent.len() == RECENT_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back((completion.op, completion));
        }
    }

    /// The first refusal that no handle has returned; it is not told again.
    pub(crate) fn take_refusal(&mut self) -> Option<Error> {
        self.refusals.pop_front().or_else(|| self.windows.take_untold())
    }

    /// All that [`Core::take_refusal`] would return.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = &Error> {
        self.refusals.iter()
    }
}
