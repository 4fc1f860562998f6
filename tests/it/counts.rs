//! Collectives with counts, reduce-scatters, scans and persistent exchanges, against sequential results.

use std::time::Duration;

use lathide::{Error, Misuse, Node, Operator, Overlap, Overrides, Rank, Result, Shift};

use crate::support::{job, job_within};

const LIMIT: Duration = Duration::from_secs(60);
const SIZES: [u32; 5] = [1, 2, 3, 5, 8];

/// Element `index` of what `from` has for `to`.
fn element(from: u32, to: u32, index: usize) -> u64 {
    (u64::from(from) << 48) | (u64::from(to) << 40) | index as u64
}

fn block(from: u32, to: u32, count: usize) -> Vec<u64> {
    (0..count).map(|index| element(from, to, index)).collect()
}

/// How much `from` sends to `to`: nothing to some.
fn pair(from: u32, to: u32, most: usize) -> usize {
    let mixed = (from * 7 + to * 3) as usize;
    if mixed.is_multiple_of(4) { 0 } else { mixed * 31 % (most + 1) }
}

/// Maps `x -> (a x + b) mod 65521` one after the other; `a` is the high half. Associative, not commutative.
fn compose(left: u64, right: u64) -> u64 {
    let half = |packed: u64| (packed >> 32, packed & 0xffff_ffff);
    let ((a, b), (c, d)) = (half(left), half(right));
    ((a * c % 65521) << 32) | ((b * c + d) % 65521)
}

/// Rank `rank`'s maps.
fn maps(rank: u32, count: usize) -> Vec<u64> {
    (0..count as u64).map(|index| ((u64::from(rank) * 31 + index + 1) % 65521) << 32 | (u64::from(rank) + 7)).collect()
}

/// The maps of `ranks`, combined in their order.
fn composed(ranks: std::ops::Range<u32>, count: usize) -> Vec<u64> {
    let combine = |left: Vec<u64>, right: Vec<u64>| left.iter().zip(&right).map(|(&l, &r)| compose(l, r)).collect();
    ranks.map(|rank| maps(rank, count)).reduce(combine).expect("a rank")
}

fn summed(ranks: std::ops::Range<u32>, count: usize) -> Vec<u64> {
    (0..count).map(|index| ranks.clone().map(|rank| element(rank, 0, index)).sum()).collect()
}

/// What every call gives on `rank`, by a sequential program.
struct Expected {
    counts: Vec<usize>,
    allgather: Vec<u64>,
    sent: Vec<usize>,
    received: Vec<usize>,
    to_all: Vec<u64>,
    alltoall: Vec<u64>,
    scattered: Vec<u64>,
    /// Where the rank's block lies among those of `counts`.
    place: std::ops::Range<usize>,
}

impl Expected {
    fn of(rank: u32, ranks: u32, root: u32, most: usize) -> Self {
        let counts: Vec<usize> = (0..ranks).map(|rank| pair(rank, 1, most)).collect();
        let start = counts[..rank as usize].iter().sum();
        Expected {
            allgather: (0..ranks).flat_map(|from| block(from, 9, counts[from as usize])).collect(),
            sent: (0..ranks).map(|to| pair(rank, to, most)).collect(),
            received: (0..ranks).map(|from| pair(from, rank, most)).collect(),
            to_all: (0..ranks).flat_map(|to| block(rank, to, pair(rank, to, most))).collect(),
            alltoall: (0..ranks).flat_map(|from| block(from, rank, pair(from, rank, most))).collect(),
            scattered: block(root, rank, counts[rank as usize]),
            place: start..start + counts[rank as usize],
            counts,
        }
    }

    /// The blocks that the root scatters.
    fn scatters(&self, root: u32) -> Vec<u64> {
        (0..).zip(&self.counts).flat_map(|(to, &count)| block(root, to, count)).collect()
    }
}

