//! The exchange of edges between the strips of a plane: the messages IL and IR of Fig. 18 (Stoica, Sultan and Keyes 1994).

use std::cell::Cell;

use lathide::{Node, Rank, Tag};

use super::cycle::{Edges, Space};
use super::options::Version;

/// What a rank sends to the left, and to the right.
const EDGES: [Tag; 2] = [Tag(1), Tag(2)];

/// A strip's neighbours in its plane.
pub(crate) struct Strips {
    node: Node,
    /// The left one and the right one.
    neighbours: [Option<Rank>; 2],
    is_hidden: bool,
    /// What the messages are for.
    region: Cell<&'static str>,
}

impl Strips {
    /// Rank `plane * px + strip` has a strip of a plane.
    pub(crate) fn new(node: &Node, px: usize, version: Version) -> Self {
        let (rank, strip) = (node.rank(), node.rank().index() % px);
        let left = rank.below().filter(|_| strip > 0);
        let right = rank.above(node.size()).filter(|_| strip + 1 < px);
        let is_hidden = version == Version::Hidden;
        Strips { node: node.clone(), neighbours: [left, right], is_hidden, region: Cell::new(START) }
    }

    /// From now on messages are for this.
    pub(crate) fn enter(&self, region: &'static str) {
        self.region.set(region);
    }
}

/// Messages before the first cycle of a group.
pub(crate) const START: &str = "start";
/// Messages of cycles.
pub(crate) const EDGE: &str = "edge";

impl Space for Strips {
    fn exchange(&self, edges: Edges, work: impl FnOnce()) -> lathide::Result<Edges> {
        let region = self.node.region(self.region.get());
        let (mut reads, mut writes) = ([None, None], Vec::new());
        let lengths = [&edges[1], &edges[0]].map(|edge| edge.as_ref().map(Vec::len));
        for (side, length) in lengths.into_iter().enumerate() {
            if let (Some(neighbour), Some(length)) = (self.neighbours[side], length) {
                reads[side] = Some(self.node.initread(neighbour, EDGES[1 - side], vec![0.0; length])?);
            }
        }
        for (side, edge) in edges.into_iter().enumerate() {
            if let (Some(neighbour), Some(edge)) = (self.neighbours[side], edge) {
                writes.push(self.node.initwrite(neighbour, EDGES[side], edge)?);
            }
        }
        let wait = move || {
            writes.into_iter().try_for_each(|write| write.wait().map(drop))?;
            let [left, right] = reads.map(|read| read.map(|read| read.wait()).transpose());
            Ok([left?, right?])
        };
        if self.is_hidden {
            drop(region);
            work();
            return wait();
        }
        let come = wait();
        drop(region);
        work();
        come
    }
}
