//! Groups and grids over real sockets: threads with a group each and with one together, nested and overlapping groups,
//! disagreements, early drops, thousands of groups, and programs on grids.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use lathide::{Config, Error, Grid, Group, Misuse, Node, Operator, Overlap, Rank, Result};

use crate::support::{job, job_within};

const LIMIT: Duration = Duration::from_secs(120);
const SIZES: [u32; 4] = [1, 2, 3, 5];

/// Runs `program` on jobs of several sizes, with overlap and without.
fn jobs(program: impl Fn(Node) + Clone + Send + 'static) {
    for size in SIZES {
        for overlap in [Overlap::On, Overlap::Off] {
            job_within(LIMIT, size, |config: &mut Config| config.overlap = overlap, program.clone());
        }
    }
}

fn sum(group: &Group, value: u64) -> Result<bool> {
    Ok(group.allreduce(&Operator::sum(), vec![value; 3])? == [value * u64::from(group.size()); 3])
}

fn ranks(ranks: impl IntoIterator<Item = u32>) -> Vec<Rank> {
    ranks.into_iter().map(Rank).collect()
}

/// All collectives of a group give what those of a job of its size would.
fn use_all(group: &Group) {
    let (rank, size) = (group.rank().0, group.size());
    let all: Vec<u32> = (0..size).collect();
    let last = Rank(size - 1);
    group.barrier().unwrap();
    assert_eq!(group.broadcast(last, vec![rank; 4]).unwrap(), [last.0; 4]);
    let is_root = rank == last.0;
    assert_eq!(group.gather(last, vec![rank]).unwrap(), is_root.then(|| all.clone()));
    let blocks = if is_root { all.clone() } else { Vec::new() };
    assert_eq!(group.scatter(last, 1, blocks).unwrap(), [rank]);
    let total = all.iter().sum::<u32>();
    assert_eq!(group.reduce(last, &Operator::sum(), vec![rank]).unwrap(), is_root.then(|| vec![total]));
    assert_eq!(group.allreduce(&Operator::sum(), vec![rank]).unwrap(), [total]);
    assert_eq!(group.allgather(vec![rank]).unwrap(), all);
    let to_each: Vec<u32> = all.iter().map(|to| 100 * rank + to).collect();
    let from_each: Vec<u32> = all.iter().map(|from| 100 * from + rank).collect();
    assert_eq!(group.alltoall(to_each).unwrap(), from_each);
    let on_ring = |by| group.rank().on_ring(by, size);
    let shift = lathide::Shift { to: Some((on_ring(1), 1)), from: Some((on_ring(-1), 1)) };
    assert_eq!(group.exchange(&[shift], vec![rank]).unwrap(), [on_ring(-1).0]);
}

#[test]
fn groups_have_all_collectives_nested_and_in_any_order_of_ranks() {
    jobs(|node| {
        let size = node.size();
        let backwards = node.group(&ranks((0..size).rev())).unwrap();
        assert_eq!(backwards.rank(), size - 1 - node.rank().0);
        assert_eq!(backwards.world(0), Some(Rank(size - 1)));
        use_all(&backwards);
        let halves = backwards.split(backwards.rank().0 % 2, 0).unwrap();
        use_all(&halves);
        let first = halves.ranks()[0];
        if halves.rank().0 < 2 {
            let two = halves.group(&ranks(0..halves.size().min(2))).unwrap();
            assert_eq!(two.ranks(), &halves.ranks()[..two.size() as usize]);
            assert_eq!(two.ranks()[0], first);
            use_all(&two);
        }
        // Under way all at once, in another order on every rank.
        let groups = [&*node, &backwards, &halves];
        let begin = |which: usize| groups[which].initallreduce(&Operator::sum(), vec![which as u64 + 1]).unwrap();
        let mut order = [0, 1, 2];
        order.rotate_left(node.rank().index() % 3);
        for which in order.map(|which| (which, begin(which))).into_iter().rev() {
            let expected = (which.0 as u64 + 1) * u64::from(groups[which.0].size());
            assert_eq!(which.1.wait().unwrap(), [expected]);
        }
        node.finalize().unwrap();
    });
}

