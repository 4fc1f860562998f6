//! Every operation has the right result, by every algorithm, whatever else is under way.

use std::time::Duration;

use lathide::CostModel;
use lathide::Shift;
use lathide::launcher::collective::Call;
use lathide::{Collective, Overrides};
use lathide::{Node, Operator, Overlap, Rank, Tag};

use crate::spmd::{Job, STARTS, programs};
use crate::support::job_within;

const LIMIT: Duration = Duration::from_secs(60);

/// Numbers of ranks.
const SIZES: [u32; 7] = [1, 2, 3, 4, 7, 8, 16];

/// Element `index` of what `rank` has for `to`.
fn element(rank: u32, to: u32, index: usize) -> u64 {
    (u64::from(rank) << 48) | (u64::from(to) << 40) | index as u64
}

fn block(rank: u32, to: u32, count: usize) -> Vec<u64> {
    (0..count).map(|index| element(rank, to, index)).collect()
}

fn blocks(ranks: u32, count: usize, of: impl Fn(u32) -> (u32, u32)) -> Vec<u64> {
    (0..ranks).map(of).flat_map(|(rank, to)| block(rank, to, count)).collect()
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

fn folded(ranks: u32, count: usize, own: fn(u32, usize) -> Vec<u64>, combine: fn(u64, u64) -> u64) -> Vec<u64> {
    let combine = |left: Vec<u64>, right: Vec<u64>| left.iter().zip(&right).map(|(&l, &r)| combine(l, r)).collect();
    (0..ranks).map(|rank| own(rank, count)).reduce(combine).unwrap()
}

/// Calls every operation with `count` elements and `root`; all but every third without waiting in between.
fn every_operation(node: &Node, root: u32, count: usize) {
    let (rank, ranks) = (node.rank().0, node.size());
    let is_root = rank == root;
    let rooted = |result: Option<Vec<u64>>, expected: Vec<u64>| assert_eq!(result, is_root.then_some(expected));
    let (sum, compose_in_order) = (Operator::sum(), Operator::new("compose", false, compose));

    let data = block(root, 99, count);
    let broadcast = node.initbroadcast(root, if is_root { data.clone() } else { vec![u64::MAX; count] }).unwrap();
    let barrier = node.initbarrier().unwrap();
    let reduce = node.initreduce(root, &sum, block(rank, 0, count)).unwrap();
    let ordered = node.initreduce(root, &compose_in_order, maps(rank, count)).unwrap();
    let allreduce = node.initallreduce(&Operator::max(), block(rank, 0, count)).unwrap();
    let all_ordered = node.initallreduce(&compose_in_order, maps(rank, count)).unwrap();
    let gather = node.initgather(root, block(rank, 0, count)).unwrap();
    let counts: Vec<usize> = (0..ranks as usize).map(|rank| (rank * 5 + count) % 7).collect();
    let gather_counts = node.initgather_counts(root, &counts, block(rank, 1, counts[rank as usize])).unwrap();
    let to_scatter = if is_root { blocks(ranks, count, |to| (root, to)) } else { Vec::new() };
    let scatter = node.initscatter(root, count, to_scatter).unwrap();
    let allgather = node.initallgather(block(rank, 0, count)).unwrap();
    let alltoall = node.initalltoall(blocks(ranks, count, |to| (rank, to))).unwrap();

    assert_eq!(alltoall.wait().unwrap(), blocks(ranks, count, |from| (from, rank)));
    assert_eq!(allgather.wait().unwrap(), blocks(ranks, count, |from| (from, 0)));
    assert_eq!(scatter.wait().unwrap(), block(root, rank, count));
    let uneven = (0..ranks).flat_map(|from| block(from, 1, counts[from as usize])).collect();
    rooted(gather_counts.wait().unwrap(), uneven);
    rooted(gather.wait().unwrap(), blocks(ranks, count, |from| (from, 0)));
    assert_eq!(all_ordered.wait().unwrap(), folded(ranks, count, maps, compose));
    assert_eq!(allreduce.wait().unwrap(), block(ranks - 1, 0, count));
    rooted(ordered.wait().unwrap(), folded(ranks, count, maps, compose));
    rooted(reduce.wait().unwrap(), folded(ranks, count, |rank, count| block(rank, 0, count), u64::wrapping_add));
    barrier.wait().unwrap();
    assert_eq!(broadcast.wait().unwrap(), data);

    let blocking = node.allreduce(&Operator::min(), vec![f64::from(rank), -f64::from(rank)]).unwrap();
    assert_eq!(blocking, [0.0, -f64::from(ranks - 1)]);
    assert_eq!(node.broadcast(root, vec![rank as u8; 3]).unwrap(), [root as u8; 3]);
    node.barrier().unwrap();
}

#[test]
fn every_operation_for_1_to_16_ranks_has_its_result() {
    for size in SIZES {
        let counts: &[usize] = if size == 16 { &[0, 37] } else { &[0, 1, 7, 1000] };
        job_within(
            LIMIT,
            size,
            |_| {},
            move |node| {
                for &count in counts {
                    for root in [0, size / 2, size - 1] {
                        every_operation(&node, root, count);
                    }
                }
                node.finalize().unwrap();
            },
        );
    }
}

/// What a process of the jobs below does.
pub(crate) fn operations() -> lathide::Result<()> {
    let node = programs::join()?;
    for root in [0, node.size() - 1] {
        every_operation(&node, root, 7);
        every_operation(&node, root, 5000);
    }
    programs::say("right", node.rank());
    node.finalize()
}

#[test]
fn every_operation_for_1_to_16_processes_has_its_result() {
    for size in 1..=16 {
        let ended = Job::start(STARTS[size as usize % STARTS.len()], size, "operations", &[]).end();
        assert_eq!(ended.all("right").len(), size as usize, "{ended}");
        assert!(ended.statuses.iter().all(|status| status.success()), "{ended}");
    }
}

/// Windows of no use, deferred mode, and messages that are long for the links.
#[test]
fn every_operation_in_every_mode_has_its_result() {
    for (overlap, window_bytes, count) in [
        (Overlap::Off, 64 << 20, 300),
        (Overlap::Off, 1000, 3000),
        (Overlap::On, 1000, 3000),
        (Overlap::On, 64 << 20, 100_003),
    ] {
        let configure = move |config: &mut lathide::Config| {
            config.overlap = overlap;
            config.window_bytes = window_bytes;
        };
        job_within(LIMIT, 5, configure, move |node| {
            every_operation(&node, 3, count);
            node.finalize().unwrap();
        });
    }
}

/// The names of each collective's algorithms.
fn algorithms(collective: Collective) -> Vec<&'static str> {
    let mut names: Vec<_> =
        Call::new(collective, 8, 1, 8).algorithms().iter().map(|algorithm| algorithm.name()).collect();
    names.dedup();
    names
}

