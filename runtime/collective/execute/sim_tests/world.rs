//! The job: engines, their collectives, and what lies between. Each step moves one program, one part, or one link.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::calls::{self, Exchange, Line};
use crate::buffer::Element;
use crate::collective::calibration::EXCHANGE_WINDOW_BYTES;
use crate::collective::execute::{Collectives, Job, Members, Start, Typed};
use crate::collective::trial_tests::Chance;
use crate::collective::{Blocks, Prepared, allgather};
use crate::engine::{Completed, Engine, Limits, OpId, Outcome, Sent, Starts};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::wire::frame::MatchKey;

/// How a line has ended on a rank.
#[derive(Debug)]
pub(super) enum End {
    NotBegun,
    UnderWay,
    Done(Vec<u64>),
    Failed(Error),
}

pub(super) struct Node {
    pub(super) engine: Engine,
    pub(super) collectives: Collectives,
    /// What this rank does; another's may differ by mistake.
    pub(super) program: Vec<Line>,
    at: usize,
    ops: HashMap<OpId, usize>,
    pub(super) ends: Vec<End>,
    sends: Vec<bool>,
    /// Parts that run.
    jobs: Vec<Job>,
    /// The groups that it has, by the line that founds them: its number of each, and the members.
    pub(super) groups: HashMap<usize, (u32, Arc<Members>)>,
    /// The same, also of those that are dropped.
    pub(super) parents: HashMap<usize, Arc<Members>>,
    /// The number of the group that a line is founding.
    pub(super) reserved: HashMap<usize, u32>,
    pub(super) size: u32,
    /// What has come of the last exchange.
    exchange: Arc<OnceLock<Vec<f64>>>,
    /// The number of the first collective.
    first: u64,
    /// A deferred call begins another one.
    begins_exchange: Arc<AtomicU64>,
    is_dead: bool,
    /// It finalizes: leaves when all is known to be well, or not.
    finalizes: bool,
    /// Its operators panic.
    pub(super) is_faulty: bool,
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) nodes: Vec<Node>,
    pipes: Vec<VecDeque<u8>>,
    capacity: usize,
    pub(super) steps: u64,
}

enum Move {
    Program(usize),
    Take(usize),
    PutBack(usize),
    Send(usize, usize),
    Deliver(usize, usize),
    Leave(usize),
}

/// Steps after which a run is given up.
const STEPS_MAX: u64 = 2_000_000;

impl World {
    pub(super) fn new(mut chance: Chance, programs: Vec<Vec<Line>>) -> Self {
        // A node with a shorter window does not exchange.
        let begins = |line: &Line| matches!(line, Line::Collective { exchange: Exchange::Begins, .. });
        let exchanges = programs.iter().flatten().any(begins);
        let size = programs.len();
        let limits = Limits {
            window_bytes: [0, 300, 2000, 1 << 20][chance.below(4)].max(if exchanges {
                EXCHANGE_WINDOW_BYTES
            } else {
                0
            }),
            envelopes_max: [1, 3, 1024][chance.below(3)],
            fragment_bytes: [16, 100, 4096][chance.below(3)],
        };
        let limits = vec![limits; size];
        let starts = Starts::random(&mut |end| chance.below(end));
        let first = [0, u64::from(u32::MAX) - 3, 4094, 1 << 40][chance.below(4)];
        let node = |(rank, program): (u32, Vec<Line>)| Node {
            engine: {
                let mut engine = Engine::new(Rank(rank), &limits);
                engine.begin_at(starts);
                engine
            },
            collectives: {
                let mut collectives = Collectives::new(Rank(rank), size as u32);
                collectives.begin_at(first);
                collectives
            },
            at: 0,
            ops: HashMap::new(),
            ends: program.iter().map(|_| End::NotBegun).collect(),
            program,
            sends: vec![false; size],
            jobs: Vec::new(),
            groups: HashMap::new(),
            parents: HashMap::new(),
            reserved: HashMap::new(),
            size: size as u32,
            exchange: Default::default(),
            first,
            begins_exchange: Arc::new(AtomicU64::new(u64::MAX)),
            is_dead: false,
            finalizes: false,
            is_faulty: false,
        };
        let capacity = [40, 500, 1 << 16][chance.below(3)];
        let nodes = (0..).zip(programs).map(node).collect();
        World { chance, nodes, pipes: vec![VecDeque::new(); size * size], capacity, steps: 0 }
    }

