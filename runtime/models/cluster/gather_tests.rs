//! Bounds, windows and plans of gather, against counting by hand.

use super::*;

/// The definition of eq. (7), tried one x after the other.
fn by_trial(senders: u32, lower: u32, upper: u32, even_is_fine: bool) -> Option<u32> {
    (lower..=upper.min(senders)).rev().find(|x| {
        let last_group = senders % x;
        last_group >= lower || (even_is_fine && last_group == 0)
    })
}

#[test]
fn windows_are_those_of_the_definition() {
    for senders in 1..=60 {
        for lower in 1..=senders + 2 {
            for upper in 0..=senders + 2 {
                // g_r = 1 s, g_s = lower, and B so that upper = floor(lower + B) with one packet each.
                if upper < lower {
                    continue;
                }
                let (g_s, buffer) = (f64::from(lower), f64::from(upper - lower) + 0.5);
                let ours = window(senders + 1, g_s, 1.0, buffer, 1).unwrap();
                let expected = by_trial(senders, lower, upper, true);
                assert_eq!((ours.lower_bound, ours.upper_bound), (lower, upper));
                assert_eq!(ours.senders, expected.unwrap_or(lower), "{senders} senders, {lower} to {upper}");
                assert_eq!(ours.meets_bounds, expected.is_some());
                let printed = window_printed(senders + 1, g_s, 1.0, buffer, 1).unwrap();
                assert_eq!(printed, by_trial(senders, lower, upper, false), "{senders} senders, {lower} to {upper}");
            }
        }
    }
}

#[test]
fn a_window_of_four_billion_senders_is_found_at_once() {
    // 4e9 senders, at least 1e9 at a time: 4e9 itself would do, but only half of them fit.
    let found = window(4_000_000_001, 1e9, 1.0, 999_999_998.0, 1).unwrap();
    assert_eq!((found.lower_bound, found.upper_bound), (1_000_000_000, 1_999_999_998));
    assert_eq!((found.senders, found.meets_bounds), (1_500_000_000, true));
}

#[test]
fn a_single_sender_that_overruns_the_buffer_has_no_window() {
    // The receiver is slower than one sender, and the buffer too small for the difference.
    let window = window(8, 1.0, 2.0, 10.0, 100).unwrap();
    assert_eq!(window, Window { senders: 1, lower_bound: 1, upper_bound: 0, meets_bounds: false });
}

#[test]
fn rounding_of_seconds_does_not_move_a_bound() {
    for unit in [1.0, 1e-3, 1e-6, 1e-9, 0.3e-6, 7e-5] {
        for ratio in 1..50 {
            let (g_s, g_r) = (f64::from(ratio) * unit, unit);
            assert_eq!(lower_bound(g_s, g_r).unwrap(), ratio, "unit {unit}");
            assert_eq!(upper_bound(g_s, g_r, 20.0, 10).unwrap(), ratio + 2, "unit {unit}");
        }
    }
}

/// Within the bounds the stage of eq. (4) loses nothing and never idles; one sender more, and it loses.
#[test]
fn the_bounds_are_those_of_the_transfer_ratio() {
    let (g_s, g_r, buffer, each) = (3.0, 1.0, 250.0, 100);
    let ratio =
        |senders: u32| transfer_ratio(f64::from(senders) / g_s, 1.0 / g_r, buffer, u64::from(senders) * each).unwrap();
    let upper = upper_bound(g_s, g_r, buffer, each).unwrap();
    assert_eq!((lower_bound(g_s, g_r).unwrap(), upper), (3, 5));
    assert_eq!(ratio(upper), 1.0);
    assert!(ratio(upper + 1) < 1.0);
    assert_eq!(fill_time_s(1.0, 1.0, buffer).unwrap(), None, "three senders just keep the receiver busy");
    assert_eq!(fill_time_s(2.0, 1.0, buffer).unwrap(), Some(250.0));
}

/// Runs Algorithm 1: everybody sends once, at most w at a time, and nobody is left waiting.
#[test]
fn a_plan_starts_every_sender_exactly_once() {
    for processors in 2..40 {
        for window in 1..=processors + 1 {
            let plan = Plan::with_window(processors, window).unwrap();
            let mut started: Vec<u32> = (1..processors).filter(|j| plan.waits_for(*j).unwrap().is_none()).collect();
            assert_eq!(started.len() as u32, plan.window());
            let (mut active, mut rounds) = (started.clone(), 0);
            while !active.is_empty() {
                rounds += 1;
                assert!(active.len() as u32 <= plan.window());
                let next: Vec<u32> = active.iter().filter_map(|j| plan.signals(*j).unwrap()).collect();
                for (j, before) in next.iter().zip(&active) {
                    assert_eq!(plan.waits_for(*j).unwrap(), Some(*before), "who signals is who is waited for");
                }
                started.extend(&next);
                active = next;
            }
            started.sort_unstable();
            assert_eq!(started, (1..processors).collect::<Vec<_>>());
            assert_eq!(rounds, plan.longest_chain());
            assert_eq!((plan.waits_for(0).unwrap(), plan.signals(0).unwrap()), (None, None), "the receiver");
            for chain in plan.chains() {
                assert!(chain.windows(2).all(|pair| plan.signals(pair[0]).unwrap() == Some(pair[1])), "{chain:?}");
                assert_eq!((plan.waits_for(chain[0]), plan.signals(chain[chain.len() - 1])), (Ok(None), Ok(None)));
            }
            assert_eq!(plan.chains().concat().len() as u32, processors - 1, "each sends once");
        }
    }
}

#[test]
fn all_send_at_once_if_the_buffer_holds_everything() {
    assert_eq!(Plan::new(16, 3, 1500.0, 100).unwrap().window(), 3, "B = p' i is not above it");
    let plan = Plan::new(16, 3, 1501.0, 100).unwrap();
    assert_eq!((plan.window(), plan.longest_chain()), (15, 1));
}

#[test]
fn a_whole_gather_is_put_together_from_its_parts() {
    let table = Parameters::table_1();
    let gather = table.gather(700.0 * 1500.0, 1500.0, 16).unwrap();
    assert_eq!(gather.packets_each, 700);
    assert_eq!((gather.window.senders, gather.plan.longest_chain()), (3, 5));
    assert!((gather.bound_s - 1_293_944.087_109_248_6e-6).abs() < 1e-9, "as the golden value: {}", gather.bound_s);
    // D/A + B/k with A = 15/g_s, D = 1/g_r: a fifteenth of 0.99, and 1935 of 10500.
    assert!((gather.all_at_once_ratio - (122.427 / 123.186 / 15.0 + 1935.0 / 10_500.0)).abs() < 1e-9);
    let small = table.gather(1000.0, 1500.0, 16).unwrap();
    assert_eq!((small.packets_each, small.plan.window(), small.all_at_once_ratio), (1, 15, 1.0));
    assert_eq!(gather_bound_s(1, 1, 1.0, 1.0, 1.0).unwrap(), 0.0, "nothing to gather");
}
