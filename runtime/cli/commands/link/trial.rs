//! What two or three nodes do to find the cluster model's parameters (Tam, Wang, section 3.2). Rank 0 receives and reports.

use std::hint::black_box;
use std::time::Instant;

use lathide::{Handle, Node, Tag};
use lathide_models::fit::cluster::{Arrivals, Stream};

use super::pair::{pipelined, process_s, thread_s};
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

/// All trials once to warm up, then `repeats` times: with one sender everything, with more the arrivals only. Where there is a
/// deadline, in seconds from now, it ends then.
pub(super) fn run(node: &Node, trials: &[Trial], repeats: u32, deadline_s: Option<f64>) -> Result<()> {
    let start = Instant::now();
    // What rank 0 says.
    let goes_on = || -> Result<bool> {
        let Some(deadline_s) = deadline_s else { return Ok(true) };
        let wants = start.elapsed().as_secs_f64() < deadline_s;
        Ok(node.broadcast(0, vec![u8::from(wants)])? == [1])
    };
    if node.rank() != 0 {
        for trial in (0..=repeats).flat_map(|_| trials) {
            if !goes_on()? {
                break;
            }
            send(node, trial)?;
        }
        return Ok(());
    }
    let mut calculation = Calculation::new();
    let unit_s = calculation.unit_s();
    let memory = [1, 2].map(|byte| vec![byte; MEMORY_BYTES]);
    let mut receiver = Receiver { node, calculation, unit_s, memory };
    let (mut done, of) = (0, trials.len() as u64 * u64::from(repeats + 1));
    for repeat in 0..=repeats {
        for trial in trials {
            if !goes_on()? {
                return Ok(());
            }
            let event = match node.size() {
                2 => Event::Cluster(receiver.trial(trial)?),
                _ => Event::Arrivals(receiver.stream(trial.bytes, 2 * trial.packets)?.1),
            };
            done += 1;
            progress(node.rank(), (done, of), "cluster model")?;
            if repeat > 0 {
                report(node.rank(), event)?;
            }
        }
    }
    Ok(())
}

/// What a sender does in a trial.
fn send(node: &Node, trial: &Trial) -> Result<()> {
    let Trial { bytes, round_trips, packets } = *trial;
    if node.size() > 2 {
        return send_stream(node, bytes, 2 * packets);
    }
    let mut buffer = vec![1; bytes];
    for _ in 0..=round_trips {
        buffer = node.initread(0, DATA, buffer)?.wait()?;
        buffer = node.initwrite(0, DATA, buffer)?.wait()?;
    }
    [packets, 3 * packets, packets].into_iter().try_for_each(|packets| send_stream(node, bytes, packets))
}

/// A sender's part of a stream. That all has arrived ends it: what a socket accepts is not yet on the link, and the way
/// there and back drops out of the difference between two lengths.
fn send_stream(node: &Node, bytes: usize, packets: u32) -> Result<()> {
    let buffers = vec![vec![1_u8; bytes]; DEPTH];
    node.initread(0, GO, vec![0_u8; SIGNAL_BYTES])?.wait()?;
    let began = Instant::now();
    pipelined(buffers, packets, |_, buffer| node.initwrite(0, DATA, buffer), || ())?;
    node.initread(0, DONE, vec![0_u8; SIGNAL_BYTES])?.wait()?;
    node.initwrite(0, TIME, vec![began.elapsed().as_secs_f64()])?.wait()?;
    Ok(())
}

struct Receiver<'a> {
    node: &'a Node,
    calculation: Calculation,
    unit_s: f64,
    /// Two stretches of memory to copy between.
    memory: [Vec<u8>; 2],
}

impl Receiver<'_> {
    /// All that one sender shows.
    fn trial(&mut self, trial: &Trial) -> Result<Seen> {
        let Trial { bytes, packets, .. } = *trial;
        let (engaged_s, round_trip_s) = self.round_trips(trial)?;
        let short = self.stream(bytes, packets)?;
        let long = self.stream(bytes, 3 * packets)?;
        let (slowed, consumed_s) = self.slowed(trial, round_trip_s, long.0.time_s)?;
        Ok(Seen {
            bytes: bytes as u64,
            engaged_s,
            round_trip_s,
            streams: vec![short.0, long.0],
            arrivals: long.1,
            slowed,
            consumed_s,
            copies_s: copies_s(&mut self.memory, bytes),
        })
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

    /// A stream from each of the senders. What the first of them took until all had arrived, and the arrivals.
    fn stream(&self, bytes: usize, packets: u32) -> Result<(Stream, Arrivals)> {
        let senders = self.node.size() - 1;
        let signal = |tag: Tag| -> Result<()> {
            (1..=senders).try_for_each(|sender| {
                self.node.initwrite(sender, tag, vec![1_u8; SIGNAL_BYTES])?.wait()?;
                Ok(())
            })
        };
        let buffers = vec![vec![1_u8; bytes]; DEPTH];
        let start = |packet, buffer| self.node.initread(1 + packet % senders, DATA, buffer);
        let (mut first, mut last) = (None, Instant::now());
        signal(GO)?;
        pipelined(buffers, packets * senders, start, || {
            last = Instant::now();
            first.get_or_insert(last);
        })?;
        signal(DONE)?;
        let mut time_s = 0.0;
        for sender in (1..=senders).rev() {
            time_s = self.node.initread(sender, TIME, vec![0.0_f64])?.wait()?[0];
        }
        let (bytes, arrived_s) = (bytes as u64, first.map_or(0.0, |first| (last - first).as_secs_f64()));
        let arrivals = Arrivals { bytes, senders, packets: packets * senders, time_s: arrived_s };
        Ok((Stream { bytes, packets, time_s }, arrivals))
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
        lathide::wait_all(reading)?;
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

/// Seconds per copy of `bytes`: from cache to cache, from cache to memory, from memory to memory.
fn copies_s([from, to]: &mut [Vec<u8>; 2], bytes: usize) -> [f64; 3] {
    let copies = (COPIED_BYTES / bytes.max(1)).clamp(16, 2000).min(MEMORY_BYTES / bytes.max(1));
    // Each copy begins so many bytes behind the one before, or where that began.
    [(0, 0), (0, bytes), (bytes, bytes)].map(|(from_step, to_step)| {
        let began = Instant::now();
        for copy in 0..copies {
            let (begin, into) = (copy * from_step, copy * to_step);
            to[into..into + bytes].copy_from_slice(black_box(&from[begin..begin + bytes]));
            black_box(&mut *to);
        }
        began.elapsed().as_secs_f64() / copies as f64
    })
}
