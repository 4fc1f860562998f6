use super::super::control::Unread;
use super::*;
use crate::ids::Tag;

/// A rank of four that stands still, with one thread for each list of ranks it waits for.
fn still(waits: &[&[u32]]) -> Seen {
    let waits = waits.iter().map(|wait| wait.iter().copied().map(Rank).collect()).collect();
    let snapshot = Snapshot { waits, certain: true, sent: vec![5; 4], received: vec![5; 4], ..Default::default() };
    Seen { snapshot: Some(snapshot), unchanged: 2, ..Seen::default() }
}

fn with(mut seen: Seen, operations: &[(OperationKind, u32, u32, u64)]) -> Seen {
    let outstanding = operations.iter().map(|&(kind, peer, tag, bytes)| Outstanding {
        kind,
        peer: Rank(peer),
        tag: Some(Tag(tag)),
        bytes,
        done: 0,
        since_s: 3.25,
        state: "waits for its partner".into(),
    });
    seen.snapshot.as_mut().unwrap().outstanding = outstanding.collect();
    seen
}

fn computing() -> Seen {
    Seen::default()
}

fn finished() -> Seen {
    Seen { finished: true, sent: vec![5; 4], ..Seen::default() }
}

fn set(ranks: &[Seen]) -> Vec<u32> {
    deadlocked(ranks).into_iter().map(|rank| rank.0).collect()
}

#[test]
fn cycles_are_found_whole() {
    assert_eq!(set(&[still(&[&[1]]), still(&[&[0]])]), [0, 1]);
    assert_eq!(set(&[still(&[&[1]]), still(&[&[2]]), still(&[&[0]])]), [0, 1, 2]);
    assert_eq!(set(&[still(&[&[0]])]), [0], "a rank that waits for itself");
    // A wait for any of two ranks is hopeless only if both are.
    assert_eq!(set(&[still(&[&[1, 2]]), still(&[&[0]]), still(&[&[0]])]), [0, 1, 2]);
}

#[test]
fn who_computes_or_may_be_served_by_one_who_does_is_not_deadlocked() {
    assert!(set(&[still(&[&[1]]), computing()]).is_empty());
    assert!(set(&[still(&[&[1]]), still(&[&[2]]), computing()]).is_empty());
    assert!(set(&[still(&[&[1, 2]]), still(&[&[0]]), computing()]).is_empty());
    // One of two threads can be served.
    assert!(set(&[still(&[&[1], &[2]]), still(&[&[0]]), computing()]).is_empty());
}

#[test]
fn a_subset_is_found_beside_ranks_that_compute() {
    let ranks = [still(&[&[1]]), still(&[&[0]]), computing(), still(&[&[2]])];
    assert_eq!(set(&ranks), [0, 1]);
    let ranks = [still(&[&[1]]), still(&[&[0]]), computing(), still(&[&[1]])];
    assert_eq!(set(&ranks), [0, 1, 3], "who waits for a deadlocked rank is deadlocked too");
}

/// Its last message may come a moment after it has left, or minutes after on a slow link.
#[test]
fn a_rank_that_has_finished_may_have_ended_a_wait() {
    let mut ranks = [still(&[&[1]]), computing()];
    finish(&mut ranks, Rank(1), vec![6; 4]);
    assert!(set(&ranks).is_empty(), "a byte of its is under way");
    finish(&mut ranks, Rank(1), vec![5; 4]);
    assert_eq!(set(&ranks), [0]);
    finish(&mut ranks, Rank(1), vec![]);
    assert!(set(&ranks).is_empty(), "it did not say");
}

#[test]
fn a_rank_that_finished_ends_no_wait() {
    assert_eq!(set(&[still(&[&[1]]), finished()]), [0]);
    assert!(set(&[finished(), finished()]).is_empty());
}

#[test]
fn data_under_way_may_still_change_everything() {
    let mut receiver = still(&[&[0]]);
    receiver.snapshot.as_mut().unwrap().received[0] = 4;
    assert!(set(&[still(&[&[1]]), receiver.clone()]).is_empty());
    // A frame to one of three keeps those alive that it could set free in turn.
    assert!(set(&[still(&[&[1]]), receiver, still(&[&[1]])]).is_empty());
    // Counts that are not there prove nothing.
    let mut silent = still(&[&[0]]);
    silent.snapshot.as_mut().unwrap().sent.clear();
    assert!(set(&[still(&[&[1]]), silent]).is_empty());
}

