//! What two or three nodes do to find the cluster model's parameters (Tam, Wang, section 3.2). Rank 0 receives and reports.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use lathide::{Handle, Node, Rank, Tag};
use lathide_models::fit::cluster::{Arrivals, Stream};

use super::pair::{process_s, thread_s};
use super::plan::{Event, SIGNAL_BYTES, Trial};
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::Result;
use lathide_models::fit::cluster::survey::{Background, Seen};

const DATA: Tag = Tag(200);
const GO: Tag = Tag(201);
const DONE: Tag = Tag(202);
const TIME: Tag = Tag(203);
/// Messages under way at a time.
const DEPTH: usize = 8;
/// More than caches hold, so that copies go from memory to memory.
const MEMORY_BYTES: usize = 32 << 20;
/// Bytes copied per repetition, as far as they need not be more.
const COPIED_BYTES: usize = 2 << 20;

/// All trials once to warm up, then `repeats` times: with one sender everything, with more the arrivals only.
pub(super) fn run(node: &Node, trials: &[Trial], repeats: u32) -> Result<()> {
    let mut session = Session { node, calculation: Calculation::new(), unit_s: 0.0, memory: Memory::default() };
    if node.rank() == 0 {
        session.unit_s = session.calculation.unit_s();
        session.memory = Memory::new();
    }
    let (mut done, of) = (0, trials.len() as u64 * u64::from(repeats + 1));
    for repeat in 0..=repeats {
        for trial in trials {
            let event = if node.size() == 2 { session.trial(trial)? } else { session.converge(trial)? };
            done += 1;
            progress(node.rank(), (done, of), "cluster model")?;
            if let Some(event) = event.filter(|_| repeat > 0) {
                report(node.rank(), event)?;
            }
        }
    }
    Ok(())
}

struct Session<'a> {
    node: &'a Node,
    calculation: Calculation,
    unit_s: f64,
    memory: Memory,
}

