//! Connections that are cut: with what is on its way, noticed by each end in its own time, and made anew.

use super::network::Pipe;
use super::program::{Family, Program};
use super::runs::simulate;
use super::world::{Allowed, Kind, LANES, Verdict, World};
use crate::chance::Chance;
use crate::ids::{Path, Rank};

/// The connections of a world, one per pair of ranks.
pub(super) struct Cuts {
    size: usize,
    /// By the lower and the higher rank.
    lines: Vec<Line>,
    /// Cuts that chance may still make, each after about so many steps.
    left: u32,
    steps: usize,
    /// A cut that comes when so many bytes more have gone one way.
    at: Option<At>,
}

/// One connection.
#[derive(Clone, Copy, Default)]
struct Line {
    is_dead: bool,
    /// Whether the lower and the higher rank know it.
    noticed: [bool; 2],
}

struct At {
    from: usize,
    to: usize,
    left: usize,
}

impl Cuts {
    pub(super) fn none(size: usize) -> Self {
        Cuts { size, lines: vec![Line::default(); size * size * LANES], left: 0, steps: 1, at: None }
    }

    /// Some, by chance.
    pub(super) fn chance_makes(&mut self, rng: &mut Chance) {
        self.left = 1 + rng.below(20) as u32;
        self.steps = [3, 20, 100, 1000][rng.below(4)];
    }

    fn at(&self, one: usize, other: usize) -> usize {
        let (size, lower, higher) = (self.size, one.min(other), one.max(other));
        lower / size * size * size + lower % size * size + higher % size
    }

    fn line(&mut self, one: usize, other: usize) -> &mut Line {
        let at = self.at(one, other);
        &mut self.lines[at]
    }

    fn state(&self, one: usize, other: usize) -> Line {
        self.lines[self.at(one, other)]
    }

    pub(super) fn is_dead(&self, one: usize, other: usize) -> bool {
        self.state(one, other).is_dead
    }

    /// Whether `rank` still takes its connection to `peer` for alive.
    pub(super) fn is_unnoticed(&self, rank: usize, peer: usize) -> bool {
        let line = self.state(rank, peer);
        line.is_dead && !line.noticed[usize::from(rank > peer)]
    }

    pub(super) fn may_dial(&self, rank: usize, peer: usize) -> bool {
        rank < peer && self.is_dead(rank, peer) && !self.is_unnoticed(rank, peer)
    }

    /// How much of a piece may go before the cut that is due.
    pub(super) fn before(&self, from: usize, to: usize, piece: usize) -> usize {
        match &self.at {
            Some(at) if (at.from, at.to) == (from, to) => piece.min(at.left),
            _ => piece,
        }
    }
}

impl World {
    /// Before each step: perhaps a cut.
    pub(super) fn cut_by_chance(&mut self) {
        if let Some(At { from, to, left: 0 }) = self.cuts.at {
            self.cuts.at = None;
            self.cut(from, to);
        }
        if self.has_lanes && self.rng.once_in(50) {
            self.open_lane();
        }
        if self.cuts.left > 0 && self.rng.once_in(self.cuts.steps) {
            self.cuts.left -= 1;
            let lane = if self.has_lanes { self.rng.below(LANES) } else { 0 } * self.size();
            let (one, other) = (lane + self.rng.below(self.size()), lane + self.rng.below(self.size()));
            if one != other && !self.cuts.is_dead(one, other) && self.is_used(one, other) {
                self.cut(one, other);
            }
        }
    }

    fn is_used(&self, one: usize, other: usize) -> bool {
        let size = self.size();
        let node = |end: usize| &self.nodes[end % size];
        let may_end = |end: usize, peer: usize| node(end).engine.may_end(self.path(peer));
        let is_open = node(one).engine.lanes(self.path(other).peer) >= self.path(other).lane;
        is_open && !node(one).is_dead && !node(other).is_dead && !may_end(one, other) && !may_end(other, one)
    }