/// Every call without waiting in between.
fn nonblocking(node: &Node, root: u32, most: usize) {
    let (rank, ranks) = (node.rank().0, node.size());
    let expected = Expected::of(rank, ranks, root, most);
    let Expected { counts, sent, received, place, .. } = &expected;
    let (sum, in_order) = (Operator::sum(), Operator::new("compose", false, compose));
    let total: usize = counts.iter().sum();
    let even = most * ranks as usize;

    let allgather = node.initallgather_counts(counts, block(rank, 9, place.len())).unwrap();
    let alltoall = node.initalltoall_counts(sent, received, expected.to_all.clone()).unwrap();
    let blocks = if rank == root { expected.scatters(root) } else { Vec::new() };
    let scatter = node.initscatter_counts(root, counts, blocks).unwrap();
    let reduced = node.initreduce_scatter_counts(&sum, counts, block(rank, 0, total)).unwrap();
    let reduced_in_order = node.initreduce_scatter_counts(&in_order, counts, maps(rank, total)).unwrap();
    let reduced_evenly = node.initreduce_scatter(&sum, block(rank, 0, even)).unwrap();
    let evenly_in_order = node.initreduce_scatter(&in_order, maps(rank, even)).unwrap();
    let scan = node.initscan(&in_order, maps(rank, most)).unwrap();
    let exscan = node.initexscan(&in_order, maps(rank, most)).unwrap();

    let before = (rank > 0).then(|| composed(0..rank, most));
    assert_eq!(exscan.wait().unwrap(), before);
    assert_eq!(scan.wait().unwrap(), composed(0..rank + 1, most));
    let own = rank as usize * most..(rank as usize + 1) * most;
    assert_eq!(evenly_in_order.wait().unwrap(), composed(0..ranks, even)[own.clone()]);
    assert_eq!(reduced_evenly.wait().unwrap(), summed(0..ranks, even)[own]);
    assert_eq!(reduced_in_order.wait().unwrap(), composed(0..ranks, total)[place.clone()]);
    assert_eq!(reduced.wait().unwrap(), summed(0..ranks, total)[place.clone()]);
    assert_eq!(scatter.wait().unwrap(), expected.scattered);
    assert_eq!(alltoall.wait().unwrap(), expected.alltoall);
    assert_eq!(allgather.wait().unwrap(), expected.allgather);
}