    /// Runs until nothing can move, or `steps` steps.
    pub(super) fn run(&mut self, steps: u64) {
        let end = self.steps.saturating_add(steps);
        while self.steps < end {
            assert!(self.steps < STEPS_MAX, "it does not end: {}", self.describe());
            self.steps += 1;
            let mut moves = self.moves();
            if moves.is_empty() {
                return;
            }
            let next = self.chance.below(moves.len());
            match moves.swap_remove(next) {
                Move::Program(rank) => self.step(rank),
                Move::Take(rank) => {
                    let job = self.nodes[rank].collectives.take_due();
                    self.nodes[rank].jobs.extend(job);
                }
                Move::PutBack(rank) => {
                    let which = self.chance.below(self.nodes[rank].jobs.len());
                    let mut job = self.nodes[rank].jobs.swap_remove(which);
                    job.run(|| Duration::ZERO, &mut |_, _| ());
                    let number = self.nodes[rank].begins_exchange.swap(u64::MAX, Ordering::Relaxed);
                    if number != u64::MAX {
                        self.exchange(rank, number);
                    }
                    let leaves = self.chance.below(3);
                    if leaves == 0 {
                        self.send_at_once(rank, &mut job);
                    }
                    let (now, node) = (self.now(), &mut self.nodes[rank]);
                    if leaves == 1 {
                        node.collectives.copy_writes(&mut node.engine, now, &mut job);
                    }
                    node.collectives.put_back(&mut node.engine, now, job);
                    self.settle(rank);
                }
                Move::Send(from, to) => self.send(from, to),
                Move::Deliver(from, to) => self.deliver(from, to),
                Move::Leave(rank) => self.leave(rank),
            }
        }
    }

    fn moves(&self) -> Vec<Move> {
        let (size, mut moves) = (self.nodes.len(), Vec::new());
        for (rank, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.is_dead) {
            let can_step = match node.program.get(node.at) {
                None => false,
                Some(Line::Wait(line)) => matches!(node.ends[*line], End::Done(_) | End::Failed(_)),
                Some(_) => true,
            };
            if can_step {
                moves.push(Move::Program(rank));
            }
            if node.collectives.has_due() {
                moves.push(Move::Take(rank));
            }
            if !node.jobs.is_empty() {
                moves.push(Move::PutBack(rank));
            }
            // Alone there is nobody to say goodbye to.
            if size > 1 && node.finalizes && !node.engine.is_leaving() && node.collectives.is_agreed(&node.engine) {
                moves.push(Move::Leave(rank));
            }
            for peer in 0..size {
                if node.sends[peer] && self.pipes[rank * size + peer].len() < self.capacity {
                    moves.push(Move::Send(rank, peer));
                }
                if !self.pipes[peer * size + rank].is_empty() {
                    moves.push(Move::Deliver(peer, rank));
                }
            }
        }
        moves
    }

    fn step(&mut self, rank: usize) {
        let (now, me) = (self.now(), Rank(rank as u32));
        let size = self.nodes.len();
        let node = &mut self.nodes[rank];
        let at = node.at;
        node.at += 1;
        let op = match node.program[at].clone() {
            Line::Collective { group, call, algorithm, seed, exchange } => {
                let (is_faulty, founded) = (node.is_faulty, group.map(|group| node.groups.get(&group)));
                // It is no member.
                let Some((group, me)) = founded.map_or(Some((0, me)), |founded| founded.map(|(n, m)| (*n, m.own())))
                else {
                    return node.ends[at] = End::Done(Vec::new());
                };
                let make = move || {
                    let schedule: Prepared =
                        calls::of_rank(&call, me.0).schedule(algorithm, me).expect("an algorithm for this call").into();
                    let work = calls::work(&call, &schedule, me.0, seed, is_faulty);
                    let signature = Some(calls::signature(&call, algorithm));
                    Start { group, schedule: schedule.into(), signature, work, timed: None }
                };
                self.call(rank, exchange, size, make)
            }
            Line::Found { members, parent, by_parent } => match self.found(rank, at, &members, parent, by_parent) {
                Some(op) => op,
                None => return self.nodes[rank].ends[at] = End::Done(Vec::new()),
            },
            Line::Drop(group) => {
                node.ends[at] = End::Done(Vec::new());
                if let Some((number, _)) = node.groups.remove(&group) {
                    node.collectives.release(number);
                    self.settle(rank);
                }
                return;
            }
            Line::Message { from, to, count, seed } if from == rank => {
                let source = Box::new(calls::payload(seed, count));
                node.engine
                    .initwrite(now, Rank(to as u32), MatchKey::user(Tag(at as u32)), u64::TYPE, source)
                    .map_err(Error::from)
            }
            Line::Message { from, to, count, .. } if to == rank => {
                let place = Box::new(vec![0u64; count]);
                node.engine
                    .initread(now, Rank(from as u32), MatchKey::user(Tag(at as u32)), u64::TYPE, place)
                    .map_err(Error::from)
            }
            Line::Message { .. } => return node.ends[at] = End::Done(Vec::new()),
            Line::Wait(_) => return,
        };
        let node = &mut self.nodes[rank];
        match op {
            Ok(op) => {
                node.ends[at] = End::UnderWay;
                node.ops.insert(op, at);
            }
            Err(error) => node.ends[at] = End::Failed(error),
        }
        self.settle(rank);
    }

