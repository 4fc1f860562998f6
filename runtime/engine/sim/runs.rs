//! The families of runs, and many seeds of each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::program::{Family, Program};
use super::world::{Allowed, Verdict, World};
use crate::chance::Chance;
use crate::error::Error;
use crate::ids::Rank;
use crate::scale::scaled;

/// Each this many seeds, one is run twice: the trace must be the same.
const REPEAT_EACH: u64 = 16;
const THREADS: usize = 2;

/// What has been done, over all runs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub(super) runs: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) steps: u64,
    pub(super) failed: u64,
    pub(super) refused_late: u64,
    pub(super) abandoned: u64,
    pub(super) failures: u64,
    pub(super) predicted: u64,
    pub(super) stamps: u64,
    /// Writes that left as they were posted.
    pub(super) at_once: u64,
    pub(super) cuts: u64,
    pub(super) resumed: u64,
    pub(super) again: u64,
    /// Bits that were flipped.
    pub(super) flips: u64,
    /// Connections that were ended since a checksum was wrong.
    pub(super) damaged: u64,
    /// Lanes that were opened.
    pub(super) lanes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.runs += other.runs;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.steps += other.steps;
        self.failed += other.failed;
        self.refused_late += other.refused_late;
        self.abandoned += other.abandoned;
        self.failures += other.failures;
        self.predicted += other.predicted;
        self.stamps += other.stamps;
        self.at_once += other.at_once;
        self.cuts += other.cuts;
        self.resumed += other.resumed;
        self.again += other.again;
        self.flips += other.flips;
        self.damaged += other.damaged;
        self.lanes += other.lanes;
    }
}

#[test]
fn programs_without_deadlock_complete() {
    simulate("programs_without_deadlock_complete", 6000, |seed| undisturbed(seed, Family::Rendezvous));
}

#[test]
fn writes_within_the_window_wait_for_no_read() {
    simulate("writes_within_the_window_wait_for_no_read", 4000, |seed| undisturbed(seed, Family::Windowed));
}

#[test]
fn misfits_fail_on_both_sides_and_nothing_else_does() {
    simulate("misfits_fail_on_both_sides_and_nothing_else_does", 4000, |seed| undisturbed(seed, Family::Misfitting));
}

#[test]
fn a_rank_may_leave_at_any_moment() {
    simulate("a_rank_may_leave_at_any_moment", 2500, leaving);
}

#[test]
fn a_lost_rank_ends_every_operation() {
    simulate("a_lost_rank_ends_every_operation", 2500, losing);
}

#[test]
fn damaged_streams_end_in_errors() {
    simulate("damaged_streams_end_in_errors", 2500, damaged);
}

/// A program runs to its end.
fn undisturbed(seed: u64, family: Family) -> Verdict<World> {
    let mut rng = Chance(seed);
    let program = Program::random(family, &mut rng);
    let misfits = family == Family::Misfitting;
    let allowed = Allowed { misfits, early_goodbye: !misfits && rng.once_in(4), ..Allowed::default() };
    let mut world = World::new(rng, program, allowed);
    world.run_out()?;
    world.check_results()?;
    if !allowed.early_goodbye {
        world.check_nothing_left()?;
    }
    world.check_farewell()?;
    Ok(world)
}

/// A rank says goodbye in the middle of its program. The others go on with errors where they need it.
fn leaving(seed: u64) -> Verdict<World> {
    let mut rng = Chance(seed);
    let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
    let program = Program::random(family, &mut rng);
    let allowed = Allowed { errors: true, misfits: true, early_goodbye: rng.once_in(2), ..Allowed::default() };
    let mut world = World::new(rng, program, allowed);
    world.has_lanes = world.rng.once_in(2);
    let moment = moment(&mut world);
    world.run(moment)?;
    let leaver = world.rng.below(world.size());
    if !world.nodes[leaver].said_goodbye {
        world.goodbye(leaver, None)?;
    }
    world.run_out()?;
    if !world.is_over() || !world.nodes[leaver].engine.is_farewelled() {
        // It waits for reads that nobody will post; after a while it closes its connections.
        world.allowed.failures = true;
        world.kill(leaver);
        world.run_out()?;
    } else if let Some(left) =
        world.nodes[leaver].engine.outstanding().iter().find(|left| left.peer != Rank(leaver as u32))
    {
        return Err(format!("rank {leaver} has left, and this never ends: {left:?}"));
    }
    end_all(world)
}

