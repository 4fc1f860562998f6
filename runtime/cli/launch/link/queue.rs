//! Bytes on their way.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::AsFd;

use rustix::io::{Result, read};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

/// A queue of bytes between two sockets.
#[derive(Default)]
pub(super) struct Queue(VecDeque<u8>);

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// One system call: what `source` has, up to the length of `scratch`, to the end of the queue. 0: the source has ended.
    pub(super) fn read_from(&mut self, source: impl AsFd, scratch: &mut [u8]) -> Result<usize> {
        let bytes = read(source, &mut *scratch)?;
        self.0.extend(&scratch[..bytes]);
        Ok(bytes)
    }

    /// One system call: up to `limit` bytes from the front of the queue to `sink`.
    pub(super) fn write_to(&mut self, sink: impl AsFd, limit: usize) -> Result<usize> {
        let (front, back) = self.0.as_slices();
        let front = &front[..limit.min(front.len())];
        let back = &back[..back.len().min(limit - front.len())];
        let slices = [IoSlice::new(front), IoSlice::new(back)];
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let bytes = sendmsg(sink, &slices, &mut SendAncillaryBuffer::default(), flags)?;
        self.0.drain(..bytes);
        if self.0.is_empty() {
            // An idle queue holds no memory.
            self.clear();
        }
        Ok(bytes)
    }

    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

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
        let (mut queue, mut scratch) = (Queue::default(), [0; 10_000]);
        let (mut sent, mut received) = (0u32, 0u32);
        for step in 1..400usize {
            let put: Vec<u8> = (0..step * 37 % 20_011 + 1).map(|i| pattern(sent + i as u32)).collect();
            source.write_all(&put).unwrap();
            sent += put.len() as u32;
            let mut left = put.len();
            while left > 0 {
                left -= queue.read_from(&source_end, &mut scratch[..(step * 101 % 9973 + 1).min(left)]).unwrap();
            }
            let limit = if step == 399 { queue.len() } else { (step * 53 % 16_001).min(queue.len()) };
            let mut left = limit;
            while left > 0 {
                let written = queue.write_to(&sink_end, left).unwrap();
                let mut got = vec![0; written];
                sink.read_exact(&mut got).unwrap();
                assert!(got.iter().zip(received..).all(|(&byte, at)| byte == pattern(at)), "after byte {received}");
                received += written as u32;
                left -= written;
            }
        }
        assert_eq!((queue.len(), received), (0, sent));
        assert_eq!(queue.0.capacity(), 0);
    }

    fn pattern(at: u32) -> u8 {
        (at.wrapping_mul(2_654_435_761) >> 24) as u8
    }
}