    /// A pair of ranks opens a lane: it has no connection yet.
    fn open_lane(&mut self) {
        let size = self.size();
        let (one, other) = (self.rng.below(size), self.rng.below(size));
        let ranks = [one, other].map(|rank| Rank(rank as u32));
        let lane = self.nodes[one].engine.lanes(ranks[1]) as usize + 1;
        if one == other || lane >= LANES || self.nodes[one].is_dead || self.nodes[other].is_dead {
            return;
        }
        self.counts.lanes += 1;
        for (rank, peer) in [(one, ranks[1]), (other, ranks[0])] {
            self.nodes[rank].engine.open_lanes(peer, lane as u8);
            self.nodes[rank].engine.begin_lane_at(Path { peer, lane: lane as u8 }, self.starts);
        }
        *self.cuts.line(lane * size + one, lane * size + other) = Line { is_dead: true, noticed: [true; 2] };
    }

    /// The far end of a lane, as an index: so many ranks for each lane.
    pub(super) fn path(&self, end: usize) -> Path {
        Path { peer: Rank((end % self.size()) as u32), lane: (end / self.size()) as u8 }
    }

    /// Where what lies between two ends stands.
    pub(super) fn between(&self, from: usize, to: usize) -> usize {
        let size = self.size();
        from / size * size * size + from % size * size + to % size
    }

    /// The connection breaks. Some of what is on its way still arrives, unless the end that it goes to notices first.
    pub(super) fn cut(&mut self, one: usize, other: usize) {
        self.counts.cuts += 1;
        self.note(&[6, one as u64, other as u64]);
        *self.cuts.line(one, other) = Line { is_dead: true, noticed: [false; 2] };
        for (from, to) in [(one, other), (other, one)] {
            let (arrives, ends, fails) = (self.rng.next() as usize, self.rng.once_in(3), self.rng.once_in(3));
            let pipe = self.pipe(from, to);
            pipe.bytes.truncate(arrives % (pipe.bytes.len() + 1));
            (pipe.is_cut, pipe.is_broken, pipe.is_void) = (ends, fails, true);
        }
    }

    /// `rank` learns that its connection to `peer` is gone: what still comes on it is never looked at.
    pub(super) fn notice(&mut self, rank: usize, peer: usize) -> Verdict {
        self.note(&[7, rank as u64, peer as u64]);
        self.cuts.line(rank, peer).noticed[usize::from(rank > peer)] = true;
        let pipe = self.pipe(peer, rank);
        pipe.bytes.clear();
        pipe.is_cut = false;
        let (path, rank) = (self.path(peer), rank % self.size());
        self.nodes[rank].engine.suspend(path);
        self.settle(rank)
    }

    /// The lower rank has a new connection. Its last pass may be lost: then it alone has begun to use it.
    pub(super) fn dial(&mut self, lower: usize, higher: usize) -> Verdict {
        let (size, paths) = (self.size(), [lower, higher].map(|end| self.path(end)));
        if self.cuts.is_unnoticed(higher, lower) {
            self.notice(higher, lower)?;
        }
        let is_lost = self.cuts.left > 0 && self.rng.once_in(4);
        self.note(&[8, lower as u64, higher as u64, u64::from(is_lost)]);
        for (from, to) in [(lower, higher), (higher, lower)] {
            let pipe = self.pipe(from, to);
            *pipe = Pipe { capacity: pipe.capacity, is_clogged: pipe.is_clogged, ..Pipe::default() };
        }
        // A lane's are of the kind that the link's first are of.
        if let Some(records) = &self.records[self.between(lower % size, higher % size)] {
            let (dialer, acceptor) = Kind::of(records).pair(&mut self.rng);
            let (there, back) = (self.between(lower, higher), self.between(higher, lower));
            (self.records[there], self.records[back]) = (Some(dialer), Some(acceptor));
        }
        let [of_lower, of_higher] =
            [(lower, paths[1]), (higher, paths[0])].map(|(end, path)| self.nodes[end % size].engine.received(path));
        *self.cuts.line(lower, higher) = Line { is_dead: is_lost, noticed: [false, is_lost] };
        if is_lost {
            self.cuts.left -= 1;
            for (from, to) in [(lower, higher), (higher, lower)] {
                let (ends, fails) = (self.rng.once_in(3), self.rng.once_in(3));
                let pipe = self.pipe(from, to);
                (pipe.is_cut, pipe.is_broken, pipe.is_void) = (ends && to == lower, fails, true);
            }
        }
        self.goes_on(lower, higher, of_higher)?;
        if !is_lost {
            self.counts.resumed += 1;
            self.goes_on(higher, lower, of_lower)?;
        }
        Ok(())
    }

