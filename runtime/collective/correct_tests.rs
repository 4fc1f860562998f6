//! Every operation, every algorithm, every number of ranks and every root: the right result, whatever the order.

use std::sync::Arc;

use super::exchange::{self, Shift};
use super::trial_tests::{Chance, Part, Sends, check_hazards, run};
use super::{Algorithm, Blocks, Call, Operator, gather};
use crate::ids::Rank;
use crate::operation::Collective;

/// What nobody wrote.
pub(super) const BLANK: u64 = u64::MAX;

/// Element `index` of what `rank` contributes to block `block`.
fn element(rank: u32, block: u32, index: u64) -> u64 {
    (u64::from(rank) << 48) | (u64::from(block) << 32) | index
}

pub(super) fn block(rank: u32, block: u32, count: u64) -> Vec<u64> {
    (0..count).map(|index| element(rank, block, index)).collect()
}

pub(super) fn nothing() -> Operator<u64> {
    Operator::new("nothing", false, |_, _| panic!("nothing is combined here"))
}

/// All variants of the algorithms: with segments and windows of some lengths.
pub(super) fn variants(call: &Call) -> Vec<Algorithm> {
    let mut variants = Vec::new();
    for algorithm in call.algorithms() {
        match algorithm {
            Algorithm::Windowed { .. } => {
                variants.extend([0, 1, 3, 70].map(|window| Algorithm::Windowed { window }));
            }
            Algorithm::Granted { .. } => {
                let all = [(1, 0), (2, 1), (3, 2), (70, 0), (5, 3)];
                variants.extend(all.map(|(window, segment)| Algorithm::Granted { window, segment }));
            }
            Algorithm::Pairwise { .. } => {
                variants.extend([0, 1, 2, 5].map(|window| Algorithm::Pairwise { window }));
            }
            other => variants.extend([0, 1, 2, 5].map(|segment| other.with_segment(segment))),
        }
    }
    variants.dedup();
    variants
}

pub(super) const SENDS: [Sends; 3] = [Sends::Rendezvous, Sends::Taken, Sends::Mixed];

/// What of a vector may hold anything at the end is left out of the comparison.
type Expected = Option<Vec<u64>>;

/// Runs `call` by all variants, in orders from seeds.
fn check(call: &Call, seed: u64, data: impl Fn(u32) -> (Vec<u64>, Vec<u64>, Expected)) {
    for (variant, algorithm) in variants(call).into_iter().enumerate() {
        let sends = SENDS[(seed as usize + variant) % SENDS.len()];
        let context = format!("{call:?} by {algorithm}, {sends:?}, seed {seed}");
        let mut expected = Vec::new();
        let parts = (0..call.ranks).map(|rank| {
            let schedule = call.schedule(algorithm, Rank(rank)).expect("an algorithm for this call");
            let (input, output, result) = data(rank);
            expected.push(result);
            Part { schedule, input, output }
        });
        let parts: Vec<_> = parts.collect();
        let outputs = std::panic::catch_unwind(|| run(parts, &nothing(), BLANK, sends, seed));
        let outputs = outputs.unwrap_or_else(|_| panic!("in {context}"));
        for (rank, (output, expected)) in outputs.into_iter().zip(expected).enumerate() {
            assert!(expected.is_none_or(|expected| expected == output), "rank {rank} of {context}: {output:x?}");
        }
    }
}

/// The roots to try: all, or some among many.
fn roots(ranks: u32, count: u64) -> Vec<u32> {
    if ranks <= 17 || count == 3 { (0..ranks).collect() } else { vec![0, 1, ranks / 2, ranks - 1] }
}

/// Numbers of elements: few, odd, and not divisible.
fn counts(ranks: u32) -> &'static [u64] {
    if ranks <= 17 { &[0, 1, 2, 3, 7, 16, 31] } else { &[0, 1, 3] }
}

/// Every number of ranks, root and count.
pub(super) fn all(collective: Collective, has_root: bool, test: impl Fn(Call, u64)) {
    for ranks in crate::scale::ranks(64) {
        for &count in counts(ranks) {
            for root in if has_root { roots(ranks, count) } else { vec![0] } {
                let seed = u64::from(ranks) * 1_000_003 + count * 101 + u64::from(root);
                test(Call { root: Rank(root), ..Call::new(collective, ranks, count, 8) }, seed);
            }
        }
    }
}

