//! A job of engines in one process: pipes for sockets, a step counter for a clock, chance for a scheduler.
//!
//! Each step moves one rank's program or one link's bytes. What the engines report is checked as it comes.

mod ends;
mod records;

use std::collections::HashMap;
use std::time::Duration;

use super::cuts::Cuts;
use super::flips::Flips;
use super::network::Pipe;
use super::program::{Action, Program, Stream};
use super::runs::Counts;
use super::starts::Starts;
use crate::chance::Chance;
use crate::engine::{Engine, LateRefusal, OpId, Outcome, Unposted, Written};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::Stamp;
use crate::wire::records::Records;
pub(super) use records::{Kind, LANES, no_records};

/// `Err`: what is wrong with the run.
pub(super) type Verdict<T = ()> = Result<T, String>;

/// How an operation stands.
#[derive(Debug)]
pub(super) enum End {
    NotPosted,
    Waiting,
    Data(Vec<u8>),
    Written,
    Failed(Error),
    Abandoned,
}

impl End {
    pub(super) fn is_over(&self) -> bool {
        !matches!(self, End::NotPosted | End::Waiting)
    }
}

/// A read that was posted; a message's read that was withdrawn has a later one.
pub(super) struct Read {
    pub(super) message: usize,
    pub(super) op: Option<OpId>,
    pub(super) end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    Write(usize),
    Read(usize),
}

pub(super) struct Node {
    pub(super) engine: Engine,
    pub(super) at: usize,
    ops: HashMap<OpId, Side>,
    /// Lanes that have something to send, as far as the engine has said so, by their far ends.
    pub(super) sends: Vec<bool>,
    pub(super) said_goodbye: bool,
    pub(super) is_dead: bool,
    pub(super) refusals: Vec<LateRefusal>,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Deliver(usize, usize),
    Program(usize),
    Send(usize, usize),
    /// Peers are told of what has come.
    Acknowledge(usize),
    /// One end learns that its connection is gone.
    Notice(usize, usize),
    /// The lower rank dials again.
    Dial(usize, usize),
}

/// What may happen in a run beside the program.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Allowed {
    /// Operations may fail, since a rank leaves or is lost.
    pub(super) errors: bool,
    /// Whole nodes may fail, since a rank is lost.
    pub(super) failures: bool,
    /// Reads may not fit their messages.
    pub(super) misfits: bool,
    /// Each rank says goodbye as soon as its program is over.
    pub(super) early_goodbye: bool,
    /// Bytes may be wrong.
    pub(super) damage: bool,
}

pub(super) struct World {
    pub(super) rng: Chance,
    pub(super) program: Program,
    pub(super) allowed: Allowed,
    pub(super) nodes: Vec<Node>,
    pub(super) pipes: Vec<Pipe>,
    /// Each rank's records towards each other, if the job's links have checksums or are encrypted.
    pub(super) records: Vec<Option<Records>>,
    pub(super) writes: Vec<End>,
    /// All reads in the order of posting.
    pub(super) reads: Vec<Read>,
    /// Per message: its newest read.
    read_of: Vec<Option<usize>>,
    clogs: bool,
    moves: Vec<Move>,
    /// The connections, and what is to become of them.
    pub(super) cuts: Cuts,
    pub(super) flips: Flips,
    pub(super) starts: Starts,
    /// Chance opens lanes.
    pub(super) has_lanes: bool,
    /// Buffers that are back and that nobody has taken.
    pub(super) written: Vec<(usize, Written)>,
    pub(super) trace: u64,
    pub(super) counts: Counts,
}

/// Steps after which a run is given up.
const STEPS_MAX: u64 = 3_000_000;

