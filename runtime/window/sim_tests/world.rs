//! A job of engines with their windows: pipes for sockets, and programs that hold their own parts now and then.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::program::Line;
use crate::buffer::Element;
use crate::chance::Chance;
use crate::engine::{Completed, Engine, Limits, OpId, Outcome, Sent, Starts};
use crate::error::Error;
use crate::ids::Rank;
use crate::operation::WindowCall;
use crate::window::{Gathered, Memory, OwnPart, Request, Update, Windows};

/// Elements of a region, those to which all add, and counters.
pub(super) const REGION: usize = 60;
pub(super) const ADDED: usize = 30;
pub(super) const COUNTERS: usize = 2;

/// A part of the window.
pub(super) struct Part {
    pub(super) elements: Mutex<Vec<u64>>,
    /// What the program does with it: nothing, reads it, or writes it.
    used: AtomicU8,
}

impl Memory for Part {
    fn try_read(&self, run: &mut dyn FnMut(&[u8])) -> bool {
        let is_free = self.used.load(Ordering::Relaxed) < 2;
        if is_free {
            run(bytemuck::cast_slice(&self.elements.lock()));
        }
        is_free
    }
    fn try_write(&self, run: &mut dyn FnMut(&mut [u8])) -> bool {
        let is_free = self.used.load(Ordering::Relaxed) == 0;
        if is_free {
            run(bytemuck::cast_slice_mut(&mut self.elements.lock()));
        }
        is_free
    }
}

/// How a line has ended.
#[derive(Debug)]
pub(super) enum End {
    NotBegun,
    UnderWay,
    Done(Vec<u64>),
    Failed(Error),
}

pub(super) struct Node {
    pub(super) engine: Engine,
    pub(super) windows: Windows,
    pub(super) part: Arc<Part>,
    pub(super) program: Vec<Line>,
    pub(super) at: usize,
    ops: HashMap<OpId, usize>,
    pub(super) ends: Vec<End>,
    sends: Vec<bool>,
    /// How often the program will use its part still.
    uses: usize,
    pub(super) is_dead: bool,
    /// Errors of others' requests, and errors of this rank's writes that no handle has returned.
    pub(super) refused: usize,
    pub(super) told: usize,
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) nodes: Vec<Node>,
    pipes: Vec<VecDeque<u8>>,
    capacity: usize,
    pub(super) steps: u64,
    /// Ranks leave when their programs are over.
    pub(super) leave_early: bool,
}

enum Move {
    Program(usize),
    Use(usize),
    Release(usize),
    Leave(usize),
    Send(usize, usize),
    Deliver(usize, usize),
}

/// Steps after which a run is given up.
const STEPS_MAX: u64 = 1_000_000;