    /// Begins a collective, at once or after the exchange that it needs.
    fn call(
        &mut self,
        rank: usize,
        exchange: Exchange,
        size: usize,
        make: impl FnOnce() -> Start + Send + 'static,
    ) -> Result<OpId, Error> {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        let result = node.exchange.clone();
        // Lines up to this one, of which each collective has a number.
        let lines = &node.program[..node.at];
        let calls = lines.iter().filter(|line| matches!(line, Line::Collective { group: None, .. })).count() as u64;
        let number = node.first + calls.saturating_sub(1);
        let is_early = exchange == Exchange::Adopts && result.get().is_none();
        if !is_early && !node.collectives.has_deferred() {
            let start = make();
            let op = match start.schedule.single().filter(|_| self.chance.below(2) == 0) {
                Some(_) => self.start_numbered(rank, start)?,
                None => node.collectives.start(&mut node.engine, now, start)?,
            };
            if exchange == Exchange::Begins {
                self.exchange(rank, number);
            }
            return Ok(op);
        }
        let (begins, own) = (node.begins_exchange.clone(), Rank(rank as u32));
        let deferred = move || {
            if exchange == Exchange::Adopts && result.get().is_none() {
                return Err(Error::Collective { number: 0, rank: own, cause: "no exchange".into() });
            }
            if let (Exchange::Adopts, Some(all)) = (exchange, result.get()) {
                assert!((0..size).all(|rank| all[2 * rank] == rank as f64), "what each rank has contributed: {all:?}");
            }
            if exchange == Exchange::Begins {
                begins.store(number, Ordering::Relaxed);
            }
            Ok(Some(make()))
        };
        node.collectives.defer(&mut node.engine, now, Box::new(deferred))
    }

    /// Begins an exchange of two numbers of each rank.
    fn exchange(&mut self, rank: usize, number: u64) {
        let (now, size) = (self.now(), self.nodes.len());
        let node = &mut self.nodes[rank];
        let result = Arc::<OnceLock<Vec<f64>>>::default();
        node.exchange = result.clone();
        let schedule: Arc<Prepared> =
            allgather::bruck::schedule(Rank(rank as u32), size as u32, &Blocks::Equal(2)).into();
        let mut all = vec![0.0; 2 * size];
        all[2 * rank..2 * rank + 2].copy_from_slice(&[rank as f64, 0.5]);
        let work = Typed::new(&schedule, Vec::new(), all, None, move |_, all: Vec<f64>| _ = result.set(all));
        let start = Start { group: 0, schedule, signature: None, work: Box::new(work), timed: None };
        node.collectives.calibrate(&mut node.engine, now, number, start);
    }

    pub(super) fn settle(&mut self, rank: usize) {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        while let Some(peer) = node.engine.poll_pending() {
            node.sends[peer.peer.index()] = true;
        }
        let mut ended = Vec::new();
        loop {
            while let Some(completion) = node.engine.poll_completion() {
                ended.extend(node.collectives.complete(&mut node.engine, || now, completion));
            }
            let had_strangers = node.engine.has_strangers();
            node.collectives.meet_strangers(&mut node.engine, now);
            let goes_on = had_strangers || node.collectives.fail_late(&mut node.engine, now);
            while let Some(completion) = node.collectives.poll_completion() {
                ended.push(completion);
            }
            if !goes_on && !node.engine.has_completions() && !node.engine.has_strangers() {
                break;
            }
        }
        drop(node.collectives.take_spent());
        while let Some(peer) = node.engine.poll_pending() {
            node.sends[peer.peer.index()] = true;
        }
        assert!(node.engine.poll_refusal().is_none(), "no user is told of refusals");
        let mut founded = Vec::new();
        for Completed { op, outcome } in ended {
            // What is not the program's is a word or a message in vain.
            let Some(line) = node.ops.remove(&op) else { continue };
            let result: Box<dyn Any> = match outcome {
                Outcome::Made(result) => result,
                Outcome::Read(place, _) => place.into_any(),
                Outcome::Written(source) => source.take().into_any(),
                Outcome::Failed(failure) => {
                    node.ends[line] = End::Failed(failure.error);
                    continue;
                }
                Outcome::Abandoned(_) => panic!("nothing is withdrawn"),
            };
            node.ends[line] = End::Done(*result.downcast().expect("everything is u64"));
            founded.extend(matches!(node.program[line], Line::Found { .. }).then_some(line));
        }
        founded.into_iter().for_each(|line| self.establish(rank, line));
    }

