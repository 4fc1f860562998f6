//! Reductions: every contribution once, in the documented order, and the same bits on every rank.

use super::trial_tests::{Part, Sends, run};
use super::{Algorithm, Call, Operator};
use crate::ids::Rank;
use crate::operation::Collective;

/// The contributions of the ranks `low..high` to element `index`, combined in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) index: u32,
}

/// What nobody wrote; not to be combined.
pub(super) const BLANK: Span = Span { low: 9, high: 0, index: 0 };

/// Associative and not commutative: only neighbours can be combined, the lower one on the left.
pub(super) fn join() -> Operator<Span> {
    Operator::new("join", false, |left: Span, right: Span| {
        assert!(left.low < left.high && right.low < right.high, "{left:?} and {right:?} were written");
        assert_eq!((left.high, left.index), (right.low, right.index), "{left:?} and {right:?} are neighbours");
        Span { low: left.low, high: right.high, index: left.index }
    })
}

/// The contributions of a set of ranks. Associative and commutative.
pub(super) fn unite() -> Operator<(u64, u32)> {
    Operator::new("unite", true, |left: (u64, u32), right: (u64, u32)| {
        assert_eq!((left.0 & right.0, left.1), (0, right.1), "{left:x?} and {right:x?} have nothing in common");
        (left.0 | right.0, left.1)
    })
}

/// Neither: its result tells what was combined with what.
pub(super) fn tangle() -> Operator<u64> {
    Operator::new("tangle", true, |left: u64, right: u64| {
        (left.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ right.rotate_left(29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ 7
    })
}

fn counts(ranks: u32) -> &'static [u32] {
    if ranks <= 20 { &[0, 1, 2, 5, 8, 33] } else { &[1, 5, 67] }
}

/// Runs a reduction by all its algorithms, each with some segments.
fn each(collective: Collective, is_commutative: bool, mut test: impl FnMut(&Call, Algorithm, u64)) {
    for ranks in crate::scale::ranks(64) {
        for &count in counts(ranks) {
            let roots = if collective == Collective::Allreduce {
                vec![0]
            } else if ranks <= 12 || count == 1 {
                (0..ranks).collect()
            } else {
                vec![0, ranks / 2, ranks - 1]
            };
            for root in roots {
                let call = Call::new(collective, ranks, count.into(), 8);
                let call = Call { root: Rank(root), is_commutative, ..call };
                for algorithm in call.algorithms() {
                    let mut segments = vec![0, 2, 5];
                    segments.retain(|&segment| segment == 0 || algorithm.with_segment(segment) != algorithm);
                    for segment in segments {
                        let seed = u64::from(ranks * 10_000 + count * 100 + root);
                        test(&call, algorithm.with_segment(segment), seed + segment);
                    }
                }
            }
        }
    }
}

/// Runs one reduction; `own` is what a rank contributes to an element.
fn reduce<T: Copy + Send + 'static>(
    call: &Call,
    algorithm: Algorithm,
    seed: u64,
    (operator, blank): (&Operator<T>, T),
    own: impl Fn(u32, u32) -> T,
) -> Vec<Vec<T>> {
    let parts = (0..call.ranks).map(|rank| {
        let schedule = call.schedule(algorithm, Rank(rank)).expect("an algorithm for this call");
        let output = (0..call.blocks.longest() as u32).map(|index| own(rank, index)).collect();
        Part { schedule, input: Vec::new(), output }
    });
    let sends = [Sends::Rendezvous, Sends::Taken, Sends::Mixed][seed as usize % 3];
    run(parts.collect(), operator, blank, sends, seed)
}

/// The outputs that must hold the result.
fn results<T>(call: &Call, outputs: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let is_result = |rank: usize| call.collective == Collective::Allreduce || rank == call.root.index();
    outputs.into_iter().enumerate().filter(|(rank, _)| is_result(*rank)).map(|(_, output)| output).collect()
}

#[test]
fn operands_are_combined_in_the_order_of_ranks() {
    for collective in [Collective::Reduce, Collective::Allreduce] {
        each(collective, false, |call, algorithm, seed| {
            let own = |rank, index| Span { low: rank, high: rank + 1, index };
            let outputs = reduce(call, algorithm, seed, (&join(), BLANK), own);
            for output in results(call, outputs) {
                for (index, element) in (0..).zip(output) {
                    let expected = Span { low: 0, high: call.ranks, index };
                    assert_eq!(element, expected, "{call:?} by {algorithm}, seed {seed}");
                }
            }
        });
    }
}