impl World {
    pub(super) fn new(mut chance: Chance, programs: Vec<Vec<Line>>) -> Self {
        let size = programs.len();
        let limits = Limits {
            window_bytes: chance.pick(&[0, 300, 2000, 1 << 20]),
            envelopes_max: chance.pick(&[1, 3, 1024]),
            fragment_bytes: chance.pick(&[16, 100, 4096]),
        };
        let limits = vec![limits; size];
        let starts = Starts::random(&mut |end| chance.below(end));
        let first_id = chance.pick(&[0, u32::MAX - 2, (1 << 30) - 2]);
        let node = |(rank, program): (u32, Vec<Line>)| {
            let mut engine = Engine::new(Rank(rank), &limits);
            engine.begin_at(starts);
            let mut windows = Windows::new(Rank(rank));
            windows.origin.begin_at(size as u32, first_id);
            let length = size * REGION + ADDED + COUNTERS;
            let part = Arc::new(Part { elements: Mutex::new(vec![0; length]), used: AtomicU8::new(0) });
            let own = OwnPart { memory: part.clone(), element: u64::TYPE, element_bytes: 8, length: length as u64 };
            assert_eq!(windows.add(&mut engine, Duration::ZERO, own), 0);
            let ends = program.iter().map(|_| End::NotBegun).collect();
            let (ops, sends, uses) = (HashMap::new(), vec![false; size], 4);
            Node { engine, windows, part, program, at: 0, ops, ends, sends, uses, is_dead: false, refused: 0, told: 0 }
        };
        let capacity = chance.pick(&[40, 500, 1 << 16]);
        let nodes = (0..).zip(programs).map(node).collect();
        World { chance, nodes, pipes: vec![VecDeque::new(); size * size], capacity, steps: 0, leave_early: false }
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
                Move::Use(rank) => {
                    let how = 1 + self.chance.below(2) as u8;
                    self.nodes[rank].uses -= 1;
                    self.nodes[rank].part.used.store(how, Ordering::Relaxed);
                }
                Move::Release(rank) => {
                    let (now, node) = (self.now(), &mut self.nodes[rank]);
                    node.part.used.store(0, Ordering::Relaxed);
                    node.windows.serve(&mut node.engine, now);
                    self.settle(rank);
                }
                Move::Leave(rank) => {
                    self.nodes[rank].engine.goodbye(None);
                    self.settle(rank);
                }
                Move::Send(from, to) => self.send(from, to),
                Move::Deliver(from, to) => self.deliver(from, to),
            }
        }
    }

    fn moves(&self) -> Vec<Move> {
        let (size, mut moves) = (self.nodes.len(), Vec::new());
        for (rank, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.is_dead) {
            let is_over = |line: usize| !matches!(node.ends[line], End::NotBegun | End::UnderWay);
            let waits = match node.at.checked_sub(1).map(|last| (last, &node.program[last])) {
                Some((_, Line::Wait(line))) => !is_over(*line) && !matches!(node.program[*line], Line::Wait(_)),
                Some((last, line)) => line.blocks() && !is_over(last),
                None => false,
            };
            if node.at < node.program.len() && !waits {
                moves.push(Move::Program(rank));
            }
            match node.part.used.load(Ordering::Relaxed) {
                0 if node.uses > 0 && !node.engine.is_leaving() => moves.push(Move::Use(rank)),
                0 => {}
                _ => moves.push(Move::Release(rank)),
            }
            let can_leave = node.at == node.program.len() && node.engine.is_drained() && node.windows.is_idle();
            if size > 1 && self.leave_early && can_leave && !waits && !node.engine.is_leaving() {
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
        let now = self.now();
        let size = self.nodes.len();
        let node = &mut self.nodes[rank];
        let at = node.at;
        node.at += 1;
        let driven = (&mut node.engine, now);
        let request = |call, start: usize, count: usize| Request {
            call,
            update: Update::Sum,
            element: u64::TYPE,
            element_bytes: 8,
            window: 0,
            id: 0,
            start: start as u64,
            count: count as u64,
        };
        let gather = |count: usize, request: &Request| Gathered::new(count, request.cuts(), |all: Vec<u64>| all);
        let own = rank * REGION;
        let windows = &mut node.windows;
        let (to, begun) = match node.program[at].clone() {
            Line::Put { to, start, values } => {
                let request = request(WindowCall::Put, own + start, values.len());
                (to, windows.begin_write(driven, Rank(to as u32), request, Box::new(values)))
            }
            Line::Add { to, start, values } => {
                let request = request(WindowCall::Accumulate, size * REGION + start, values.len());
                (to, windows.begin_write(driven, Rank(to as u32), request, Box::new(values)))
            }
            Line::Count { on, counter } => {
                let request = request(WindowCall::FetchUpdate, size * REGION + ADDED + counter, 1);
                let gather = Box::new(gather(1, &request));
                (on, windows.begin_gather(driven, Rank(on as u32), request, &1u64.to_ne_bytes(), gather))
            }
            Line::Swap { on, index, is_expected, found, new } => {
                let request = request(WindowCall::CompareExchange, own + index, 1);
                let expected = if is_expected { found } else { !found };
                let gather = Box::new(gather(1, &request));
                let operands = [expected, new];
                (on, windows.begin_gather(driven, Rank(on as u32), request, bytemuck::bytes_of(&operands), gather))
            }
            Line::Get { from, start, found } => {
                let request = request(WindowCall::Get, own + start, found.len());
                let gather = Box::new(gather(found.len(), &request));
                (from, windows.begin_gather(driven, Rank(from as u32), request, &[], gather))
            }
            Line::Flush { to, .. } => {
                (to, windows.begin_flush(driven, Rank(to as u32), request(WindowCall::Flush, 0, 0)))
            }
            Line::Bad { to, count, is_write, is_bounds } => {
                let call = if is_write { WindowCall::Put } else { WindowCall::Get };
                let start = if is_bounds { size * REGION + ADDED + COUNTERS + 1 - count } else { own };
                let element = if is_bounds { u64::TYPE } else { f64::TYPE };
                let request = Request { element, ..request(call, start, count) };
                let to_rank = Rank(to as u32);
                let begun = match is_write {
                    true => windows.begin_write(driven, to_rank, request, Box::new(vec![u64::MAX; count])),
                    false => windows.begin_gather(driven, to_rank, request, &[], Box::new(gather(count, &request))),
                };
                (to, begun)
            }
            Line::Wait(_) => return node.ends[at] = End::Done(Vec::new()),
        };
        match begun {
            Ok(op) => {
                node.ops.insert(op, at);
                node.ends[at] = End::UnderWay;
            }
            Err(error) => node.ends[at] = End::Failed(error),
        }
        let _ = to;
        self.settle(rank);
    }

    /// Hands on what a rank has come to, as the kernel does.
    pub(super) fn settle(&mut self, rank: usize) {
        let (now, node) = (self.now(), &mut self.nodes[rank]);
        let mut ended = Vec::new();
        loop {
            while let Some(completed) = node.engine.poll_completion() {
                ended.extend(node.windows.complete(&mut node.engine, now, completed));
            }
            node.windows.fail_with(&node.engine);
            if !node.engine.has_requests() && !node.windows.has_news() {
                break;
            }
            node.windows.meet(&mut node.engine, now);
            while let Some(late) = node.windows.poll_late() {
                // A handle that nobody has asked returns it.
                let line = late.op.and_then(|op| node.ops.get(&op)).copied();
                match line.filter(|_| self.chance.once_in(2)) {
                    Some(line) if matches!(node.ends[line], End::Done(_)) => node.ends[line] = End::Failed(late.error),
                    _ => assert!(node.windows.keep(late.error).is_none(), "it is kept"),
                }
            }
            while let Some(completed) = node.windows.poll_completion() {
                Self::end(node, completed);
            }
            while let Some(error) = node.windows.poll_refusal() {
                assert!(matches!(error, Error::Window(_)), "{error}");
                node.refused += 1;
            }
        }
        drop(node.windows.take_spent());
        while let Some(peer) = node.engine.poll_pending() {
            node.sends[peer.peer.index()] = true;
        }
        assert!(node.engine.poll_refusal().is_none(), "messages of windows fit");
        let is_given_up = |ended: &Completed| matches!(ended.outcome, Outcome::Abandoned(_) | Outcome::Failed(_));
        assert!(ended.iter().all(is_given_up), "all messages are windows'");
        self.check_flush(rank);
    }

    fn end(node: &mut Node, Completed { op, outcome }: Completed) {
        let line = node.ops[&op];
        assert!(matches!(node.ends[line], End::UnderWay), "line {line} ends once: {:?}", node.ends[line]);
        let result: Box<dyn Any> = match outcome {
            Outcome::Made(result) => result,
            Outcome::Read(place, _) => place.into_any(),
            Outcome::Written(source) => source.take().into_any(),
            Outcome::Failed(failure) => {
                let error = failure.error;
                let is_told = matches!((&node.program[line], &error), (Line::Flush { .. }, Error::Window(_)));
                node.told += usize::from(is_told);
                return node.ends[line] = End::Failed(error);
            }
            Outcome::Abandoned(_) => panic!("nothing is withdrawn"),
        };
        // A flush has nothing to give.
        node.ends[line] = End::Done(result.downcast::<Vec<u64>>().map(|all| *all).unwrap_or_default());
    }

    /// What has been flushed is there, before the program goes on.
    fn check_flush(&self, rank: usize) {
        let node = &self.nodes[rank];
        let Some(last) = node.at.checked_sub(1) else { return };
        if let (Line::Flush { to, region }, End::Done(_)) = (&node.program[last], &node.ends[last]) {
            let there = self.nodes[*to].part.elements.lock();
            assert_eq!(there[rank * REGION..][..REGION], region[..], "rank {rank}, line {last}");
        }
    }

    fn send(&mut self, from: usize, to: usize) {
        let size = self.nodes.len();
        let room = self.capacity - self.pipes[from * size + to].len();
        let most = room.min(1 + self.chance.below(400usize));
        let (pipe, node) = (&mut self.pipes[from * size + to], &mut self.nodes[from]);
        let mut left = most;
        let mut write = |slices: &[IoSlice<'_>]| {
            let before = left;
            for slice in slices {
                let now = left.min(slice.len());
                pipe.extend(&slice[..now]);
                left -= now;
            }
            if before == left { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(before - left) }
        };
        if let Sent::All = node.engine.transmit(Rank(to as u32), &mut write).expect("pipes do not break") {
            node.sends[to] = false;
        }
        self.settle(from);
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let (size, now) = (self.nodes.len(), self.now());
        let most = 1 + self.chance.below(400usize);
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

    /// A rank dies: nothing more comes from it, and all others know.
    pub(super) fn kill(&mut self, victim: usize) {
        self.nodes[victim].is_dead = true;
        for rank in (0..self.nodes.len()).filter(|&rank| rank != victim).collect::<Vec<_>>() {
            self.nodes[rank].engine.fail_lost(Rank(victim as u32), "killed");
            self.settle(rank);
        }
    }

    fn now(&self) -> Duration {
        Duration::from_micros(self.steps)
    }

    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (rank, node) in self.nodes.iter().enumerate() {
            text += &format!("\nrank {rank} at line {}", node.at);
            for (line, end) in node.program.iter().zip(&node.ends) {
                text += &format!("\n  {:.100}: {:.100}", format!("{line:?}"), format!("{end:?}"));
            }
        }
        text
    }
}
