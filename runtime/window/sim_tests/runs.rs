//! The families of runs, and many seeds of each.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::program::{Line, programs};
use super::world::{ADDED, COUNTERS, End, Node, REGION, World};
use crate::chance::Chance;
use crate::error::Error;
use crate::scale::scaled;

/// Runs `seeds` seeds, scaled, or just `LATHIDE_SIM_SEED`.
fn each_seed(name: &str, seeds: u64, run: impl Fn(u64)) {
    let number = |variable: &str| std::env::var(variable).ok().map(|value| value.parse().expect("a number"));
    if let Some(seed) = number("LATHIDE_SIM_SEED") {
        return run(seed);
    }
    for seed in 0..scaled(seeds) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("{name}: seed {seed}; to repeat it: LATHIDE_SIM_SEED={seed} cargo test --lib {name}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn world(seed: u64) -> (World, Vec<Vec<Vec<u64>>>) {
    let mut chance = Chance(seed);
    let ranks = chance.pick(&[1, 2, 2, 3, 3, 5]);
    let (programs, regions) = programs(&mut chance, ranks);
    (World::new(chance, programs), regions)
}

/// Every line has ended, as it should.
fn check_lines(world: &World) {
    for (rank, node) in world.nodes.iter().enumerate() {
        for (at, (line, end)) in node.program.iter().zip(&node.ends).enumerate() {
            let is_right = match (line, end) {
                (Line::Get { found, .. }, End::Done(got)) => got == found,
                (Line::Swap { found, .. }, End::Done(got)) => got[..] == [*found],
                (Line::Put { values, .. } | Line::Add { values, .. }, End::Done(back)) => back == values,
                (Line::Bad { is_write, .. }, End::Done(_)) => *is_write,
                (Line::Bad { .. } | Line::Flush { .. }, End::Failed(Error::Window(_))) => true,
                (_, end) => matches!(end, End::Done(_)),
            };
            assert!(is_right, "rank {rank}, line {at}: {line:?} ended as {end:?}{}", world.describe());
        }
    }
}

/// What the window has in the end.
fn check_memory(world: &World, regions: &[Vec<Vec<u64>>]) {
    let ranks = world.nodes.len();
    let mut added = vec![vec![0u64; ADDED]; ranks];
    let mut counted: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
    for node in &world.nodes {
        for (line, end) in node.program.iter().zip(&node.ends) {
            match (line, end) {
                (Line::Add { to, start, values }, _) => {
                    let sums = added[*to][*start..].iter_mut().zip(values);
                    sums.for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
                }
                (Line::Count { on, counter }, End::Done(got)) => {
                    counted.entry((*on, *counter)).or_default().extend(got);
                }
                _ => {}
            }
        }
    }
    for (rank, node) in world.nodes.iter().enumerate() {
        let elements = node.part.elements.lock();
        for (writer, region) in regions[rank].iter().enumerate() {
            let there = &elements[writer * REGION..][..REGION];
            assert_eq!(there, region, "rank {rank}'s part, written by {writer}{}", world.describe());
        }
        assert_eq!(elements[ranks * REGION..][..ADDED], added[rank][..], "rank {rank}'s sums");
        for counter in 0..COUNTERS {
            let mut tickets = counted.remove(&(rank, counter)).unwrap_or_default();
            tickets.sort_unstable();
            assert_eq!(tickets, (0..tickets.len() as u64).collect::<Vec<_>>(), "each number once");
            assert_eq!(elements[ranks * REGION + ADDED + counter], tickets.len() as u64);
        }
    }
}

/// Each refusal is told once on both sides.
fn check_refusals(world: &mut World) {
    let is_bad = |rank: usize, line: &Line| matches!(line, Line::Bad { to, .. } if *to != rank);
    let of = |(rank, node): (usize, &Node)| node.program.iter().filter(|line| is_bad(rank, line)).count();
    let bad: usize = world.nodes.iter().enumerate().map(of).sum();
    assert_eq!(world.nodes.iter().map(|node| node.refused).sum::<usize>(), bad, "the targets know");
    for node in &mut world.nodes {
        let bad_writes = node.program.iter().filter(|line| line.is_bad_write()).count();
        let by_handles = node.program.iter().zip(&node.ends);
        let by_handles = by_handles.filter(|(line, end)| line.is_bad_write() && matches!(end, End::Failed(_))).count();
        let left = std::iter::from_fn(|| node.windows.take_untold()).count();
        assert_eq!(by_handles + node.told + left, bad_writes, "the origin knows of each once");
    }
}

#[test]
fn windows_have_what_the_model_says() {
    each_seed("windows_have_what_the_model_says", 14_000, |seed| {
        let (mut world, regions) = world(seed);
        world.run(u64::MAX);
        check_lines(&world);
        for (rank, node) in world.nodes.iter().enumerate() {
            let is_idle = node.windows.is_idle() && node.windows.origin.is_idle() && node.engine.is_drained();
            assert!(is_idle, "rank {rank} has something to do{}", world.describe());
        }
        check_memory(&world, &regions);
        check_refusals(&mut world);
    });
}

/// A rank dies at any time: every operation of the others ends.
#[test]
fn nothing_waits_for_a_dead_rank() {
    each_seed("nothing_waits_for_a_dead_rank", 3000, |seed| {
        let (mut world, _) = world(seed);
        let (steps, ranks) = (world.chance.below(400), world.nodes.len());
        world.run(steps);
        let victim = world.chance.below(ranks);
        world.kill(victim);
        world.run(u64::MAX);
        for (rank, node) in world.nodes.iter().enumerate().filter(|(rank, _)| *rank != victim) {
            assert_eq!(node.at, node.program.len());
            for (line, end) in node.program.iter().zip(&node.ends) {
                let is_over = match end {
                    End::Failed(error) => matches!(error, Error::PeerLost { .. } | Error::Window(_)),
                    end => matches!(end, End::Done(_)),
                };
                assert!(is_over, "rank {rank}: {line:?} ended as {end:?}{}", world.describe());
            }
            assert!(node.windows.origin.is_idle());
        }
    });
}

/// Ranks leave while others still use their parts: those learn it.
#[test]
fn nothing_waits_for_a_rank_that_has_left() {
    each_seed("nothing_waits_for_a_rank_that_has_left", 3000, |seed| {
        let (mut world, _) = world(seed);
        world.leave_early = true;
        world.run(u64::MAX);
        for (rank, node) in world.nodes.iter().enumerate() {
            assert_eq!(node.at, node.program.len(), "rank {rank}{}", world.describe());
            for (line, end) in node.program.iter().zip(&node.ends) {
                let is_over = match end {
                    End::Failed(error) => {
                        matches!(error, Error::PeerLost { .. } | Error::Window(_) | Error::Shutdown { .. })
                    }
                    end => matches!(end, End::Done(_)),
                };
                assert!(is_over, "rank {rank}: {line:?} ended as {end:?}{}", world.describe());
            }
        }
    });
}