#[test]
fn commutative_operators_meet_every_contribution_once() {
    for collective in [Collective::Reduce, Collective::Allreduce] {
        each(collective, true, |call, algorithm, seed| {
            let own = |rank: u32, index| (1u64 << rank, index);
            let outputs = reduce(call, algorithm, seed, (&unite(), (0, u32::MAX)), own);
            for output in results(call, outputs) {
                for (index, element) in (0..).zip(output) {
                    let expected = (u64::MAX >> (64 - call.ranks), index);
                    assert_eq!(element, expected, "{call:?} by {algorithm}, seed {seed}");
                }
            }
        });
    }
}

/// What a rounding operator gives depends on the algorithm, but not on the order in which messages come, nor on
/// the rank.
#[test]
fn results_are_the_same_bits_on_every_rank_every_time() {
    for collective in [Collective::Reduce, Collective::Allreduce] {
        each(collective, true, |call, algorithm, seed| {
            if call.ranks > 33 {
                return;
            }
            let own = |rank: u32, index: u32| u64::from(rank) << 32 | u64::from(index);
            let run = |seed| results(call, reduce(call, algorithm, seed, (&tangle(), 0), own));
            let (once, again) = (run(seed), run(seed + 1));
            assert_eq!(once, again, "{call:?} by {algorithm}, seed {seed}");
            assert!(once.windows(2).all(|pair| pair[0] == pair[1]), "{call:?} by {algorithm}, seed {seed}");
        });
    }
}

/// The orders that the algorithms' documentation states, for five ranks.
#[test]
fn the_documented_orders() {
    let operator = Operator::new("subtraction", true, |left: i64, right: i64| left - 10 * right);
    let minus = |left: i64, right: i64| left - 10 * right;
    let x = [3i64, 1, 4, 1, 5];
    let result = |collective, root, is_commutative, algorithm, index: usize| {
        let call = Call::new(collective, 5, 5, 8);
        let call = Call { root: Rank(root), is_commutative, ..call };
        let outputs = reduce(&call, algorithm, 1, (&operator, 0), |rank, _| x[rank as usize]);
        outputs[root as usize][index]
    };
    let (all, one) = (Collective::Allreduce, Collective::Reduce);
    let halves = minus(minus(minus(x[0], x[1]), x[2]), minus(x[3], x[4]));
    assert_eq!(result(one, 0, false, Algorithm::Binomial { segment: 0 }, 0), halves);
    assert_eq!(result(one, 4, false, Algorithm::Binomial { segment: 2 }, 4), halves, "whatever the root");
    assert_eq!(result(all, 0, false, Algorithm::Binomial { segment: 0 }, 0), halves);
    // Rank 0's children are 1 (with 2 and 3 below) and 4.
    let heap = minus(minus(x[0], minus(minus(x[1], x[2]), x[3])), x[4]);
    assert_eq!(result(one, 0, false, Algorithm::Binary { segment: 0 }, 0), heap);
    assert_eq!(result(one, 3, false, Algorithm::Binary { segment: 0 }, 0), heap);
    assert_eq!(result(all, 0, false, Algorithm::Global, 0), heap);
    let around = |from: usize| (0..5).map(|by| x[(from + by) % 5]).collect::<Vec<_>>();
    let chain = |x: &[i64]| x.iter().rev().copied().reduce(|right, left| minus(left, right)).unwrap();
    assert_eq!(result(one, 2, true, Algorithm::Chain { segment: 1 }, 0), chain(&around(2)));
    let meeting = minus(minus(minus(x[0], x[1]), x[2]), minus(x[3], x[4]));
    assert_eq!(result(one, 2, false, Algorithm::Chain { segment: 1 }, 0), meeting);
    assert_eq!(result(all, 0, false, Algorithm::Chain { segment: 1 }, 0), chain(&x));
    for block in 0..5 {
        let ring = around(block).into_iter().reduce(minus).unwrap();
        assert_eq!(result(all, 0, true, Algorithm::Ring, block), ring);
    }
    // Groups (01), 2, 3, 4: those two apart first. Each group's block is one element or two.
    let halving = minus(minus(minus(x[0], x[1]), x[3]), minus(x[2], x[4]));
    for element in 0..5 {
        assert_eq!(result(all, 0, true, Algorithm::Halving, element), halving);
    }
    // Pairs: (0, 1), then groups of (01), 2, 3, 4.
    let doubling = minus(minus(minus(x[0], x[1]), x[2]), minus(x[3], x[4]));
    assert_eq!(result(all, 0, true, Algorithm::Doubling, 0), doubling);
}