impl Session<'_> {
    /// All senders at once; rank 0 has seen them.
    fn converge(&self, trial: &Trial) -> Result<Option<Event>> {
        let Trial { bytes, packets, .. } = *trial;
        if self.node.rank() != 0 {
            self.send_stream(bytes, 2 * packets)?;
            return Ok(None);
        }
        let senders: Vec<Rank> = (1..self.node.size()).map(Rank).collect();
        let (_, arrivals) = self.stream(&senders, bytes, 2 * packets)?;
        Ok(Some(Event::Arrivals(arrivals)))
    }

    /// One trial; rank 0 has seen something.
    fn trial(&mut self, trial: &Trial) -> Result<Option<Event>> {
        let Trial { bytes, packets, .. } = *trial;
        if self.node.rank() != 0 {
            self.attend(trial)?;
            return Ok(None);
        }
        let (engaged_s, round_trip_s) = self.round_trips(trial)?;
        let short = self.stream(&[Rank(1)], bytes, packets)?;
        let long = self.stream(&[Rank(1)], bytes, 3 * packets)?;
        let (slowed, consumed_s) = self.slowed(trial, round_trip_s, long.0.time_s)?;
        let copies_s = self.memory.copies_s(bytes);
        Ok(Some(Event::Cluster(Seen {
            bytes: bytes as u64,
            engaged_s,
            round_trip_s,
            streams: vec![short.0, long.0],
            arrivals: long.1,
            slowed,
            consumed_s,
            copies_s,
        })))
    }

    /// What rank 1 does meanwhile.
    fn attend(&self, trial: &Trial) -> Result<()> {
        let Trial { bytes, round_trips, packets } = *trial;
        let mut buffer = vec![1; bytes];
        for _ in 0..=round_trips {
            buffer = self.node.initread(0, DATA, buffer)?.wait()?;
            buffer = self.node.initwrite(0, DATA, buffer)?.wait()?;
        }
        for packets in [packets, 3 * packets, packets] {
            self.send_stream(bytes, packets)?;
        }
        Ok(())
    }

    /// Messages to and fro: seconds in `initwrite` for each, and for a round trip.
    fn round_trips(&self, trial: &Trial) -> Result<(f64, f64)> {
        let (mut buffer, mut engaged_s, mut began) = (vec![1; trial.bytes], 0.0, Instant::now());
        // The first one shows that rank 1 is there.
        for round_trip in 0..=trial.round_trips {
            if round_trip == 1 {
                (engaged_s, began) = (0.0, Instant::now());
            }
            let called = Instant::now();
            let writing = self.node.initwrite(1, DATA, buffer)?;
            engaged_s += called.elapsed().as_secs_f64();
            buffer = writing.wait()?;
            buffer = self.node.initread(1, DATA, buffer)?.wait()?;
        }
        let each = f64::from(trial.round_trips);
        Ok((engaged_s / each, began.elapsed().as_secs_f64() / each))
    }

    /// Rank 0: a stream from each of the senders. What the first of them took until all had arrived, and the arrivals.
    fn stream(&self, senders: &[Rank], bytes: usize, packets: u32) -> Result<(Stream, Arrivals)> {
        let mut free = vec![vec![1_u8; bytes]; DEPTH];
        let mut reading: VecDeque<Handle<Vec<u8>>> = VecDeque::new();
        let (mut first, mut last) = (None, Instant::now());
        let mut arrive = |handle: Handle<Vec<u8>>| -> Result<Vec<u8>> {
            let buffer = handle.wait()?;
            last = Instant::now();
            first.get_or_insert(last);
            Ok(buffer)
        };
        for sender in senders {
            self.node.initwrite(*sender, GO, vec![1_u8; SIGNAL_BYTES])?.wait()?;
        }
        for _ in 0..packets {
            for sender in senders {
                if free.is_empty()
                    && let Some(oldest) = reading.pop_front()
                {
                    free.push(arrive(oldest)?);
                }
                reading.push_back(self.node.initread(*sender, DATA, free.pop().unwrap_or_default())?);
            }
        }
        for handle in reading {
            arrive(handle)?;
        }
        for sender in senders {
            self.node.initwrite(*sender, DONE, vec![1_u8; SIGNAL_BYTES])?.wait()?;
        }
        let mut times = Vec::new();
        for sender in senders {
            times.push(self.node.initread(*sender, TIME, vec![0.0_f64])?.wait()?[0]);
        }
        let all = packets * senders.len() as u32;
        let arrived_s = first.map_or(0.0, |first| (last - first).as_secs_f64());
        let arrivals = Arrivals { bytes: bytes as u64, senders: senders.len() as u32, packets: all, time_s: arrived_s };
        Ok((Stream { bytes: bytes as u64, packets, time_s: times[0] }, arrivals))
    }

    /// A sender's part of a stream. That all has arrived ends it: what a socket accepts is not yet on the link, and the
    /// way there and back drops out of the difference between two lengths.
    fn send_stream(&self, bytes: usize, packets: u32) -> Result<()> {
        let mut free = vec![vec![1_u8; bytes]; DEPTH];
        let mut writing: VecDeque<Handle<Vec<u8>>> = VecDeque::new();
        self.node.initread(0, GO, vec![0_u8; SIGNAL_BYTES])?.wait()?;
        let began = Instant::now();
        for _ in 0..packets {
            if free.is_empty()
                && let Some(oldest) = writing.pop_front()
            {
                free.push(oldest.wait()?);
            }
            writing.push_back(self.node.initwrite(0, DATA, free.pop().unwrap_or_default())?);
        }
        for handle in writing {
            handle.wait()?;
        }
        self.node.initread(0, DONE, vec![0_u8; SIGNAL_BYTES])?.wait()?;
        self.node.initwrite(0, TIME, vec![began.elapsed().as_secs_f64()])?.wait()?;
        Ok(())
    }

    /// A calculation alone, and while messages arrive; then what it takes to get them, which are here by then.
    fn slowed(&mut self, trial: &Trial, round_trip_s: f64, stream_s: f64) -> Result<(Option<Background>, f64)> {
        let Trial { bytes, packets, .. } = *trial;
        // Long enough that most arrive meanwhile.
        let wanted_s = round_trip_s + 0.6 * stream_s;
        self.calculation.prepare((wanted_s / self.unit_s).clamp(1.0, 1e8) as u32);
        let before_s = self.calculate_s();
        let reading: Vec<Handle<Vec<u8>>> =
            (0..packets).map(|_| self.node.initread(1, DATA, vec![1_u8; bytes])).collect::<lathide::Result<_>>()?;
        self.node.initwrite(1, GO, vec![1_u8; SIGNAL_BYTES])?.wait()?;
        let all_s = process_s();
        let beside_s = self.calculate_s();
        let own_s = (process_s() - all_s - beside_s).max(0.0);
        let arrived = reading.iter().filter(|handle| handle.is_complete()).count() as u32;
        while !reading.iter().all(Handle::is_complete) {
            std::thread::yield_now();
        }
        let began = Instant::now();
        for handle in reading {
            handle.wait()?;
        }
        let consumed_s = began.elapsed().as_secs_f64() / f64::from(packets);
        self.node.initwrite(1, DONE, vec![1_u8; SIGNAL_BYTES])?.wait()?;
        self.node.initread(1, TIME, vec![0.0_f64])?.wait()?;
        let alone_s = f64::midpoint(before_s, self.calculate_s());
        let background = (arrived > 0).then_some(Background { packets: arrived, alone_s, beside_s, own_s });
        Ok((background, consumed_s))
    }

    /// Calculates; the processor time it took this thread.
    fn calculate_s(&mut self) -> f64 {
        let began_s = thread_s();
        self.calculation.run();
        thread_s() - began_s
    }
}

/// Two stretches of memory to copy between.
#[derive(Default)]
struct Memory {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Memory {
    fn new() -> Self {
        Memory { from: vec![1; MEMORY_BYTES], to: vec![2; MEMORY_BYTES] }
    }

    /// Seconds per copy of `bytes`: from cache to cache, from cache to memory, from memory to memory.
    fn copies_s(&mut self, bytes: usize) -> [f64; 3] {
        [(0, 0), (0, bytes), (bytes, bytes)].map(|(from_step, to_step)| self.copy_s(bytes, from_step, to_step))
    }

    /// Each copy begins so many bytes behind the one before, or where that began.
    fn copy_s(&mut self, bytes: usize, from_step: usize, to_step: usize) -> f64 {
        let places = MEMORY_BYTES / bytes.max(1);
        let copies = (COPIED_BYTES / bytes.max(1)).clamp(16, 2000).min(places);
        let began = Instant::now();
        for copy in 0..copies {
            let (from, to) = (copy * from_step, copy * to_step);
            self.to[to..to + bytes].copy_from_slice(black_box(&self.from[from..from + bytes]));
            black_box(&mut self.to);
        }
        began.elapsed().as_secs_f64() / copies as f64
    }
}