#[test]
fn every_algorithm_can_be_forced_and_has_the_right_result() {
    let most = Collective::ALL.into_iter().map(|collective| algorithms(collective).len()).max().unwrap();
    for turn in 0..most {
        for size in [3, 6] {
            let forced = Collective::ALL.into_iter().fold(Overrides::none(), |forced, collective| {
                let names = algorithms(collective);
                forced.with(collective, names[turn % names.len()]).unwrap()
            });
            let config_forced = forced.clone();
            job_within(
                LIMIT,
                size,
                move |config| config.overrides = config_forced.clone(),
                move |node| {
                    let name = forced.of(Collective::Broadcast).unwrap();
                    let broadcast = node.initbroadcast(1, vec![0u8; 5]).unwrap();
                    let choice = broadcast.choice().expect("a choice");
                    assert_eq!(choice.best().algorithm.name(), name);
                    assert_eq!(choice.candidates.len(), 4);
                    assert!(choice.to_string().starts_with(name), "{choice}");
                    broadcast.wait().unwrap();
                    for count in [0, 5, 20_001] {
                        every_operation(&node, size - 1, count);
                    }
                    node.finalize().unwrap();
                },
            );
        }
    }
}

#[test]
fn collectives_and_messages_pass_each_other() {
    job_within(
        LIMIT,
        4,
        |_| {},
        |node| {
            let (rank, size) = (node.rank().0, node.size());
            let (left, right) = (node.rank().on_ring(-1, size), node.rank().on_ring(1, size));
            for round in 0..30u64 {
                let length = [1, 100, 30_000][round as usize % 3];
                let read = node.initread(left, Tag(7), vec![0u64; length]).unwrap();
                let sum = node.initallreduce(&Operator::sum(), vec![round + u64::from(rank); length]).unwrap();
                let write = node.initwrite(right, Tag(7), vec![round * 10 + u64::from(rank); length]).unwrap();
                let all = node.initallgather(vec![round; 3]).unwrap();
                let shift = Shift { to: Some((left, 2)), from: Some((right, 2)) };
                let ghosts = node.initexchange(&[shift], vec![u64::from(rank), round]).unwrap();
                assert_eq!(ghosts.wait().unwrap(), [u64::from(right.0), round]);
                if round.is_multiple_of(2) {
                    node.barrier().unwrap();
                }
                assert_eq!(read.wait().unwrap(), vec![round * 10 + u64::from(left.0); length]);
                assert_eq!(all.wait().unwrap(), vec![round; 3 * size as usize]);
                assert_eq!(sum.wait().unwrap(), vec![4 * round + 6; length]);
                write.wait().unwrap();
            }
            node.finalize().unwrap();
        },
    );
}

