//! The families of runs, and many seeds of each.

use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::calls::{self, Exchange, Line, random_call};
use super::world::{End, World};
use crate::buffer::Element;
use crate::collective::execute::Collectives;
use crate::collective::trial_tests::Chance;
use crate::collective::{Blocks, Call};
use crate::engine::{Engine, Limits, Sent};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::operation::Collective;
use crate::scale::scaled;
use crate::wire::frame::{Context, MatchKey};

/// Runs `seeds` seeds, scaled, or just `LATHIDE_SIM_SEED`.
pub(super) fn each_seed(name: &str, seeds: u64, run: impl Fn(u64)) {
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

/// A random program, the same for all ranks.
fn program(chance: &mut Chance, ranks: u32) -> Vec<Line> {
    let mut program = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut is_exchanging = false;
    for _ in 0..2 + chance.below(8) {
        let seed = chance.below(1 << 30) as u64;
        let from = chance.below(ranks as usize);
        let to = chance.below(ranks as usize);
        open.push(program.len());
        program.push(if chance.below(3) == 0 {
            Line::Message { from, to, count: chance.below(200), seed }
        } else {
            let (call, algorithm) = random_call(chance, ranks);
            let exchange = match chance.below(3) {
                0 if is_exchanging => Exchange::Adopts,
                0 => Exchange::Begins,
                _ => Exchange::Nothing,
            };
            is_exchanging ^= exchange != Exchange::Nothing;
            Line::Collective { group: None, call, algorithm, seed, exchange }
        });
        if let Line::Message { from, to, .. } = program[program.len() - 1]
            && from == to
        {
            program.pop();
            open.pop();
        }
        while !open.is_empty() && chance.below(2) == 0 {
            let which = chance.below(open.len());
            program.push(Line::Wait(open.swap_remove(which)));
        }
    }
    program.extend(open.into_iter().map(Line::Wait));
    program
}

fn world(seed: u64) -> World {
    let mut chance = Chance(seed);
    let ranks = 1 + chance.below(9);
    let program = program(&mut chance, ranks as u32);
    World::new(chance, vec![program; ranks])
}

/// Every line has ended well, and nothing is left.
pub(super) fn check_done(world: &World) {
    for (rank, node) in (0..).zip(&world.nodes) {
        for (line, end) in node.program.iter().zip(&node.ends) {
            let expected = match line {
                Line::Wait(_) | Line::Found { .. } | Line::Drop(_) => continue,
                Line::Collective { call, seed, group, .. } => {
                    let Some(place) = calls::place(&node.program, *group, rank) else { continue };
                    calls::expected(call, place, *seed)
                }
                Line::Message { from, to, count, seed } => {
                    let is_mine = [*from as u32, *to as u32].contains(&rank);
                    is_mine.then(|| calls::payload(*seed, *count))
                }
            };
            let End::Done(got) = end else { panic!("rank {rank}: {line:?} ended with {end:?}: {}", world.describe()) };
            assert!(expected.is_none_or(|expected| expected == *got), "rank {rank}: {line:?} gave {got:x?}");
        }
        assert!(node.collectives.is_idle() && node.collectives.failure().is_none());
        assert_eq!(node.engine.outstanding(), [], "rank {rank}");
        assert!(node.engine.is_drained());
    }
}

#[test]
fn collectives_and_messages_mixed_complete() {
    each_seed("collectives_and_messages_mixed_complete", 10_000, |seed| {
        let mut world = world(seed);
        // Asking is harmless.
        if seed.is_multiple_of(2) {
            for _ in 0..5 {
                world.run(100);
                world.ask();
            }
        }
        world.run(u64::MAX);
        check_done(&world);
    });
}

/// Changes something of a call that ranks must agree on.
pub(super) fn changed(chance: &mut Chance, line: &Line) -> Line {
    let Line::Collective { group, call, algorithm, seed, exchange } = line else { return line.clone() };
    loop {
        let (other, by) = match chance.below(4) {
            0 => (Call { root: Rank(chance.below(call.ranks as usize) as u32), ..call.clone() }, *algorithm),
            1 if call.collective != Collective::Barrier => {
                (Call { blocks: Blocks::Equal(call.blocks.longest() + 1), ..call.clone() }, *algorithm)
            }
            2 => {
                let other = Call { is_commutative: !call.is_commutative, ..call.clone() };
                let algorithms = other.algorithms();
                (other, algorithms[chance.below(algorithms.len())])
            }
            _ => random_call(chance, call.ranks),
        };
        if other.root != call.root && !call.has_root() || calls::of_rank(&other, 0).schedule(by, Rank(0)).is_none() {
            continue;
        }
        if calls::signature(&other, by) != calls::signature(call, *algorithm) {
            return Line::Collective { group: *group, call: other, algorithm: by, seed: *seed, exchange: *exchange };
        }
    }
}

/// Ranks whose programs are over leave while others go on: what these are told does not depend on it.
fn run_out_leaving(world: &mut World) {
    for _ in 0..60 {
        let steps = world.chance.below(200) as u64;
        world.run(steps);
        for rank in 0..world.nodes.len() {
            if world.is_over(rank) && world.chance.below(2) == 0 {
                world.leave(rank);
            }
        }
        world.ask();
    }
    run_out(world);
}

/// Every line is over; collectives may have failed by `is_right`, messages may not. No message is left for ever.
fn check_over(world: &World, first: usize, is_right: impl Fn(&Error) -> bool) {
    // Who had all it wanted has left before anything was found; that it has is then a cause too.
    let has_left_in_peace = |rank: usize| {
        let node = &world.nodes[rank];
        node.engine.is_leaving() && node.ends.iter().all(|end| !matches!(end, End::Failed(_)))
    };
    let is_right = |error: &Error| match error {
        Error::PeerLost { peer, .. } => has_left_in_peace(peer.index()),
        error => is_right(error),
    };
    for (rank, node) in world.nodes.iter().enumerate() {
        for (at, (line, end)) in node.program.iter().zip(&node.ends).enumerate() {
            match (line, end) {
                (Line::Wait(_), _) | (_, End::Done(_)) => {}
                (Line::Collective { .. }, End::Failed(error)) if at >= first && is_right(error) => {}
                _ => panic!("rank {rank}: {line:?} ended with {end:?}: {}", world.describe()),
            }
        }
        let is_told = node.collectives.failure().is_some_and(|error| is_right(&error));
        assert!(is_told || has_left_in_peace(rank), "rank {rank}: {}", world.describe());
        assert!(node.collectives.is_idle(), "rank {rank}");
        assert!(node.engine.is_drained(), "rank {rank} could never leave: {}", world.describe());
    }
}

/// The number of the first collective at or after a random place.
fn victim_line(chance: &mut Chance, program: &[Line]) -> Option<usize> {
    let from = chance.below(program.len().max(1));
    (from..program.len()).find(|&at| matches!(program[at], Line::Collective { .. }))
}

/// Runs until all is over; who waits in vain asks.
pub(super) fn run_out(world: &mut World) {
    for _ in 0..20 {
        world.run(u64::MAX);
        world.ask();
    }
}

#[test]
fn disagreements_are_told_to_all_ranks() {
    each_seed("disagreements_are_told_to_all_ranks", 4000, |seed| {
        let mut world = world(seed);
        let ranks = world.nodes.len();
        let program = world.nodes[0].program.clone();
        let Some(at) = victim_line(&mut world.chance, &program).filter(|_| ranks > 1) else { return };
        let odd = world.chance.below(ranks);
        world.nodes[odd].program[at] = changed(&mut world.chance, &program[at]);
        if seed.is_multiple_of(2) {
            run_out(&mut world)
        } else {
            run_out_leaving(&mut world)
        }
        // Where nobody misses anything nothing is found, such as two ways to gather nothing.
        if world.nodes.iter().all(|node| node.collectives.failure().is_none() && node.collectives.is_idle()) {
            return;
        }
        check_over(&world, at, |error| {
            let Error::Disagreement { ranks: (one, other), .. } = error else {
                // Digests that are equal by chance: alltoalls of 2 and of 3 elements among 6 ranks are.
                let words = error.to_string();
                return words.contains("another number of elements")
                    || words.contains("met a read of")
                    // Who has left at once, without waiting for the others to agree, cannot be asked.
                    || words.contains("tells no more which");
            };
            [one, other].iter().any(|rank| rank.index() == odd)
        });
    });
}

/// As programs end: nobody leaves before it knows, so nobody leaves in peace, whatever it has waited for.
#[test]
fn nobody_finalizes_in_peace_when_ranks_disagree() {
    each_seed("nobody_finalizes_in_peace_when_ranks_disagree", 4000, |seed| {
        let mut world = world(seed);
        let ranks = world.nodes.len();
        let program = world.nodes[0].program.clone();
        let Some(at) = victim_line(&mut world.chance, &program).filter(|_| ranks > 1) else { return };
        let odd = world.chance.below(ranks);
        world.nodes[odd].program[at] = changed(&mut world.chance, &program[at]);
        finalize_all(&mut world);
        for (rank, node) in world.nodes.iter().enumerate() {
            let Some(error) = node.collectives.failure() else {
                panic!("rank {rank} has left in peace: {}", world.describe());
            };
            let Error::Disagreement { ranks: (one, other), .. } = &error else {
                let words = error.to_string();
                assert!(words.contains("another number of elements") || words.contains("met a read of"), "{words}");
                continue;
            };
            assert!([one, other].iter().any(|rank| rank.index() == odd), "{error}");
            assert!(node.collectives.is_idle(), "rank {rank}: {}", world.describe());
            assert!(node.engine.is_leaving(), "rank {rank} cannot leave: {}", world.describe());
        }
    });
}

/// Who agrees leaves, whoever comes last.
#[test]
fn ranks_that_agree_finalize() {
    each_seed("ranks_that_agree_finalize", 4000, |seed| {
        let mut world = world(seed);
        finalize_all(&mut world);
        check_done(&world);
        let is_alone = world.nodes.len() == 1;
        assert!(is_alone || world.nodes.iter().all(|node| node.engine.is_leaving()), "{}", world.describe());
    });
}

/// Runs until every rank has finalized, each once its program is over.
pub(super) fn finalize_all(world: &mut World) {
    for _ in 0..60 {
        let steps = world.chance.below(200) as u64;
        world.run(steps);
        for rank in 0..world.nodes.len() {
            if world.is_over(rank) && world.chance.below(2) == 0 {
                world.finalize(rank);
            }
        }
        world.ask();
    }
    for _ in 0..20 {
        world.run(u64::MAX);
        for rank in 0..world.nodes.len() {
            if world.is_over(rank) {
                world.finalize(rank);
            }
        }
        world.ask();
    }
}

#[test]
fn an_operator_that_panics_fails_its_collective_everywhere() {
    let found = std::cell::Cell::new(0);
    each_seed("an_operator_that_panics_fails_its_collective_everywhere", 2000, |seed| {
        let mut world = world(seed);
        let faulty = world.chance.below(world.nodes.len());
        world.nodes[faulty].is_faulty = true;
        if seed.is_multiple_of(2) {
            run_out(&mut world)
        } else {
            run_out_leaving(&mut world)
        }
        if world.nodes.iter().all(|node| node.collectives.failure().is_none()) {
            return check_done(&world);
        }
        found.set(found.get() + 1);
        check_over(&world, 0, |error| {
            let Error::Collective { rank, cause, .. } = error else { return false };
            rank.index() == faulty && cause.contains("its operator panicked: on purpose")
        });
    });
    assert!(found.get() > scaled(300) || std::env::var("LATHIDE_SIM_SEED").is_ok(), "{} have panicked", found.get());
}

#[test]
fn a_lost_rank_ends_every_collective() {
    each_seed("a_lost_rank_ends_every_collective", 2000, |seed| {
        let mut world = world(seed);
        let steps = world.chance.below(1 << (2 + seed % 10)) as u64;
        world.run(steps);
        let victim = world.chance.below(world.nodes.len());
        world.kill(victim);
        world.run(u64::MAX);
        for (rank, node) in world.nodes.iter().enumerate().filter(|(rank, _)| *rank != victim) {
            assert!(node.collectives.is_idle(), "rank {rank}: {}", world.describe());
            for (line, end) in node.program.iter().zip(&node.ends) {
                match end {
                    End::Failed(Error::PeerLost { peer, .. }) => assert_eq!(peer.index(), victim),
                    End::Done(_) => {}
                    End::NotBegun if matches!(line, Line::Wait(_)) => {}
                    other => panic!("rank {rank}: {line:?} ended with {other:?}"),
                }
            }
        }
    });
}

/// It has left, and its part is missing: all others learn that, though few deal with it.
#[test]
fn a_rank_that_leaves_early_ends_every_collective() {
    each_seed("a_rank_that_leaves_early_ends_every_collective", 2000, |seed| {
        let mut world = world(seed);
        let leaver = world.chance.below(world.nodes.len());
        for node in &mut world.nodes {
            node.program.retain(|line| !matches!(line, Line::Message { .. } | Line::Wait(_)));
        }
        let count = world.nodes[leaver].program.len();
        let keeps = world.chance.below(count + 1);
        world.nodes[leaver].program.truncate(keeps);
        run_out(&mut world);
        if !world.nodes[leaver].collectives.is_idle() {
            panic!("no rank waits for one that calls less: {}", world.describe());
        }
        world.leave(leaver);
        run_out(&mut world);
        for (rank, node) in world.nodes.iter().enumerate().filter(|(rank, _)| *rank != leaver) {
            assert!(node.collectives.is_idle(), "rank {rank}: {}", world.describe());
            for (at, (line, end)) in node.program.iter().zip(&node.ends).enumerate() {
                match end {
                    End::Done(_) => {}
                    End::Failed(Error::PeerLost { peer, .. }) if at >= keeps => assert_eq!(peer.index(), leaver),
                    other => panic!("rank {rank}: {line:?} ended with {other:?}"),
                }
            }
        }
    });
}

/// Each would have had a read that no message ends, with room for the longest word.
#[test]
fn what_is_no_word_is_not_read() {
    let limits = [Limits { window_bytes: 1 << 20, envelopes_max: 16, fragment_bytes: 4096 }; 2];
    let [mut from, mut to] = [0, 1].map(|rank| Engine::new(Rank(rank), &limits));
    let mut collectives = Collectives::new(Rank(1), 2);
    for tag in 1..=1000 {
        let key = MatchKey::new(Context::Agreement, Tag(tag));
        from.initwrite(Duration::ZERO, Rank(1), key, u8::TYPE, Box::new(Vec::<u8>::new())).unwrap();
    }
    let mut wire = Vec::new();
    let mut write = |slices: &[IoSlice<'_>]| {
        slices.iter().for_each(|slice| wire.extend_from_slice(slice));
        Ok(slices.iter().map(|slice| slice.len()).sum())
    };
    while from.transmit(Rank(1), &mut write).unwrap() != Sent::All {}
    to.handle_bytes(Duration::ZERO, Rank(0), &wire);
    collectives.meet_strangers(&mut to, Duration::ZERO);
    assert_eq!(to.unmatched(Context::Agreement).len(), 1000);
    assert_eq!(collectives.words.len(), 0, "reads were posted that nothing ends");
}