#[test]
fn broadcasts() {
    all(Collective::Broadcast, true, |call, seed| {
        let count = call.blocks.longest();
        check(&call, seed, |rank| {
            let output = if call.root == rank { block(9, 0, count) } else { vec![BLANK; count as usize] };
            (Vec::new(), output, Some(block(9, 0, count)))
        });
    });
}

/// Blocks of one length, and of different lengths, some of them empty.
pub(super) fn with_blocks(call: &Call, seed: u64) -> Vec<Call> {
    // Few roots are enough for the lengths.
    if call.ranks > 9 && ![0, call.ranks / 2, call.ranks - 1].contains(&call.root.0) {
        return vec![call.clone()];
    }
    let mut chance = Chance(seed);
    let most = call.blocks.longest() as usize + 1;
    let each: Arc<[u64]> = (0..call.ranks).map(|_| chance.below(most) as u64).collect();
    vec![call.clone(), Call { blocks: Blocks::Each(each), ..call.clone() }]
}

#[test]
fn gathers() {
    all(Collective::Gather, true, |call, seed| {
        for call in with_blocks(&call, seed) {
            check(&call, seed, |rank| {
                let own = block(rank, 0, call.blocks.count(rank));
                if call.root != rank {
                    return (own, Vec::new(), Some(Vec::new()));
                }
                let whole = (0..call.ranks).flat_map(|rank| block(rank, 0, call.blocks.count(rank)));
                (own, vec![BLANK; call.blocks.total(call.ranks) as usize], Some(whole.collect()))
            });
        }
    });
}

#[test]
fn scatters() {
    all(Collective::Scatter, true, |call, seed| {
        for call in with_blocks(&call, seed) {
            check(&call, seed, |rank| {
                let whole = (0..call.ranks).flat_map(|rank| block(9, rank, call.blocks.count(rank)));
                let input = if call.root == rank { whole.collect() } else { Vec::new() };
                let count = call.blocks.count(rank);
                (input, vec![BLANK; count as usize], Some(block(9, rank, count)))
            });
        }
    });
}

#[test]
fn allgathers() {
    all(Collective::Allgather, false, |call, seed| {
        for call in with_blocks(&call, seed) {
            let own = |rank| block(rank, 0, call.blocks.count(rank));
            check(&call, seed, |rank| {
                let place = |other| if other == rank { own(rank) } else { vec![BLANK; own(other).len()] };
                let whole = (0..call.ranks).flat_map(own).collect();
                (Vec::new(), (0..call.ranks).flat_map(place).collect(), Some(whole))
            });
        }
    });
}

#[test]
fn alltoalls() {
    all(Collective::Alltoall, false, |call, seed| {
        let (ranks, count) = (call.ranks, call.blocks.longest());
        check(&call, seed, |rank| {
            let input = (0..ranks).flat_map(|to| block(rank, to, count)).collect();
            let whole = (0..ranks).flat_map(|from| block(from, rank, count)).collect();
            (input, vec![BLANK; (u64::from(ranks) * count) as usize], Some(whole))
        });
    });
}

/// A 3-dimensional torus, rings of one and two among its dimensions, with a different length in each direction.
#[test]
fn exchanges() {
    for (index, sides) in [[1, 1, 1], [1, 1, 2], [2, 2, 3], [4, 4, 4], [1, 5, 7], [2, 1, 8]].into_iter().enumerate() {
        let ranks: u32 = sides.iter().product();
        let place = |rank: u32| [rank % sides[0], rank / sides[0] % sides[1], rank / sides[0] / sides[1]];
        let neighbour = |rank: u32, axis: usize, by: u32| {
            let mut at = place(rank);
            at[axis] = (at[axis] + by) % sides[axis];
            at[0] + sides[0] * (at[1] + sides[1] * at[2])
        };
        let directions = (0..6).map(|direction| (direction / 2, direction % 2 == 0, direction + 1));
        let ways = |rank: u32| {
            let directions = directions.clone();
            directions.map(move |(axis, is_up, count)| {
                let (up, down) = (neighbour(rank, axis, 1), neighbour(rank, axis, sides[axis] - 1));
                if is_up { (up, down, count) } else { (down, up, count) }
            })
        };
        let parts = (0..ranks).map(|rank| {
            let shifts: Vec<Shift> = ways(rank)
                .map(|(to, from, count)| Shift { to: Some((Rank(to), count)), from: Some((Rank(from), count)) })
                .collect();
            let schedule = exchange::schedule(Rank(rank), &shifts);
            let input = (1..=6).flat_map(|count| block(rank, count, count.into())).collect();
            Part { schedule, input, output: vec![BLANK; 21] }
        });
        let outputs = run(parts.collect(), &nothing(), BLANK, SENDS[index % 3], index as u64);
        for (rank, output) in (0..).zip(outputs) {
            let expected: Vec<u64> =
                ways(rank).flat_map(|(_, from, count)| block(from, count as u32, count as u64)).collect();
            assert_eq!(output, expected, "rank {rank} of {sides:?}");
        }
    }
}