/// Ends of a line, neighbours that are one rank twice, and a rank that is its own neighbour.
#[test]
fn neighbours_exchange() {
    for size in 1..=4u32 {
        job_within(
            LIMIT,
            size,
            |_| {},
            move |node| {
                let rank = node.rank();
                let (left, right) = (rank.on_ring(-1, size), rank.on_ring(1, size));
                let shifts = [
                    Shift { to: Some((right, 3)), from: Some((left, 3)) },
                    Shift { to: Some((left, 1)), from: Some((right, 1)) },
                ];
                let of = |rank: Rank| [1.0, 2.0, 3.0, 4.0].map(|place| f64::from(rank.0) + place / 8.0);
                let ghosts = node.exchange(&shifts, of(rank).to_vec()).unwrap();
                assert_eq!(ghosts, [&of(left)[..3], &of(right)[3..]].concat());
                // A line, of which only neighbours know.
                let edge = |rank: Option<Rank>| rank.map(|rank| (rank, 1));
                let up = Shift { to: edge(rank.above(size)), from: edge(rank.below()) };
                let sent = up.to.map(|_| rank.0).into_iter().collect::<Vec<u32>>();
                let got = node.exchange(&[up], sent).unwrap();
                assert_eq!(got, rank.below().map(|below| below.0).into_iter().collect::<Vec<u32>>());
                node.finalize().unwrap();
            },
        );
    }
}

