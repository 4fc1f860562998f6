use proptest::prelude::*;

use super::*;

const SIZES: [u64; 10] = [8, 128, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// Times with these (a', b') for each n, `noise` of them up or down by a seed, sometimes much longer.
fn observed(pairs: &[u32], block: impl Fn(u32) -> (f64, f64), noise: f64, seed: u64) -> Vec<Observed> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut all = Vec::new();
    for repeat in 0..5 {
        for &pairs in pairs {
            let (a, b) = block(pairs);
            for bytes in SIZES {
                let disturbed = if next() < 0.04 { 1.0 + 4.0 * next() } else { 1.0 };
                let time_s = (a + b * bytes as f64) * (1.0 + noise * (2.0 * next() - 1.0)) * disturbed;
                all.push(Observed { repeat, pairs, bytes, time_s });
            }
        }
    }
    all
}

fn loads(pairs: &[u32], per_port: impl Fn(u32) -> u32) -> Vec<Load> {
    pairs.iter().map(|&pairs| Load { pairs, per_port: per_port(pairs), processor: None }).collect()
}

const B: f64 = 1e-8;

proptest! {
    #![proptest_config(crate::scale::cases(48))]

    #[test]
    fn a_shared_medium_is_found(
        a in 2e-5..1e-3_f64, share in 0.0..0.3_f64, part in 0.55..1.0_f64, noise in 0.0..0.08_f64, seed: u64,
    ) {
        let (pairs, b_c) = ([1, 2, 4, 8], part * B);
        let block = |n: u32| (a + share * a * f64::from(n), B.max(f64::from(n) * b_c));
        let found = fit(&observed(&pairs, block, noise, seed), &loads(&pairs, |_| 1)).unwrap();
        prop_assert_eq!(found.medium, Medium::Shared);
        prop_assert!((found.network_b_s_per_byte / b_c - 1.0).abs() < 0.01 + noise, "{:?}", found);
        prop_assert!((found.network_a_s - share * a).abs() < (0.03 + noise) * 2.0 * a, "{:?}", found);
        prop_assert!(found.aggregate_is_limit && found.errors.median_error < 0.03 + noise, "{:?}", found);
        let aggregate = found.aggregate_bytes_per_s.unwrap() * found.network_b_s_per_byte;
        prop_assert!((aggregate - 1.0).abs() < 1e-9, "L(p): {}", aggregate);
    }

    #[test]
    fn a_switch_is_a_result(a in 2e-5..1e-3_f64, noise in 0.0..0.08_f64, seed: u64) {
        let pairs = [1, 2, 4, 8];
        let found = fit(&observed(&pairs, |_| (a, B), noise, seed), &loads(&pairs, |_| 1)).unwrap();
        prop_assert_eq!(found.medium, Medium::Switched);
        prop_assert_eq!(found.network_b_s_per_byte, 0.0);
        prop_assert!((found.network_b_error_s_per_byte / (B / 8.0) - 1.0).abs() < 0.02 + noise, "{:?}", found);
        prop_assert!(!found.aggregate_is_limit);
        let (_, b) = found.at(16, 1);
        prop_assert!((b / B - 1.0).abs() < 0.02 + noise);
    }

    /// Two hosts with four ranks each beside four with one: the pairs of a host wait for each other only.
    #[test]
    fn a_port_is_told_from_a_medium(a in 2e-5..1e-3_f64, noise in 0.0..0.08_f64, seed: u64) {
        let (pairs, per_port) = ([1, 2, 4, 8], |n: u32| n.div_ceil(2));
        let block = |n: u32| (a, B * f64::from(per_port(n)));
        let found = fit(&observed(&pairs, block, noise, seed), &loads(&pairs, per_port)).unwrap();
        prop_assert_eq!(found.medium, Medium::Port);
        prop_assert_eq!(found.network_b_s_per_byte, 0.0);
        prop_assert!((found.port_b_s_per_byte.unwrap() / B - 1.0).abs() < 0.01 + noise, "{:?}", found);
        prop_assert!((found.at(4, 4).1 / (4.0 * B) - 1.0).abs() < 0.02 + noise);
    }
}

#[test]
fn a_switch_with_a_limit_is_a_medium_from_there_on() {
    let pairs = [1, 2, 4, 8];
    let found =
        fit(&observed(&pairs, |n| (1e-4, B.max(0.2 * B * f64::from(n))), 0.02, 7), &loads(&pairs, |_| 1)).unwrap();
    assert_eq!(found.medium, Medium::Shared);
    assert!((found.network_b_s_per_byte / (0.2 * B) - 1.0).abs() < 0.03, "{found:?}");
    assert_eq!(found.at(4, 1).1, found.slower_s_per_byte, "four are no load");
}

/// Messages of a few packets take longer than a line, as on TCP: b is that of the long ones.
#[test]
fn a_bump_between_does_not_turn_the_line() {
    let pairs = [1, 2, 4];
    let mut all = observed(&pairs, |n| (3e-4, 10.0 * B * f64::from(n)), 0.01, 11);
    let bump = |one: &Observed| if one.bytes >= 4 << 10 { 1e-3 } else { 0.0 };
    all.iter_mut().for_each(|one| one.time_s += bump(one));
    let found = fit(&all, &loads(&pairs, |_| 1)).unwrap();
    assert!((found.network_b_s_per_byte / (10.0 * B) - 1.0).abs() < 0.01, "{found:?}");
}

