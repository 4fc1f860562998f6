//! Bits that flip on their way: with checksums that is a cut, and nothing wrong is delivered; without them it is.

use super::cuts::finish;
use super::network::Pipe;
use super::program::{Family, Program};
use super::runs::{Counts, simulate};
use super::world::{Allowed, Kind, LANES, Verdict, World, no_records};
use crate::chance::Chance;

/// The bits of a world that flip.
pub(super) struct Flips {
    size: usize,
    /// Flips that chance may still make, each in one of so many pieces.
    left: u32,
    pieces: usize,
    /// One that comes when so many bytes more have gone one way: from, to, bytes, bit.
    at: Option<(usize, usize, usize, u32)>,
    /// Bytes that have gone each way.
    gone: Vec<usize>,
    /// How many have flipped.
    done: u64,
}

impl Flips {
    pub(super) fn none(size: usize) -> Self {
        Flips { size, left: 0, pieces: 1, at: None, gone: vec![0; size * size * LANES], done: 0 }
    }

    /// Bytes have gone into `pipe`, behind the first `before`: perhaps a bit of them flips.
    pub(super) fn strike(&mut self, (from, to): (usize, usize), pipe: &mut Pipe, before: usize, rng: &mut Chance) {
        let count = pipe.bytes.len() - before;
        let size = self.size;
        let gone = &mut self.gone[from / size * size * size + from % size * size + to % size];
        let passed = *gone..*gone + count;
        *gone = passed.end;
        let mut flip = |at: usize, bit: u32| {
            pipe.bytes[before + at] ^= 1 << bit;
            self.done += 1;
        };
        if let Some((_, _, at, bit)) = self.at.filter(|at| (at.0, at.1) == (from, to) && passed.contains(&at.2)) {
            self.at = None;
            flip(at - passed.start, bit);
        }
        if self.left > 0 && count > 0 && rng.once_in(self.pieces) {
            self.left -= 1;
            flip(rng.below(count), rng.below(8));
        }
    }
}

fn ended(world: Verdict<World>) -> Verdict<World> {
    world.map(|mut world| {
        world.counts.flips = world.flips.done;
        world
    })
}

/// Bits flip again and again, some of them on connections that are cut besides, or where others have flipped already.
#[test]
fn flips_are_only_delays() {
    simulate("flips_are_only_delays", 5_000, |seed| {
        let mut rng = Chance(seed);
        let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
        let program = Program::random(family, &mut rng);
        let misfits = family == Family::Misfitting;
        let allowed = Allowed { misfits, early_goodbye: !misfits && rng.once_in(4), ..Allowed::default() };
        let mut world = World::new(rng, program, allowed);
        world.records = Kind::Checked.all(world.size(), &mut world.rng);
        world.flips.left = 1 + world.rng.below(60) as u32;
        world.flips.pieces = [1, 3, 10, 40][world.rng.below(4)];
        if world.rng.once_in(3) {
            world.cuts.chance_makes(&mut world.rng);
        }
        ended(finish(world))
    });
}

/// What comes of small programs of which a bit flips at each byte that goes from one rank to another: programs, and what they
/// counted. Returns how many went wrong.
fn flip_at_any_byte(programs_max: u64, is_checked: bool, bytes_max: usize) -> (u64, u64, Counts) {
    let (mut programs, mut wrong, mut counts, mut seed) = (0, 0, Counts::default(), 0);
    while programs < programs_max {
        seed += 1;
        let fresh = || {
            let mut rng = Chance(seed);
            let program = Program::random([Family::Rendezvous, Family::Windowed][seed as usize % 2], &mut rng);
            let is_small = program.size() == 2 && (3..20).contains(&program.messages.len());
            let mut world = is_small.then(|| World::new(rng, program, Allowed::default()))?;
            world.records = if is_checked { Kind::Checked.all(2, &mut world.rng) } else { no_records(2) };
            Some(world)
        };
        let Some(plain) = fresh() else { continue };
        let plain = finish(plain).unwrap_or_else(|why| panic!("seed {seed}, nothing flipped: {why}"));
        let [there, back] = [(0, 1), (1, 0)].map(|(from, to)| plain.flips.gone[2 * from + to]);
        if there + back > bytes_max {
            continue;
        }
        programs += 1;
        for (from, to, bytes) in [(0, 1, there), (1, 0, back)] {
            for at in 0..bytes {
                let Some(mut world) = fresh() else { break };
                let bit = (at as u64 + seed) as u32 % 8;
                world.flips.at = Some((from, to, at, bit));
                match ended(finish(world)) {
                    Ok(world) => counts.add(&world.counts),
                    Err(_) if !is_checked => wrong += 1,
                    Err(why) => panic!("seed {seed}, bit {bit} of byte {at} from {from} to {to}: {why}"),
                }
            }
        }
    }
    (programs, wrong, counts)
}

#[test]
fn a_flip_at_any_byte_is_only_a_delay() {
    let (programs, _, counts) = flip_at_any_byte(crate::scale::scaled(20), true, 7000);
    let Counts { flips, damaged, resumed, .. } = counts;
    println!(
        "a_flip_at_any_byte_is_only_a_delay: {programs} programs, {flips} flips, {damaged} found, {resumed} resumed"
    );
    assert!(flips > 100 * programs);
    assert_eq!(damaged, flips, "each of them is found");
}

/// So the flips are real, and what looks for them sees them.
#[test]
fn without_checksums_flips_do_harm() {
    let (programs, wrong, counts) = flip_at_any_byte(crate::scale::scaled(10), false, 4000);
    let Counts { runs, .. } = counts;
    println!("without_checksums_flips_do_harm: {programs} programs, {wrong} flips did harm, {runs} did not");
    // Those that do not are in stamps of no message, and in what acknowledgements say too little.
    assert!(wrong > runs, "{wrong} of {}", wrong + runs);
}