#[test]
fn ranks_outside_a_list_take_no_part() {
    for size in SIZES {
        job(size, |node| {
            // The last rank calls nothing at all.
            let inner = ranks(0..node.size().saturating_sub(1));
            if inner.contains(&node.rank()) {
                use_all(&node.group(&inner).unwrap());
            }
            node.finalize().unwrap();
        });
    }
}

#[test]
fn two_threads_with_a_group_each_never_mix() {
    jobs(|node| {
        let groups = [node.split(0, 0).unwrap(), node.group(&ranks(0..node.size())).unwrap()];
        thread::scope(|scope| {
            for (group, value) in groups.iter().zip([1, 1000]) {
                scope.spawn(move || {
                    for _ in 0..200 {
                        assert!(sum(group, value).unwrap());
                    }
                });
            }
            for _ in 0..50 {
                assert!(sum(&node, 1_000_000).unwrap());
            }
        });
        node.finalize().unwrap();
    });
}

/// Each rank's threads call at the same time: every rank is told, or all results were right.
#[test]
fn two_threads_on_one_group_are_told_on_every_rank() {
    const TRIES: usize = 8;
    let mut count = 0;
    for attempt in 0..TRIES {
        let overlap = if attempt % 2 == 0 { Overlap::On } else { Overlap::Off };
        let told = job_within(
            LIMIT,
            3,
            |config| config.overlap = overlap,
            move |node| {
                let (group, other) = (node.split(0, 0).unwrap(), node.split(0, 0).unwrap());
                let meet = Barrier::new(2);
                let calls = |value| {
                    meet.wait();
                    let mut is_right = true;
                    let error = (0..50).find_map(|_| sum(&group, value).map(|right| is_right &= right).err());
                    (error, is_right)
                };
                let ended = thread::scope(|scope| {
                    [1, 1000].map(|value| scope.spawn(move || calls(value))).map(|call| call.join().unwrap())
                });
                // Nobody else is concerned.
                assert!(sum(&other, 7).unwrap() && sum(&node, 8).unwrap());
                let mut errors = Vec::new();
                for (error, is_right) in ended {
                    match error {
                        Some(Error::Misuse(Misuse::Threads { .. })) => errors.push(is_right),
                        Some(Error::Collective { cause, .. }) => {
                            assert!(cause.contains("has called a collective"), "{cause}");
                            errors.push(is_right);
                        }
                        Some(error) => panic!("{error}"),
                        None => assert!(is_right),
                    }
                }
                let last = node.finalize();
                (!errors.is_empty() || last.is_err(), errors.iter().all(|is_right| *is_right))
            },
        );
        let all = told.iter().all(|(is_told, _)| *is_told);
        assert!(all || told.iter().all(|(is_told, is_right)| !is_told && *is_right), "attempt {attempt}: {told:?}");
        count += usize::from(all);
    }
    assert!(count > 0, "the threads never met in {TRIES} attempts");
}

#[test]
fn threads_that_follow_each_other_or_declare_their_order_may_share_a_group() {
    job(3, |node| {
        let group = node.split(0, 0).unwrap();
        for value in 0..5 {
            thread::scope(|scope| assert!(scope.spawn(|| sum(&group, value)).join().unwrap().unwrap()));
        }
        group.declare_serialized();
        let gate = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(sum(&group, 1).unwrap());
                gate.wait();
                gate.wait();
            });
            gate.wait();
            assert!(sum(&group, 2).unwrap());
            gate.wait();
        });
        node.finalize().unwrap();
    });
}