/// A line: its ends have one neighbour.
#[test]
fn exchanges_end_at_edges() {
    for ranks in 1..=9u32 {
        let parts = (0..ranks).map(|rank| {
            let (below, above) = (Rank(rank).below(), Rank(rank).above(ranks));
            let with_count = |rank: Option<Rank>| rank.map(|rank| (rank, 2));
            let up = Shift { to: with_count(above), from: with_count(below) };
            let down = Shift { to: with_count(below), from: with_count(above) };
            let halves = [above, below].into_iter().flatten().count();
            let input = (0..halves as u32).flat_map(|half| block(rank, half, 2)).collect();
            Part { schedule: exchange::schedule(Rank(rank), &[up, down]), input, output: vec![BLANK; 2 * halves] }
        });
        let outputs = run(parts.collect(), &nothing(), BLANK, Sends::Mixed, ranks.into());
        for (rank, output) in (0..).zip(outputs) {
            let mut expected = Vec::new();
            expected.extend(Rank(rank).below().into_iter().flat_map(|below| block(below.0, 0, 2)));
            // What goes down comes second, except from the last rank, which sends nothing up.
            let half = |above: Rank| u32::from(above.0 != ranks - 1);
            expected.extend(Rank(rank).above(ranks).into_iter().flat_map(|above| block(above.0, half(above), 2)));
            assert_eq!(output, expected, "rank {rank} of {ranks}");
        }
    }
}

/// Nobody leaves a barrier before everybody has come: as long as one rank posts nothing, nobody completes.
#[test]
fn barriers_hold_everybody() {
    use super::schedule::Action;
    let barriers = (2..=40u32).flat_map(|ranks| {
        let call = Call::new(Collective::Barrier, ranks, 0, 1);
        call.algorithms().into_iter().map(move |algorithm| (call.clone(), algorithm))
    });
    for (call, algorithm) in barriers {
        let ranks = call.ranks;
        for late in 0..ranks {
            let schedule = |rank| call.schedule(algorithm, Rank(rank)).unwrap();
            let mut progress: Vec<_> = (0..ranks).map(|rank| super::progress::Progress::new(schedule(rank))).collect();
            let mut signals = vec![0u32; (ranks * ranks) as usize];
            let mut awaits = Vec::new();
            let mut moved = true;
            while moved {
                moved = false;
                for rank in (0..ranks).filter(|&rank| rank != late) {
                    while let Some(step) = progress[rank as usize].ready() {
                        moved = true;
                        match progress[rank as usize].action(step) {
                            Action::Signal { to } => {
                                signals[(rank * ranks + to.0) as usize] += 1;
                                progress[rank as usize].done(step);
                            }
                            Action::Await { from } => awaits.push((rank, from.0, step)),
                            other => panic!("{other:?} in a barrier"),
                        }
                    }
                }
                awaits.retain(|&(rank, from, step)| {
                    let come = &mut signals[(from * ranks + rank) as usize];
                    if *come > 0 {
                        *come -= 1;
                        progress[rank as usize].done(step);
                        moved = true;
                        return false;
                    }
                    true
                });
            }
            assert!(
                progress.iter().all(|progress| !progress.is_complete()),
                "rank {late} of {ranks} is late, {algorithm}"
            );
        }
    }
    all(Collective::Barrier, false, |call, seed| check(&call, seed, |_| (Vec::new(), Vec::new(), None)));
}

