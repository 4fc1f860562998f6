//! Disjoint pairs of ranks, several at once (Stoica, Sultan, Keyes, section 4): what tells a network from its ports.

use std::time::{Duration, Instant};

use lathide::{Node, Rank, Tag};

use super::plan::{Event, Seen};
use crate::commands::collectives::learn;
use crate::commands::collectives::together::{goes_on, slowest};
use crate::commands::common::blocks::Messages;
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::Result;

const PING: Tag = Tag(1);
/// The round trips of a block take about so long.
const BLOCK_S: f64 = 0.02;
const ROUND_TRIPS_MAX: f64 = 60.0;
const ROUND_TRIPS_MIN: u32 = 2;
/// A median needs three.
const REPEATS_MIN: u32 = 3;
/// Fewer cannot be fitted.
const SIZES_MIN: usize = 4;
/// More would not change a median.
const REPEATS_MAX: u32 = 9;

/// So many pairs at once with messages of one size, to and fro, or both ways at once.
struct Block {
    pairs: u32,
    both_ways: bool,
    bytes: usize,
    round_trips: u32,
    /// What a message took at first sight.
    about_s: f64,
}

/// What each node does: the processor's part of a message, then all blocks in turn, again and again.
pub(super) fn measure(node: &Node, pairs: &[u32], bytes: &[usize], seconds: f64) -> Result<()> {
    progress(node.rank(), (0, 1), "messages in pairs")?;
    if let Some(overhead_s) = learn::overhead(node)? {
        report(node.rank(), Event::Overhead(overhead_s))?;
    }
    let began = Instant::now();
    let elapsed = || began.elapsed().as_secs_f64();
    let mut blocks: Vec<Block> = Vec::new();
    for &bytes in bytes {
        // The first sight of a size warms up and says how often it may be repeated. Longer ones must leave time for that.
        if !goes_on(
            node,
            blocks.len() < SIZES_MIN * 2 * pairs.len() || elapsed() * f64::from(REPEATS_MIN + 1) < seconds,
        )? {
            break;
        }
        for (pairs, both_ways) in pairs.iter().flat_map(|pairs| [(*pairs, false), (*pairs, true)]) {
            let mut block = Block { pairs, both_ways, bytes, round_trips: ROUND_TRIPS_MIN, about_s: 0.0 };
            block.about_s = slowest(node, vec![block.time_s(node)?])?[0];
            block.round_trips = ((BLOCK_S / (2.0 * block.about_s)).min(ROUND_TRIPS_MAX) as u32).max(ROUND_TRIPS_MIN);
            blocks.push(block);
        }
    }
    for round in 0..REPEATS_MAX {
        if !goes_on(node, round < REPEATS_MIN || elapsed() < seconds)? {
            break;
        }
        progress(node.rank(), (round.into(), REPEATS_MAX.into()), "messages in pairs")?;
        let times = blocks.iter().map(|block| block.time_s(node)).collect::<Result<Vec<f64>>>()?;
        for (Block { pairs, both_ways, bytes, .. }, time_s) in blocks.iter().zip(slowest(node, times)?) {
            let seen = Seen { pairs: *pairs, both_ways: *both_ways, bytes: *bytes, time_s };
            report(node.rank(), Event::Pairs(seen))?;
        }
    }
    Ok(())
}

impl Block {
    /// What a message of this rank's pair takes; 0 if it has none.
    fn time_s(&self, node: &Node) -> Result<f64> {
        let (rank, other) = (node.rank(), Rank(node.rank().0 ^ 1));
        node.barrier()?;
        if rank.0 >= 2 * self.pairs {
            // Who waits for a message polls for a while, and would take the processor from those who measure.
            std::thread::sleep(Duration::from_secs_f64(f64::from(2 * self.round_trips) * self.about_s));
            return Ok(0.0);
        }
        let mut messages = Messages::new(self.bytes);
        let began = Instant::now();
        for turn in 0..2 * self.round_trips {
            let writes = self.both_ways || (turn % 2 == 0) == (rank < other);
            let reads = self.both_ways || !writes;
            messages.step(node, PING, [reads, writes].map(|moves| moves.then_some(other)), || ())?;
        }
        Ok(began.elapsed().as_secs_f64() / f64::from(2 * self.round_trips))
    }
}
