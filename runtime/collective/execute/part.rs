//! One rank's part in a collective: its schedule, its buffers, and how far it has come.
//!
//! Combinations are cut, so that messages have their turn: by bytes where the operator is fast, and by time where it is
//! the program's own and slow. An element is the least; while the operator works on one, its thread does nothing else.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::held::{Held, Listen};
use super::members::Members;
use super::start::{Deferred, Start};
use super::work::{Signal, Work};
use crate::buffer::{Element, ElementType, ReceiveBuffer, SendBuffer};
use crate::collective::prepared::Prepared;
use crate::collective::progress::Progress;
use crate::collective::schedule::{Action, Builder, StepId};
use crate::engine::{OpId, Outcome};
use crate::error::Error;
use crate::ids::Rank;

/// Bytes that are combined or copied before the messages have their turn again: some tens of microseconds.
const SLICE_BYTES: u64 = 256 << 10;
/// The same where the collective waits for no message: what others' next messages bring had better wait for the next call, whose
/// places they then find.
const LAST_SLICE_BYTES: u64 = 4 * SLICE_BYTES;
/// The time after which messages have their turn, whatever an operator of the program combines.
const SLICE_TIME: Duration = Duration::from_millis(1);
/// A piece is at most so many times the one before, of whose time nothing is known if it was short.
const GROWTH: u64 = 8;
/// What is ready to be sent does not wait for a longer combination than this.
const PROMPT_BYTES: u64 = 4 << 10;

pub(super) struct Part {
    /// What is to begin, while the collective is deferred.
    deferred: Option<Deferred>,
    progress: Progress,
    /// Whose ranks its steps name.
    pub(super) members: Arc<Members>,
    /// `None` once the result is made, or the operator has panicked.
    work: Option<Box<dyn Work>>,
    /// A copy or combination under way, and how many elements of it are done.
    local: Option<(StepId, u64)>,
    /// So many elements the operator combines within a slice's time, as far as that is known.
    pace: u64,
    /// What it has sent and not given back.
    held: Held,
    /// Messages that are posted and have not ended.
    under_way: usize,
    /// So many of its first messages have left before it began.
    pub(super) sent: usize,
    /// Steps that have ended since it ran last.
    pub(super) ended: Vec<(StepId, Outcome)>,
    /// What is to be posted now.
    pub(super) posts: Vec<Post>,
}

/// A part that can go on, taken out of the table: it runs without the lock under which messages are posted.
pub(crate) struct Job {
    pub(super) op: OpId,
    pub(super) part: Box<Part>,
    /// What a deferred collective begins with. In a box: jobs are moved about, and few are deferred.
    pub(super) start: Option<Box<Result<Option<Start>, Error>>>,
    pub(super) end: Option<End>,
}

/// A message step that is to be posted. Ranks are those of the group.
pub(super) enum Post {
    Read { step: StepId, from: Rank, element: ElementType, place: Box<dyn ReceiveBuffer> },
    Write { step: StepId, to: Rank, element: ElementType, source: Box<dyn SendBuffer> },
}

/// How a part has ended by itself.
pub(super) enum End {
    Result(Box<dyn Any + Send>),
    /// In words.
    Failed(String),
}

impl Part {
    pub(super) fn new(progress: Progress, work: Box<dyn Work>, members: Arc<Members>) -> Self {
        Part { work: Some(work), ..Part::idle(progress, members) }
    }

    /// One that does nothing yet.
    fn idle(progress: Progress, members: Arc<Members>) -> Self {
        let (held, ended, posts) = (Held::default(), Vec::new(), Vec::new());
        let (deferred, work, local) = (None, None, None);
        Part { deferred, progress, members, work, local, pace: 1, held, under_way: 0, sent: 0, ended, posts }
    }

    /// Whether nothing is left of it but its lists' memory.
    pub(super) fn is_spent(&self) -> bool {
        let Part { deferred, work, held, ended, posts, .. } = self;
        deferred.is_none() && work.is_none() && held.is_empty() && ended.is_empty() && posts.is_empty()
    }

    /// Whether it has sent what peers have not acknowledged.
    #[cfg(test)]
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// [`Part::new`] in the memory of one that is spent.
    pub(super) fn renew(&mut self, schedule: Arc<Prepared>, work: Box<dyn Work>, members: &Arc<Members>) {
        self.progress.renew(schedule);
        if !Arc::ptr_eq(&self.members, members) {
            self.members = members.clone();
        }
        (self.work, self.local, self.pace, self.under_way, self.sent) = (Some(work), None, 1, 0, 0);
    }

