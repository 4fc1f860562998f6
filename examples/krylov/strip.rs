//! What a rank has and sends: its rows of points, the neighbours' rows for a product with the matrix, and sums over all ranks.

use std::ops::Range;

use lathide::{Handle, Node, Operator, Rank, ReadHandle, Region, Result, Tag, WriteHandle};

use super::ilu::Factors;
use super::options::{Options, Preconditioner, Version};
use super::{matrix, problem};

const HALO: Tag = Tag(1);

/// What messages are for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Phase {
    Setup,
    Iteration,
    /// Residuals are worked out anew.
    Replacement,
}

/// The rows of one rank.
pub(crate) struct Strip<'a> {
    node: &'a Node,
    version: Version,
    pub(crate) n: usize,
    rows: Range<usize>,
    pub(crate) factors: Factors,
}

impl<'a> Strip<'a> {
    pub(crate) fn new(node: &'a Node, options: &Options, rows: Range<usize>) -> Self {
        let n = options.n;
        let factors = match options.preconditioner {
            Preconditioner::None => Factors::none(n),
            Preconditioner::Ilu => Factors::ilu(n, rows.len()),
        };
        Strip { node, version: options.version, n, rows, factors }
    }

    /// A vector of zeros.
    pub(crate) fn zeros(&self) -> Vec<f64> {
        vec![0.0; self.n * self.rows.len()]
    }

    pub(crate) fn right_side(&self) -> Vec<f64> {
        problem::right_side(self.n, self.rows.clone())
    }

    /// One pass of the algorithm, for reports.
    pub(crate) fn iteration(&self) -> Region {
        self.node.region("iteration")
    }

    /// The matrix times `v`. In the hidden version the neighbours' rows travel during the interior.
    pub(crate) fn product(&self, phase: Phase, v: &[f64], out: &mut [f64]) -> Result<()> {
        let mut ghosts = [vec![0.0; self.n], vec![0.0; self.n]];
        if self.version == Version::Hidden {
            let halo = {
                let _halo = self.region(phase, "halo");
                self.post(v)?
            };
            matrix::interior(self.n, v, out);
            halo.wait(&mut ghosts)?;
        } else {
            self.synchronise(phase)?;
            let _halo = self.region(phase, "halo");
            self.post(v)?.wait(&mut ghosts)?;
            matrix::interior(self.n, v, out);
        }
        matrix::edges(self.n, v, [&ghosts[0], &ghosts[1]], out);
        Ok(())
    }

    /// Sums over all ranks, of each of the numbers. In the hidden version they travel until they are waited for, in the others
    /// they are here when this returns.
    pub(crate) fn sums<const K: usize>(&self, phase: Phase, own: [f64; K]) -> Result<Sums<K>> {
        self.synchronise(phase)?;
        let _sums = self.region(phase, "sums");
        let pending = self.node.initallreduce(&Operator::sum(), own.to_vec())?;
        if self.version == Version::Hidden { Ok(Sums::Pending(pending)) } else { Ok(Sums::Here(pending.wait()?)) }
    }

    fn synchronise(&self, phase: Phase) -> Result<()> {
        if self.version != Version::Synchronised {
            return Ok(());
        }
        let _barrier = self.node.region(if phase == Phase::Setup { "setup" } else { "barrier" });
        self.node.barrier()
    }

    fn region(&self, phase: Phase, name: &str) -> Region {
        self.node.region(match phase {
            Phase::Setup => "setup",
            Phase::Iteration => name,
            Phase::Replacement => "replacement",
        })
    }

    /// Sends the first row and the last.
    fn post(&self, v: &[f64]) -> Result<Halo> {
        let neighbours: [Option<Rank>; 2] = [self.node.rank().below(), self.node.rank().above(self.node.size())];
        let sides = || neighbours.into_iter().enumerate().filter_map(|(side, rank)| Some((side, rank?)));
        let mut halo = Halo { reads: Vec::new(), writes: Vec::new() };
        for (side, neighbour) in sides() {
            halo.reads.push((side, self.node.initread(neighbour, HALO, vec![0.0; self.n])?));
        }
        let rows = [0..self.n, v.len() - self.n..v.len()];
        for (side, neighbour) in sides() {
            halo.writes.push(self.node.initwrite(neighbour, HALO, v[rows[side].clone()].to_vec())?);
        }
        Ok(halo)
    }
}

/// Rows that travel, by the side that they come from: 0 is before the strip, 1 behind it.
struct Halo {
    reads: Vec<(usize, ReadHandle<f64>)>,
    writes: Vec<WriteHandle<Vec<f64>>>,
}

impl Halo {
    fn wait(self, ghosts: &mut [Vec<f64>; 2]) -> Result<()> {
        for (side, read) in self.reads {
            ghosts[side] = read.wait()?;
        }
        self.writes.into_iter().try_for_each(|write| write.wait().map(drop))
    }
}

/// Sums over all ranks, which have the same bits on each.
pub(crate) enum Sums<const K: usize> {
    Here(Vec<f64>),
    Pending(Handle<Vec<f64>>),
}

impl<const K: usize> Sums<K> {
    pub(crate) fn wait(self) -> Result<[f64; K]> {
        let sums = match self {
            Sums::Here(sums) => sums,
            Sums::Pending(handle) => handle.wait()?,
        };
        Ok(sums.try_into().unwrap_or_else(|_| unreachable!("as many sums as numbers")))
    }
}
