//! A rank whose messages of windows are its own invention: mutated requests and refusals, and chunks of any length, or none.
//! Nothing panics, what is kept of it is bounded, and every operation ends when the job does.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut, Read};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::buffer::Element;
use crate::chance::Chance;
use crate::engine::{Engine, Limits, OpId, Outcome};
use crate::error::{Error, WindowFault};
use crate::ids::Rank;
use crate::mutant;
use crate::operation::WindowCall;
use crate::window::codec::{CHUNK_BYTES, REFUSALS, REQUESTS, Refusal, payload_key, reply_key};
use crate::window::serve::{CHUNKS_MAX, REQUESTS_MAX};
use crate::window::{Gathered, Memory, OwnPart, Request, Update, Windows};
use crate::wire::frame::MatchKey;

const NOW: Duration = Duration::ZERO;
const VICTIM: Rank = Rank(0);
const PEER: Rank = Rank(1);
/// Elements of the victim's part.
const LENGTH: u64 = 100;
/// Seeds, at scale 1.
const RUNS: u64 = 60_000;

struct Part(Mutex<Vec<u64>>);

impl Memory for Part {
    fn try_read(&self, run: &mut dyn FnMut(&[u8])) -> bool {
        run(bytemuck::cast_slice(&self.0.lock()));
        true
    }
    fn try_write(&self, run: &mut dyn FnMut(&mut [u8])) -> bool {
        run(bytemuck::cast_slice_mut(&mut self.0.lock()));
        true
    }
}

fn request(call: WindowCall, count: u64) -> Request {
    let (update, element) = (Update::Sum, u64::TYPE);
    Request { call, update, element, element_bytes: 8, window: 0, id: 0, start: 0, count }
}

struct World {
    victim: Engine,
    windows: Windows,
    peer: Engine,
    /// Bytes to the victim, and from it.
    wires: [VecDeque<u8>; 2],
    ops: Vec<OpId>,
    /// Requests and refusals as they should be.
    said: Vec<Vec<u8>>,
    /// Most refusals that the victim has kept for its program.
    told: usize,
}

impl World {
    fn new(window_bytes: u64) -> Self {
        let limits = [Limits { window_bytes, envelopes_max: 8, fragment_bytes: 4096 }; 2];
        let mut victim = Engine::new(VICTIM, &limits);
        let mut windows = Windows::new(VICTIM);
        let memory = Arc::new(Part(Mutex::new(vec![0; LENGTH as usize])));
        let own = OwnPart { memory, element: u64::TYPE, element_bytes: 8, length: LENGTH };
        assert_eq!(windows.add(&mut victim, NOW, own), 0);
        let calls = [
            (WindowCall::Put, 3),
            (WindowCall::Put, 60),
            (WindowCall::Accumulate, 90),
            (WindowCall::Get, 70),
            (WindowCall::FetchUpdate, 1),
            (WindowCall::CompareExchange, 1),
            (WindowCall::Flush, 0),
        ];
        let mut said = Vec::new();
        for (call, count) in calls {
            let request = request(call, count);
            let inline = if request.is_inline() { request.operand_bytes().unwrap_or(0) } else { 0 };
            said.push(request.encode(&vec![1; inline as usize]));
            for fault in [WindowFault::Bounds { length: 5 }, WindowFault::Dropped, WindowFault::Update] {
                said.push(Refusal { request, fault }.encode());
            }
        }
        let peer = Engine::new(PEER, &limits);
        World { victim, windows, peer, wires: Default::default(), ops: Vec::new(), said, told: 0 }
    }

    /// The victim asks something of the peer.
    fn ask(&mut self, chance: &mut Chance) {
        let driven = (&mut self.victim, NOW);
        let count = chance.pick(&[1, 3, 40]);
        let gather = |request: &Request| Box::new(Gathered::new(count as usize, request.cuts(), |all: Vec<u64>| all));
        let begun = match chance.below(4u32) {
            0 => {
                let source = Box::new(vec![7u64; count as usize]);
                self.windows.begin_write(driven, PEER, request(WindowCall::Put, count), source)
            }
            1 => {
                let request = request(WindowCall::Get, count);
                self.windows.begin_gather(driven, PEER, request, &[], gather(&request))
            }
            2 => {
                let request = request(WindowCall::FetchUpdate, 1);
                let gather = Box::new(Gathered::new(1, request.cuts(), |all: Vec<u64>| all));
                self.windows.begin_gather(driven, PEER, request, &[1; 8], gather)
            }
            _ => self.windows.begin_flush(driven, PEER, request(WindowCall::Flush, 0)),
        };
        self.ops.extend(begun);
        self.settle();
    }