    fn goes_on(&mut self, rank: usize, peer: usize, position: u64) -> Verdict {
        let (path, rank) = (self.path(peer), rank % self.size());
        let resumed = self.nodes[rank].engine.resume(path, position);
        self.counts.again += resumed.map_err(|error| format!("rank {rank} cannot go on with {peer}: {error}"))?;
        self.settle(rank)
    }

    /// Time has passed: peers are told of what has come.
    pub(super) fn acknowledge(&mut self, rank: usize) -> Verdict {
        let later = self.now() + std::time::Duration::from_secs(1);
        if self.nodes[rank].engine.acknowledge(later).is_some() {
            return Err(format!("rank {rank} is to tell something, and not even in a second"));
        }
        self.settle(rank)
    }

    /// Bytes have gone from one to the other.
    pub(super) fn count_to_cut(&mut self, from: usize, to: usize, moved: usize) {
        if let Some(at) = &mut self.cuts.at
            && (at.from, at.to) == (from, to)
        {
            at.left -= moved.min(at.left);
        }
    }
}

/// Programs whose connections are cut again and again: all messages arrive, once and in order, as if nothing had happened.
#[test]
fn cuts_are_only_delays() {
    simulate("cuts_are_only_delays", 10_000, cut_at_random);
}

fn cut_at_random(seed: u64) -> Verdict<World> {
    let mut rng = Chance(seed);
    let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
    let program = Program::random(family, &mut rng);
    let misfits = family == Family::Misfitting;
    let allowed = Allowed { misfits, early_goodbye: !misfits && rng.once_in(4), ..Allowed::default() };
    let mut world = World::new(rng, program, allowed);
    world.cuts.chance_makes(&mut world.rng);
    finish(world)
}

pub(super) fn finish(mut world: World) -> Verdict<World> {
    world.run_out()?;
    world.check_results()?;
    if !world.allowed.early_goodbye {
        world.check_nothing_left()?;
    }
    world.check_farewell()?;
    Ok(world)
}

/// The same over links that open lanes at any time, and of which each lane is cut by itself.
#[test]
fn lanes_are_only_other_ways() {
    simulate("lanes_are_only_other_ways", 10_000, |seed| {
        let mut rng = Chance(seed);
        let family = rng.pick(&[Family::Rendezvous, Family::Windowed, Family::Misfitting]);
        let program = Program::random(family, &mut rng);
        let misfits = family == Family::Misfitting;
        let allowed = Allowed { misfits, early_goodbye: !misfits && rng.once_in(4), ..Allowed::default() };
        let mut world = World::new(rng, program, allowed);
        world.has_lanes = true;
        if world.rng.once_in(2) {
            world.cuts.chance_makes(&mut world.rng);
        }
        finish(world)
    });
}

/// Small programs, cut at each byte that goes from one rank to another: with and without records, with windows and without.
#[test]
fn a_cut_at_any_byte_is_only_a_delay() {
    let (mut cuts, mut programs, mut seed) = (0, 0, 0);
    while programs < crate::scale::scaled(40) {
        seed += 1;
        let fresh = || {
            let mut rng = Chance(seed);
            let program = Program::random([Family::Rendezvous, Family::Windowed][seed as usize % 2], &mut rng);
            let is_small = program.size() == 2 && (3..20).contains(&program.messages.len());
            is_small.then(|| World::new(rng, program, Allowed::default()))
        };
        let Some(uncut) = fresh() else { continue };
        let uncut = finish(uncut).unwrap_or_else(|why| panic!("seed {seed}, uncut: {why}"));
        let sent = |from: usize, to: u32| uncut.nodes[from].engine.sent(Rank(to)).wrapping_sub(uncut.starts.positions);
        if sent(0, 1) + sent(1, 0) > 5000 {
            continue;
        }
        programs += 1;
        for (from, to) in [(0, 1), (1, 0)] {
            for at in 0..sent(from, to as u32) as usize {
                let Some(mut world) = fresh() else { break };
                world.cuts.at = Some(At { from, to, left: at });
                let world =
                    finish(world).unwrap_or_else(|why| panic!("seed {seed}, cut {from} to {to} after {at}: {why}"));
                cuts += world.counts.cuts;
            }
        }
    }
    println!("a_cut_at_any_byte_is_only_a_delay: {programs} programs, {cuts} cuts, up to seed {seed}");
    assert!(cuts > 100 * programs);
}
