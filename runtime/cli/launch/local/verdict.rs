//! Which rank failed first. Pure.

use rustix::process::Signal;

use super::event::End;
use super::outcome::RankEnd;
use lathide::ids::Rank;

/// Within this time the order in which ends are seen says nothing about cause and effect.
const SAME_TIME_S: f64 = 0.3;

/// The rank that failed first, of those that were seen to end.
///
/// `failures`: whose processes failed by themselves; `partings`: which left the rendezvous without finalize; both in the
/// order in which that was seen. When one fails for want of another, the ends of both may be seen in any order. A rank whose
/// process ended well, but not its node, is no failure by itself; it is one when others fail for want of it.
pub(super) fn first(processes: &[RankEnd], failures: &[usize], partings: &[usize]) -> Option<usize> {
    let mut first = *failures.first()?;
    let deserters = partings.iter().filter(|&&rank| deserted(&processes[rank]));
    let failures: Vec<usize> = failures.iter().chain(deserters).copied().collect();
    if partings.contains(&first) {
        first = *partings.iter().find(|rank| failures.contains(rank))?;
    }
    let killed = failures.iter().find(|&&rank| died_beside(&processes[rank], &processes[first]));
    first = killed.copied().unwrap_or(first);
    for _ in 0..failures.len() {
        match processes[first].blames.map(Rank::index) {
            Some(blamed) if failures.contains(&blamed) => first = blamed,
            _ => break,
        }
    }
    Some(first)
}

/// Whether the process ended well by itself, but its node without finalize.
fn deserted(rank: &RankEnd) -> bool {
    rank.end == Some(End::Exited(0)) && !rank.told_to_end && rank.left_s.is_none()
}

/// Whether `rank` was killed by a signal at about the time at which `other` ended by itself. The system closes a dying
/// process's connections before it reports the end, so those that fail for want of it may be seen first; but nobody is
/// killed for want of another.
fn died_beside(rank: &RankEnd, other: &RankEnd) -> bool {
    // An abort is how some programs answer an error.
    let killed = |end| match end {
        End::Signalled(signal) => signal != Signal::ABORT.as_raw(),
        End::Lost => true,
        End::Exited(_) => false,
    };
    rank.end.is_some_and(killed)
        && !other.end.is_some_and(killed)
        && rank.ended_s.zip(other.ended_s).is_some_and(|(rank_s, other_s)| rank_s - other_s < SAME_TIME_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(end: End, ended_s: f64) -> RankEnd {
        RankEnd { end: Some(end), ended_s: Some(ended_s), ..RankEnd::default() }
    }

    #[test]
    fn the_cause_is_found_behind_its_effects() {
        let failed = |ended_s| process(End::Exited(1), ended_s);
        let three = [failed(0.02), failed(0.01), failed(0.03)];
        assert_eq!(first(&three, &[], &[]), None);
        assert_eq!(first(&three, &[1, 0, 2], &[]), Some(1), "the order of ends, if nothing else is known");
        assert_eq!(first(&three, &[1, 0, 2], &[2, 1, 0]), Some(2), "the order at the rendezvous");
        assert_eq!(first(&three, &[1, 0], &[2, 0, 1]), Some(0), "a rank that ended well is no failure");
        assert_eq!(first(&three, &[1, 0, 2], &[2, 0]), Some(1), "rank 1 never joined");
    }

    #[test]
    fn who_ends_well_without_finalize_is_the_cause_of_what_fails_for_want_of_it() {
        let process = |status| process(End::Exited(status), 0.0);
        let mut three = [process(1), process(0), process(1)];
        assert_eq!(first(&three, &[], &[1]), None, "nobody failed");
        assert_eq!(first(&three, &[0, 2], &[1, 2, 0]), Some(1));
        assert_eq!(first(&three, &[0, 2], &[2, 1, 0]), Some(2), "it went later");
        three[2].blames = Some(Rank(1));
        assert_eq!(first(&three, &[0, 2], &[2, 1, 0]), Some(1), "it was seen later");
        three[1].told_to_end = true;
        assert_eq!(first(&three, &[0, 2], &[1, 2, 0]), Some(2), "it was told to end");
        three[1] = RankEnd { left_s: Some(0.0), ..process(0) };
        assert_eq!(first(&three, &[0, 2], &[2, 0]), Some(2), "it has finalized");
    }

    #[test]
    fn a_rank_that_blames_another_is_not_the_cause() {
        let mut three = [(); 3].map(|()| process(End::Exited(1), 0.0));
        three[0].blames = Some(Rank(1));
        three[1].blames = Some(Rank(2));
        assert_eq!(first(&three, &[0, 1, 2], &[]), Some(2));
        assert_eq!(first(&three, &[0, 1], &[]), Some(1), "rank 2 has not failed");
        three[2].blames = Some(Rank(0));
        assert!(first(&three, &[0, 1, 2], &[]).is_some(), "a circle ends");
    }

    #[test]
    fn who_is_killed_is_the_cause_of_what_ends_beside_it() {
        let killed = |signal, ended_s| process(End::Signalled(signal), ended_s);
        let victim = || process(End::Exited(1), 0.0);
        assert_eq!(first(&[victim(), killed(9, 0.02)], &[0, 1], &[0, 1]), Some(1));
        assert_eq!(first(&[victim(), killed(9, 2.0)], &[0, 1], &[0, 1]), Some(0), "later, it is another matter");
        assert_eq!(
            first(&[victim(), killed(6, 0.02)], &[0, 1], &[0, 1]),
            Some(0),
            "an abort may be the answer to an error"
        );
        assert_eq!(first(&[killed(11, 0.0), killed(9, 0.02)], &[0, 1], &[0, 1]), Some(0));
    }
}
