//! V- and F-cycles with two sweeps down and one up (Matheson and Tarjan 1993), on one rank's part of the levels.
//!
//! Each level exchanges edges before a sweep, before the residual, before restriction and before interpolation. Where a cycle
//! comes down to a level for the first time the solution is 0 there, so its first sweep needs no edges. All versions calculate the
//! same at each point, so their results are the same to the bit, on any number of ranks.

use lathide::{Handle, Operator};

use super::cube::Block;
use super::edges::Edges;
use super::hierarchy::{Level, Place, Purpose, levels};
use super::kernels;
use super::options::{Cycle, Version};

/// The weights of Jacobi sweeps that damp what coarser grids cannot see best, in two and three dimensions.
const WEIGHTS: [f64; 2] = [4.0 / 5.0, 6.0 / 7.0];

/// A rank's part of the problem.
pub(crate) struct Solver<'a, const D: usize> {
    pub(crate) levels: Vec<Level<D>>,
    pub(crate) edges: Edges<'a>,
    /// Whether the greatest residual is to be found in each cycle.
    watches: bool,
    /// That of all ranks, on its way.
    largest: Option<Handle<Vec<f64>>>,
    /// That of this rank, and when it is known, of all.
    residual: f64,
}

impl<'a, const D: usize> Solver<'a, D> {
    /// The right side and the first guess are those of [`super::problem`].
    pub(crate) fn new(points: usize, place: Place<D>, edges: impl FnOnce(usize) -> Edges<'a>, watches: bool) -> Self {
        let mut levels = levels(points, place);
        super::problem::prepare(&mut levels[0]);
        let edges = edges(levels.len());
        Solver { levels, edges, watches, largest: None, residual: 0.0 }
    }

    /// One cycle. Returns the greatest residual after the sweeps down, if it is wanted.
    pub(crate) fn cycle(&mut self, cycle: Cycle) -> lathide::Result<Option<f64>> {
        self.visit(cycle, 0, false)?;
        if !self.watches {
            return Ok(None);
        }
        if let Some(largest) = self.largest.take() {
            self.residual = largest.wait()?[0];
        } else if let Some(node) = self.edges.node {
            let _region = node.region("sums");
            self.residual = node.allreduce(&Operator::max(), vec![self.residual])?[0];
        }
        Ok(Some(self.residual))
    }

    /// A cycle from a level on.
    fn visit(&mut self, cycle: Cycle, at: usize, is_zero: bool) -> lathide::Result<()> {
        if at + 1 == self.levels.len() {
            self.first_sweep(at, 1.0);
            return Ok(());
        }
        match is_zero {
            true => self.first_sweep(at, WEIGHTS[D - 2]),
            false => self.sweep(at)?,
        }
        self.sweep(at)?;
        self.with_edges(at, Purpose::Stencil, |levels, block| {
            let Level { shape, u, b, r, .. } = &mut levels[0];
            kernels::residual(shape.cube, block, [u, b], r)
        })?;
        if at == 0 && self.watches {
            self.watch()?;
        }
        self.with_edges(at, Purpose::Restriction, restrict)?;
        self.visit(cycle, at + 1, true)?;
        if cycle == Cycle::F && at + 2 < self.levels.len() {
            self.visit(Cycle::V, at + 1, false)?;
        }
        self.inject(at);
        self.with_edges(at, Purpose::Interpolation, |levels, block| interpolate(&mut levels[0], block))?;
        self.sweep(at)
    }

    /// A sweep where the solution is 0.
    fn first_sweep(&mut self, at: usize, weight: f64) {
        let Level { shape, u, b, .. } = &mut self.levels[at];
        self.edges.counts[at].flops += kernels::first_sweep(shape.cube, &shape.own, b, u, weight);
    }

    fn sweep(&mut self, at: usize) -> lathide::Result<()> {
        self.with_edges(at, Purpose::Stencil, |levels, block| {
            let Level { shape, u, b, new, .. } = &mut levels[0];
            kernels::sweep(shape.cube, block, [u, b], new, WEIGHTS[D - 2])
        })?;
        let Level { u, new, .. } = &mut self.levels[at];
        std::mem::swap(u, new);
        Ok(())
    }

    /// Begins to find the greatest residual of all ranks.
    fn watch(&mut self) -> lathide::Result<()> {
        let Level { shape, r, .. } = &self.levels[0];
        self.residual = kernels::largest(shape.cube, &shape.own, r);
        if let Some(node) = self.edges.node.filter(|_| self.edges.version == Version::Hidden) {
            let _region = node.region("sums");
            self.largest = Some(node.initallreduce(&Operator::max(), vec![self.residual])?);
        }
        Ok(())
    }

    /// Brings the coarser level's solution to the even points of this one.
    fn inject(&mut self, at: usize) {
        let [fine, coarse] = &mut self.levels[at..at + 2] else { unreachable!("there is a coarser level") };
        let even = fine.shape.even();
        if even.len() > 0 {
            let from = fine.shape.in_coarser(&coarse.shape, even.first);
            kernels::inject([fine.shape.cube, coarse.shape.cube], &even, from, &coarse.u, &mut fine.r);
        }
    }

    /// Exchanges edges and calculates: what needs none of them meanwhile, if that is to be hidden, and the rest after it.
    fn with_edges(
        &mut self,
        at: usize,
        purpose: Purpose,
        calculate: impl Fn(&mut [Level<D>], &Block<D>) -> u64,
    ) -> lathide::Result<()> {
        let levels = &mut self.levels[at..];
        let shape = levels[0].shape;
        let mut done = Block::of([0; D]);
        self.edges.exchange(at, levels, purpose, |levels, interior| {
            done = *interior;
            calculate(levels, interior)
        })?;
        let rest = shape.own.around(&done);
        self.edges.counts[at].flops += rest.iter().map(|block| calculate(levels, block)).sum::<u64>();
        Ok(())
    }
}

fn restrict<const D: usize>(levels: &mut [Level<D>], block: &Block<D>) -> u64 {
    let [fine, coarse, ..] = levels else { unreachable!("there is a coarser level") };
    let even = block.of_parity(fine.shape.origin, [0; D]);
    if even.len() == 0 {
        return 0;
    }
    let to = fine.shape.in_coarser(&coarse.shape, even.first);
    kernels::restrict([fine.shape.cube, coarse.shape.cube], &even, to, &fine.r, &mut coarse.b)
}

fn interpolate<const D: usize>(level: &mut Level<D>, block: &Block<D>) -> u64 {
    let Level { shape, u, r, .. } = level;
    let parities = (0..1usize << D).map(|number| std::array::from_fn(|d| number >> d & 1));
    parities.map(|parity| kernels::interpolate(shape.cube, &block.of_parity(shape.origin, parity), parity, r, u)).sum()
}
