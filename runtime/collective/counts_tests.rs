//! Alltoalls in which each rank knows its own lengths, reduce-scatters and scans: the right result by every algorithm, for
//! every number of ranks, in the documented order of operands.

use super::correct_tests::{BLANK, SENDS, all, block, nothing, variants, with_blocks};
use super::order_tests::{self, Span, join, tangle, unite};
use super::trial_tests::{Chance, Part, check_hazards, run};
use super::{Algorithm, Blocks, Call, Operator};
use crate::ids::Rank;
use crate::operation::Collective;

/// The call of `rank`, of whose lengths it knows its own: `count(from, to)`.
fn own(call: &Call, rank: u32, count: impl Fn(u32, u32) -> u64) -> Call {
    let sent = (0..call.ranks).map(|to| count(rank, to)).collect();
    let received = (0..call.ranks).map(|from| count(from, rank)).collect();
    Call { blocks: Blocks::Own { sent, received }, ..call.clone() }
}

/// Lengths of all pairs, most of them different, a third of them 0.
fn matrix(ranks: u32, most: u64, seed: u64) -> impl Fn(u32, u32) -> u64 {
    let mut chance = Chance(seed);
    let mut length = || if chance.below(3) == 0 { 0 } else { chance.below(most as usize + 1) as u64 };
    let lengths: Vec<u64> = (0..ranks * ranks).map(|_| length()).collect();
    move |from, to| lengths[(from * ranks + to) as usize]
}

#[test]
fn alltoalls_of_different_lengths() {
    all(Collective::Alltoall, false, |call, seed| {
        let count = matrix(call.ranks, call.blocks.longest(), seed);
        for (at, algorithm) in variants(&own(&call, 0, &count)).into_iter().enumerate() {
            let parts = (0..call.ranks).map(|rank| {
                let schedule = own(&call, rank, &count).schedule(algorithm, Rank(rank)).expect("an algorithm");
                check_hazards(&schedule);
                let input = (0..call.ranks).flat_map(|to| block(rank, to, count(rank, to))).collect();
                let received: u64 = (0..call.ranks).map(|from| count(from, rank)).sum();
                Part { schedule, input, output: vec![BLANK; received as usize] }
            });
            let outputs = run(parts.collect(), &nothing(), BLANK, SENDS[(seed as usize + at) % 3], seed);
            for (rank, output) in (0..).zip(outputs) {
                let expected: Vec<u64> =
                    (0..call.ranks).flat_map(|from| block(from, rank, count(from, rank))).collect();
                assert_eq!(output, expected, "rank {rank} of {call:?} by {algorithm}, seed {seed}");
            }
        }
    });
}

/// Two ranks exchange a message each, whatever its length: one that does not fit is met, and not waited for.
#[test]
fn an_alltoall_tells_of_empty_blocks() {
    use super::schedule::Action;
    for ranks in 1..=9 {
        let call = Call::new(Collective::Alltoall, ranks, 0, 8);
        assert_eq!(own(&call, 0, |_, _| 0).schedule(Algorithm::Bruck, Rank(0)), None, "others know no lengths");
        for algorithm in own(&call, 0, |_, _| 0).algorithms() {
            let schedule = own(&call, 0, |_, _| 0).schedule(algorithm, Rank(0)).expect("an algorithm");
            let signals =
                schedule.steps().filter(|step| matches!(schedule.action(*step), Action::Signal { .. })).count();
            assert_eq!((signals, schedule.len()), (ranks as usize - 1, 2 * (ranks as usize - 1)));
        }
    }
}

/// Runs a reduction with blocks by all algorithms; `contribution(rank, index)`. Returns what each rank has in the end.
fn reduced<T: Copy + Send + 'static>(
    call: &Call,
    seed: u64,
    (operator, blank): (&Operator<T>, T),
    contribution: impl Fn(u32, u32) -> T,
) -> Vec<(Algorithm, Vec<Vec<T>>)> {
    let total = match call.collective {
        Collective::ReduceScatter => call.blocks.total(call.ranks),
        _ => call.blocks.longest(),
    };
    let by = |(at, algorithm): (usize, Algorithm)| {
        let parts = (0..call.ranks).map(|rank| {
            let schedule = call.schedule(algorithm, Rank(rank)).expect("an algorithm for this call");
            let own: Vec<T> = (0..total as u32).map(|index| contribution(rank, index)).collect();
            match call.collective {
                Collective::Exscan => Part { schedule, output: vec![blank; own.len()], input: own },
                _ => Part { schedule, input: Vec::new(), output: own },
            }
        });
        (algorithm, run(parts.collect(), operator, blank, SENDS[(seed as usize + at) % 3], seed))
    };
    variants(call).into_iter().enumerate().map(by).collect()
}

#[test]
fn reduce_scatters_combine_in_the_order_of_ranks() {
    all(Collective::ReduceScatter, false, |call, seed| {
        for call in with_blocks(&Call { is_commutative: false, ..call }, seed) {
            let own = |rank, index| Span { low: rank, high: rank + 1, index };
            for (algorithm, outputs) in reduced(&call, seed, (&join(), order_tests::BLANK), own) {
                for (rank, output) in (0..call.ranks).zip(outputs) {
                    for index in call.blocks.range(rank..rank + 1) {
                        let expected = Span { low: 0, high: call.ranks, index: index as u32 };
                        assert_eq!(output[index as usize], expected, "{call:?} by {algorithm}, seed {seed}");
                    }
                }
            }
        }
    });
}

