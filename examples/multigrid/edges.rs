//! The exchange of edges by messages, and the count of what was calculated and sent on each level.

use std::time::{Duration, Instant};

use lathide::{Handle, Node, Tag, WriteHandle};

use super::cube::{Block, Cube};
use super::hierarchy::{Exchange, Level, Purpose};
use super::options::Version;

const EDGE: Tag = Tag(1);

/// What a rank did on one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    pub(crate) flops: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// The words of those received.
    pub(crate) words: u64,
    /// Exchanges in which something was received: waits for neighbours.
    pub(crate) exchanges: u64,
}

/// How a rank exchanges edges; one that is alone does not.
pub(crate) struct Edges<'a> {
    pub(crate) node: Option<&'a Node>,
    pub(crate) version: Version,
    /// The longest message.
    pub(crate) words: usize,
    /// By level.
    pub(crate) counts: Vec<Count>,
    /// The time in which this rank posted and waited.
    pub(crate) communication: Duration,
}

/// Messages under way: for each edge, in order.
struct UnderWay {
    reads: Vec<Vec<Handle<Vec<f64>>>>,
    writes: Vec<WriteHandle<Vec<f64>>>,
}

impl<'a> Edges<'a> {
    pub(crate) fn new(node: Option<&'a Node>, version: Version, words: usize, levels: usize) -> Self {
        Edges { node, version, words, counts: vec![Count::default(); levels], communication: Duration::ZERO }
    }

    /// Exchanges edges of `levels[0]`, which is the level `at`. `interior` is called when messages are under way, if they are to be
    /// hidden; when this returns the ghost points are known.
    pub(crate) fn exchange<const D: usize>(
        &mut self,
        at: usize,
        levels: &mut [Level<D>],
        purpose: Purpose,
        interior: impl FnOnce(&mut [Level<D>], &Block<D>) -> u64,
    ) -> lathide::Result<()> {
        let Some(node) = self.node else { return Ok(()) };
        if self.version == Version::Synchronised {
            let _region = node.region("barrier");
            let start = Instant::now();
            node.barrier()?;
            self.communication += start.elapsed();
        }
        let (shape, exchange) = (levels[0].shape, levels[0].exchanges[purpose as usize].clone());
        let mut start = Instant::now();
        let region = node.region(if shape.is_fine() { "fine edges" } else { "coarse edges" });
        let under_way = self.post(node, at, &exchange, shape.cube, levels[0].array(purpose))?;
        if self.version == Version::Hidden {
            drop(region);
            self.communication += start.elapsed();
            self.counts[at].flops += interior(levels, &exchange.interior);
            start = Instant::now();
        }
        under_way.wait(&exchange, shape.cube, levels[0].array(purpose))?;
        self.communication += start.elapsed();
        Ok(())
    }

    /// First the reads, so that what comes finds its place.
    fn post<const D: usize>(
        &mut self,
        node: &Node,
        at: usize,
        exchange: &Exchange<D>,
        cube: Cube<D>,
        array: &[f64],
    ) -> lathide::Result<UnderWay> {
        let count = &mut self.counts[at];
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for edge in &exchange.receives {
            let (words, mut messages) = (edge.points.len(), Vec::new());
            for done in (0..words).step_by(self.words) {
                messages.push(node.initread(edge.rank, EDGE, vec![0.0; self.words.min(words - done)])?);
            }
            count.received += messages.len() as u64;
            count.words += words as u64;
            reads.push(messages);
        }
        for edge in &exchange.sends {
            for message in edge.points.pack(cube, array).chunks(self.words) {
                writes.push(node.initwrite(edge.rank, EDGE, message.to_vec())?);
                count.sent += 1;
            }
        }
        count.exchanges += u64::from(!reads.is_empty());
        Ok(UnderWay { reads, writes })
    }
}

impl UnderWay {
    fn wait<const D: usize>(self, exchange: &Exchange<D>, cube: Cube<D>, array: &mut [f64]) -> lathide::Result<()> {
        for write in self.writes {
            write.wait()?;
        }
        for (edge, messages) in exchange.receives.iter().zip(self.reads) {
            let mut words = Vec::with_capacity(edge.points.len());
            for message in messages {
                words.extend(message.wait()?);
            }
            edge.points.unpack(cube, array, &words);
        }
        Ok(())
    }
}