/// Prices follow what the links have shown, on every rank the same; reports tell of choices.
#[test]
fn links_that_have_shown_enough_change_the_prices() {
    let machines = job_within(
        LIMIT,
        3,
        |config| config.overrides = Overrides::parse("gather:windowed/2").unwrap(),
        |node| {
            let (first, lan) = (node.calibrate().unwrap(), CostModel::lan());
            // Nothing is known yet; where three ranks share cores, that they are on one host is.
            let guesses = [lan, lan.with_link(10e-6, 0.5e-9)];
            let is_first = |guess: &CostModel| (first.node, first.latency) == (guess.node, guess.latency);
            assert!(guesses.iter().any(is_first), "{first:?}");
            for count in [1, 100, 10_000, 100_000] {
                for _ in 0..20 {
                    node.alltoall(vec![1u64; 3 * count]).unwrap();
                }
            }
            let machine = node.calibrate().unwrap();
            assert!(machine.node.per_byte > 0.0 && machine.latency >= 0.0, "{machine:?}");
            assert_ne!(machine.node, first.node);
            node.gather(0, vec![0u8; 1000]).unwrap();
            let report = node.report();
            let row = |of: Collective| report.collectives.iter().filter(move |row| row.collective == of);
            assert_eq!(row(Collective::Alltoall).map(|row| row.calls).sum::<u64>(), 80);
            let gather = row(Collective::Gather).next().unwrap();
            assert_eq!((gather.calls, gather.bytes, &*gather.algorithm), (1, 1000, "windowed, window 2"));
            assert_eq!(gather.candidates.len(), 4, "{gather}");
            assert!(gather.candidates.iter().all(|candidate| candidate.predicted_s > 0.0), "{gather}");
            assert!(report.to_string().contains("1 gather of 1000 bytes: windowed, window 2 (predicted: simple "));
            let bytes: u64 = report.links.iter().map(|link| link.bytes_sent).sum();
            assert!(bytes >= 20 * 111_101 * 8, "what collectives send counts: {report}");
            node.finalize().unwrap();
            machine
        },
    );
    assert!(machines.iter().all(|machine| *machine == machines[0]), "{machines:?}");
}

/// What is forced counts from the next call on, and what was forced before counts again when it is named again.
#[test]
fn algorithms_are_forced_from_one_call_to_the_next() {
    job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            let taken = || {
                let sent = node.initbroadcast(0, vec![node.rank().0; 10]).unwrap();
                // It may wait for ranks to agree on it.
                while !sent.is_complete() {
                    std::thread::yield_now();
                }
                let algorithm = sent.choice().unwrap().best().algorithm.name();
                assert_eq!(sent.wait().unwrap(), vec![0; 10]);
                algorithm
            };
            let free = taken();
            for _ in 0..2 {
                for name in ["chain", "serial", "chain", "chain", "binomial"] {
                    node.override_algorithms(Overrides::none().with(Collective::Broadcast, name).unwrap());
                    assert_eq!((taken(), taken()), (name, name));
                }
                node.override_algorithms(Overrides::none());
                assert_eq!(taken(), free);
            }
            node.calibrate().unwrap();
            node.override_algorithms(Overrides::parse("broadcast:chain").unwrap());
            assert_eq!(taken(), "chain", "with the plans of new prices, too");
            node.finalize().unwrap();
        },
    );
}

/// What a program knows of its machine decides from the next call on; who says something else than the others is found out.
#[test]
fn algorithms_are_chosen_by_the_prices_of_a_machine_that_is_given() {
    let slow_links = CostModel::of_link(1e-3, 1e-6, 1e-6);
    let slow_processors = slow_links.with_overhead(500e-6);
    let outcomes = job_within(
        LIMIT,
        8,
        |_| {},
        move |node| {
            let taken = |machine: CostModel| {
                node.set_cost_model(machine);
                let sent = node.initbroadcast(0, vec![node.rank().0; 2])?;
                let best = sent.choice().expect("a broadcast is chosen").best();
                assert_eq!(sent.wait()?, vec![0; 2]);
                Ok::<_, lathide::Error>((best.algorithm.name(), best.seconds))
            };
            let (by_links, links_s) = taken(slow_links).unwrap();
            let (by_processors, processors_s) = taken(slow_processors).unwrap();
            assert_eq!((by_links, by_processors), ("serial", "binomial"));
            assert!(links_s > 1e-3 && processors_s > 2.0 * links_s, "{links_s}, {processors_s}");
            let differs = taken(if node.rank() == 3 { slow_links } else { slow_processors });
            // Who had its part in time learns it from the next.
            let differs = differs.and_then(|_| node.barrier());
            drop(node.finalize());
            differs
        },
    );
    for outcome in outcomes {
        let error = outcome.expect_err("ranks differ").to_string();
        assert!(error.contains("rank 3") && error.contains("serial") && error.contains("binomial"), "{error}");
    }
}