    /// Sends the short messages of a part that has run before it is put back, as far as they can leave at once.
    fn send_at_once(&mut self, rank: usize, job: &mut Job) {
        let node = &mut self.nodes[rank];
        while let Some((to, key, element, source)) = node.collectives.first_write(job) {
            let pipe = &mut self.pipes[rank * node.sends.len() + to.index()];
            let mut room = (self.capacity - pipe.len()).min(self.chance.below(400));
            let mut write = |slices: &[IoSlice<'_>]| fill(pipe, &mut room, slices);
            let sent = node.engine.write_at_once(to, (key, element), source.bytes(), &mut write);
            let Some((op, _)) = sent.expect("pipes do not break") else { return };
            node.collectives.has_left(job, op);
        }
    }

    fn send(&mut self, from: usize, to: usize) {
        let size = self.nodes.len();
        let room = self.capacity - self.pipes[from * size + to].len();
        let mut room = room.min(1 + self.chance.below(400));
        let (pipe, node) = (&mut self.pipes[from * size + to], &mut self.nodes[from]);
        let mut write = |slices: &[IoSlice<'_>]| fill(pipe, &mut room, slices);
        if let Sent::All = node.engine.transmit(Rank(to as u32), &mut write).expect("pipes do not break") {
            node.sends[to] = false;
        }
        self.settle(from);
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let (size, now) = (self.nodes.len(), self.now());
        let most = 1 + self.chance.below(400);
        let pipe = &mut self.pipes[from * size + to];
        let mut read = |slices: &mut [IoSliceMut<'_>]| {
            let mut count = 0;
            for slice in slices {
                let now = slice.len().min(most - count).min(pipe.len());
                for (to, byte) in slice.iter_mut().zip(pipe.drain(..now)) {
                    *to = byte;
                }
                count += now;
            }
            Ok(count)
        };
        self.nodes[to].engine.receive(now, Rank(from as u32), &mut read).expect("pipes do not break");
        self.settle(to);
    }

    /// Every rank asks what it waits for, as the kernel does when nothing moves for long.
    pub(super) fn ask(&mut self) {
        for rank in (0..self.nodes.len()).filter(|&rank| !self.nodes[rank].is_dead).collect::<Vec<_>>() {
            let (now, node) = (self.now(), &mut self.nodes[rank]);
            node.collectives.ask(&mut node.engine, now, Duration::ZERO);
            self.settle(rank);
        }
    }

    /// A rank dies: nothing more comes from it, and all others know.
    pub(super) fn kill(&mut self, victim: usize) {
        self.nodes[victim].is_dead = true;
        for rank in (0..self.nodes.len()).filter(|&rank| rank != victim).collect::<Vec<_>>() {
            self.nodes[rank].engine.fail_lost(Rank(victim as u32), "killed");
            self.settle(rank);
        }
    }

    /// Whether a rank's program has ended, with all it has begun.
    pub(super) fn is_over(&self, rank: usize) -> bool {
        let node = &self.nodes[rank];
        let is_idle = node.collectives.is_idle() && node.ops.is_empty() && node.jobs.is_empty();
        node.at == node.program.len()
            && is_idle
            && node.engine.is_drained()
            && !node.engine.is_leaving()
            && !node.finalizes
    }

    /// A rank calls no more: it leaves when it knows whether all have called the same.
    pub(super) fn finalize(&mut self, rank: usize) {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        node.finalizes = true;
        node.collectives.leave(&mut node.engine, now);
        self.settle(rank);
    }

    /// A rank leaves in order.
    pub(super) fn leave(&mut self, rank: usize) {
        let node = &mut self.nodes[rank];
        node.at = node.program.len();
        node.engine.goodbye(None);
        self.settle(rank);
    }

    pub(super) fn now(&self) -> Duration {
        Duration::from_micros(self.steps)
    }

    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (rank, node) in self.nodes.iter().enumerate() {
            text += &format!("\nrank {rank} at line {}: {:?}", node.at, node.engine.outstanding());
            for (line, end) in node.program.iter().zip(&node.ends) {
                if !matches!(line, Line::Wait(_)) {
                    let end = format!("{end:?}");
                    text += &format!("\n  {line:?}: {}", crate::wire::text::cut(&end, 100));
                }
            }
        }
        text
    }
}

/// Puts into a pipe what it has room for.
fn fill(pipe: &mut VecDeque<u8>, room: &mut usize, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let before = *room;
    for slice in slices {
        let now = slice.len().min(*room);
        pipe.extend(&slice[..now]);
        *room -= now;
    }
    if before == *room { Err(ErrorKind::WouldBlock.into()) } else { Ok(before - *room) }
}
