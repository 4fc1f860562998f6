//! Runs with groups: of random members, nested, overlapping, dropped while their collectives are under way, one of them in
//! disagreement, a rank lost.

use super::calls::{self, Exchange, Line, random_call};
use super::runs::{changed, check_done, each_seed, finalize_all, run_out};
use super::world::{End, World};
use crate::collective::trial_tests::Chance;
use crate::error::Error;
use crate::scale::scaled;

/// Which groups a program makes and what becomes of them.
#[derive(Clone, Copy)]
struct Plan {
    /// Some are founded by a collective of their parent, and fail if that does.
    by_parent: bool,
    /// All are dropped in the end.
    drops_all: bool,
}

/// A random program with groups, the same for all ranks.
fn program(chance: &mut Chance, ranks: u32, plan: Plan) -> Vec<Line> {
    let mut program = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
    let job: Vec<u32> = (0..ranks).collect();
    for _ in 0..4 + chance.below(14) {
        let (at, seed) = (program.len(), chance.below(1 << 30) as u64);
        let which = chance.below(groups.len() + 1);
        let chosen = groups.get(which).cloned();
        let group = chosen.as_ref().map(|(group, _)| *group);
        let of_parent = chosen.map_or(job.clone(), |(_, members)| members);
        match chance.below(8) {
            0 | 1 => {
                let mut left = of_parent;
                let count = 1 + chance.below(left.len());
                let members: Vec<u32> = (0..count).map(|_| left.swap_remove(chance.below(left.len()))).collect();
                let by_parent = plan.by_parent && chance.below(2) == 0;
                groups.push((at, members.clone()));
                program.extend([Line::Found { members, parent: group, by_parent }, Line::Wait(at)]);
            }
            2 if group.is_some() => {
                groups.swap_remove(which);
                program.extend(group.map(Line::Drop));
            }
            3 if ranks > 1 => {
                let from = chance.below(ranks as usize);
                let to = (from + 1 + chance.below(ranks as usize - 1)) % ranks as usize;
                open.push(at);
                program.push(Line::Message { from, to, count: chance.below(200), seed });
            }
            _ => {
                let (call, algorithm) = random_call(chance, of_parent.len() as u32);
                open.push(at);
                program.push(Line::Collective { group, call, algorithm, seed, exchange: Exchange::Nothing });
            }
        }
        while !open.is_empty() && chance.below(2) == 0 {
            let which = chance.below(open.len());
            program.push(Line::Wait(open.swap_remove(which)));
        }
    }
    let drops = groups.into_iter().map(|(group, _)| Line::Drop(group)).filter(|_| plan.drops_all);
    let waits = open.into_iter().map(Line::Wait);
    if chance.below(2) == 0 {
        program.extend(waits.chain(drops))
    } else {
        program.extend(drops.chain(waits))
    }
    program
}

fn world(seed: u64, plan: Plan) -> World {
    let mut chance = Chance(seed);
    let ranks = 1 + chance.below(7);
    let program = program(&mut chance, ranks as u32, plan);
    World::new(chance, vec![program; ranks])
}

#[test]
fn collectives_of_groups_complete_and_groups_are_forgotten() {
    each_seed("collectives_of_groups_complete_and_groups_are_forgotten", 10_000, |seed| {
        let mut world = world(seed, Plan { by_parent: true, drops_all: true });
        if seed.is_multiple_of(2) {
            for _ in 0..5 {
                world.run(200);
                world.ask();
            }
        }
        world.run(u64::MAX);
        check_done(&world);
        for (rank, node) in world.nodes.iter().enumerate() {
            assert_eq!(node.collectives.group_count(), 0, "rank {rank} remembers groups: {}", world.describe());
        }
    });
}

/// Groups that live when the program ends are confirmed as the job's own collectives are.
#[test]
fn ranks_with_groups_finalize() {
    each_seed("ranks_with_groups_finalize", 3000, |seed| {
        let mut world = world(seed, Plan { by_parent: true, drops_all: false });
        finalize_all(&mut world);
        check_done(&world);
        let is_alone = world.nodes.len() == 1;
        assert!(is_alone || world.nodes.iter().all(|node| node.engine.is_leaving()), "{}", world.describe());
    });
}

