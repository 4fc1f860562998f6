//! The cases: for each controller the messages for which it is there, and what is measured of them. Both ranks go through
//! each; the figures are those of rank 0.

use std::hint::black_box;
use std::time::Instant;

use lathide::launcher::Controller;
use lathide::{Element, Node, wait_all};
use rustix::time::{ClockId, clock_gettime};

use super::Effort;

/// A controller, and what it is measured by.
pub(super) struct Case {
    /// The controller's, and what of it if there are several.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) controller: Controller,
    pub(super) place: Place,
    /// One run, of both ranks: a value for each of the figures, of rank 0.
    pub(super) measure: fn(&Node, &Effort) -> Vec<f64>,
    pub(super) figures: &'static [Figure],
}

impl Case {
    /// Whether a name is this case's, or its controller's.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.split_once('/').is_some_and(|(controller, _)| controller == name)
    }
}

/// Where a case is measured.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Loopback,
    /// Where connections begin with a congestion control that paces.
    Bbr,
    /// A link of this rate.
    Shaped(&'static str),
}

/// What is measured, in seconds or whatever `scale` makes the unit of.
pub(super) struct Figure {
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    pub(super) scale: f64,
    pub(super) is_less_better: bool,
}

const BANDWIDTH: Figure = Figure { what: "bandwidth", unit: "GB/s", scale: 1e-9, is_less_better: false };
const PROCESSOR_PER_MIB: Figure =
    Figure { what: "processor time per MiB, both ranks", unit: "us", scale: 1e6, is_less_better: true };
const OVERLAP: Figure = Figure { what: "overlap", unit: "of 1", scale: 1.0, is_less_better: false };

pub(super) const CASES: &[Case] = &[
    Case {
        name: "spin",
        what: "8 B back and forth",
        controller: Controller::Spin,
        place: Place::Loopback,
        measure: ping_pong,
        figures: &[Figure { what: "one-way time", unit: "us", scale: 1e6, is_less_better: true }],
    },
    Case {
        name: "poll_interval",
        what: "a rank computes while it reads 8 MiB",
        controller: Controller::PollInterval,
        place: Place::Shaped("1gbit"),
        measure: computing_reader,
        figures: &[
            Figure { what: "processor time beside the computation", unit: "ms", scale: 1e3, is_less_better: true },
            OVERLAP,
        ],
    },
    Case {
        name: "batching/writes",
        what: "8 B writes, posted all at once",
        controller: Controller::Batching,
        place: Place::Loopback,
        measure: many_writes,
        figures: &[
            Figure { what: "time per message", unit: "us", scale: 1e6, is_less_better: true },
            Figure { what: "processor time per message, both ranks", unit: "us", scale: 1e6, is_less_better: true },
        ],
    },
    Case {
        name: "batching/broadcasts",
        what: "8 B broadcasts of one root, one after the other",
        controller: Controller::Batching,
        place: Place::Loopback,
        measure: many_broadcasts,
        figures: &[
            Figure { what: "time per broadcast", unit: "us", scale: 1e6, is_less_better: true },
            Figure { what: "processor time per broadcast, both ranks", unit: "us", scale: 1e6, is_less_better: true },
        ],
    },
    Case {
        name: "notsent_lowat/overlap",
        what: "a rank computes while it writes 1 MiB",
        controller: Controller::NotsentLowat,
        place: Place::Shaped("1gbit"),
        measure: computing_writer,
        figures: &[OVERLAP],
    },
    Case {
        name: "notsent_lowat/behind",
        what: "8 B and an answer, behind 1 MiB",
        controller: Controller::NotsentLowat,
        place: Place::Shaped("100mbit"),
        measure: behind_a_long_one,
        figures: &[Figure { what: "until the answer", unit: "ms", scale: 1e3, is_less_better: true }],
    },
    Case {
        name: "pacing",
        what: "4 MiB one way",
        controller: Controller::Pacing,
        place: Place::Bbr,
        measure: |node, effort| stream(node, 4 << 20, effort.long_messages),
        figures: &[BANDWIDTH, PROCESSOR_PER_MIB],
    },
    Case {
        name: "fragment_batch",
        what: "1 MiB one way",
        controller: Controller::FragmentBatch,
        place: Place::Loopback,
        measure: |node, effort| stream(node, 1 << 20, 4 * effort.long_messages),
        figures: &[BANDWIDTH, PROCESSOR_PER_MIB],
    },
];

/// Tags: of the data, of what says that they may come, and of what says that they have.
const DATA: u32 = 1;
const READY: u32 = 2;
const DONE: u32 = 3;
/// Long messages under way at a time.
const DEPTH: usize = 2;
/// Short messages behind a long one: the last leaves long before the long one ends.
const BEHIND: usize = 8;