impl World {
    pub(super) fn new(mut rng: Chance, program: Program, allowed: Allowed) -> Self {
        let size = program.size();
        let node = |rank: usize| Node {
            engine: Engine::new(Rank(rank as u32), &program.limits),
            at: 0,
            ops: HashMap::new(),
            sends: vec![false; size * LANES],
            said_goodbye: false,
            is_dead: false,
            refusals: Vec::new(),
        };
        let starts = Starts::random(&mut |end| rng.below(end));
        let capacities = [1, 7, 40, 200, 4096, 65536];
        let common = rng.pick(&capacities);
        let mut pipe = || {
            let capacity = if rng.once_in(4) { rng.pick(&capacities) } else { common };
            Pipe { capacity, ..Pipe::default() }
        };
        let mut nodes: Vec<Node> = (0..size).map(node).collect();
        nodes.iter_mut().for_each(|node| node.engine.begin_at(starts));
        World {
            nodes,
            pipes: (0..size * size * LANES).map(|_| pipe()).collect(),
            records: if size <= 3 && rng.once_in(2) {
                Kind::any(&mut rng).all(size, &mut rng)
            } else {
                no_records(size)
            },
            writes: program.messages.iter().map(|_| End::NotPosted).collect(),
            reads: Vec::new(),
            read_of: vec![None; program.messages.len()],
            clogs: rng.once_in(3),
            moves: Vec::new(),
            cuts: Cuts::none(size),
            flips: Flips::none(size),
            starts,
            has_lanes: false,
            written: Vec::new(),
            trace: 0,
            counts: Counts { runs: 1, messages: program.messages.len() as u64, ..Counts::default() },
            rng,
            program,
            allowed,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn pipe(&mut self, from: usize, to: usize) -> &mut Pipe {
        let at = self.between(from, to);
        &mut self.pipes[at]
    }

    /// Makes at most `steps` moves. `true`: no move is left.
    pub(super) fn run(&mut self, steps: u64) -> Verdict<bool> {
        for _ in 0..steps {
            if self.counts.steps > STEPS_MAX {
                return Err(format!("no end after {STEPS_MAX} steps\n{}", self.describe()));
            }
            self.counts.steps += 1;
            if self.clogs && self.rng.once_in(40) {
                let at = self.rng.below(self.pipes.len());
                self.pipes[at].is_clogged ^= true;
            }
            self.cut_by_chance();
            self.find_moves();
            if self.moves.is_empty() {
                let clogged = self.pipes.iter().filter(|pipe| pipe.is_clogged).count();
                if clogged == 0 {
                    return Ok(true);
                }
                let which = self.rng.below(clogged);
                self.pipes.iter_mut().filter(|pipe| pipe.is_clogged).nth(which).expect("counted").is_clogged = false;
                continue;
            }
            let next = self.moves[self.rng.below(self.moves.len())];
            match next {
                Move::Program(rank) => self.step(rank)?,
                Move::Send(from, to) => self.send(from, to)?,
                Move::Deliver(from, to) => self.deliver(from, to)?,
                Move::Acknowledge(rank) => self.acknowledge(rank)?,
                Move::Notice(rank, peer) => self.notice(rank, peer)?,
                Move::Dial(lower, higher) => self.dial(lower, higher)?,
            }
        }
        Ok(false)
    }

    /// Runs until nothing can move.
    pub(super) fn run_out(&mut self) -> Verdict {
        self.run(u64::MAX).map(|_| ())
    }

    fn find_moves(&mut self) {
        self.moves.clear();
        let size = self.nodes.len();
        let lanes = if self.has_lanes { LANES } else { 1 };
        for rank in 0..size {
            if self.nodes[rank].is_dead {
                continue;
            }
            if self.can_step(rank) {
                self.moves.push(Move::Program(rank));
            }
            let ends = (0..size * lanes).filter(|end| end % size != rank);
            for (rank, peer) in ends.map(|peer| (peer / size * size + rank, peer)) {
                let (to, from) = (&self.pipes[self.between(rank, peer)], &self.pipes[self.between(peer, rank)]);
                let room = to.bytes.len() < to.capacity || to.is_broken;
                let engine = &self.nodes[rank % size].engine;
                if self.nodes[rank % size].sends[peer] && room && !to.is_clogged {
                    self.moves.push(Move::Send(rank, peer));
                }
                let holds = peer >= size
                    && self.records[self.between(rank, peer)].as_ref().is_some_and(|records| records.holds());
                let comes = !from.bytes.is_empty() || from.is_cut || holds;
                if comes && !from.is_clogged && !engine.waits(self.path(peer)) {
                    self.moves.push(Move::Deliver(peer, rank));
                }
                if self.cuts.is_unnoticed(rank, peer) {
                    self.moves.push(Move::Notice(rank, peer));
                }
                if self.cuts.may_dial(rank, peer) && !self.nodes[peer % size].is_dead {
                    self.moves.push(Move::Dial(rank, peer));
                }
            }
        }
        // Bytes may be long under way, but not each of them.
        if self.moves.is_empty() || self.rng.once_in(50) {
            let untold = (0..size).filter(|rank| !self.nodes[*rank].is_dead && self.nodes[*rank].engine.has_untold());
            self.moves.extend(untold.map(Move::Acknowledge));
        }
    }

    fn can_step(&self, rank: usize) -> bool {
        let node = &self.nodes[rank];
        match self.program.actions[rank].get(node.at) {
            None => self.allowed.early_goodbye && !node.said_goodbye,
            Some(Action::WaitWrite(message)) => self.writes[*message].is_over(),
            Some(Action::WaitRead(message)) => {
                self.read_of[*message].is_some_and(|read| self.reads[read].end.is_over())
            }
            Some(_) => true,
        }
    }

    /// Whether every rank's program is over.
    pub(super) fn is_over(&self) -> bool {
        (0..self.size()).all(|rank| self.nodes[rank].at >= self.program.actions[rank].len())
    }

    fn step(&mut self, rank: usize) -> Verdict {
        let action = self.program.actions[rank].get(self.nodes[rank].at).copied();
        self.note(&[1, rank as u64, self.nodes[rank].at as u64]);
        self.nodes[rank].at += 1;
        match action {
            Some(Action::Write(message)) => self.post_write(rank, message)?,
            Some(Action::Read(message)) => self.post_read(rank, message)?,
            Some(Action::Withdraw(message)) => {
                let read = self.read_of[message].expect("a withdrawal comes after the read");
                if let (End::Waiting, Some(op)) = (&self.reads[read].end, self.reads[read].op) {
                    let Stream { from, key, .. } = self.stream(message);
                    _ = self.nodes[rank].engine.withdraw(Rank(from), key, op);
                    self.settle(rank)?;
                    if matches!(self.reads[read].end, End::Abandoned) {
                        self.post_read(rank, message)?;
                    }
                }
            }
            Some(Action::WaitRead(_) | Action::WaitWrite(_)) => {}
            None => self.goodbye(rank, None)?,
        }
        self.settle(rank)
    }

    pub(super) fn goodbye(&mut self, rank: usize, cause: Option<&str>) -> Verdict {
        self.nodes[rank].said_goodbye = true;
        self.nodes[rank].at = self.program.actions[rank].len();
        self.nodes[rank].engine.goodbye(cause.map(|cause| (Rank(rank as u32), cause)));
        self.settle(rank)
    }

    pub(super) fn stream(&self, message: usize) -> Stream {
        self.program.streams[self.program.messages[message].stream]
    }

    fn post_write(&mut self, rank: usize, message: usize) -> Verdict {
        let (now, Stream { to, key, .. }) = (self.now(), self.stream(message));
        let source = self.program.messages[message].source();
        self.counts.bytes += self.program.messages[message].bytes as u64;
        let code = self.program.messages[message].elements.code();
        let sent = self.write_at_once(rank, to as usize, (key, code), &*source);
        if let Ok(Some(op)) = sent {
            self.open_op(rank, op, Side::Write(message))?;
            return self.complete(rank, op, Outcome::Written(Written::whole(source)));
        }
        match self.nodes[rank].engine.initwrite(now, Rank(to), key, code, source) {
            Ok(op) => {
                if message.is_multiple_of(2) {
                    let stamp = Stamp { sent_ns: now.as_nanos() as u64, echo_ns: Some(message as i64) };
                    self.nodes[rank].engine.stamp(Rank(to), op, stamp);
                }
                if message.is_multiple_of(7) {
                    self.nodes[rank].engine.ping(Rank(to), Stamp { sent_ns: 0, echo_ns: None }, 1);
                }
                self.writes[message] = End::Waiting;
                self.open_op(rank, op, Side::Write(message))?;
                sent.err().map_or(Ok(()), |error| self.has_broken(rank, to as usize, &error))
            }
            Err(Unposted { error, .. }) => {
                self.check_error(rank, &error)?;
                self.writes[message] = End::Failed(error);
                Ok(())
            }
        }
    }

    fn post_read(&mut self, rank: usize, message: usize) -> Verdict {
        let (now, Stream { from, key, .. }) = (self.now(), self.stream(message));
        let place = self.program.messages[message].place();
        let code = self.program.messages[message].read_elements.code();
        let read = self.reads.len();
        self.read_of[message] = Some(read);
        match self.nodes[rank].engine.initread(now, Rank(from), key, code, place) {
            Ok(op) => {
                self.reads.push(Read { message, op: Some(op), end: End::Waiting });
                self.open_op(rank, op, Side::Read(read))
            }
            Err(Unposted { error, .. }) => {
                self.check_error(rank, &error)?;
                self.reads.push(Read { message, op: None, end: End::Failed(error) });
                Ok(())
            }
        }
    }

    fn open_op(&mut self, rank: usize, op: OpId, side: Side) -> Verdict {
        match self.nodes[rank].ops.insert(op, side) {
            None => Ok(()),
            Some(other) => Err(format!("rank {rank}: {op:?} names {other:?} and {side:?}")),
        }
    }

    pub(super) fn note(&mut self, values: &[u64]) {
        for value in values {
            self.trace = (self.trace ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
    }

    pub(super) fn now(&self) -> Duration {
        Duration::from_micros(self.counts.steps)
    }

    /// The operations of `rank` that are under way.
    pub(super) fn under_way(&self, rank: usize) -> usize {
        self.nodes[rank].ops.len()
    }
}
