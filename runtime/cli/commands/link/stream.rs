//! Messages one way, as many as will go: bandwidth with long ones, rate with short ones.
//!
//! The receiver's clock counts, from the moment the first message is complete: how long a message travels does not.

use std::collections::VecDeque;
use std::time::Instant;

use lathide::{Handle, Tag};

use super::pair::Pair;
use super::plan::{Cost, SIGNAL_BYTES, Variant};
use crate::launch::failed::Result;

const STREAM: Tag = Tag(3);
/// Messages under way at a time; all variants use as many buffers, filled before the clock runs.
const LONG_DEPTH: usize = 2;
const DEPTH: usize = 4;
/// A message from here on is long.
const LONG_BYTES: usize = 2 << 20;
/// Short messages under way at a time.
const RATE_DEPTH: usize = 64;
/// What raw TCP reads short messages with.
const READ_BYTES: usize = 64 << 10;

impl Pair<'_> {
    /// `messages` from rank 0 to rank 1. The time is rank 1's, as if the first had taken as long as the others.
    pub(super) fn stream(&mut self, variant: Variant, bytes: usize, messages: u32) -> Result<Cost> {
        let depth = if bytes >= LONG_BYTES { LONG_DEPTH } else { DEPTH };
        let buffers = vec![vec![1_u8; bytes]; depth];
        self.begin(variant)?;
        let mut first = None;
        let cost = self.timed(|pair| {
            match variant {
                Variant::Lathide => first = pair.lathide_messages(buffers, messages)?,
                Variant::Raw | Variant::RawPolled => first = pair.raw_messages(buffers, messages)?,
            }
            pair.end(variant)
        })?;
        Ok(without_first(cost, first, 1, messages))
    }

    /// As many short messages from rank 0 to rank 1; over raw TCP, one write each.
    pub(super) fn rate(&mut self, variant: Variant, messages: u32) -> Result<Cost> {
        let buffers = vec![vec![1_u8; SIGNAL_BYTES]; RATE_DEPTH];
        self.begin(variant)?;
        let (mut first, mut in_first) = (None, 1);
        let cost = self.timed(|pair| {
            match variant {
                Variant::Lathide => first = pair.lathide_messages(buffers, messages)?,
                Variant::Raw | Variant::RawPolled => (first, in_first) = pair.raw_rate(&buffers[0], messages)?,
            }
            pair.end(variant)
        })?;
        Ok(without_first(cost, first, in_first, messages))
    }

    /// When the first was complete.
    fn raw_messages(&mut self, mut buffers: Vec<Vec<u8>>, messages: u32) -> Result<Option<Instant>> {
        let (leads, depth) = (self.leads(), buffers.len());
        let mut first = None;
        for message in 0..messages as usize {
            let buffer = &mut buffers[message % depth];
            if leads {
                self.raw()?.write_stream(buffer)?;
            } else {
                self.raw()?.read_stream(buffer)?;
            }
            first.get_or_insert_with(Instant::now);
        }
        Ok(first)
    }

    /// When the first came, and how many came with it.
    fn raw_rate(&mut self, message: &[u8], messages: u32) -> Result<(Option<Instant>, u32)> {
        if self.leads() {
            for _ in 0..messages {
                self.raw()?.write(message)?;
            }
            return Ok((None, 1));
        }
        let (mut buffer, mut rest) = (vec![0; READ_BYTES], messages as usize * message.len());
        let mut first = None;
        while rest > 0 {
            let most = rest.min(READ_BYTES);
            let count = self.raw()?.read_some(&mut buffer[..most])?;
            rest -= count;
            first.get_or_insert_with(|| (Instant::now(), count.div_ceil(message.len()) as u32));
        }
        Ok((first.map(|(when, _)| when), first.map_or(1, |(_, count)| count)))
    }

    /// When the first was complete.
    fn lathide_messages(&mut self, buffers: Vec<Vec<u8>>, messages: u32) -> Result<Option<Instant>> {
        let (leads, mut free) = (self.leads(), buffers);
        let mut under_way: VecDeque<Handle<Vec<u8>>> = VecDeque::new();
        let mut first = None;
        for _ in 0..messages {
            if free.is_empty()
                && let Some(oldest) = under_way.pop_front()
            {
                free.push(oldest.wait()?);
                first.get_or_insert_with(Instant::now);
            }
            let buffer = free.pop().unwrap_or_default();
            let started = match leads {
                true => self.node.initwrite(self.other, STREAM, buffer),
                false => self.node.initread(self.other, STREAM, buffer),
            };
            under_way.push_back(started?);
        }
        for handle in under_way {
            handle.wait()?;
            first.get_or_insert_with(Instant::now);
        }
        Ok(first)
    }

    /// Rank 1 says that all is there.
    fn end(&mut self, variant: Variant) -> Result<()> {
        let signal = vec![1; SIGNAL_BYTES];
        if self.leads() {
            self.receive(variant, signal)?
        } else {
            self.send(variant, signal)?
        };
        Ok(())
    }
}

/// The time since `first`, with which `in_first` of the messages came, as if all had taken as long as the rest.
fn without_first(cost: Cost, first: Option<Instant>, in_first: u32, messages: u32) -> Cost {
    let (Some(first), Some(rest)) = (first, messages.checked_sub(in_first).filter(|rest| *rest > 0)) else {
        return cost;
    };
    Cost { wall_s: first.elapsed().as_secs_f64() * f64::from(messages) / f64::from(rest), ..cost }
}