/// A handle that is dropped detaches its collective; `finalize` ends it for the others' sake.
#[test]
fn dropped_handles_detach() {
    job_within(
        LIMIT,
        5,
        |_| {},
        |node| {
            let rank = node.rank().0;
            let forwarded = node.initbroadcast(0, vec![rank; 50_000]).unwrap();
            if rank == 4 {
                assert_eq!(forwarded.wait().unwrap(), vec![0; 50_000]);
            } else {
                drop(forwarded);
            }
            node.finalize().unwrap();
        },
    );
}

/// Futures, tests and several threads.
#[test]
fn handles_are_awaited_and_tested() {
    job_within(
        LIMIT,
        3,
        |_| {},
        |node| {
            let rank = u64::from(node.rank().0);
            let awaited = node.initallreduce(&Operator::sum(), vec![rank; 1000]).unwrap();
            assert_eq!(crate::spmd::programs::block_on(awaited).unwrap(), vec![3; 1000]);
            let mut tested = node.initallreduce(&Operator::sum(), vec![rank; 1000]).unwrap();
            assert_eq!(tested.operation().to_string(), format!("rank {rank}'s allreduce, 8000 bytes"));
            let result = loop {
                match tested.test().unwrap() {
                    lathide::Test::Ready(result) => break result,
                    lathide::Test::Pending(still) => tested = still,
                }
                std::thread::yield_now();
            };
            assert_eq!(result, vec![3; 1000]);
            let handles: Vec<_> = (0..40).map(|_| node.initallreduce(&Operator::sum(), vec![rank]).unwrap()).collect();
            let sums: Vec<_> = std::thread::scope(|scope| {
                let waits: Vec<_> =
                    handles.into_iter().map(|handle| scope.spawn(|| handle.wait().unwrap()[0])).collect();
                waits.into_iter().map(|wait| wait.join().unwrap()).collect()
            });
            assert_eq!(sums, [3; 40]);
            node.finalize().unwrap();
        },
    );
}

/// A root that runs far ahead: more broadcasts than a tag can tell apart.
#[test]
fn a_root_may_run_ahead() {
    // Calls that take longer than an exchange of observations are no exception, nor are those after one has begun.
    let jobs = [(2, 5000u32, 1), (8, 300, 1), (3, 40, 100_000), (8, 20, 100_000)];
    for ((size, count, least), begins_together) in jobs.into_iter().flat_map(|job| [(job, false), (job, true)]) {
        job_within(
            LIMIT,
            size,
            |_| {},
            move |node| {
                let rank = node.rank().0;
                if begins_together {
                    node.allreduce(&Operator::sum(), vec![1u8]).unwrap();
                }
                if rank > 0 {
                    node.initread(0, Tag(1), vec![0u8]).unwrap().wait().unwrap();
                }
                for number in 0..count {
                    let length = least + number as usize % 3;
                    let value = if rank == 0 { number } else { u32::MAX };
                    assert_eq!(node.broadcast(0, vec![value; length]).unwrap(), vec![number; length]);
                    let blocks = if rank == 0 { vec![number; length * size as usize] } else { Vec::new() };
                    assert_eq!(node.scatter(0, length, blocks).unwrap(), vec![number; length]);
                }
                if rank == 0 {
                    for peer in 1..size {
                        node.initwrite(peer, Tag(1), vec![0u8]).unwrap().wait().unwrap();
                    }
                }
                node.barrier().unwrap();
                node.finalize().unwrap();
            },
        );
    }
}
