//! Shares are whole, all, and the best.

use proptest::prelude::*;

use super::{last_end, shares};

/// The earliest last end of all ways to give out `units`.
fn by_trying_all(units: u64, speeds: &[f64]) -> f64 {
    let (&speed, others) = speeds.split_last().expect("a node");
    if others.is_empty() {
        return units as f64 / speed;
    }
    (0..=units).map(|own| (own as f64 / speed).max(by_trying_all(units - own, others))).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn no_other_way_ends_earlier(units in 0..24u64, speeds in prop::collection::vec(0.1..10.0, 1..5)) {
        let ours = shares(units, &speeds).unwrap();
        prop_assert_eq!(ours.iter().sum::<u64>(), units);
        let (end, best) = (last_end(&ours, &speeds).unwrap(), by_trying_all(units, &speeds));
        prop_assert!((end - best).abs() <= 1e-12 * best, "{ours:?} end at {end}, the best at {best}");
    }

    /// Whatever the speeds are, all is given out; and no node has more than its part and one.
    #[test]
    fn all_is_given_out(
        units in 0..1u64 << 53, speeds in prop::collection::vec(prop_oneof![1e-300..1e300, 1e-3..1e3, Just(1.0)], 1..200),
    ) {
        let ours = shares(units, &speeds).unwrap();
        prop_assert_eq!(ours.iter().sum::<u64>(), units);
        let all: f64 = speeds.iter().sum();
        for (share, speed) in ours.iter().zip(&speeds) {
            let part = units as f64 * (speed / all);
            prop_assert!(*share as f64 <= part + speeds.len() as f64, "{share} of {part}");
        }
    }
}

#[test]
fn shares_by_hand() {
    assert_eq!(shares(7, &[1.0, 1.0, 2.0]), Ok(vec![2, 2, 3]), "all end at 2; 2, 1, 4 would end then, too");
    assert_eq!(shares(2, &[1.0, 5.0, 5.0]), Ok(vec![0, 1, 1]));
    assert_eq!(shares(0, &[1.0]), Ok(vec![0]));
    assert_eq!(last_end(&[256, 256, 512], &[1.0, 1.0, 2.0]), Ok(256.0));
}

#[test]
fn speeds_that_are_none() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(shares(4, &[1.0, bad]).unwrap_err().name, "speed");
        assert_eq!(last_end(&[1, 1], &[1.0, bad]).unwrap_err().name, "speed");
    }
    assert_eq!(shares(4, &[]).unwrap_err().name, "number of speeds");
    assert_eq!(shares(4, &[f64::MAX, f64::MAX]).unwrap_err().name, "sum of the speeds");
    assert_eq!(shares(1 << 53, &[1.0]).unwrap_err().name, "n");
    assert_eq!(last_end(&[1], &[1.0, 2.0]).unwrap_err().name, "number of shares");
}