/// A collective of a group with at least two members, and a member that does something else there.
fn victim(chance: &mut Chance, program: &[Line]) -> Option<(usize, usize, Vec<u32>)> {
    let lines = program.iter().enumerate().filter_map(|(at, line)| {
        let Line::Collective { group: Some(group), .. } = line else { return None };
        let Line::Found { members, .. } = &program[*group] else { return None };
        (members.len() > 1).then(|| (at, *group, members.clone()))
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines[chance.below(lines.len())].clone())
}

/// One member calls something else, or has dropped the group by then: every member is told, at the latest when the group is dropped, and all other
/// groups go on.
#[test]
fn a_group_that_disagrees_breaks_no_other() {
    let found = std::cell::Cell::new(0);
    each_seed("a_group_that_disagrees_breaks_no_other", 6000, |seed| {
        let mut world = world(seed, Plan { by_parent: false, drops_all: true });
        let program = world.nodes[0].program.clone();
        let Some((at, group, members)) = victim(&mut world.chance, &program) else { return };
        let odd = members[world.chance.below(members.len())] as usize;
        let drops = world.chance.below(3) == 0;
        let other = if drops { Line::Drop(group) } else { changed(&mut world.chance, &program[at]) };
        world.nodes[odd].program[at] = other;
        run_out(&mut world);
        found.set(found.get() + 1);
        for (rank, node) in world.nodes.iter().enumerate() {
            for (line, end) in node.program.iter().zip(&node.ends) {
                let Line::Collective { group: of, call, seed, .. } = line else {
                    let is_over =
                        matches!(end, End::Done(_)) || !matches!(line, Line::Message { .. } | Line::Found { .. });
                    assert!(is_over, "rank {rank}: {line:?} ended with {end:?}: {}", world.describe());
                    continue;
                };
                match end {
                    End::Failed(error) if *of == Some(group) => check_error(error, odd, &members),
                    // What was complete before, or needs nothing of the odd one.
                    End::Done(_) if *of == Some(group) => {}
                    End::Done(got) => {
                        let place = calls::place(&program, *of, rank as u32);
                        let expected = place.and_then(|place| calls::expected(call, place, *seed));
                        assert!(
                            expected.is_none_or(|expected| expected == *got),
                            "rank {rank}: {line:?} gave {got:x?}"
                        );
                    }
                    _ => panic!("rank {rank}: {line:?} ended with {end:?}: {}", world.describe()),
                }
            }
            assert!(node.collectives.is_idle() && node.engine.is_drained(), "rank {rank}: {}", world.describe());
            let failure = node.collectives.failure();
            assert_eq!(failure.is_some(), members.contains(&(rank as u32)), "rank {rank}: {}", world.describe());
            failure.iter().for_each(|error| check_error(error, odd, &members));
        }
    });
    assert!(found.get() > scaled(1000) || std::env::var("LATHIDE_SIM_SEED").is_ok(), "{} have disagreed", found.get());
}

/// The error names the group, and who differs.
fn check_error(error: &Error, odd: usize, members: &[u32]) {
    let words = error.to_string();
    let named: Vec<String> = members.iter().map(u32::to_string).collect();
    assert!(words.contains(&format!("the group of ranks {}", named.join(", "))), "{words}");
    let is_right = match error {
        Error::Disagreement { ranks: (one, other), .. } => [one, other].iter().any(|rank| rank.index() == odd),
        // It has called less, so that who calls more finds it gone; or digests were equal by chance.
        Error::Collective { .. } => {
            words.contains("others call more")
                || words.contains("another number of elements")
                || words.contains("met a read of")
        }
        _ => false,
    };
    assert!(is_right, "{words}");
}

#[test]
fn a_lost_rank_ends_the_collectives_of_every_group() {
    each_seed("a_lost_rank_ends_the_collectives_of_every_group", 2000, |seed| {
        let mut world = world(seed, Plan { by_parent: true, drops_all: true });
        let steps = world.chance.below(1 << (2 + seed % 11)) as u64;
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
                    End::NotBegun if matches!(line, Line::Wait(_) | Line::Drop(_)) => {}
                    other => panic!("rank {rank}: {line:?} ended with {other:?}"),
                }
            }
        }
    });
}