    /// The peer says something.
    fn say(&mut self, key: MatchKey, bytes: Vec<u8>) {
        // What it may not is for other tests.
        let _ = self.peer.initwrite(NOW, VICTIM, key, u8::TYPE, Box::new(bytes));
    }

    fn babble(&mut self, chance: &mut Chance) {
        let id = chance.pick(&[0, 0, 1, 2, 3, u32::MAX]);
        match chance.below(10u32) {
            0..4 => {
                let bytes = if chance.once_in(3) {
                    chance.pick(&(0..self.said.len()).map(|at| self.said[at].as_slice()).collect::<Vec<_>>()).to_vec()
                } else {
                    mutant::bytes(chance, &self.said)
                };
                self.say(if chance.once_in(4) { REFUSALS } else { REQUESTS }, bytes);
            }
            4..7 => {
                let bytes = chance.pick(&[0, 1, 8, CHUNK_BYTES as usize, CHUNK_BYTES as usize + 1, 32]);
                self.say(payload_key(id), vec![3; bytes]);
            }
            7..9 => {
                let bytes = chance.pick(&[0, 1, 8, CHUNK_BYTES as usize, 300]);
                self.say(reply_key(id), vec![0; bytes]);
            }
            // Of what comes it reads little.
            _ => {
                let key = chance.pick(&[REFUSALS, REQUESTS, reply_key(id), payload_key(id)]);
                let _ = self.peer.initread(NOW, VICTIM, key, u8::TYPE, Box::new(vec![0u8; 1000]));
            }
        }
    }