    /// A part that is not known yet.
    pub(super) fn deferred(deferred: Deferred, members: Arc<Members>) -> Self {
        let progress = Progress::new(Builder::new().finish());
        Part { deferred: Some(deferred), ..Part::idle(progress, members) }
    }

    /// Whether a step's end is taken without copying anything, and is as it should be.
    pub(super) fn ends_at_once(&self, step: StepId, outcome: &mut Outcome) -> bool {
        let is_short = !matches!(outcome, Outcome::Written(written) if written.unacknowledged() > 0);
        is_short && self.work.is_some() && self.check(step, outcome).is_ok()
    }

    /// Whether a message is as long as its place.
    ///
    /// # Errors
    /// In words, if it is not.
    fn check(&self, step: StepId, outcome: &mut Outcome) -> Result<(), String> {
        let (Some(work), Outcome::Read(place, _)) = (&self.work, outcome) else { return Ok(()) };
        match self.progress.action(step) {
            Action::Receive { from, into } if place.bytes_mut().len() as u64 != into.count * work.element_bytes() => {
                Err(other_length(self.members.rank(from), into.count))
            }
            _ => Ok(()),
        }
    }

    /// Takes a step's end that is as it should be.
    pub(super) fn end(&mut self, step: StepId, outcome: Outcome, listen: Listen<'_>) {
        if let Outcome::Written(written) = outcome
            && let Action::Send { from, to } = self.progress.action(step)
        {
            self.held.keep(from, self.members.rank(to), written, listen);
        }
        self.under_way -= 1;
        self.progress.done(step);
    }

    /// Whether it can go on without a step's end.
    pub(super) fn can_go_on(&self) -> bool {
        self.work.is_some() && (self.local.is_some() || self.progress.has_ready() || self.progress.is_complete())
    }
}

impl Job {
    /// Whether it may run while messages are posted: it is short, and nothing of it is the program's code.
    pub(crate) fn is_quick(&self) -> bool {
        self.part.deferred.is_none() && self.part.work.as_ref().is_some_and(|work| work.is_quick())
    }

    /// Goes on as far as it can, or as long as a slice lasts by the clock `now`. Returns whether it has used the slice
    /// up: then the messages have their turn before the next one.
    pub(crate) fn run(&mut self, now: impl Fn() -> Duration, listen: Listen<'_>) -> bool {
        if let Some(deferred) = self.part.deferred.take() {
            self.start = Some(deferred().into());
            return false;
        }
        let part = &mut *self.part;
        if part.work.is_none() {
            return false;
        }
        let mut ended = std::mem::take(&mut part.ended);
        for (step, mut outcome) in ended.drain(..) {
            if let Err(words) = part.check(step, &mut outcome) {
                self.end = Some(End::Failed(words));
                return false;
            }
            part.end(step, outcome, listen);
        }
        // It comes back, with its memory.
        part.ended = ended;
        let is_used_up = match self.go_on(now, listen) {
            Ok(is_used_up) => is_used_up,
            Err(words) => {
                self.end = Some(End::Failed(words));
                return false;
            }
        };
        if self.part.progress.is_complete()
            && let Some(work) = self.part.work.take()
        {
            self.part.held.release(listen);
            self.end = Some(match guarded(|| work.finish()) {
                Ok(result) => End::Result(result),
                Err(words) => End::Failed(words),
            });
        }
        is_used_up
    }

    fn go_on(&mut self, now: impl Fn() -> Duration, listen: Listen<'_>) -> Result<bool, String> {
        let Part { progress, work, local, pace, posts, held, under_way, sent, .. } = &mut *self.part;
        let Some(work) = work else { return Ok(false) };
        let element_bytes = work.element_bytes();
        let slice = if *under_way == 0 { LAST_SLICE_BYTES } else { SLICE_BYTES };
        let (mut left, mut left_time) = (slice, SLICE_TIME);
        loop {
            if let Some((step, done)) = *local {
                let action = progress.action(step);
                let missing = action.local_count() - done;
                if !posts.is_empty() && missing * element_bytes > PROMPT_BYTES {
                    return Ok(false);
                }
                if left == 0 || left_time.is_zero() {
                    return Ok(true);
                }
                let mut count = missing.min((left / element_bytes).max(1));
                if let Action::Combine { .. } = action
                    && work.may_be_slow()
                {
                    count = count.min(*pace);
                    let before = now();
                    guarded(|| work.apply(&action.local_part(done..done + count)))?;
                    let took = now().saturating_sub(before);
                    *pace = paced(*pace, count, took);
                    left_time = left_time.saturating_sub(took);
                } else {
                    guarded(|| work.apply(&action.local_part(done..done + count)))?;
                }
                left = left.saturating_sub(count * element_bytes);
                *local = (count < missing).then_some((step, done + count));
                if local.is_none() {
                    progress.done(step);
                }
                continue;
            }
            let Some(step) = progress.ready() else { return Ok(false) };
            let action = progress.action(step);
            if *sent > 0 && matches!(action, Action::Send { .. } | Action::Signal { .. }) {
                *sent -= 1;
                progress.done(step);
                continue;
            }
            if let Some(region) = action.writes() {
                held.make_way(region, listen);
            }
            match post(step, action, work.as_mut()) {
                Some(post) => {
                    posts.push(post);
                    *under_way += 1;
                }
                None => *local = Some((step, 0)),
            }
        }
    }
}

