//! Who watches the links: beside `schedules`, which tries the order of things, how long it takes.

use std::time::Duration;

use super::ownership::{BRIEF, Ownership, TICK, TICK_MAX};
use super::poller::Poller;

const US: Duration = Duration::from_micros(1);

/// A wait of a program that was away for so long. Returns whether the task is to begin ticking.
fn wait(ownership: &Ownership, poller: &Poller, now: &mut Duration, away: Duration) -> bool {
    *now += away;
    ownership.program_enters(*now);
    ownership.helper_takes(poller);
    let ticks = ownership.helper_leaves(poller, || true);
    ownership.program_leaves(*now);
    ticks
}

#[test]
fn whoever_computes_again_has_the_task_at_once() {
    let (ownership, poller, mut now) = (Ownership::new(), Poller::new().unwrap(), Duration::ZERO);
    assert!(!wait(&ownership, &poller, &mut now, BRIEF), "it has computed");
    assert!(wait(&ownership, &poller, &mut now, US), "waits follow each other");
    assert!((0..100).all(|_| !wait(&ownership, &poller, &mut now, US)), "the task ticks already");
    assert!(ownership.waits_follow());
    assert!(!wait(&ownership, &poller, &mut now, BRIEF));
    assert!(!ownership.waits_follow());
    assert!(poller.arm_task_set(true), "it was armed");
    assert_eq!(ownership.tick(&poller, || false), None);
}

#[test]
fn ticks_are_longer_the_longer_waits_follow_each_other() {
    let (ownership, poller, mut now) = (Ownership::new(), Poller::new().unwrap(), Duration::ZERO);
    let mut ticks = || {
        wait(&ownership, &poller, &mut now, BRIEF);
        assert!(wait(&ownership, &poller, &mut now, US));
        let next = |_| {
            wait(&ownership, &poller, &mut now, US);
            ownership.tick(&poller, || false).expect("waits follow each other")
        };
        (0..200).map(next).collect::<Vec<_>>()
    };
    let first = ticks();
    assert!(first.is_sorted() && first[..16] == [TICK; 16] && first.ends_with(&[TICK_MAX]), "{first:?}");
    assert!(ticks()[0] > TICK, "a while of computing is not all");
    assert!(ownership.tick(&poller, || false).is_none(), "no wait since");
    assert!(poller.arm_task_set(true), "it was armed");
}