/// What differs, in a group of the ranks but the first; that one is a member of another.
#[test]
fn a_disagreement_is_told_to_the_members_and_breaks_no_other_group() {
    let kinds: [fn(&Group, bool) -> Result<()>; 4] = [
        |group, odd| group.broadcast(u32::from(odd), vec![1u8; 10]).map(drop),
        |group, odd| group.broadcast(0, vec![1u8; if odd { 10 } else { 11 }]).map(drop),
        |group, odd| if odd { group.allgather(vec![1u8]).map(drop) } else { group.allgather(vec![1i8]).map(drop) },
        |group, odd| if odd { group.barrier() } else { group.allgather(vec![1u8]).map(drop) },
    ];
    for (kind, overlap) in kinds.into_iter().zip([Overlap::On, Overlap::Off].into_iter().cycle()) {
        job_within(
            LIMIT,
            4,
            |config| config.overlap = overlap,
            move |node| {
                let good = node.split(0, 0).unwrap();
                let is_in = u32::from(node.rank() != 0);
                let bad = node.split(is_in, 0).unwrap();
                if is_in == 1 {
                    let odd = bad.rank() == 1;
                    // Who had nothing to wait for learns it from its next call.
                    let later = || (0..20).find_map(|_| bad.barrier().err()).expect("it is told");
                    let error = kind(&bad, odd).err().unwrap_or_else(later);
                    let words = error.to_string();
                    let Error::Disagreement { ranks: (one, other), .. } = error else { panic!("{words}") };
                    assert!([one, other].contains(&Rank(2)) && words.contains("the group of ranks 1, 2, 3"), "{words}");
                    // Once and for all.
                    assert!(matches!(bad.barrier(), Err(Error::Disagreement { .. })));
                }
                use_all(&good);
                use_all(&node);
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn a_member_that_calls_less_before_it_drops_the_group_is_named() {
    job(3, |node| {
        let group = node.split(0, 0).unwrap();
        group.barrier().unwrap();
        if node.rank() == 1 {
            drop(group);
        } else {
            let error = group.barrier().unwrap_err();
            let Error::Collective { rank, number, .. } = &error else { panic!("{error}") };
            assert_eq!((*rank, *number), (Rank(1), 2), "{error}");
        }
        node.barrier().unwrap();
        let _ = node.finalize();
    });
}

#[test]
fn groups_are_dropped_early_with_collectives_under_way() {
    jobs(|node| {
        for round in 0..20u64 {
            let group = node.split(0, 0).unwrap();
            let size = u64::from(group.size());
            let sums: Vec<_> =
                (0..5).map(|value| group.initallreduce(&Operator::sum(), vec![value + round; 1000]).unwrap()).collect();
            drop(group.initbarrier().unwrap());
            if (node.rank().0 + round as u32).is_multiple_of(2) {
                drop(group);
                for (value, sum) in (0..).zip(sums) {
                    assert_eq!(sum.wait().unwrap(), [(value + round) * size; 1000]);
                }
            }
            // On the others the handles go first, and what they stand for is under way.
        }
        let alive = node.split(0, node.rank().0).unwrap();
        let pending = alive.initallgather(vec![1u8; 100]).unwrap();
        let clone = alive.clone();
        drop(alive);
        drop(pending);
        use_all(&clone);
        node.finalize().unwrap();
    });
}

#[test]
fn ten_thousand_groups_are_made_and_dropped() {
    for (size, overlap, rounds) in [(2, Overlap::On, 10_000), (3, Overlap::Off, 1000), (5, Overlap::On, 500)] {
        let rounds = rounds / if size == 2 { 2 } else { 1 };
        job_within(
            LIMIT,
            size,
            |config| config.overlap = overlap,
            move |node| {
                let all = ranks(0..node.size());
                for round in 0..rounds {
                    let (one, other) = (node.group(&all).unwrap(), node.split(0, 0).unwrap());
                    let group = if round % 2 == 0 { one } else { other };
                    assert_eq!(group.broadcast(round % node.size(), vec![round]).unwrap(), [round]);
                }
                node.finalize().unwrap();
            },
        );
    }
}

#[test]
fn encrypted_jobs_have_groups() {
    job_within(
        LIMIT,
        3,
        |config| config.encrypt = true,
        |node| {
            for _ in 0..20 {
                use_all(&node.split(node.rank().0 % 2, 0).unwrap());
            }
            node.finalize().unwrap();
        },
    );
}

#[test]
fn a_lost_rank_ends_the_collectives_of_its_groups() {
    job(3, |node| {
        let group = node.split(0, 0).unwrap();
        if node.rank() == 2 {
            // Once the others have the group, its node goes without finalize, by an error of its own.
            (0..2).for_each(|peer| drop(node.initread(peer, 1, vec![0u8]).unwrap().wait().unwrap()));
            group.broadcast(9, vec![0u8]).unwrap_err();
            return;
        }
        node.initwrite(2, 1, vec![0u8]).unwrap().wait().unwrap();
        let error = (0..).find_map(|_| group.barrier().err()).unwrap();
        assert!(matches!(error, Error::PeerLost { peer: Rank(2), .. }), "{error}");
    });
}

/// An error that the program has handled does not keep others from learning that a group was dropped.
#[test]
fn a_group_dropped_after_an_error_is_dropped() {
    job(2, |node| {
        let group = node.split(0, 0).unwrap();
        group.broadcast(9, vec![0u8]).unwrap_err();
        if node.rank() == 0 {
            drop(group);
            node.barrier().unwrap();
        } else {
            node.barrier().unwrap();
            let error = group.barrier().unwrap_err();
            assert!(matches!(error, Error::Collective { rank: Rank(0), .. }), "{error}");
        }
        let _ = node.finalize();
    });
}

#[test]
fn wrong_lists_roots_and_grids_are_refused_at_once() {
    job(3, |node| {
        let refused = |error: Error, words: &str| {
            let Error::Misuse(misuse) = error else { panic!("{error}") };
            assert!(misuse.to_string().contains(words), "{misuse}");
        };
        let own = node.rank();
        refused(node.group(&[own, own]).unwrap_err(), "is twice");
        refused(node.group(&[own.on_ring(1, 3)]).unwrap_err(), "is not in its list");
        refused(node.group(&[]).unwrap_err(), "is not in its list");
        refused(node.group(&[own, Rank(3)]).unwrap_err(), "does not exist");
        let pair = node.split(u32::from(own == 2), 0).unwrap();
        refused(pair.broadcast(2, vec![1u8]).unwrap_err(), "does not exist in the group of rank");
        refused(pair.group(&[pair.rank(), Rank(2)]).unwrap_err(), "does not exist");
        refused(Grid::new(&node, [2, 2], [false; 2]).unwrap_err(), "2 x 2");
        refused(Grid::new(&node, [3, 1], [false; 2]).unwrap().line(2).unwrap_err(), "dimension 2");
        use_all(&pair);
        node.finalize().unwrap();
    });
}

/// The matrix product by row and column broadcasts (SUMMA), on a grid of 2 x 3.
#[test]
fn summa_multiplies_by_row_and_column_broadcasts() {
    const SIDE: usize = 12;
    const PANEL: usize = 2;
    let left = |row: usize, column: usize| (row * 5 + column * 3) as i64 % 11;
    let right = |row: usize, column: usize| (row * 7 + column) as i64 % 13;
    job(6, move |node| {
        let grid = Grid::new(&node, [2, 3], [false; 2]).unwrap();
        let [row, column] = grid.coordinates();
        let (along_row, along_column) = (grid.line(1).unwrap(), grid.line(0).unwrap());
        assert_eq!((along_row.size(), along_column.size()), (3, 2));
        assert_eq!((along_row.rank().index(), along_column.rank().index()), (column, row));
        let (rows, columns) = (SIDE / 2, SIDE / 3);
        let mut product = vec![0i64; rows * columns];
        for panel in 0..SIDE / PANEL {
            let start = panel * PANEL;
            // Columns of the left matrix lie in thirds, rows of the right one in halves.
            let of_left = (0..rows * PANEL).map(|at| left(row * rows + at / PANEL, start + at % PANEL)).collect();
            let of_right = (0..PANEL * columns).map(|at| right(start + at / columns, column * columns + at % columns));
            let nothing = |count: usize| vec![0i64; count];
            let (left_owner, right_owner) = (start / columns, start / rows);
            let of_left = if column == left_owner { of_left } else { nothing(rows * PANEL) };
            let of_right = if row == right_owner { of_right.collect() } else { nothing(PANEL * columns) };
            let of_left = along_row.initbroadcast(left_owner as u32, of_left).unwrap();
            let of_right = along_column.broadcast(right_owner as u32, of_right).unwrap();
            let of_left = of_left.wait().unwrap();
            for (at, element) in product.iter_mut().enumerate() {
                let (row, column) = (at / columns, at % columns);
                *element += (0..PANEL).map(|k| of_left[row * PANEL + k] * of_right[k * columns + column]).sum::<i64>();
            }
        }
        for (at, element) in product.into_iter().enumerate() {
            let (row, column) = (row * rows + at / columns, column * columns + at % columns);
            assert_eq!(element, (0..SIDE).map(|k| left(row, k) * right(k, column)).sum::<i64>(), "{row}, {column}");
        }
        node.finalize().unwrap();
    });
}

/// Every rank's neighbours, lines and planes, in all shapes of up to six ranks; edges come from where they should.
#[test]
fn grids_know_their_neighbours_and_exchange_edges() {
    for (dims, periodic) in [([1, 1, 1], [true; 3]), ([2, 1, 1], [false; 3]), ([1, 3, 1], [false, true, false])] {
        on_grid(dims, periodic);
    }
    on_grid([1, 2, 3], [true, true, true]);
    on_grid([3, 1, 2], [false, false, true]);
    on_grid([1, 1, 5], [false, true, false]);
}

fn on_grid(dims: [usize; 3], periodic: [bool; 3]) {
    let size = dims.iter().product::<usize>() as u32;
    job(size, move |node| {
        let grid = Grid::new(&node, dims, periodic).unwrap();
        let place = grid.coordinates();
        assert_eq!(grid.rank_at(place), Some(node.rank()));
        let counts = [1, 2, 3];
        let mut expected = Vec::new();
        for dimension in 0..3 {
            let (before, behind) = grid.shift(dimension, 1);
            for (rank, step) in [(behind, 1), (before, -1)] {
                let at = place[dimension] as i64 + step;
                let dim = dims[dimension] as i64;
                let exists = periodic[dimension] || (0..dim).contains(&at);
                assert_eq!(rank.is_some(), exists, "{place:?}, {dimension}, {step}");
                if let Some(rank) = rank {
                    let mut other = place;
                    other[dimension] = at.rem_euclid(dim) as usize;
                    assert_eq!(grid.coordinates_of(rank), Some(other));
                    expected.extend(vec![rank.0; counts[dimension]]);
                }
            }
            assert_eq!(grid.shift(dimension, 0), (Some(node.rank()), Some(node.rank())));
            assert_eq!(grid.shift(dimension, -1), (behind, before));
            let line = grid.line(dimension).unwrap();
            assert_eq!((line.size() as usize, line.rank().index()), (dims[dimension], place[dimension]));
            let plane = grid.plane(dimension).unwrap();
            assert_eq!(plane.size() as usize, size as usize / dims[dimension]);
            use_all(&line);
            use_all(&plane);
        }
        let edges = vec![node.rank().0; grid.edges(counts)];
        assert_eq!(grid.exchange(counts, edges.clone()).unwrap(), expected);
        assert_eq!(grid.initexchange(counts, edges).unwrap().wait().unwrap(), expected);
        node.finalize().unwrap();
    });
}