/// Digests were equal by chance: once in a million disagreements.
pub(super) fn other_length(from: Rank, count: u64) -> String {
    format!("rank {from} has sent another number of elements than {count}; do all ranks call the same?")
}

/// How many elements are combined at a time after `count` took `took`, when it was `pace` before.
fn paced(pace: u64, count: u64, took: Duration) -> u64 {
    if took < SLICE_TIME / GROWTH as u32 {
        return pace.max(count.saturating_mul(GROWTH));
    }
    let within = u128::from(count) * SLICE_TIME.as_nanos() / took.as_nanos().max(1);
    within.clamp(1, u128::from(u64::MAX)) as u64
}

/// The message of a step; `None` if it is done here.
fn post(step: StepId, action: Action, work: &mut dyn Work) -> Option<Post> {
    Some(match action {
        Action::Await { from } => Post::Read { step, from, element: u8::TYPE, place: Box::new(Signal) },
        Action::Receive { from, into } => Post::Read { step, from, element: work.element(), place: work.place(into) },
        Action::Send { to, from } => Post::Write { step, to, element: work.element(), source: work.source(from) },
        Action::Signal { to } => Post::Write { step, to, element: u8::TYPE, source: Box::new(Signal) },
        Action::Combine { .. } | Action::Copy { .. } => return None,
    })
}

/// Runs what may be the program's own code. `Err`: it panicked, with these words.
fn guarded<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
        format!("its operator panicked: {words}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::execute::Typed;
    use crate::collective::schedule::Region;

    /// While messages are under way they have their turn after each slice; afterwards a copy of a megabyte is one.
    #[test]
    fn who_waits_for_no_message_copies_more_at_a_time() {
        let copied_in_one_run = |receives: bool, count: u64| {
            let mut builder = Builder::new();
            if receives {
                builder.receive(Rank(1), Region::output(count, 1), &[]);
            }
            builder.copy(Region::input(0, count), Region::output(0, count), &[]);
            let schedule: Arc<Prepared> = builder.finish().into();
            let (input, output) = (vec![1u8; count as usize], vec![0; count as usize + 1]);
            let work = Box::new(Typed::new(&schedule, input, output, None, |_, all: Vec<u8>| all));
            let part = Box::new(Part::new(Progress::new(schedule), work, Members::of_job(Rank(0), 2).into()));
            let mut job = Job { op: OpId(1), part, start: None, end: None };
            if receives {
                assert!(!job.run(|| Duration::ZERO, &mut |_, _| ()), "the read is to be posted first");
                job.part.posts.clear();
            }
            !job.run(|| Duration::ZERO, &mut |_, _| ())
        };
        assert!(copied_in_one_run(false, LAST_SLICE_BYTES) && copied_in_one_run(true, SLICE_BYTES - 1));
        assert!(!copied_in_one_run(false, LAST_SLICE_BYTES + 1) && !copied_in_one_run(true, SLICE_BYTES + 1));
    }

    /// Whatever an element takes, a piece takes a slice's time or is one element; of a fast operator it grows.
    #[test]
    fn pieces_follow_the_operator() {
        for (element_ns, most) in [(1, 1_000_000), (500, 2000), (20_000, 50), (300_000, 3), (5_000_000, 1)] {
            let (mut pace, mut longest) = (1, Duration::ZERO);
            for piece in 0..20 {
                let took = Duration::from_nanos(element_ns * pace);
                assert!(
                    took <= SLICE_TIME || pace == 1,
                    "piece {piece} of {pace} elements of {element_ns} ns: {took:?}"
                );
                longest = longest.max(took);
                pace = paced(pace, pace, took);
            }
            assert!(pace <= most && longest >= SLICE_TIME / 2, "{pace} elements of {element_ns} ns");
        }
        assert_eq!(paced(4096, 3, Duration::from_nanos(30)), 4096, "a short rest says nothing");
        assert_eq!(paced(4096, 4096, Duration::from_secs(1)), 4, "it has become slow");
    }
}