/// The same, one after the other, and into buffers that are used again.
fn blocking(node: &Node, root: u32, most: usize) -> Result<()> {
    let (rank, ranks) = (node.rank().0, node.size());
    let expected = Expected::of(rank, ranks, root, most);
    let Expected { counts, sent, received, place, .. } = &expected;
    let in_order = Operator::new("compose", false, compose);
    let (total, own) = (counts.iter().sum(), block(rank, 9, place.len()));

    assert_eq!(node.allgather_counts(counts, own.clone())?, expected.allgather);
    assert_eq!(node.alltoall_counts(sent, received, expected.to_all.clone())?, expected.alltoall);
    let mut blocks = if rank == root { expected.scatters(root) } else { Vec::new() };
    assert_eq!(node.scatter_counts(root, counts, blocks.clone())?, expected.scattered);
    assert_eq!(node.scan(&in_order, maps(rank, most))?, composed(0..rank + 1, most));
    let before = if rank > 0 { composed(0..rank, most) } else { Vec::new() };
    assert_eq!(node.exscan(&in_order, maps(rank, most))?.unwrap_or_default(), before);

    // Buffers of other lengths, and what the call before has left.
    let (mut into, mut to_all) = (vec![7; 3], expected.to_all.clone());
    for _ in 0..2 {
        node.allgather_counts_into(counts, &own, &mut into)?;
        assert_eq!(into, expected.allgather);
        node.alltoall_counts_into(sent, &mut to_all, received, &mut into)?;
        assert_eq!((&to_all, &into), (&expected.to_all, &expected.alltoall));
        node.scatter_counts_into(root, counts, &mut blocks, &mut into)?;
        assert_eq!((blocks.is_empty(), &into), (rank != root || total == 0, &expected.scattered));
        let mut contribution = maps(rank, total);
        node.reduce_scatter_counts_into(&in_order, counts, &mut contribution, &mut into)?;
        assert_eq!((contribution.len(), &into[..]), (total, &composed(0..ranks, total)[place.clone()]));
        let mut contribution = maps(rank, 2 * ranks as usize);
        node.reduce_scatter_into(&in_order, &mut contribution, &mut into)?;
        assert_eq!(into, composed(0..ranks, 2 * ranks as usize)[2 * rank as usize..][..2]);
        let mut mine = maps(rank, most);
        node.exscan_into(&in_order, &mut mine, &mut into)?;
        assert_eq!((&mine, &into), (&maps(rank, most), &before));
        node.scan_into(&in_order, &mut mine)?;
        assert_eq!(mine, composed(0..rank + 1, most));
        node.allgather_into(&[rank, 5], &mut Vec::new())?;
    }
    let (mut pair, mut gathered) = (vec![rank, 6], vec![9; 1]);
    for root in [0, ranks - 1, root] {
        let before = gathered.clone();
        node.gather_into(root, &mut pair, &mut gathered)?;
        let all = if rank == root { (0..ranks).flat_map(|rank| [rank, 6]).collect() } else { before };
        assert_eq!((&pair, &gathered), (&vec![rank, 6], &all));
    }
    let mut even = (0..ranks).map(|to| 100 * rank + to).collect();
    node.alltoall_into(&mut even, &mut gathered)?;
    assert_eq!(gathered, (0..ranks).map(|from| 100 * from + rank).collect::<Vec<u32>>());
    assert_eq!(even, (0..ranks).map(|to| 100 * rank + to).collect::<Vec<u32>>());
    let mut pairs = vec![9; 1];
    node.allgather_into(&[rank, 5], &mut pairs)?;
    assert_eq!(pairs, (0..ranks).flat_map(|rank| [rank, 5]).collect::<Vec<u32>>());
    Ok(())
}

#[test]
fn every_call_has_its_result() {
    for size in SIZES {
        for overlap in [Overlap::On, Overlap::Off] {
            let configure = move |config: &mut lathide::Config| config.overlap = overlap;
            job_within(LIMIT, size, configure, move |node| {
                for most in [0, 1, 6, 2000] {
                    for root in [0, size - 1] {
                        nonblocking(&node, root, most);
                        blocking(&node, root, most).unwrap();
                    }
                }
                node.finalize().unwrap();
            });
        }
    }
}

#[test]
fn long_blocks_and_short_windows() {
    for (encrypt, window_bytes) in [(false, 1000), (true, 64 << 20)] {
        let configure = move |config: &mut lathide::Config| {
            config.encrypt = encrypt;
            config.window_bytes = window_bytes;
        };
        job_within(LIMIT, 5, configure, |node| {
            nonblocking(&node, 2, 30_000);
            blocking(&node, 2, 30_000).unwrap();
            node.finalize().unwrap();
        });
    }
}

#[test]
fn every_algorithm_can_be_asked_for() {
    for forced in [
        "allgather:ring,alltoall:pairwise/1,reduce_scatter:ring,scan:chain,exscan:chain,scatter:binomial",
        "allgather:bruck,alltoall:pairwise/2,reduce_scatter:halving,scan:doubling,exscan:doubling,scatter:serial",
        "reduce_scatter:pairwise/1",
        "reduce_scatter:pairwise/0",
    ] {
        let overrides = Overrides::parse(forced).unwrap();
        for size in [4, 5] {
            let overrides = overrides.clone();
            let configure = move |config: &mut lathide::Config| config.overrides = overrides.clone();
            job_within(LIMIT, size, configure, move |node| {
                for most in [0, 5, 3000] {
                    nonblocking(&node, 1, most);
                }
                let scan = node.initscan(&Operator::sum(), vec![1u8]).unwrap();
                // Ranks may still have to agree on it.
                while !scan.is_complete() {
                    std::thread::yield_now();
                }
                let choice = scan.choice().expect("a choice").best().algorithm.name();
                assert!(!forced.contains("scan:") || forced.contains(&format!(",scan:{choice}")), "{choice}");
                scan.wait().unwrap();
                node.finalize().unwrap();
            });
        }
    }
}