#[test]
fn one_report_or_an_uncertain_one_decides_nothing() {
    let once = Seen { unchanged: 1, ..still(&[&[0]]) };
    assert!(set(&[still(&[&[1]]), once]).is_empty());
    let mut uncertain = still(&[&[0]]);
    uncertain.snapshot.as_mut().unwrap().certain = false;
    assert!(set(&[still(&[&[1]]), uncertain]).is_empty());
    assert!(set(&[still(&[&[1]]), still(&[])]).is_empty(), "nobody waits there");
    assert!(set(&[still(&[&[1]]), still(&[&[]])]).is_empty(), "it waits for something else");
    assert!(set(&[still(&[&[9]])]).is_empty(), "a rank that does not exist");
}

#[test]
fn consecutive_equal_reports_are_counted() {
    let snapshot = still(&[&[1]]).snapshot.unwrap();
    let mut seen = Seen::default();
    seen.stalled(snapshot.clone());
    assert_eq!(seen.unchanged, 1);
    seen.stalled(snapshot.clone());
    assert_eq!(seen.unchanged, 2);
    seen.stalled(Snapshot { received: vec![6; 4], ..snapshot.clone() });
    assert_eq!(seen.unchanged, 1);
    seen.stalled(Snapshot { received: vec![6; 4], ..snapshot.clone() });
    seen.moved();
    seen.stalled(Snapshot { received: vec![6; 4], ..snapshot });
    assert_eq!(seen.unchanged, 1);
}

/// The verdict is the largest set: random small jobs against trying every subset.
#[test]
fn the_set_is_the_largest_one_by_exhaustive_comparison() {
    let mut seed = 1u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mut found = 0;
    for _ in 0..3000 {
        let ranks: Vec<Seen> = (0..4)
            .map(|_| match draw(8) {
                0 => computing(),
                1 => finished(),
                _ => {
                    let thread =
                        |draw: &mut dyn FnMut(u64) -> u64| -> Vec<u32> { (0..4).filter(|_| draw(3) == 0).collect() };
                    let threads: Vec<Vec<u32>> = (0..1 + draw(2)).map(|_| thread(&mut draw)).collect();
                    still(&threads.iter().map(Vec::as_slice).collect::<Vec<_>>())
                }
            })
            .collect();
        let closed = |subset: u32| {
            (0..4).filter(|rank| subset & (1 << rank) != 0).all(|rank| {
                let Some(snapshot) = &ranks[rank].snapshot else { return false };
                let hopeless = |to: &Rank| subset & (1 << to.0) != 0 || ranks[to.index()].finished;
                snapshot.waits.iter().all(|wait| !wait.is_empty() && wait.iter().all(hopeless))
            })
        };
        let largest = (0..16u32).filter(|&subset| closed(subset)).fold(0, |all, subset| all | subset);
        let got = deadlocked(&ranks).iter().fold(0, |all, rank| all | 1 << rank.0);
        assert_eq!(got, largest, "{ranks:?}");
        found += u32::from(got != 0);
    }
    assert!(found > 100, "only {found} deadlocks among the samples");
}