/// A rank dies in the middle of its program: every other fails, and everything of theirs ends.
fn losing(seed: u64) -> Verdict<World> {
    let mut rng = Chance(seed);
    let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
    let program = Program::random(family, &mut rng);
    let allowed = Allowed { errors: true, failures: true, misfits: true, ..Allowed::default() };
    let mut world = World::new(rng, program, allowed);
    world.has_lanes = world.rng.once_in(2);
    let moment = moment(&mut world);
    world.run(moment)?;
    let lost = world.rng.below(world.size());
    world.kill(lost);
    world.run_out()?;
    for rank in (0..world.size()).filter(|rank| *rank != lost) {
        match world.nodes[rank].engine.failure() {
            Some(Error::PeerLost { .. }) => {}
            other => return Err(format!("rank {rank} knows nothing of the lost rank {lost}: {other:?}")),
        }
    }
    end_all(world)
}

/// Bytes change on their way. Nothing may panic, and no memory may grow; the rest is up to chance.
fn damaged(seed: u64) -> Verdict<World> {
    let mut rng = Chance(seed);
    let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
    let program = Program::random(family, &mut rng);
    let allowed = Allowed { errors: true, failures: true, misfits: true, early_goodbye: rng.once_in(2), damage: true };
    let mut world = World::new(rng, program, allowed);
    for _ in 0..1 + world.rng.below(4) {
        let moment = moment(&mut world);
        world.run(moment)?;
        damage(&mut world);
    }
    world.run_out()?;
    end_all(world)
}

fn moment(world: &mut World) -> u64 {
    let magnitude = 1 + world.rng.below(11);
    world.rng.below(1 << magnitude) as u64
}

fn damage(world: &mut World) {
    let size = world.size();
    for _ in 0..2 * size {
        let (from, to) = (world.rng.below(size), world.rng.below(size));
        let (way, at, value) = (world.rng.below(5), world.rng.next() as usize, world.rng.next() as u8);
        let bytes = &mut world.pipe(from, to).bytes;
        if bytes.is_empty() {
            continue;
        }
        let at = at % bytes.len();
        match way {
            0 => bytes[at] ^= 1 << (value % 8),
            1 => bytes[at] = value,
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, value),
            _ => {
                let again: Vec<u8> = bytes.range(at..bytes.len().min(at + 64)).copied().collect();
                bytes.extend(again);
            }
        }
    }
}

/// The job ends in disorder: every operation that is left ends with an error, and commands fail.
fn end_all(mut world: World) -> Verdict<World> {
    world.allowed.failures = true;
    for rank in (0..world.size()).filter(|rank| !world.nodes[*rank].is_dead).collect::<Vec<_>>() {
        world.nodes[rank].engine.fail(Error::Shutdown { rank: Rank(rank as u32) });
        world.settle(rank)?;
        world.check_commands_fail(rank)?;
    }
    world.check_all_ended()?;
    Ok(world)
}

/// Simulates many jobs of a family.
pub(super) fn simulate(name: &str, seeds: u64, run: impl Fn(u64) -> Verdict<World> + Sync) {
    each_seed(name, seeds, |seed| run(seed).map(|world| (world.counts, world.trace)));
}

/// Runs `seeds` seeds, scaled, or just `LATHIDE_SIM_SEED`; prints the counts.
pub(super) fn each_seed(name: &str, seeds: u64, run: impl Fn(u64) -> Verdict<(Counts, u64)> + Sync) {
    if let Some(seed) = number("LATHIDE_SIM_SEED") {
        let (counts, trace) = run(seed).unwrap_or_else(|why| panic!("{name}, seed {seed}: {why}"));
        println!("{name}, seed {seed}: {counts:?}, trace {trace:x}");
        return;
    }
    let seeds = scaled(seeds);
    let (next, total) = (AtomicU64::new(0), Mutex::new(Counts::default()));
    let failures = Mutex::new(Vec::new());
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds || !failures.lock().unwrap().is_empty() {
            return;
        }
        match run_seed(seed, &run) {
            Ok(counts) => total.lock().unwrap().add(&counts),
            Err(why) => failures.lock().unwrap().push(format!(
                "{name}: seed {seed} fails: {why}\n\
                 to repeat it: LATHIDE_SIM_SEED={seed} cargo test --lib {name} -- --nocapture"
            )),
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{name}: {:?}", total.into_inner().unwrap());
}

fn run_seed(seed: u64, run: &(impl Fn(u64) -> Verdict<(Counts, u64)> + Sync)) -> Verdict<Counts> {
    let caught = |seed| {
        catch_unwind(AssertUnwindSafe(|| run(seed))).unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| words.to_string()));
            Err(format!("panic: {}", words.unwrap_or_default()))
        })
    };
    let (counts, trace) = caught(seed)?;
    if seed.is_multiple_of(REPEAT_EACH) && caught(seed)?.1 != trace {
        return Err("the same seed has given two traces".to_owned());
    }
    Ok(counts)
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable}={value:?} is not a number")))
}
