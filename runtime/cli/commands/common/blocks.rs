//! Blocks of transfers one after the other, behind a calculation or alone.
//!
//! A transfer after a pause says little of a link: a token bucket has filled meanwhile, or a queue has emptied, and lets it
//! pass at once. In a block of many, that is little.

use lathide::{Node, Rank, Result, Tag};

/// A block of transfers takes about so long, if the link lets it.
pub(crate) const BLOCK_S: f64 = 0.03;
const COUNT_MAX: f64 = 4000.0;

/// The calculation is so much longer than the transfer that is to hide behind it: enough that all of it can, not so
/// much that the calculation runs undisturbed for long.
pub(crate) const CALCULATION: f64 = 1.1;
pub(crate) const WORK_MAX: f64 = 1e8;

/// How often something of `one_s` seconds is done per block.
pub(crate) fn count(block_s: f64, one_s: f64) -> u32 {
    (block_s / one_s).ceil().clamp(1.0, COUNT_MAX) as u32
}

/// The work of a calculation as long as it should be behind transfers of `com_s`, where `work` has taken `calc_s`.
pub(crate) fn corrected(work: u32, calc_s: f64, com_s: f64) -> u32 {
    if calc_s <= 0.0 {
        return work;
    }
    // One disturbed block must not make the next one endless.
    let factor = (CALCULATION * com_s / calc_s).clamp(0.2, 5.0);
    (f64::from(work) * factor).round().clamp(1.0, WORK_MAX) as u32
}

/// Messages point to point, again and again from the same two buffers.
pub(crate) struct Messages {
    pub(crate) out: Vec<u8>,
    pub(crate) into: Vec<u8>,
}

impl Messages {
    pub(crate) fn new(bytes: usize) -> Self {
        Messages { out: vec![1; bytes], into: vec![1; bytes] }
    }

    /// A message in one or both directions, and something to do meanwhile.
    ///
    /// # Errors
    /// What the messages end with.
    pub(crate) fn step(
        &mut self,
        node: &Node,
        tag: Tag,
        [from, to]: [Option<Rank>; 2],
        meanwhile: impl FnOnce(),
    ) -> Result<()> {
        let Messages { out, into } = self;
        let read = from.map(|from| node.initread(from, tag, std::mem::take(into))).transpose()?;
        let write = to.map(|to| node.initwrite(to, tag, std::mem::take(out))).transpose()?;
        meanwhile();
        if let Some(write) = write {
            *out = write.wait()?;
        }
        if let Some(read) = read {
            *into = read.wait()?;
        }
        Ok(())
    }
}
