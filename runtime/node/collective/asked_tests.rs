//! Short collectives of two ranks, whose caller carries them out itself if the other comes soon, and begins them if it comes late.

use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::config::{Config, Key};
use crate::node::Node;
use crate::{Operator, scale};

const SEED: u64 = 0x2311;
/// Later than a caller looks for.
const LATE: Duration = Duration::from_micros(60);

/// Both ranks of a job, each on a thread.
fn on_two_ranks(program: impl Fn(Node, u32) + Copy + Send + 'static) {
    let root = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    let threads = [0, 1].map(|rank| {
        std::thread::spawn(move || {
            let mut config = Config::new(rank, 2, Some(root.to_string()));
            config.key = Key::from_bytes(std::array::from_fn(|place| place as u8));
            program(crate::init_with(config).unwrap(), rank);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// All kinds and lengths in turn, each rank late now and then, beside collectives and messages that are under way meanwhile.
#[test]
fn whoever_is_late_gets_the_same() {
    let rounds = scale::scaled(2000);
    on_two_ranks(move |node, rank| {
        let (mut chance, mut common, sum) = (Chance(SEED + u64::from(rank)), Chance(SEED), Operator::<u64>::sum());
        let own = u64::from(rank);
        for round in 0..rounds {
            let (count, root, is_beside) = (common.below(9), common.below(2) as u32, common.below(8) == 0);
            let mut late = || {
                let (began, lateness) = (Instant::now(), LATE * chance.below(3) as u32);
                while began.elapsed() < lateness {}
            };
            let is_root = root == rank;
            let beside = is_beside.then(|| {
                let read = node.initread(1 - rank, 7, vec![0u64; 3]).unwrap();
                let write = node.initwrite(1 - rank, 7, vec![own; 3]).unwrap();
                (node.initallreduce(&sum, vec![1; 3]).unwrap(), read, write)
            });
            late();
            node.barrier().unwrap();
            let value = 10 * round;
            late();
            let from_root = node.broadcast(root, vec![if is_root { value } else { 0 }; count]).unwrap();
            assert_eq!(from_root, vec![value; count]);
            late();
            assert_eq!(node.allreduce(&sum, vec![value + own; count]).unwrap(), vec![2 * value + 1; count]);
            assert_eq!(node.reduce(root, &sum, vec![own; count]).unwrap(), is_root.then(|| vec![1; count]));
            late();
            let both = [vec![value; count], vec![value + 1; count]].concat();
            assert_eq!(node.allgather(vec![value + own; count]).unwrap(), both);
            assert_eq!(node.gather(root, vec![value + own; count]).unwrap(), is_root.then(|| both.clone()));
            late();
            let scattered = node.scatter(root, count, if is_root { both.clone() } else { Vec::new() }).unwrap();
            assert_eq!(scattered, vec![value + own; count]);
            let blocks = [vec![own; count], vec![own + 2; count]].concat();
            let expected = [vec![2 * own; count], vec![2 * own + 1; count]].concat();
            assert_eq!(node.alltoall(blocks).unwrap(), expected);
            late();
            assert_eq!(node.scan(&sum, vec![own + 1; count]).unwrap(), vec![1 + 2 * own; count]);
            assert_eq!(node.exscan(&sum, vec![5; count]).unwrap(), (rank == 1).then(|| vec![5; count]));
            assert_eq!(node.reduce_scatter(&sum, both).unwrap(), vec![2 * (value + own); count]);
            if let Some((all, read, write)) = beside {
                assert_eq!(all.wait().unwrap(), [2; 3]);
                assert_eq!(read.wait().unwrap(), [1 - own; 3]);
                write.wait().unwrap();
            }
        }
        node.finalize().unwrap();
    });
}

/// Ranks that call differently are told so, whoever is late.
#[test]
fn whoever_calls_another_is_told() {
    for late in [0, 1] {
        on_two_ranks(move |node, rank| {
            node.barrier().unwrap();
            if rank == late {
                std::thread::sleep(10 * LATE);
            }
            let sum = Operator::<u64>::sum();
            let error = match rank {
                0 => node.allreduce(&sum, vec![1]).unwrap_err(),
                _ => node.allreduce(&sum, vec![1, 2]).unwrap_err(),
            };
            assert!(matches!(error, crate::Error::Disagreement { ranks, .. } if ranks.0 != ranks.1), "{error}");
            node.finalize().unwrap();
        });
    }
}

/// Whoever only sends is told, too, that a member has left the group.
#[test]
fn a_member_that_has_left_is_noticed_by_whoever_sends() {
    on_two_ranks(|node, rank| {
        for round in 0..8 {
            let group = node.group(&[crate::Rank(0), crate::Rank(1)]).unwrap();
            // Not each message leaves at once: some carry a stamp.
            (0..round).for_each(|_| group.barrier().unwrap());
            assert_eq!(group.broadcast(0, vec![7u8]).unwrap(), [7]);
            if rank == 1 {
                drop(group);
                node.initwrite(0, 1, vec![1u8]).unwrap().wait().unwrap();
            } else {
                // What has said that the group is left comes before.
                node.initread(1, 1, vec![0u8]).unwrap().wait().unwrap();
                let error = group.broadcast(0, vec![8u8]).unwrap_err();
                assert!(error.to_string().contains("has left the group"), "{error}");
            }
            node.barrier().unwrap();
        }
        // The one that has left is told at its end.
        let told = node.finalize();
        assert!(rank == 1 || told.is_ok(), "{told:?}");
    });
}
