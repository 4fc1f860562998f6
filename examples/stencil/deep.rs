//! The same equation with `k` ghost columns on each side: `k` steps for each exchange, beyond eq. (1) of the paper.
//!
//! In step `j` after an exchange the outermost `j` ghost columns are not known any more. Of the rank's own columns those that are
//! more than `j` from a neighbour do not depend on the exchange: they are the interior, which hides it. The rest follows when
//! the ghost columns have come, step by step.

use std::ops::Range;

use lathide::{Node, Rank};

use super::{HALO, Options, Version, initial, update};

/// A rank's columns with `halo` ghost columns on each side, one after another, at two consecutive time steps. Where there is no
/// neighbour the ghost columns are always 0.
pub(super) struct Deep {
    rows: usize,
    halo: usize,
    own: usize,
    neighbours: [Option<Rank>; 2],
    times: [Vec<f64>; 2],
    /// Which of them is the older one.
    old: usize,
}

impl Deep {
    pub(super) fn new(options: &Options, halo: usize, columns: Range<usize>, node: &Node) -> Self {
        let (rows, own) = (options.rows, columns.len());
        let neighbours = [node.rank().below(), node.rank().above(node.size())];
        let mut first = vec![0.0; (own + 2 * halo) * rows];
        // Time step 0 is known to all, so the first ghost columns need not be sent.
        for (at, column) in first.chunks_exact_mut(rows).enumerate() {
            if let Some(c) = (columns.start + at).checked_sub(halo).filter(|c| *c < options.columns) {
                initial(c, column);
            }
        }
        let second = vec![0.0; first.len()];
        Deep { rows, halo, own, neighbours, times: [first, second], old: 0 }
    }

    /// All steps, as many as there are ghost columns for each exchange.
    pub(super) fn run(&mut self, node: &Node, version: Version, steps: usize) -> lathide::Result<()> {
        for done in (0..steps).step_by(self.halo) {
            let count = self.halo.min(steps - done);
            match version {
                _ if done == 0 => self.interior(count),
                Version::I3 => self.exchange(node, |strip| strip.interior(count))?,
                _ => {
                    self.exchange(node, |_| {})?;
                    self.interior(count);
                }
            }
            self.rest(count);
            self.old = (self.old + count) % 2;
        }
        Ok(())
    }

    /// The rank's own columns, one after another.
    pub(super) fn columns(&self) -> Vec<f64> {
        self.times[self.old][self.of(self.halo..self.halo + self.own)].to_vec()
    }

    /// Sends own columns, calculates, and takes over the ghost columns that have come meanwhile.
    fn exchange(&mut self, node: &Node, calculate: impl FnOnce(&mut Self)) -> lathide::Result<()> {
        let (k, own) = (self.halo, self.own);
        let (edges, ghosts) = ([k..2 * k, own..own + k], [0..k, k + own..2 * k + own]);
        let sides = || self.neighbours.into_iter().enumerate().filter_map(|(side, rank)| Some((side, rank?)));
        let mut reads = Vec::new();
        for (side, neighbour) in sides() {
            reads.push((side, node.initread(neighbour, HALO, vec![0.0f64; k * self.rows])?));
        }
        let mut writes = Vec::new();
        for (side, neighbour) in sides() {
            let edge = self.times[self.old][self.of(edges[side].clone())].to_vec();
            writes.push(node.initwrite(neighbour, HALO, edge)?);
        }
        calculate(self);
        for write in writes {
            write.wait()?;
        }
        for (side, read) in reads {
            let place = self.of(ghosts[side].clone());
            self.times[self.old][place].copy_from_slice(&read.wait()?);
        }
        Ok(())
    }

    /// `count` steps of what does not depend on the ghost columns.
    fn interior(&mut self, count: usize) {
        (1..=count).for_each(|step| self.calculate(step, self.independent(step)));
    }

    /// `count` steps of the rest, on both sides of the interior.
    fn rest(&mut self, count: usize) {
        for step in 1..=count {
            let (all, inner) = (self.known(step), self.independent(step));
            self.calculate(step, all.start..inner.start);
            self.calculate(step, inner.end..all.end);
        }
    }

    /// The columns that can be known in a step after an exchange.
    fn known(&self, step: usize) -> Range<usize> {
        let [left, right] = self.neighbours.map(|neighbour| if neighbour.is_some() { self.halo - step } else { 0 });
        self.halo - left..self.halo + self.own + right
    }

    /// Those of them that do not depend on the exchange; none of them are where they end, if there are none.
    fn independent(&self, step: usize) -> Range<usize> {
        let [left, right] = self.neighbours.map(|neighbour| if neighbour.is_some() { step } else { 0 });
        let start = (self.halo + left).min(self.known(step).end);
        start..(self.halo + self.own).saturating_sub(right).max(start)
    }

    /// A step on some of the columns.
    fn calculate(&mut self, step: usize, columns: Range<usize>) {
        let (rows, [first, second]) = (self.rows, &mut self.times);
        let (old, new) = if (self.old + step) % 2 == 1 { (&*first, second) } else { (&*second, first) };
        for c in columns {
            let column = |c: usize| &old[c * rows..(c + 1) * rows];
            update([column(c - 1), column(c), column(c + 1)], &mut new[c * rows..(c + 1) * rows]);
        }
    }

    /// Where some columns are.
    fn of(&self, columns: Range<usize>) -> Range<usize> {
        columns.start * self.rows..columns.end * self.rows
    }
}