#[test]
fn the_report_names_ranks_tags_sizes_and_the_way_out() {
    use OperationKind::{Read, Write};
    let big = 256 << 20;
    let ranks = [with(still(&[&[1]]), &[(Write, 1, 7, big)]), with(still(&[&[0]]), &[(Write, 0, 7, big)])];
    let text = report(&deadlocked(&ranks), &ranks);
    for part in
        ["rank 0 waits for rank 1: initwrite to rank 1, tag 7, 268435456 bytes", "since 3.2 s", "LATHIDE_WINDOW"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(text.contains("on rank 1 call initread"), "{text}");

    let ranks = [with(still(&[&[1]]), &[(Read, 1, 1, 8)]), with(still(&[&[0]]), &[(Read, 0, 2, 8)])];
    let text = report(&deadlocked(&ranks), &ranks);
    assert!(text.contains("call initwrite before the wait"), "{text}");

    // Rank 0 wrote tag 1 before it waits; rank 1 reads tag 2.
    let mut reader = with(still(&[&[0]]), &[(Read, 0, 2, 8)]);
    reader.snapshot.as_mut().unwrap().unread = vec![Unread { from: Rank(0), tag: Tag(1), count: 1 }];
    let ranks = [with(still(&[&[1]]), &[(Read, 1, 3, 8)]), reader];
    let text = report(&deadlocked(&ranks), &ranks);
    for part in [
        "rank 1 has a message of tag 1 from rank 0 that no read has asked for",
        "rank 1 reads tag 2 from rank 0, whose message of tag 1 lies unread: use one tag on both sides",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("every one of these"), "{text}");

    let barrier = |mut seen: Seen| {
        let kind = OperationKind::Collective(crate::operation::Collective::Barrier);
        let state = "messages from or to rank 1 are missing".into();
        let peer = Rank(0);
        let one = Outstanding { kind, peer, tag: None, bytes: 0, done: 0, since_s: 3.0, state };
        seen.snapshot.as_mut().unwrap().outstanding = vec![one];
        seen
    };
    let ranks = [barrier(still(&[&[1]])), with(still(&[&[0]]), &[(Read, 0, 2, 8)])];
    let text = report(&deadlocked(&ranks), &ranks);
    for part in ["rank 0 waits in barrier, since 3.0 s", "rank 0 is in barrier, which rank 1 has not called"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }

    let ranks = [with(still(&[&[1]]), &[(Read, 1, 1, 8)]), with(still(&[&[0]]), &[(Write, 0, 2, 8)])];
    let text = report(&deadlocked(&ranks), &ranks);
    assert!(text.contains("use one tag on both sides"), "{text}");

    let ranks = [with(still(&[&[1]]), &[(Read, 1, 1, 8)]), finished()];
    let text = report(&deadlocked(&ranks), &ranks);
    assert!(text.contains("rank 1 has finished without writing tag 1"), "{text}");

    let many: Vec<_> = (0..1000).map(|tag| (Read, 1, tag, 8)).collect();
    let ranks = [with(still(&[&[1]]), &many), with(still(&[&[0]]), &many)];
    let text = report(&deadlocked(&ranks), &ranks);
    assert!(text.lines().count() < 80 && text.contains("and 1936 more"), "{text}");
}

/// A wait for any rank is hopeless when all others have finished or are hopeless themselves, and not before.
#[test]
fn a_read_of_any_origin_waits_for_whoever_is_left() {
    use OperationKind::{Read, ReadAny};
    let everyone: &[&[u32]] = &[&[0, 1, 2]];
    let master = || with(still(everyone), &[(ReadAny, 0, 4, 8)]);
    assert!(set(&[master(), finished(), computing()]).is_empty());
    assert!(set(&[master(), still(&[&[2]]), computing()]).is_empty(), "rank 2 may set rank 1 free");
    assert_eq!(set(&[master(), finished(), finished()]), [0]);
    assert_eq!(set(&[master(), with(still(&[&[0]]), &[(Read, 0, 1, 8)]), finished()]), [0, 1]);
    assert_eq!(set(&[master(), with(still(everyone), &[(ReadAny, 1, 4, 8)]), finished()]), [0, 1]);
    // It waits beside a thread that can be served.
    assert!(set(&[still(&[&[0, 1, 2], &[2]]), finished(), computing()]).is_empty());

    let ranks = [master(), finished(), finished()];
    let text = report(&deadlocked(&ranks), &ranks);
    for part in ["rank 0 waits for any rank: initread_any, tag 4, up to 8 bytes", "no rank writes it"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let mut other_tag = master();
    other_tag.snapshot.as_mut().unwrap().unread = vec![Unread { from: Rank(2), tag: Tag(5), count: 1 }];
    let ranks = [other_tag, finished(), finished()];
    let text = report(&deadlocked(&ranks), &ranks);
    assert!(text.contains("a message of tag 5 from rank 2 lies unread"), "{text}");
}

#[test]
fn an_undecided_standstill_names_who_may_be_computing() {
    let ranks = [with(still(&[&[1]]), &[(OperationKind::Read, 1, 4, 8)]), computing(), finished()];
    let text = undecided(&ranks, 10.4);
    assert!(text.contains("for 10 s") && text.contains("rank 0 waits for rank 1: initread"), "{text}");
    assert!(text.contains("rank 1 computes or waits"), "{text}");
}