/// The error of a call before, of which this rank's part had nothing to wait for.
fn told_later(node: &Node) -> Error {
    (0..20).find_map(|_| node.barrier().err()).expect("it is told")
}

/// Ranks whose counts differ are told, all of them, with both calls.
#[test]
fn counts_that_differ_are_a_disagreement() {
    type Calls = fn(&Node, &[usize]) -> Result<Vec<u8>>;
    let calls: [(&str, Calls); 3] = [
        ("allgather", |node, counts| node.allgather_counts(counts, vec![0; counts[node.rank().index()]])),
        ("scatter", |node, counts| {
            let total = if node.rank() == 0 { counts.iter().sum() } else { 0 };
            node.scatter_counts(0, counts, vec![0; total])
        }),
        ("reduce_scatter", |node, counts| {
            node.reduce_scatter_counts(&Operator::sum(), counts, vec![0; counts.iter().sum()])
        }),
    ];
    for (name, call) in calls {
        job(3, move |node| {
            let counts = if node.rank() == 1 { [3, 1, 2] } else { [1, 2, 3] };
            // Who waits for nothing is told in the next one.
            let error = call(&node, &counts).err().unwrap_or_else(|| told_later(&node));
            let Error::Disagreement { ranks, ref cause, .. } = error else { panic!("{error}") };
            assert!([ranks.0, ranks.1].contains(&Rank(1)), "{error}");
            assert_eq!(cause.matches(name).count(), 2, "{error}");
        });
    }
}

/// What a rank sends to another must be as long as expected: else both are told, also where one side is 0.
#[test]
fn an_alltoall_that_does_not_fit_is_an_error_on_both_sides() {
    for overlap in [Overlap::On, Overlap::Off] {
        for (sent, expected) in [(3, 2), (2, 3), (0, 4), (4, 0)] {
            let configure = move |config: &mut lathide::Config| config.overlap = overlap;
            job_within(LIMIT, 3, configure, move |node| {
                // Rank 0 sends rank 2 what that does not expect.
                let to = |to| if node.rank() == 0 && to == 2 { sent } else { 1 };
                let from = |from| if node.rank() == 2 && from == 0 { expected } else { 1 };
                let (to, from): (Vec<usize>, Vec<usize>) = ((0..3).map(to).collect(), (0..3).map(from).collect());
                let blocks = vec![1u64; to.iter().sum()];
                let result = node.alltoall_counts(&to, &from, blocks);
                assert!(node.rank() != 2 || result.is_err(), "the receiver knows at once");
                let error = result.err().unwrap_or_else(|| told_later(&node));
                let is_right = match error {
                    Error::Mismatch(_) => node.rank() == 2,
                    Error::Collective { rank, .. } => rank == 2,
                    Error::PeerLost { .. } => node.rank() != 2,
                    _ => false,
                };
                assert!(is_right, "{error}");
            });
        }
    }
}

