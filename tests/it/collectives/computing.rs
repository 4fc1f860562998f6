//! Collectives go on while the program computes and calls nothing.

use std::time::{Duration, Instant};

use lathide::Overrides;
use lathide::{Node, Operator, Overlap, Tag};

use crate::support::job_within;

/// So long a rank computes. Its neighbours need some milliseconds.
const COMPUTING: Duration = Duration::from_millis(400);
/// A busy machine may hold everything up now and then.
const TRIES: usize = 4;

fn compute() -> Instant {
    let end = Instant::now() + COMPUTING;
    let mut sum = 0u64;
    while Instant::now() < end {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
    }
    Instant::now()
}

/// Rank 2 of 4 begins a collective and computes; returns by how much the last of the others was complete before the
/// computation was over.
fn lead(forced: &str, overlap: Overlap, collective: fn(&Node) -> lathide::Handle<Vec<u64>>) -> f64 {
    let forced = Overrides::parse(forced).unwrap();
    let configure = move |config: &mut lathide::Config| {
        config.overrides = forced.clone();
        config.overlap = overlap;
    };
    let ends = job_within(Duration::from_secs(60), 4, configure, move |node| {
        node.barrier().unwrap();
        let handle = collective(&node);
        let end = if node.rank() == 2 {
            // All others hear that it has begun, and is about to compute.
            for peer in [0, 1, 3] {
                node.initwrite(peer, Tag(1), vec![0u8]).unwrap().wait().unwrap();
            }
            let end = compute();
            handle.wait().unwrap();
            end
        } else {
            node.initread(2, Tag(1), vec![0u8]).unwrap().wait().unwrap();
            handle.wait().unwrap();
            Instant::now()
        };
        node.finalize().unwrap();
        end
    });
    let computed = ends[2];
    let late = [0, 1, 3].map(|rank| computed.saturating_duration_since(ends[rank]).as_secs_f64());
    late.into_iter().fold(f64::INFINITY, f64::min)
}

fn leads(forced: &str, collective: fn(&Node) -> lathide::Handle<Vec<u64>>) {
    let half = COMPUTING.as_secs_f64() / 2.0;
    let leads: Vec<f64> = (0..TRIES).map(|_| lead(forced, Overlap::On, collective)).collect();
    assert!(leads.iter().any(|&lead| lead > half), "others wait for the rank that computes: ahead by {leads:.3?} s");
}

/// Rank 0 calls short broadcasts in a row, then computes and calls nothing; returns by how much rank 1 had all of them before the
/// computation was over.
fn lead_of_many(calls: u64) -> f64 {
    let ends = job_within(
        Duration::from_secs(60),
        2,
        |_| {},
        move |node| {
            node.barrier().unwrap();
            for number in 0..calls {
                let value = if node.rank() == 0 { number } else { u64::MAX };
                assert_eq!(node.broadcast(0, vec![value]).unwrap(), [number]);
            }
            let end = if node.rank() == 0 { compute() } else { Instant::now() };
            node.finalize().unwrap();
            end
        },
    );
    ends[0].saturating_duration_since(ends[1]).as_secs_f64()
}

/// Those that follow each other leave together, but do not wait for the next call.
#[test]
fn the_last_of_many_short_broadcasts_leaves_while_its_root_computes() {
    let half = COMPUTING.as_secs_f64() / 2.0;
    // Up to some they leave one by one, then up to some together.
    for calls in [1, 3, 4, 5, 40, 63, 64, 65, 66, 67, 68, 69, 150] {
        let mut leads = (0..TRIES).map(|_| lead_of_many(calls));
        assert!(leads.any(|lead| lead > half), "{calls} calls: the last waits for the next call");
    }
}

fn broadcast(node: &Node) -> lathide::Handle<Vec<u64>> {
    node.initbroadcast(0, vec![7; 100_000]).unwrap()
}

/// Rank 3 gets the data through rank 2, which computes.
#[test]
fn a_binomial_broadcast_passes_a_rank_that_computes() {
    leads("broadcast:binomial", broadcast);
}

/// Rank 2 combines and passes on while it computes: its operator runs on the kernel's thread.
#[test]
fn an_allreduce_passes_a_rank_that_computes() {
    leads("allreduce:doubling", |node| node.initallreduce(&Operator::sum(), vec![1; 3]).unwrap());
    leads("allreduce:ring", |node| node.initallreduce(&Operator::sum(), vec![1; 50_000]).unwrap());
}

/// The same without overlap shows what would be missing.
#[test]
fn in_deferred_mode_a_rank_that_computes_is_waited_for() {
    assert_eq!(lead("broadcast:binomial", Overlap::Off, broadcast), 0.0);
}
