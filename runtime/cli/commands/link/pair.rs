//! The two nodes, and messages between them by each variant.

use std::collections::VecDeque;
use std::time::Instant;

use lathide::{Handle, Node, Rank, Tag};
use rustix::time::ClockId;

use super::plan::{Cost, SIGNAL_BYTES, Variant};
use crate::commands::common::clock::seconds;
use crate::commands::common::raw::Raw;
use crate::launch::failed::{Failed, Result};

const PING: Tag = Tag(2);
/// Where a message travels longer, no signal goes before those that are timed.
const SIGNAL_S: f64 = 1e-3;

/// This node, the other one, and the raw connection between them.
pub(super) struct Pair<'a> {
    pub(super) node: &'a Node,
    pub(super) other: Rank,
    raw: Option<Raw>,
    /// How long a short message travels, in seconds.
    pub(super) travel_s: f64,
}

impl<'a> Pair<'a> {
    /// The two nodes, with a raw connection or without.
    pub(super) fn new(node: &'a Node, raw: Option<Raw>) -> Self {
        Pair { node, other: Rank(1 - node.rank().0), raw, travel_s: 0.0 }
    }

    pub(super) fn raw(&mut self) -> Result<&mut Raw> {
        self.raw.as_mut().ok_or_else(|| Failed::new("there is no raw TCP connection between these nodes"))
    }

    /// Rank 0 sends first.
    pub(super) fn leads(&self) -> bool {
        self.node.rank() == 0
    }

    /// Round trips of a message.
    pub(super) fn one_way(&mut self, variant: Variant, bytes: usize, round_trips: u32) -> Result<Cost> {
        Ok(self.each_way(variant, bytes, round_trips)?.0)
    }

    /// The same, and half of each round trip, in seconds.
    pub(super) fn each_way(&mut self, variant: Variant, bytes: usize, round_trips: u32) -> Result<(Cost, Vec<f64>)> {
        let (mut buffer, mut ways_s) = (vec![1; bytes], Vec::with_capacity(round_trips as usize));
        // The first message itself can say that it begins: that the other node is not quite ready is nothing against a
        // long way, and another round trip much.
        if self.travel_s < SIGNAL_S {
            self.begin(variant)?;
        } else {
            self.prepare(variant)?;
        }
        let cost = self.timed(|pair| {
            let mut began = Instant::now();
            for _ in 0..round_trips {
                buffer = pair.round_trip(variant, buffer)?;
                let ended = Instant::now();
                ways_s.push((ended - began).as_secs_f64() / 2.0);
                began = ended;
            }
            Ok(())
        })?;
        Ok((cost, ways_s))
    }

    /// Has both nodes begin with something new, and the raw connection ready for this variant.
    pub(super) fn begin(&mut self, variant: Variant) -> Result<()> {
        self.prepare(variant)?;
        self.round_trip(variant, vec![1; SIGNAL_BYTES])?;
        Ok(())
    }

    fn prepare(&mut self, variant: Variant) -> Result<()> {
        match variant {
            Variant::Lathide => Ok(()),
            Variant::Raw | Variant::RawPolled => Ok(self.raw()?.poll(variant == Variant::RawPolled)?),
        }
    }

    /// As `begin`, both at the same moment, as far as the nodes know how long a message travels.
    pub(super) fn begin_together(&mut self, variant: Variant) -> Result<()> {
        self.begin(variant)?;
        let answered = Instant::now();
        while !self.leads() && answered.elapsed().as_secs_f64() < self.travel_s {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// A message from rank 0 to rank 1 and back.
    pub(super) fn round_trip(&mut self, variant: Variant, mut buffer: Vec<u8>) -> Result<Vec<u8>> {
        for writes in [self.leads(), !self.leads()] {
            buffer = self.transfer(variant, writes, buffer)?;
        }
        Ok(buffer)
    }

    /// Writes a message, or reads one.
    pub(super) fn transfer(&mut self, variant: Variant, writes: bool, mut buffer: Vec<u8>) -> Result<Vec<u8>> {
        match (variant, writes) {
            (Variant::Lathide, _) => return Ok(self.post(PING, writes, buffer)?.wait()?),
            (_, true) => self.raw()?.write(&buffer)?,
            (_, false) => self.raw()?.read(&mut buffer)?,
        }
        Ok(buffer)
    }

    /// Begins to write a message with lathide, or to read one.
    pub(super) fn post(&self, tag: Tag, writes: bool, buffer: Vec<u8>) -> lathide::Result<Handle<Vec<u8>>> {
        match writes {
            true => self.node.initwrite(self.other, tag, buffer),
            false => self.node.initread(self.other, tag, buffer),
        }
    }

    /// What a block costs this node.
    pub(super) fn timed(&mut self, block: impl FnOnce(&mut Self) -> Result<()>) -> Result<Cost> {
        let (cpu_s, began) = (process_s(), Instant::now());
        block(self)?;
        Ok(Cost { wall_s: began.elapsed().as_secs_f64(), cpu_s: process_s() - cpu_s })
    }
}

/// So many messages, of which as many as there are buffers are under way at a time: `start` begins the next one, and `ended`
/// hears of each that has ended.
pub(super) fn pipelined(
    mut free: Vec<Vec<u8>>,
    messages: u32,
    mut start: impl FnMut(u32, Vec<u8>) -> lathide::Result<Handle<Vec<u8>>>,
    mut ended: impl FnMut(),
) -> Result<()> {
    let mut under_way: VecDeque<Handle<Vec<u8>>> = VecDeque::new();
    for message in 0..messages {
        if free.is_empty()
            && let Some(oldest) = under_way.pop_front()
        {
            free.push(oldest.wait()?);
            ended();
        }
        under_way.push_back(start(message, free.pop().unwrap_or_default())?);
    }
    for handle in under_way {
        handle.wait()?;
        ended();
    }
    Ok(())
}

/// Processor time of all threads of this process so far, in seconds.
pub(super) fn process_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// Processor time of this thread so far, in seconds.
pub(super) fn thread_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}