#[test]
fn wrong_lengths_are_misuse_and_keep_the_buffers() {
    job(2, |node| {
        let own = node.rank().index();
        let told = |error: Error, words: &str| {
            assert!(matches!(error, Error::Misuse(Misuse::Length { .. })), "{error}");
            assert!(error.to_string().contains(words), "{words}: {error}");
        };
        let sum = Operator::sum();
        told(node.allgather_counts(&[1], vec![1u8]).unwrap_err(), "a count for each of the 2 ranks, not 1");
        told(node.allgather_counts(&[1, 1], vec![1u8; 2]).unwrap_err(), "its count for this rank is 1");
        told(node.alltoall_counts(&[1, 1], &[1, 1], vec![1u8; 3]).unwrap_err(), "its counts are 2 elements in all");
        let (mut unlike, same) = ([1, 1], [1, 1]);
        unlike[own] = 2;
        told(node.alltoall_counts(&unlike, &same, vec![1u8; 3]).unwrap_err(), "sends 2 to itself and expects 1");
        told(node.reduce_scatter(&sum, vec![1u8; 3]).unwrap_err(), "as many for each of the 2 ranks");
        told(node.reduce_scatter_counts(&sum, &[2, 2], vec![1u8; 3]).unwrap_err(), "4 elements in all");
        let wrong = if own == 0 { 5 } else { 1 };
        told(node.scatter_counts(0, &[1, 1], vec![1u8; wrong]).unwrap_err(), "cannot take");
        let (mut blocks, mut into) = (vec![1u8; 3], vec![2u8; 2]);
        told(node.alltoall_counts_into(&[1, 1], &mut blocks, &[1, 1], &mut into).unwrap_err(), "2 elements in all");
        told(node.alltoall_into(&mut blocks, &mut into).unwrap_err(), "as many for each of the 2 ranks");
        assert_eq!((blocks, into), (vec![1; 3], vec![2; 2]), "nothing has begun");
        node.barrier().unwrap();
        node.finalize().unwrap();
    });
}

/// One plan, many starts, some of them at once; the same buffers go round.
#[test]
fn a_persistent_exchange_is_started_many_times() {
    for size in SIZES {
        for overlap in [Overlap::On, Overlap::Off] {
            let configure = move |config: &mut lathide::Config| config.overlap = overlap;
            job_within(LIMIT, size, configure, move |node| {
                let rank = node.rank();
                let (left, right) = (rank.on_ring(-1, size), rank.on_ring(1, size));
                let shifts = [
                    Shift { to: Some((right, 2)), from: Some((left, 2)) },
                    Shift { to: Some((left, 1)), from: Some((right, 1)) },
                ];
                let halo = node.persistent_exchange(&shifts).unwrap();
                assert_eq!((halo.sent(), halo.received()), (3, 3));
                let (mut edges, mut ghosts) = (vec![0.0f64; 3], vec![9.0; 3]);
                let places = (edges.as_ptr(), ghosts.as_ptr());
                let of = |rank: Rank, step: u32| [1, 2, 3].map(|at| f64::from(rank.0 * 1000 + step * 10 + at));
                for step in 0..40 {
                    edges.copy_from_slice(&of(rank, step));
                    // Others between: matched in order.
                    let other = halo.start(vec![step as u8; 3], vec![0; 3]).unwrap();
                    let exchanged = halo.start(edges, ghosts).unwrap();
                    (edges, ghosts) = exchanged.wait().unwrap();
                    assert_eq!(ghosts, [&of(left, step)[..2], &of(right, step)[2..]].concat());
                    assert_eq!(edges, of(rank, step));
                    assert_eq!(other.wait().unwrap().1, [step as u8; 3]);
                }
                assert_eq!((edges.as_ptr(), ghosts.as_ptr()), places, "no copies");
                let error = halo.start(vec![0u8; 2], vec![0; 3]).unwrap_err();
                assert!(error.to_string().contains("its shifts send 3"), "{error}");
                let error = halo.start(vec![0u8; 3], vec![0; 4]).unwrap_err();
                assert!(error.to_string().contains("its shifts receive 3"), "{error}");
                let nowhere = Shift { to: Some((Rank(size), 1)), from: None };
                assert!(node.persistent_exchange(&[nowhere]).is_err());
                node.finalize().unwrap();
                let error = halo.start(vec![0u8; 3], vec![0; 3]).unwrap_err();
                assert!(matches!(error, Error::Shutdown { .. }), "{error}");
            });
        }
    }
}