#[test]
fn reduce_scatters_meet_every_contribution_once() {
    all(Collective::ReduceScatter, false, |call, seed| {
        for call in with_blocks(&call, seed) {
            let own = |rank: u32, index| (1u64 << rank, index);
            for (algorithm, outputs) in reduced(&call, seed, (&unite(), (0, u32::MAX)), own) {
                for (rank, output) in (0..call.ranks).zip(outputs) {
                    for index in call.blocks.range(rank..rank + 1) {
                        let expected = (u64::MAX >> (64 - call.ranks), index as u32);
                        assert_eq!(output[index as usize], expected, "{call:?} by {algorithm}, seed {seed}");
                    }
                }
            }
        }
    });
}

/// Commutative operators too.
#[test]
fn scans_combine_in_the_order_of_ranks() {
    for (collective, is_commutative) in
        [(Collective::Scan, false), (Collective::Scan, true), (Collective::Exscan, false), (Collective::Exscan, true)]
    {
        all(collective, false, |call, seed| {
            let call = Call { is_commutative, ..call };
            let own = |rank, index| Span { low: rank, high: rank + 1, index };
            for (algorithm, outputs) in reduced(&call, seed, (&join(), order_tests::BLANK), own) {
                for (rank, output) in (0..call.ranks).zip(outputs) {
                    let expected = |index| match (collective, rank) {
                        (Collective::Scan, rank) => Span { low: 0, high: rank + 1, index },
                        (_, 0) => order_tests::BLANK,
                        (_, rank) => Span { low: 0, high: rank, index },
                    };
                    let expected: Vec<Span> = (0..output.len() as u32).map(expected).collect();
                    assert_eq!(output, expected, "{call:?} by {algorithm}, seed {seed}");
                }
            }
        });
    }
}

/// A rounding operator gives the same bits every time, in whatever order messages come.
#[test]
fn results_are_the_same_bits_every_time() {
    for collective in [Collective::ReduceScatter, Collective::Scan, Collective::Exscan] {
        for ranks in 1..=17 {
            for call in with_blocks(&Call::new(collective, ranks, 7, 8), ranks.into()) {
                // Scans have no blocks.
                if collective != Collective::ReduceScatter && matches!(call.blocks, Blocks::Each(_)) {
                    continue;
                }
                let own = |rank: u32, index: u32| u64::from(rank) << 32 | u64::from(index);
                let run = |seed| -> Vec<Vec<u64>> {
                    let all = reduced(&call, seed, (&tangle(), 0), own);
                    let result = |(rank, output): (u32, Vec<u64>)| match collective {
                        Collective::ReduceScatter => {
                            let std::ops::Range { start, end } = call.blocks.range(rank..rank + 1);
                            output[start as usize..end as usize].to_vec()
                        }
                        _ => output,
                    };
                    all.into_iter().flat_map(|(_, outputs)| (0..).zip(outputs).map(result)).collect()
                };
                assert_eq!(run(1), run(2), "{call:?}");
            }
        }
    }
}

/// Steps under way at once keep apart, whatever the lengths.
#[test]
fn steps_with_different_lengths_do_not_clash() {
    for collective in [Collective::Allgather, Collective::Gather, Collective::ReduceScatter, Collective::Scatter] {
        for ranks in (1..=17).chain([23]) {
            for call in with_blocks(&Call::new(collective, ranks, 5, 8), u64::from(ranks) + 7) {
                for algorithm in variants(&call) {
                    for rank in 0..ranks {
                        check_hazards(&call.schedule(algorithm, Rank(rank)).expect("an algorithm"));
                    }
                }
            }
        }
    }
}

/// The orders that the algorithms' documentation states, for five ranks.
#[test]
fn the_documented_orders() {
    let minus = |left: i64, right: i64| left - 10 * right;
    let operator = Operator::new("subtraction", true, minus);
    let x = [3i64, 1, 4, 1, 5];
    let result = |algorithm| {
        let call = Call::new(Collective::ReduceScatter, 5, 1, 8);
        let parts = (0..5).map(|rank| {
            let schedule = call.schedule(algorithm, Rank(rank)).expect("an algorithm");
            Part { schedule, input: Vec::new(), output: vec![x[rank as usize]; 5] }
        });
        let outputs = run(parts.collect(), &operator, 0, SENDS[2], 1);
        outputs.iter().enumerate().map(|(rank, output)| output[rank]).collect::<Vec<_>>()
    };
    let ring = |own: usize| (1..=5).map(|by| x[(own + by) % 5]).reduce(minus).expect("five");
    assert_eq!(result(Algorithm::Ring), [0, 1, 2, 3, 4].map(ring));
    let to_the_right = |x: &[i64]| x.iter().rev().copied().reduce(|right, left| minus(left, right));
    let pairwise = |own: usize| match (to_the_right(&x[..=own]), to_the_right(&x[own + 1..])) {
        (Some(low), Some(high)) => minus(low, high),
        (low, high) => low.or(high).expect("five"),
    };
    assert_eq!(result(Algorithm::Pairwise { window: 1 }), [0, 1, 2, 3, 4].map(pairwise));
}
