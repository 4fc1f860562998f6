//! Ranks that have gone without finalize and are not yet announced, in the order in which that was seen. Pure.
//!
//! A rank is announced when all that can be known about it is, and after those that went before it: so everybody hears of
//! the first cause first. One whose connection was cut may come back; it keeps its place only as long as it takes to find
//! out whether its process is there.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::ids::Rank;

/// How long a rank that may come back is waited for before those that went after it are announced.
const PLACE_KEPT: Duration = Duration::from_secs(1);

/// A rank that has gone without finalize: its process has ended, its connection has closed, or it said so.
pub(super) struct Failure {
    pub(super) rank: Rank,
    /// The best cause so far.
    pub(super) cause: String,
    /// When its connection was cut, if that is still to be told.
    pub(super) cut_at: Option<Instant>,
    /// Whether no better cause is to come.
    is_complete: bool,
    /// Until when a better one is waited for, or the rank itself.
    until: Instant,
    /// Until when those that went after it are not announced.
    goes_first_until: Instant,
}

/// One cause of a rank's end.
pub(super) struct Cause {
    pub(super) text: String,
    /// Whether no better one is to come; otherwise until when it is waited for.
    pub(super) is_complete: bool,
    pub(super) until: Instant,
    /// Whether it is better than one that is known.
    pub(super) is_better: bool,
}

#[derive(Default)]
pub(super) struct Failures(VecDeque<Failure>);

impl Failures {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn has(&self, rank: Rank) -> bool {
        self.0.iter().any(|failure| failure.rank == rank)
    }

    /// It has finalized, or come back.
    pub(super) fn withdraw(&mut self, rank: Rank) {
        self.0.retain(|failure| failure.rank != rank);
    }

    /// A rank has gone.
    pub(super) fn add(&mut self, rank: Rank, cause: Cause) {
        let Cause { text, is_complete, until, is_better } = cause;
        match self.0.iter_mut().find(|failure| failure.rank == rank) {
            Some(failure) => {
                if is_better && !failure.is_complete {
                    failure.cause = text;
                }
                // The first word and this one are the process's end and its connection's, in either order.
                failure.is_complete = true;
            }
            None => self.0.push_back(Failure {
                rank,
                cause: text,
                cut_at: None,
                is_complete,
                until,
                goes_first_until: until,
            }),
        }
    }

    /// A rank's connection was cut at `now`. If it has not come back by `until`, that is `cause`.
    pub(super) fn add_cut(&mut self, rank: Rank, cause: String, now: Instant, until: Instant) {
        let goes_first_until = until.min(now + PLACE_KEPT);
        self.0.push_back(Failure { rank, cause, cut_at: Some(now), is_complete: false, until, goes_first_until });
    }

    /// A rank whose connection was cut will not come back, for `cause`; until `until` a better one may come.
    pub(super) fn end_cut(&mut self, rank: Rank, cause: String, until: Instant) {
        if let Some(failure) = self.0.iter_mut().find(|failure| failure.rank == rank && !failure.is_complete) {
            (failure.cause, failure.until) = (cause, failure.until.min(until));
            failure.goes_first_until = failure.until;
        }
    }

    /// The next to be announced at `now`, if any.
    pub(super) fn next(&mut self, now: Instant) -> Option<Failure> {
        for at in 0..self.0.len() {
            let failure = &self.0[at];
            if failure.is_complete || failure.until <= now {
                return self.0.remove(at);
            }
            if now < failure.goes_first_until {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Duration = Duration::from_millis(300);

    fn cause(text: &str, is_complete: bool, until: Instant) -> Cause {
        Cause { text: text.to_owned(), is_complete, until, is_better: true }
    }

    fn next(failures: &mut Failures, now: Instant) -> Option<(Rank, String)> {
        failures.next(now).map(|failure| (failure.rank, failure.cause))
    }

    #[test]
    fn the_first_to_go_is_announced_first_when_all_is_known() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        failures.add(Rank(1), cause("it closed", false, now + HALF));
        failures.add(Rank(0), cause("it lost rank 1", true, now));
        assert_eq!(next(&mut failures, now), None, "the launcher knows better");
        failures.add(Rank(1), cause("it was killed", true, now));
        assert_eq!(next(&mut failures, now), Some((Rank(1), "it was killed".into())));
        assert_eq!(next(&mut failures, now), Some((Rank(0), "it lost rank 1".into())));
    }

    #[test]
    fn a_rank_that_may_come_back_keeps_its_place_for_a_while_only() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let resume = Duration::from_secs(30);
        failures.add_cut(Rank(1), "it was cut".into(), now, now + resume);
        failures.add(Rank(0), cause("it failed", true, now));
        assert_eq!(next(&mut failures, now + PLACE_KEPT - HALF), None);
        assert_eq!(next(&mut failures, now + PLACE_KEPT), Some((Rank(0), "it failed".into())));
        assert_eq!(next(&mut failures, now + PLACE_KEPT), None);
        assert_eq!(next(&mut failures, now + resume), Some((Rank(1), "it was cut".into())));
        failures.add_cut(Rank(2), "it was cut".into(), now, now + resume);
        failures.withdraw(Rank(2));
        assert!(failures.is_empty());
    }

    #[test]
    fn a_rank_that_was_cut_and_has_ended_is_announced_with_the_best_cause() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let resume = Duration::from_secs(30);
        failures.add_cut(Rank(1), "it was cut".into(), now, now + resume);
        failures.end_cut(Rank(1), "nobody listens".into(), now + HALF);
        assert_eq!(next(&mut failures, now), None, "the launcher may know better");
        assert_eq!(next(&mut failures, now + HALF), Some((Rank(1), "nobody listens".into())));
        failures.add_cut(Rank(2), "it was cut".into(), now, now + resume);
        failures.add(Rank(2), cause("it was killed", true, now));
        failures.end_cut(Rank(2), "nobody listens".into(), now);
        assert_eq!(next(&mut failures, now), Some((Rank(2), "it was killed".into())));
    }
}