/// Whatever may be under way at once touches different elements.
#[test]
fn steps_under_way_do_not_clash() {
    use Collective::*;
    for collective in [Allgather, Allreduce, Alltoall, Broadcast, Exscan, Gather, Reduce, ReduceScatter, Scan, Scatter]
    {
        for ranks in (1..=17).chain([23, 32]) {
            for root in [0, ranks / 2, ranks - 1] {
                for (count, is_commutative) in [(3, true), (17, false)] {
                    let call = Call::new(collective, ranks, count, 8);
                    let call = Call { root: Rank(root), is_commutative, ..call };
                    for algorithm in variants(&call) {
                        for rank in 0..ranks {
                            let schedule = call.schedule(algorithm, Rank(rank)).unwrap();
                            let checked = std::panic::catch_unwind(|| check_hazards(&schedule));
                            assert!(checked.is_ok(), "rank {rank} of {call:?} by {algorithm}");
                        }
                    }
                }
            }
        }
    }
}

/// In Algorithm 1 there are never more than `window` blocks on their way.
#[test]
fn no_more_send_than_the_window_has_room_for() {
    use super::schedule::Action;
    for window in [1u32, 2, 3, 7] {
        for ranks in [2u32, 3, 8, 20] {
            let blocks = Blocks::Equal(1);
            for algorithm in [Algorithm::Windowed { window }, Algorithm::Granted { window, segment: 0 }] {
                let call = Call { blocks: blocks.clone(), ..Call::new(Collective::Gather, ranks, 1, 8) };
                let schedules = (0..ranks).map(|rank| call.schedule(algorithm, Rank(rank)).unwrap());
                // Blocks that no signal precedes.
                let at_once = schedules.filter(|schedule| {
                    let sends = schedule.steps().filter(|&step| schedule.needs(step).is_empty());
                    sends.into_iter().any(|step| matches!(schedule.action(step), Action::Send { .. }))
                });
                let expected = if algorithm.name() == "granted" { 0 } else { window.min(ranks - 1) };
                assert_eq!(at_once.count() as u32, expected, "{algorithm} among {ranks}");
            }
            for rank in 1..ranks {
                let schedule = gather::windowed::schedule(Rank(rank), ranks, Rank(0), &blocks, window);
                let places = |wanted: fn(&Action) -> bool| -> Vec<_> {
                    schedule.steps().filter(|&step| wanted(&schedule.action(step))).collect()
                };
                let sends = places(|action| matches!(action, Action::Send { .. }));
                for signal in places(|action| matches!(action, Action::Signal { .. })) {
                    assert!(schedule.needs(signal).contains(&sends[0]), "who has sent hands its place on");
                }
            }
            let root = gather::granted::schedule(Rank(0), ranks, Rank(0), &blocks, window, 0);
            let (grants, blocks): (Vec<_>, Vec<_>) = root
                .steps()
                .filter(|&step| !matches!(root.action(step), Action::Copy { .. }))
                .partition(|&step| matches!(root.action(step), Action::Signal { .. }));
            for (index, &grant) in grants.iter().enumerate() {
                let room: Vec<_> =
                    index.checked_sub(window as usize).map(|before| blocks[before]).into_iter().collect();
                assert_eq!(root.needs(grant), room, "a grant needs the block so many before");
            }
        }
    }
}

/// A rank's schedule costs its own steps: among a million ranks, a tree's leaf has one.
#[test]
fn schedules_cost_their_own_steps() {
    let ranks = 1 << 20;
    let last = Rank(ranks - 1);
    for (collective, most) in [
        (Collective::Broadcast, 45),
        (Collective::Reduce, 45),
        (Collective::Allreduce, 100),
        (Collective::Barrier, 45),
        (Collective::Gather, 10),
        (Collective::Scatter, 10),
        (Collective::Scan, 100),
        (Collective::Exscan, 100),
    ] {
        let call = Call { is_commutative: false, ..Call::new(collective, ranks, 3, 8) };
        for algorithm in call.algorithms() {
            let schedule = call.schedule(algorithm, last).unwrap();
            assert!(schedule.len() <= most, "{} steps for {collective} by {algorithm}", schedule.len());
            assert!(schedule.scratch() <= 9, "scratch of {} for {algorithm}", schedule.scratch());
        }
    }
}
