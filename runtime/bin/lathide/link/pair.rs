//! The two nodes, and messages between them by each way.

use std::time::Instant;

use lathide::{Node, Rank, Tag};
use rustix::time::{ClockId, clock_gettime};

use super::node::Result;
use super::plan::{Cost, Way};
use super::raw::Raw;

const PING: Tag = Tag(2);
/// A message that only says that something may begin.
const SIGNAL_BYTES: usize = 8;

/// This node, the other one, and the raw connection between them.
pub(super) struct Pair<'a> {
    pub(super) node: &'a Node,
    pub(super) other: Rank,
    pub(super) raw: Raw,
}

impl Pair<'_> {
    /// Rank 0 sends first.
    pub(super) fn leads(&self) -> bool {
        self.node.rank() == 0
    }

    /// Round trips of a message, not counting one that tells the other node to begin.
    pub(super) fn one_way(&mut self, way: Way, bytes: usize, round_trips: u32) -> Result<Cost> {
        let buffer = vec![1; bytes];
        self.begin(way)?;
        self.timed(|pair| pair.ping_pong(way, buffer, round_trips))
    }

    /// Has both nodes begin with something new, and the raw connection ready for its way.
    pub(super) fn begin(&mut self, way: Way) -> Result<()> {
        self.raw.poll(way == Way::RawPolled)?;
        self.ping_pong(way, vec![1; SIGNAL_BYTES], 1)
    }

    fn ping_pong(&mut self, way: Way, mut buffer: Vec<u8>, round_trips: u32) -> Result<()> {
        for _ in 0..round_trips {
            if self.leads() {
                buffer = self.send(way, buffer)?;
                buffer = self.receive(way, buffer)?;
            } else {
                buffer = self.receive(way, buffer)?;
                buffer = self.send(way, buffer)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, way: Way, buffer: Vec<u8>) -> Result<Vec<u8>> {
        if way == Way::Lathide {
            return Ok(self.node.initwrite(self.other, PING, buffer)?.wait()?);
        }
        self.raw.write(&buffer)?;
        Ok(buffer)
    }

    fn receive(&mut self, way: Way, mut buffer: Vec<u8>) -> Result<Vec<u8>> {
        if way == Way::Lathide {
            return Ok(self.node.initread(self.other, PING, buffer)?.wait()?);
        }
        self.raw.read(&mut buffer)?;
        Ok(buffer)
    }

    /// What a block costs this node.
    pub(super) fn timed(&mut self, block: impl FnOnce(&mut Self) -> Result<()>) -> Result<Cost> {
        let (cpu_s, began) = (process_s(), Instant::now());
        block(self)?;
        Ok(Cost { wall_s: began.elapsed().as_secs_f64(), cpu_s: process_s() - cpu_s })
    }
}

/// Processor time of all threads of this process so far, in seconds.
pub(super) fn process_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
