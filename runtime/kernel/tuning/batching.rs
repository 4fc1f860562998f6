//! Small messages in quick succession leave together.
//!
//! A system call per message is most of what a small message costs its sender. A program that posts one and goes on
//! to wait or to compute has it sent within the call. One that posts many at once has them gathered
//! after the first few: they leave with the next call that is no small write, when there are enough of them, or by
//! the kernel's task, whatever comes first. The task's wake-up costs more than a few of them: in a flurry that goes on
//! it lets them gather for some tens of microseconds.
//!
//! Short collectives of which this rank's part waits for nothing, such as a root's broadcasts, follow each other in the same way.

use std::time::Duration;

/// The longest message that may wait for others.
const BYTES_MAX: u64 = 512;
/// A write that begins so soon after the last one was sent, and after no wait, follows it.
const GAP: Duration = Duration::from_nanos(1500);
/// Sending takes no longer, mostly. It is not timed where nothing follows: most short messages are one at a time.
const SENDING: Duration = Duration::from_micros(5);
/// A batch begins after so many.
const RUN_MIN: u32 = 3;
/// So many leave at once.
const GATHERED_MAX: u32 = 64;

/// The latest writes to one peer.
pub(in crate::kernel) struct Batching {
    is_on: bool,
    /// When the last write was posted; and sent, if it could be and it was timed.
    posted: Duration,
    is_timed: bool,
    /// How often a thread had waited by then.
    waits: u64,
    run: u32,
    gathered: u32,
}

impl Batching {
    /// `is_on`: whether any write waits.
    pub(in crate::kernel) fn new(is_on: bool) -> Self {
        Batching { is_on, posted: Duration::ZERO, is_timed: false, waits: 0, run: 0, gathered: 0 }
    }

    /// A write of `bytes` begins, at `now`; threads have waited `waits` times for what was not there. Returns whether it may wait
    /// for others.
    pub(in crate::kernel) fn gathers(&mut self, bytes: u64, now: Duration, waits: u64) -> bool {
        let gap = if self.is_timed { GAP } else { GAP + SENDING };
        let follows = bytes <= BYTES_MAX && now.saturating_sub(self.posted) <= gap && waits == self.waits;
        self.waits = waits;
        self.run = if follows { self.run.saturating_add(1) } else { 0 };
        (self.posted, self.is_timed) = (now, self.run > 0);
        if !self.is_on || self.run < RUN_MIN || self.gathered + 1 >= GATHERED_MAX {
            self.gathered = 0;
            return false;
        }
        self.gathered += 1;
        true
    }

    /// The program has left the call of the last one, at `now`.
    pub(in crate::kernel) fn left(&mut self, now: Duration) {
        (self.posted, self.is_timed) = (now, true);
    }

    /// A write that did not wait has been sent just now.
    pub(in crate::kernel) fn was_sent(&mut self, now: impl FnOnce() -> Duration) {
        if self.is_timed {
            self.posted = now();
        }
    }
}

/// A batch begins so soon after the task has sent the last one: the flurry goes on.
const FLURRY: Duration = Duration::from_micros(200);
/// For so long what is posted in a flurry gathers before the task sends it, if the program does not.
const PAUSE: Duration = Duration::from_micros(30);

/// The batches that the task has sent, to any peer.
#[derive(Default)]
pub(in crate::kernel) struct Flurry {
    /// When the last one was.
    sent: Option<Duration>,
}

impl Flurry {
    /// Small messages wait, at `now`: how long the task lets more of them gather. What begins a flurry does not wait.
    pub(in crate::kernel) fn pause(&self, now: Duration) -> Option<Duration> {
        self.sent.is_some_and(|sent| now.saturating_sub(sent) <= FLURRY).then_some(PAUSE)
    }

    /// They have been sent, at `now`.
    pub(in crate::kernel) fn was_sent(&mut self, now: Duration) {
        self.sent = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn only_a_flurry_is_gathered_and_not_for_long() {
        let mut batching = Batching::new(true);
        let gathered: Vec<bool> = (0..200).map(|us| batching.gathers(8, at(1000 + us), 0)).collect();
        assert_eq!(gathered[..5], [false, false, false, true, true], "the first leave at once");
        let longest = gathered.split(|gathers| !gathers).map(<[bool]>::len).max();
        assert!(longest.is_some_and(|longest| longest < GATHERED_MAX as usize));
        assert!(gathered.iter().filter(|gathers| **gathers).count() > 150);
    }

    #[test]
    fn one_that_is_off_gathers_nothing() {
        let mut batching = Batching::new(false);
        assert!((0..200).all(|us| !batching.gathers(8, at(1000 + us), 0)));
    }

    #[test]
    fn only_a_flurry_that_goes_on_has_the_task_pause() {
        let mut flurry = Flurry::default();
        assert_eq!(flurry.pause(at(10)), None);
        flurry.was_sent(at(12));
        assert_eq!(flurry.pause(at(20)), Some(PAUSE));
        assert_eq!(flurry.pause(at(12) + FLURRY), Some(PAUSE));
        assert_eq!(flurry.pause(at(13) + FLURRY), None);
    }

    /// A call of a collective begins and ends; what counts is the program's time between two.
    #[test]
    fn calls_follow_each_other_however_long_they_take() {
        let (mut batching, mut now) = (Batching::new(true), at(1000));
        let mut call = |pause: Duration| {
            batching.left(now);
            now += pause;
            let gathers = batching.gathers(8, now, 0);
            now += at(20);
            gathers
        };
        let gathered: Vec<bool> = [at(100), at(1), at(1), at(1), at(1)].map(&mut call).into();
        assert_eq!(gathered, [false, false, false, true, true]);
        assert!(!call(at(3)), "the program has done something else");
        assert!(!call(at(1)));
    }

    /// On a fast link an exchange takes less than the gap.
    #[test]
    fn who_waits_between_writes_has_each_sent_at_once() {
        let mut batching = Batching::new(true);
        assert!((0..50).all(|us| !batching.gathers(8, at(us), us)));
    }

    #[test]
    fn a_pause_or_a_long_message_ends_it() {
        let mut batching = Batching::new(true);
        (0..10).for_each(|us| _ = batching.gathers(8, at(us), 0));
        assert!(batching.gathers(8, at(10), 0));
        assert!(!batching.gathers(8, at(20), 0));
        (20..30).for_each(|us| _ = batching.gathers(8, at(us), 0));
        assert!(!batching.gathers(4096, at(30), 0));
        let mut sent = at(30);
        for _ in 0..50 {
            batching.was_sent(|| sent);
            assert!(!batching.gathers(8, sent + at(3), 0), "a ping-pong is none");
            sent += at(4);
        }
        for turn in 0..50 {
            batching.was_sent(|| sent + at(4));
            let gathers = batching.gathers(8, sent + at(5), 0);
            assert!(gathers || turn < 3, "sending takes long, which is no pause");
            sent += at(5);
        }
    }
}
