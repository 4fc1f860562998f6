//! Bytes on their way, in blocks that are used again.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

use rustix::io::{Result, readv};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

/// A queue of bytes between two sockets. Holds no empty block but, for the next byte, the last.
#[derive(Default)]
pub(super) struct Queue {
    blocks: VecDeque<Block>,
    bytes: usize,
}

/// Invariant: `start <= end <= bytes.len()`; the bytes between them are queued.
struct Block {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

/// Blocks without content. The last one given back is the first one used, since it is still in the cache.
#[derive(Default)]
pub(super) struct Pool {
    free: Vec<Box<[u8]>>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// One system call: up to `limit` bytes from `source` to the end of the queue. 0: the source has ended.
    pub(super) fn read_from(&mut self, source: impl AsFd, limit: usize, pool: &mut Pool) -> Result<usize> {
        let mut spare = self.blocks.back().map_or(0, |block| block.bytes.len() - block.end);
        let first = self.blocks.len() - usize::from(spare > 0);
        while spare < limit && self.blocks.len() - first < SLICES {
            spare += BLOCK_BYTES;
            self.blocks.push_back(Block { bytes: pool.take(), start: 0, end: 0 });
        }
        let (mut slices, mut left, mut used) = ([const { None }; SLICES], limit, 0);
        for (slice, block) in slices.iter_mut().zip(self.blocks.range_mut(first..)) {
            let room = left.min(block.bytes.len() - block.end);
            *slice = Some(IoSliceMut::new(&mut block.bytes[block.end..][..room]));
            left -= room;
            used += 1;
        }
        let mut slices = slices.map(|slice| slice.unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let read = readv(source, &mut slices[..used]);
        let mut left = *read.as_ref().unwrap_or(&0);
        self.bytes += left;
        for block in self.blocks.range_mut(first..) {
            let filled = left.min(block.bytes.len() - block.end);
            block.end += filled;
            left -= filled;
        }
        while self.blocks.len() > 1 && self.blocks.back().is_some_and(|block| block.end == 0) {
            pool.give(self.blocks.pop_back());
        }
        read
    }

    /// One system call: up to `limit` bytes from the front of the queue to `sink`.
    pub(super) fn write_to(&mut self, sink: impl AsFd, limit: usize, pool: &mut Pool) -> Result<usize> {
        let (mut slices, mut left, mut used) = ([IoSlice::new(&[]); SLICES], limit, 0);
        for (slice, block) in slices.iter_mut().zip(&self.blocks) {
            let take = left.min(block.end - block.start);
            *slice = IoSlice::new(&block.bytes[block.start..][..take]);
            left -= take;
            used += 1;
        }
        let mut none = SendAncillaryBuffer::default();
        let written = sendmsg(sink, &slices[..used], &mut none, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        self.consume(written, pool);
        Ok(written)
    }

    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.bytes = 0;
        while let Some(block) = self.blocks.pop_front() {
            pool.give(Some(block));
        }
    }

    fn consume(&mut self, mut bytes: usize, pool: &mut Pool) {
        self.bytes -= bytes;
        while let Some(block) = self.blocks.front_mut() {
            let gone = bytes.min(block.end - block.start);
            block.start += gone;
            bytes -= gone;
            if block.start < block.end || self.blocks.len() == 1 {
                break;
            }
            pool.give(self.blocks.pop_front());
        }
        if self.bytes == 0 {
            // An idle queue holds nothing, so that idle connections share their blocks.
            self.clear(pool);
        }
    }
}

impl Pool {
    fn take(&mut self) -> Box<[u8]> {
        self.free.pop().unwrap_or_else(|| vec![0; BLOCK_BYTES].into())
    }

    fn give(&mut self, block: Option<Block>) {
        if let Some(block) = block
            && self.free.len() < FREE_BLOCKS_MAX
        {
            self.free.push(block.bytes);
        }
    }
}

/// Small enough to stay in a core's cache between the read and the write of a short queue.
const BLOCK_BYTES: usize = 64 << 10;
/// Blocks per system call.
const SLICES: usize = 8;
/// 16 MiB are kept for reuse.
const FREE_BLOCKS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    /// The queue between two sockets, read and written in steps of odd sizes, keeps every byte in its place.
    #[test]
    fn keeps_bytes_in_order() {
        let (mut source, source_end) = UnixStream::pair().unwrap();
        let (sink_end, mut sink) = UnixStream::pair().unwrap();
        let (mut queue, mut pool) = (Queue::default(), Pool::default());
        let (mut sent, mut received) = (0u32, 0u32);
        for step in 1..400usize {
            let put: Vec<u8> = (0..step * 37 % 20_011 + 1).map(|i| pattern(sent + i as u32)).collect();
            source.write_all(&put).unwrap();
            sent += put.len() as u32;
            let mut left = put.len();
            while left > 0 {
                left -= queue.read_from(&source_end, (step * 101 % 9973 + 1).min(left), &mut pool).unwrap();
            }
            let limit = if step == 399 { queue.len() } else { (step * 53 % 16_001).min(queue.len()) };
            let mut left = limit;
            while left > 0 {
                let written = queue.write_to(&sink_end, left, &mut pool).unwrap();
                let mut got = vec![0; written];
                sink.read_exact(&mut got).unwrap();
                assert!(got.iter().zip(received..).all(|(&byte, at)| byte == pattern(at)), "after byte {received}");
                received += written as u32;
                left -= written;
            }
        }
        assert_eq!((queue.len(), received), (0, sent));
        assert!(queue.blocks.is_empty() && !pool.free.is_empty());
    }

    fn pattern(at: u32) -> u8 {
        (at.wrapping_mul(2_654_435_761) >> 24) as u8
    }
}
