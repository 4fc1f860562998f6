//! Which rank failed first. Pure.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::end::End;
use super::outcome::RankEnd;
use lathide::ids::Rank;

/// Within this time the order in which ends are seen says nothing about cause and effect.
const SAME_TIME: Duration = Duration::from_millis(300);

/// What was seen of the ranks' ends, in the order in which it was seen.
pub(super) struct Evidence<'a> {
    pub(super) processes: &'a [RankEnd],
    /// Ranks whose processes failed by themselves.
    pub(super) failures: &'a [usize],
    /// Ranks that left the rendezvous without finalize.
    pub(super) partings: &'a [usize],
}

impl Evidence<'_> {
    /// The rank that failed first. When one fails for want of another, the ends of both may be seen in any order. A rank
    /// whose process ended well, but not its node, is no failure by itself; it is one when others fail for want of it.
    pub(super) fn first(&self) -> Option<usize> {
        let mut first = *self.failures.first()?;
        let deserters = self.partings.iter().copied().filter(|&rank| self.deserted(rank));
        let failures: Vec<usize> = self.failures.iter().copied().chain(deserters).collect();
        if self.partings.contains(&first) {
            first = *self.partings.iter().find(|rank| failures.contains(rank))?;
        }
        first = failures.iter().copied().find(|&rank| self.died_beside(rank, first)).unwrap_or(first);
        for _ in 0..failures.len() {
            match self.processes[first].blames.map(Rank::index) {
                Some(blamed) if failures.contains(&blamed) => first = blamed,
                _ => break,
            }
        }
        Some(first)
    }

    /// Whether the process of `rank` ended well by itself, but its node without finalize.
    fn deserted(&self, rank: usize) -> bool {
        let RankEnd { end, told, left, .. } = &self.processes[rank];
        *end == Some(End::Exited(0)) && !told && left.is_none()
    }

    /// Whether `rank` was killed by a signal at about the time at which `other` ended by itself. The system closes a
    /// dying process's connections before it reports the end, so those that fail for want of it may be seen first; but
    /// nobody is killed for want of another.
    fn died_beside(&self, rank: usize, other: usize) -> bool {
        // An abort is how some programs answer an error.
        let killed = |end| match end {
            End::Signalled(signal) => signal != Signal::ABORT.as_raw(),
            End::Lost => true,
            End::Exited(_) => false,
        };
        let (rank, other) = (&self.processes[rank], &self.processes[other]);
        let near = |(rank, other): (Instant, Instant)| rank.saturating_duration_since(other) < SAME_TIME;
        rank.end.is_some_and(killed)
            && !other.end.is_some_and(killed)
            && rank.ended_at.zip(other.ended_at).is_some_and(near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(end: End, after_ms: u64, start: Instant) -> RankEnd {
        RankEnd { end: Some(end), ended_at: Some(start + Duration::from_millis(after_ms)), ..RankEnd::default() }
    }

    fn first(processes: &[RankEnd], failures: &[usize], partings: &[usize]) -> Option<usize> {
        Evidence { processes, failures, partings }.first()
    }

    #[test]
    fn the_cause_is_found_behind_its_effects() {
        let start = Instant::now();
        let failed = |after_ms| process(End::Exited(1), after_ms, start);
        let three = [failed(20), failed(10), failed(30)];
        assert_eq!(first(&three, &[], &[]), None);
        assert_eq!(first(&three, &[1, 0, 2], &[]), Some(1), "the order of ends, if nothing else is known");
        assert_eq!(first(&three, &[1, 0, 2], &[2, 1, 0]), Some(2), "the order at the rendezvous");
        assert_eq!(first(&three, &[1, 0], &[2, 0, 1]), Some(0), "a rank that ended well is no failure");
        assert_eq!(first(&three, &[1, 0, 2], &[2, 0]), Some(1), "rank 1 never joined");
    }

    #[test]
    fn who_ends_well_without_finalize_is_the_cause_of_what_fails_for_want_of_it() {
        let start = Instant::now();
        let process = |status| process(End::Exited(status), 0, start);
        let mut three = [process(1), process(0), process(1)];
        assert_eq!(first(&three, &[], &[1]), None, "nobody failed");
        assert_eq!(first(&three, &[0, 2], &[1, 2, 0]), Some(1));
        assert_eq!(first(&three, &[0, 2], &[2, 1, 0]), Some(2), "it went later");
        three[2].blames = Some(Rank(1));
        assert_eq!(first(&three, &[0, 2], &[2, 1, 0]), Some(1), "it was seen later");
        three[1].told = true;
        assert_eq!(first(&three, &[0, 2], &[1, 2, 0]), Some(2), "it was told to end");
        three[1] = RankEnd { left: Some(start), ..process(0) };
        assert_eq!(first(&three, &[0, 2], &[2, 0]), Some(2), "it has finalized");
    }

    #[test]
    fn a_rank_that_blames_another_is_not_the_cause() {
        let start = Instant::now();
        let mut three = [(); 3].map(|()| process(End::Exited(1), 0, start));
        three[0].blames = Some(Rank(1));
        three[1].blames = Some(Rank(2));
        assert_eq!(first(&three, &[0, 1, 2], &[]), Some(2));
        assert_eq!(first(&three, &[0, 1], &[]), Some(1), "rank 2 has not failed");
        three[2].blames = Some(Rank(0));
        assert!(first(&three, &[0, 1, 2], &[]).is_some(), "a circle ends");
    }

    #[test]
    fn who_is_killed_is_the_cause_of_what_ends_beside_it() {
        let start = Instant::now();
        let killed = |signal, after_ms| process(End::Signalled(signal), after_ms, start);
        let victim = || process(End::Exited(1), 0, start);
        assert_eq!(first(&[victim(), killed(9, 20)], &[0, 1], &[0, 1]), Some(1));
        assert_eq!(first(&[victim(), killed(9, 2000)], &[0, 1], &[0, 1]), Some(0), "later, it is another matter");
        assert_eq!(
            first(&[victim(), killed(6, 20)], &[0, 1], &[0, 1]),
            Some(0),
            "an abort may be the answer to an error"
        );
        assert_eq!(first(&[killed(11, 0), killed(9, 20)], &[0, 1], &[0, 1]), Some(0));
    }
}
