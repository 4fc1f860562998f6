//! Messages one way, as many as will go: bandwidth with long ones, rate with short ones.
//!
//! The receiver's clock counts, from the moment the first message is complete: how long a message travels does not.

use std::time::Instant;

use lathide::Tag;

use super::pair::{Pair, pipelined};
use super::plan::{Cost, SIGNAL_BYTES, Variant};
use crate::commands::common::raw::CALL_BYTES;
use crate::launch::failed::Result;

const STREAM: Tag = Tag(3);
/// Messages under way at a time: short ones; and of long ones as many as have so many bytes, but two to four. All variants
/// use as many buffers, filled before the clock runs.
const SHORT_DEPTH: usize = 64;
const LONG_BYTES: usize = 4 << 20;
/// What raw TCP reads with has at least so many, however short the messages are.
const READ_BYTES: usize = 64 << 10;

/// When the first message was complete, and how many bytes had come by then.
type First = Option<(Instant, usize)>;

impl Pair<'_> {
    /// `messages` from rank 0 to rank 1; over raw TCP, at least a write each. The time is rank 1's, as if the first had
    /// taken as long as the others.
    pub(super) fn stream(&mut self, variant: Variant, bytes: usize, messages: u32) -> Result<Cost> {
        let depth = if bytes <= SIGNAL_BYTES { SHORT_DEPTH } else { (LONG_BYTES / bytes).clamp(2, 4) };
        // Raw TCP reads into all of them in one piece, whatever is there.
        let in_one = variant != Variant::Lathide && !self.leads();
        let (size, depth) = if in_one { (READ_BYTES.max(depth * bytes), 1) } else { (bytes, depth) };
        let mut buffers = vec![vec![1_u8; size]; depth];
        let all = bytes * messages as usize;
        self.begin(variant)?;
        let mut first = None;
        let mut cost = self.timed(|pair| {
            first = match (variant, pair.leads()) {
                (Variant::Lathide, _) => pair.lathide_stream(buffers, messages)?,
                (_, true) => pair.write_stream(&buffers, messages)?,
                (_, false) => pair.read_stream(&mut buffers[0], bytes, all)?,
            };
            // Rank 1 says that all is there.
            pair.transfer(variant, !pair.leads(), vec![1; SIGNAL_BYTES])?;
            Ok(())
        })?;
        if let Some((first, came)) = first.filter(|(_, came)| *came < all) {
            cost.wall_s = first.elapsed().as_secs_f64() * all as f64 / (all - came) as f64;
        }
        Ok(cost)
    }

    fn lathide_stream(&self, buffers: Vec<Vec<u8>>, messages: u32) -> Result<First> {
        let (bytes, mut first) = (buffers[0].len(), None);
        let start = |_, buffer| self.post(STREAM, self.leads(), buffer);
        pipelined(buffers, messages, start, || _ = first.get_or_insert_with(|| (Instant::now(), bytes)))?;
        Ok(first)
    }

    fn write_stream(&mut self, buffers: &[Vec<u8>], messages: u32) -> Result<First> {
        let raw = self.raw()?;
        for buffer in buffers.iter().cycle().take(messages as usize) {
            buffer.chunks(CALL_BYTES).try_for_each(|part| raw.write(part))?;
        }
        Ok(None)
    }

    /// Reads what is there, into one place after the other.
    fn read_stream(&mut self, places: &mut [u8], bytes: usize, all: usize) -> Result<First> {
        let (mut came, mut first) = (0, None);
        while came < all {
            let begin = came % places.len();
            let end = places.len().min(begin + CALL_BYTES.min(all - came));
            came += self.raw()?.read_some(&mut places[begin..end])?;
            if came >= bytes {
                first.get_or_insert_with(|| (Instant::now(), came));
            }
        }
        Ok(first)
    }
}