fn ping_pong(node: &Node, effort: &Effort) -> Vec<f64> {
    let (peer, mut buffer) = (1 - node.rank().0, vec![1u8; 8]);
    let began = Instant::now();
    for turn in 0..2 * effort.round_trips {
        let sends = (turn % 2 == 0) == (node.rank() == 0);
        let handle = if sends { node.initwrite(peer, DATA, buffer) } else { node.initread(peer, DATA, buffer) };
        buffer = handle.expect("two ranks").wait().expect("the other rank is there");
    }
    vec![began.elapsed().as_secs_f64() / (2 * effort.round_trips) as f64]
}

/// All reads are posted before the first write is.
fn many_writes(node: &Node, effort: &Effort) -> Vec<f64> {
    let (peer, count) = (1 - node.rank().0, effort.writes);
    if node.rank() == 1 {
        let reads: Vec<_> = (0..count).map(|_| node.initread(peer, DATA, vec![0u8; 8]).expect("two ranks")).collect();
        let began_s = processor_s();
        write(node, READY, vec![1u8]);
        wait_all(reads).expect("the other rank writes");
        write(node, DONE, vec![processor_s() - began_s]);
        return Vec::new();
    }
    read(node, READY, vec![0u8]);
    let buffers = vec![vec![1u8; 8]; count];
    let (began_s, began) = (processor_s(), Instant::now());
    let writes: Vec<_> =
        buffers.into_iter().map(|buffer| node.initwrite(peer, DATA, buffer).expect("two ranks")).collect();
    wait_all(writes).expect("the other rank reads");
    let others_s = read(node, DONE, vec![0f64])[0];
    let took_s = began.elapsed().as_secs_f64();
    vec![took_s / count as f64, (processor_s() - began_s + others_s) / count as f64]
}

/// Rank 0 broadcasts a short message again and again; until all are there.
fn many_broadcasts(node: &Node, effort: &Effort) -> Vec<f64> {
    let (is_root, count) = (node.rank() == 0, effort.writes);
    node.barrier().expect("two ranks");
    let (began_s, began) = (processor_s(), Instant::now());
    let mut message = vec![u64::from(is_root); 1];
    for _ in 0..count {
        message = node.broadcast(0, message).expect("two ranks");
    }
    if !is_root {
        write(node, DONE, vec![processor_s() - began_s]);
        return Vec::new();
    }
    let others_s = read(node, DONE, vec![0f64])[0];
    let took_s = began.elapsed().as_secs_f64();
    vec![took_s / count as f64, (processor_s() - began_s + others_s) / count as f64]
}

/// Messages from rank 0 to rank 1, a few under way at a time, and one back when all are there.
fn stream(node: &Node, bytes: usize, count: usize) -> Vec<f64> {
    let (peer, is_writer) = (1 - node.rank().0, node.rank() == 0);
    let mut free = vec![vec![1u8; bytes]; DEPTH];
    let mut under_way = std::collections::VecDeque::new();
    let (began_s, began) = (processor_s(), Instant::now());
    for _ in 0..count {
        if free.is_empty() {
            let oldest: lathide::Handle<Vec<u8>> = under_way.pop_front().expect("all are under way");
            free.push(oldest.wait().expect("the other rank is there"));
        }
        let buffer = free.pop().expect("one is free");
        let started = if is_writer { node.initwrite(peer, DATA, buffer) } else { node.initread(peer, DATA, buffer) };
        under_way.push_back(started.expect("two ranks"));
    }
    wait_all(under_way).expect("the other rank is there");
    if !is_writer {
        write(node, DONE, vec![processor_s() - began_s]);
        return Vec::new();
    }
    let others_s = read(node, DONE, vec![0f64])[0];
    let (took_s, all) = (began.elapsed().as_secs_f64(), (bytes * count) as f64);
    vec![all / took_s, (processor_s() - began_s + others_s) / (all / f64::from(1 << 20))]
}

/// Rank 0 reads while it computes for as long as the transfer takes by itself.
fn computing_reader(node: &Node, effort: &Effort) -> Vec<f64> {
    const BYTES: usize = 8 << 20;
    if node.rank() == 1 {
        let mut buffer = vec![1u8; BYTES];
        for _ in 0..2 * effort.transfers {
            read(node, READY, vec![0u8]);
            buffer = write(node, DATA, buffer);
        }
        return Vec::new();
    }
    let mut buffer = vec![0u8; BYTES];
    beside_computation(effort, |rounds| {
        let reading = node.initread(1, DATA, std::mem::take(&mut buffer)).expect("two ranks");
        write(node, READY, vec![1u8]);
        compute(rounds);
        buffer = reading.wait().expect("the other rank writes");
    })
}