/// Losses with two pairs, which prolong most messages by more or less, do not count as much as four pairs without.
#[test]
fn what_is_sure_counts_more() {
    let pairs = [1, 2, 4];
    let mut all = observed(&pairs, |n| (1e-5, B * f64::from(n)), 0.01, 13);
    for (at, one) in all.iter_mut().enumerate().filter(|(_, one)| one.pairs == 2) {
        one.time_s *= 1.1 + 0.1 * (at % 7) as f64;
    }
    let found = fit(&all, &loads(&pairs, |_| 1)).unwrap();
    assert_eq!(found.medium, Medium::Shared);
    assert!((found.network_b_s_per_byte / B - 1.0).abs() < 0.02, "{found:?}");
}

#[test]
fn where_all_pairs_share_a_port_nothing_is_said_of_the_medium() {
    let pairs = [1, 2];
    let all = observed(&pairs, |n| (1e-4, B * f64::from(n)), 0.02, 3);
    let of = |per_port: fn(u32) -> u32| fit(&all, &loads(&pairs, per_port)).unwrap().medium;
    assert_eq!(of(|n| n), Medium::Port);
    assert_eq!(of(|_| 1), Medium::Shared);
}

#[test]
fn processors_without_time_are_no_network() {
    let pairs = [1, 2, 4];
    let all = observed(&pairs, |n| (1e-4, B * f64::from(n)), 0.02, 5);
    let of = |own, busy| {
        let mut loads = loads(&pairs, |_| 1);
        loads[2].processor = Some(Processor { own, busy });
        fit(&all, &loads).unwrap()
    };
    assert_eq!(of(0.6, 0.97).medium, Medium::Processor);
    assert_eq!(of(0.05, 1.0).medium, Medium::Shared, "others keep them busy");
    assert_eq!(of(0.4, 0.5).medium, Medium::Shared, "there is time left");
    assert!(!of(0.6, 0.97).aggregate_is_limit);
}

#[test]
fn where_others_compute_a_little_slower_is_not_called_shared() {
    let of = |slower: f64, busy| {
        let all = observed(&[1, 2], |n| (1e-4, if n > 1 { slower * B } else { B }), 0.01, 15);
        let mut loads = loads(&[1, 2], |_| 1);
        loads[1].processor = Some(Processor { own: 0.17, busy });
        fit(&all, &loads).unwrap().medium
    };
    assert_eq!(of(1.2, 1.0), Medium::Unclear);
    assert_eq!(of(1.2, 0.5), Medium::Shared, "there is time left");
    assert_eq!(of(2.0, 1.0), Medium::Shared, "by as much as there are pairs");
}

#[test]
fn what_noise_hides_is_not_called_switched() {
    let pairs = [1, 2];
    let mut all = observed(&pairs, |n| (1e-5, B * f64::from(n)), 0.01, 17);
    for (at, one) in all.iter_mut().enumerate() {
        one.time_s *= [0.2, 1.0, 5.0, 0.4, 2.0, 0.1, 9.0][at % 7];
    }
    let found = fit(&all, &loads(&pairs, |_| 1)).unwrap();
    assert_eq!(found.medium, Medium::Unclear, "{found:?}");
    assert_eq!((found.network_b_s_per_byte, found.aggregate_is_limit), (0.0, false));
}

#[test]
fn too_little_is_no_result() {
    let all = observed(&[1, 2], |n| (1e-4, B * f64::from(n)), 0.0, 1);
    assert_eq!(fit(&all, &[]), None);
    assert_eq!(fit(&all, &loads(&[2], |_| 1)), None, "one pair alone is what the others are compared with");
    assert_eq!(fit(&all, &loads(&[1, 2, 4], |_| 1)), None, "four were not measured");
    let few: Vec<Observed> = all.iter().filter(|one| one.bytes < 2000).copied().collect();
    assert_eq!(fit(&few, &loads(&[1, 2], |_| 1)), None, "three sizes");
}

/// One pair and two tell a_c and b_c as in the paper.
#[test]
fn it_is_eq_17_without_noise() {
    let pairs = [1, 2];
    let block = |n: u32| (2.0 * 3e-4 + f64::from(n) * 1e-4, (0.8 * B).max(f64::from(n) * 0.6 * B));
    let found = fit(&observed_exactly(&pairs, block), &loads(&pairs, |_| 1)).unwrap();
    let [one, two] = [1, 2].map(|n| Block::new(block(n).0, block(n).1).unwrap());
    let estimate = crate::hyperbolic::Estimate::of_pairs(one, 2, two).unwrap();
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    near(found.network_a_s, estimate.network.a_s());
    near(found.network_b_s_per_byte, estimate.network.b_s_per_byte());
    near(found.workstation_a_s, estimate.workstation_a_s);
    near(found.slower_s_per_byte, estimate.slower_s_per_byte);
}

fn observed_exactly(pairs: &[u32], block: impl Fn(u32) -> (f64, f64)) -> Vec<Observed> {
    let each = |pairs: u32| SIZES.map(|bytes| (pairs, bytes, block(pairs)));
    let all = pairs.iter().flat_map(|pairs| each(*pairs));
    all.map(|(pairs, bytes, (a, b))| Observed { repeat: 0, pairs, bytes, time_s: a + b * bytes as f64 }).collect()
}
