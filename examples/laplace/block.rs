//! A rank's block of points, and the messages of an iteration.

use lathide::{Grid, Handle, Node, Operator, Rank, Result, Section, SectionShift};

use super::Outcome;
use super::jacobi::{Area, divide, framed, relax};
use super::options::{Stop, Version};

/// Points before and after an iteration, within a frame of the neighbours' points. A strip is a block with two neighbours.
pub(crate) struct Block {
    old: Vec<f64>,
    new: Vec<f64>,
    height: usize,
    width: usize,
    interior: Area,
    edges: [Area; 4],
    shifts: Vec<SectionShift>,
}

impl Block {
    /// These rows and columns of the `n` x `n` points.
    pub(crate) fn new(grid: &Grid<2>, n: usize, area: Area) -> Result<Self> {
        let old = framed(n, &area);
        let [height, width] = area.map(|indices| indices.len());
        let ((above, below), (left, right)) = (grid.shift(0, 1), grid.shift(1, 1));
        let (interior, edges) = divide(height, width, [above, below, left, right].map(|rank| rank.is_some()));
        let shape = [height + 2, width + 2];
        let row = |at: usize| Section::of(&shape, &[at..at + 1, 1..width + 1]);
        let column = |at: usize| Section::of(&shape, &[1..height + 1, at..at + 1]);
        let with = |rank: Option<Rank>, section| rank.map(|rank| (rank, section));
        let shifts = vec![
            SectionShift { to: with(above, row(1)?), from: with(below, row(height + 1)?) },
            SectionShift { to: with(below, row(height)?), from: with(above, row(0)?) },
            SectionShift { to: with(left, column(1)?), from: with(right, column(width + 1)?) },
            SectionShift { to: with(right, column(width)?), from: with(left, column(0)?) },
        ];
        Ok(Block { new: old.clone(), old, height, width, interior, edges, shifts })
    }

    /// Iterates, and returns how often.
    ///
    /// In the hidden version the greatest change of an iteration travels during the next one. So that one is carried out in vain
    /// at the end, compared with the other versions.
    pub(crate) fn run(&mut self, node: &Node, version: Version, stop: Stop) -> Outcome<usize> {
        let mut pending: Option<Handle<Vec<f64>>> = None;
        let mut iterations = 0;
        loop {
            let _iteration = node.region("iteration");
            let own = self.iterate(node, version)?;
            iterations += 1;
            let (epsilon, most) = match stop {
                Stop::Iterations(enough) if iterations == enough => return Ok(iterations),
                Stop::Iterations(_) => continue,
                Stop::Epsilon { epsilon, most } => (epsilon, most),
            };
            synchronise(node, version)?;
            let _change = node.region("change");
            if version == Version::Hidden
                && let Some(pending) = pending.take()
                && pending.wait()?[0] < epsilon
            {
                return Ok(iterations);
            }
            let change = node.initallreduce(&Operator::max(), vec![own])?;
            if version == Version::Hidden {
                pending = Some(change);
            } else if change.wait()?[0] < epsilon {
                return Ok(iterations);
            }
            if iterations > most {
                return Err(format!("no end after {most} iterations, which are enough for --epsilon {epsilon}").into());
            }
        }
    }

    /// The points, row by row.
    pub(crate) fn points(&self) -> Result<Vec<f64>> {
        Section::of(&[self.height + 2, self.width + 2], &[1..self.height + 1, 1..self.width + 1])?.pack(&self.old)
    }

    /// An iteration. Returns the greatest change of this rank's points. In the hidden version the edges travel during the interior.
    fn iterate(&mut self, node: &Node, version: Version) -> Result<f64> {
        let change = if version == Version::Hidden {
            let ghosts = {
                let _halo = node.region("halo");
                node.initexchange_sections(&self.shifts, &self.old)?
            };
            let change = self.relax_interior();
            ghosts.wait_into(&mut self.old)?;
            change
        } else {
            synchronise(node, version)?;
            {
                let _halo = node.region("halo");
                node.exchange_sections(&self.shifts, &mut self.old)?;
            }
            self.relax_interior()
        };
        let change = change.max(self.relax_edges());
        std::mem::swap(&mut self.old, &mut self.new);
        Ok(change)
    }

    fn relax_interior(&mut self) -> f64 {
        relax(&self.old, &mut self.new, self.width + 2, &self.interior)
    }

    fn relax_edges(&mut self) -> f64 {
        let relaxed = |edge: &Area| relax(&self.old, &mut self.new, self.width + 2, edge);
        self.edges.iter().map(relaxed).fold(0.0, f64::max)
    }
}

fn synchronise(node: &Node, version: Version) -> Result<()> {
    if version != Version::Synchronised {
        return Ok(());
    }
    let _barrier = node.region("barrier");
    node.barrier()
}