/// Rank 0 writes while it computes for as long as the transfer takes by itself; rank 1 says when all is there.
fn computing_writer(node: &Node, effort: &Effort) -> Vec<f64> {
    let mut buffer = vec![1u8; 1 << 20];
    if node.rank() == 1 {
        for _ in 0..2 * effort.transfers {
            let reading = node.initread(0, DATA, buffer).expect("two ranks");
            write(node, READY, vec![1u8]);
            buffer = reading.wait().expect("the other rank writes");
            write(node, DONE, vec![1u8]);
        }
        return Vec::new();
    }
    beside_computation(effort, |rounds| {
        read(node, READY, vec![0u8]);
        let done = node.initread(1, DONE, vec![0u8]).expect("two ranks");
        let writing = node.initwrite(1, DATA, std::mem::take(&mut buffer)).expect("two ranks");
        compute(rounds);
        buffer = writing.wait().expect("the other rank reads");
        done.wait().expect("the other rank writes");
    })
    .split_off(1)
}

/// Rank 0 writes a long message, and short ones behind it, each when the one before was answered.
fn behind_a_long_one(node: &Node, effort: &Effort) -> Vec<f64> {
    const SHORT: u32 = 4;
    let mut times = Vec::new();
    for _ in 0..effort.transfers {
        let long = vec![1u8; 1 << 20];
        if node.rank() == 1 {
            let reading = node.initread(0, DATA, long).expect("two ranks");
            write(node, READY, vec![1u8]);
            for _ in 0..BEHIND {
                let short = read(node, SHORT, vec![0u8; 8]);
                write(node, SHORT, short);
            }
            reading.wait().expect("the other rank writes");
            write(node, DONE, vec![1u8]);
            continue;
        }
        read(node, READY, vec![0u8]);
        let writing = node.initwrite(1, DATA, long).expect("two ranks");
        for _ in 0..BEHIND {
            let began = Instant::now();
            let answer = node.initread(1, SHORT, vec![0u8; 8]).expect("two ranks");
            write(node, SHORT, vec![1u8; 8]);
            answer.wait().expect("the other rank answers");
            times.push(began.elapsed().as_secs_f64());
        }
        writing.wait().expect("the other rank reads");
        read(node, DONE, vec![0u8]);
    }
    if times.is_empty() { times } else { vec![median(times)] }
}

/// Runs `transfer` by itself and then beside a computation that takes as long, by turns. Its argument is how many rounds of
/// that to compute. Gives the processor time that it took beside the computation, in seconds, and the overlap: how much of the
/// transfer's time the computation has hidden.
fn beside_computation(effort: &Effort, mut transfer: impl FnMut(u64)) -> Vec<f64> {
    let (mut processor, mut overlaps) = (Vec::new(), Vec::new());
    for _ in 0..effort.transfers {
        let began = Instant::now();
        transfer(0);
        let transfer_s = began.elapsed().as_secs_f64();
        let rounds = (transfer_s / round_s()) as u64;
        let before_s = timed_s(|| compute(rounds));
        let (process_s, thread_s, began) = (processor_s(), clock_s(ClockId::ThreadCPUTime), Instant::now());
        transfer(rounds);
        let total_s = began.elapsed().as_secs_f64();
        processor.push((processor_s() - process_s) - (clock_s(ClockId::ThreadCPUTime) - thread_s));
        // The machine's speed drifts: the computation is timed before and after.
        let compute_s = (before_s + timed_s(|| compute(rounds))) / 2.0;
        overlaps.push(1.0 - (total_s - compute_s) / transfer_s);
    }
    vec![median(processor), median(overlaps)]
}

/// How long a round of the computation takes.
fn round_s() -> f64 {
    const ROUNDS: u64 = 1_000_000;
    timed_s(|| compute(ROUNDS)) / ROUNDS as f64
}

/// A computation that touches nothing but registers; compiled once, for all that is measured.
#[inline(never)]
fn compute(rounds: u64) {
    let mut state = 1_u64;
    for _ in 0..rounds {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

fn timed_s(run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    began.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The processor time of this process.
fn processor_s() -> f64 {
    clock_s(ClockId::ProcessCPUTime)
}

fn clock_s(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn write<T: Element>(node: &Node, tag: u32, message: Vec<T>) -> Vec<T> {
    let writing = node.initwrite(1 - node.rank().0, tag, message).expect("two ranks");
    writing.wait().expect("the other rank reads")
}

fn read<T: Element>(node: &Node, tag: u32, place: Vec<T>) -> Vec<T> {
    let reading = node.initread(1 - node.rank().0, tag, place).expect("two ranks");
    reading.wait().expect("the other rank writes")
}