    /// Moves bytes until none move.
    fn run(&mut self, chance: &mut Chance) {
        loop {
            let mut moved = 0;
            for (at, engine, to) in [(0, &mut self.peer, VICTIM), (1, &mut self.victim, PEER)] {
                let wire = &mut self.wires[at];
                let mut write = |slices: &[IoSlice<'_>]| {
                    let before = wire.len();
                    slices.iter().for_each(|slice| wire.extend(slice.iter()));
                    Ok(wire.len() - before)
                };
                engine.transmit(to, &mut write).expect("pipes do not break");
                while to == VICTIM && engine.poll_completion().is_some() {}
                moved += wire.len();
            }
            self.settle();
            if moved == 0 {
                return;
            }
            for at in [0, 1] {
                let most = 1 + chance.below(600usize);
                let (engine, from) = if at == 0 { (&mut self.victim, PEER) } else { (&mut self.peer, VICTIM) };
                let wire = &mut self.wires[at];
                if !wire.is_empty() {
                    let mut read = |slices: &mut [IoSliceMut<'_>]| (&mut *wire).take(most as u64).read_vectored(slices);
                    engine.receive(NOW, from, &mut read).expect("pipes do not break");
                }
                self.settle();
            }
        }
    }

    /// As the kernel does.
    fn settle(&mut self) {
        let World { victim, windows, .. } = self;
        loop {
            while let Some(completed) = victim.poll_completion() {
                let _ = windows.complete(victim, NOW, completed);
            }
            windows.fail_with(victim);
            if !victim.has_requests() && !windows.has_news() {
                break;
            }
            windows.meet(victim, NOW);
            while let Some(late) = windows.poll_late() {
                self.told += usize::from(windows.keep(late.error).is_some());
            }
            while let Some(completed) = windows.poll_completion() {
                assert!(self.ops.contains(&completed.op), "{:?} was not begun, or ends twice", completed.op);
                self.ops.retain(|op| *op != completed.op);
                assert!(!matches!(completed.outcome, Outcome::Abandoned(_)));
            }
            while windows.poll_refusal().is_some() {}
        }
        drop(windows.take_spent());
        while victim.poll_refusal().is_some() {}
        let (posted, own) = (windows.messages.count(), 8 * self.ops.len());
        let most = 2 * REQUESTS_MAX + CHUNKS_MAX as usize + own + 64;
        assert!(posted <= most, "{posted} messages are under way, and {} of the victim's own", self.ops.len());
        assert!(windows.origin.untold() <= 64, "{} refusals are kept", windows.origin.untold());
    }
}

fn run(chance: &mut Chance) -> bool {
    let mut world = World::new(chance.pick(&[300, 2000, 1 << 16]));
    for _ in 0..5 + chance.below(60u32) {
        if chance.once_in(5) && world.ops.len() < 20 {
            world.ask(chance);
        } else {
            world.babble(chance);
        }
        if chance.once_in(3) {
            world.run(chance);
        }
    }
    world.run(chance);
    let is_well = world.victim.failure().is_none();
    if chance.once_in(2) {
        // It leaves, whatever it has not said: the victim need not wait for it to leave itself.
        world.peer.fail(Error::Shutdown { rank: PEER });
        world.peer.goodbye(None);
        world.run(chance);
        let idle = !is_well || world.windows.is_idle();
        assert!(idle, "something is still to be done for a rank that has left: {}", world.windows.target.describe());
    }
    world.victim.fail(Error::Shutdown { rank: VICTIM });
    world.settle();
    assert!(world.ops.is_empty(), "{:?} never ended", world.ops);
    is_well
}

#[test]
fn what_a_rank_invents_for_windows_does_no_harm() {
    mutant::each_seed("what_a_rank_invents_for_windows_does_no_harm", RUNS, run);
}

/// Elements longer than any here are: their place is not taken because a number says so.
#[test]
fn no_memory_is_taken_for_elements_that_no_window_has() {
    let mut world = World::new(1 << 16);
    let mut chance = Chance(1);
    let put = request(WindowCall::Put, 4);
    for (element_bytes, window) in [(u32::MAX, 0), (u32::MAX, 7), (1 << 30, 0)] {
        world.say(REQUESTS, Request { element_bytes, window, ..put }.encode(&[]));
        world.say(payload_key(0), vec![0; 100]);
    }
    world.run(&mut chance);
    let largest = world.victim.outstanding_places().into_iter().max().unwrap_or(0);
    assert!(largest <= CHUNK_BYTES, "a place of {largest} bytes waits");
    assert!(world.victim.failure().is_none());
}

/// Requests that are refused, by a rank that reads no refusal: no more are taken than a few.
#[test]
fn refusals_that_nobody_reads_are_few() {
    let mut world = World::new(400);
    let mut chance = Chance(1);
    for _ in 0..500 {
        world.say(REQUESTS, Request { window: 9, ..request(WindowCall::Get, 1) }.encode(&[]));
        world.run(&mut chance);
    }
    assert!(world.windows.messages.count() <= 2 * REQUESTS_MAX + 2, "{}", world.windows.messages.count());
    for _ in 0..500 {
        let _ = world.peer.initread(NOW, VICTIM, REFUSALS, u8::TYPE, Box::new(vec![0u8; 100]));
        world.run(&mut chance);
    }
    assert!(world.windows.is_idle(), "they go on when they are read: {}", world.windows.target.describe());
}

/// Refusals of windows that there have never been, of which no flush comes.
#[test]
fn what_is_said_of_windows_that_are_none_is_not_kept_for_their_flushes() {
    let mut world = World::new(1 << 16);
    let mut chance = Chance(1);
    for window in 0..300 {
        let request = Request { window, ..request(WindowCall::Put, 1) };
        world.say(REFUSALS, Refusal { request, fault: WindowFault::Dropped }.encode());
        world.run(&mut chance);
    }
    assert_eq!((world.windows.origin.untold(), world.told), (1, 299));
}

#[test]
fn two_requests_of_one_id_have_their_own_operands() {
    let mut world = World::new(1 << 16);
    let mut chance = Chance(1);
    let put = request(WindowCall::Put, 60);
    let chunks = put.chunks();
    for _ in 0..2 {
        world.say(REQUESTS, put.encode(&[]));
    }
    for chunk in 0..2 * chunks {
        let bytes = put.bytes_of(&put.chunk(chunk % chunks)).len();
        world.say(payload_key(0), vec![1 + (chunk / chunks) as u8; bytes]);
    }
    world.run(&mut chance);
    assert!(world.windows.is_idle() && world.victim.failure().is_none());
}
