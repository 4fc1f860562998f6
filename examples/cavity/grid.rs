//! A strip of the staggered grid (marker and cell: Harlow and Welch 1965) and the flow on it.
//!
//! The cavity is the unit square with `n` x `n` cells. A strip has some of their columns. Every array has a column of ghost cells on
//! each side and a row of them below and above, and is stored column by column. With cell (i, j) go the pressure at its centre, the
//! velocity u through its left face and the velocity v through its bottom face. The strip's own cells are 1..=columns, 1..=n.

use std::ops::RangeInclusive;

/// Where a strip is, and how long its columns are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Strip {
    /// Cells per side of the cavity.
    pub(crate) n: usize,
    /// The strip's own columns of cells.
    pub(crate) columns: usize,
    /// The cavity's columns to the left of it.
    pub(crate) start: usize,
}

impl Strip {
    /// The strip of one of `of` ranks, which all have as many columns.
    pub(crate) fn of(n: usize, number: usize, of: usize) -> Self {
        let columns = n / of;
        Strip { n, columns, start: number * columns }
    }

    /// On a grid with half as many cells per side.
    pub(crate) fn coarse(self) -> Self {
        Strip { n: self.n / 2, columns: self.columns / 2, start: self.start / 2 }
    }

    pub(crate) fn h(self) -> f64 {
        1.0 / self.n as f64
    }

    /// From one column to the next.
    pub(crate) fn stride(self) -> usize {
        self.n + 2
    }

    pub(crate) fn at(self, i: usize, j: usize) -> usize {
        i * self.stride() + j
    }

    pub(crate) fn zeros(self) -> Vec<f64> {
        vec![0.0; (self.columns + 2) * self.stride()]
    }

    pub(crate) fn is_first(self) -> bool {
        self.start == 0
    }

    pub(crate) fn is_last(self) -> bool {
        self.start + self.columns == self.n
    }

    /// The faces between cells in a row: the cavity's left wall is none of them.
    pub(crate) fn u_cells(self) -> Cells {
        Cells { strip: self, i: if self.is_first() { 2 } else { 1 }..=self.columns, j: 1..=self.n }
    }

    /// The faces between cells in a column: the bottom is none of them.
    pub(crate) fn v_cells(self) -> Cells {
        Cells { strip: self, i: 1..=self.columns, j: 2..=self.n }
    }

    pub(crate) fn p_cells(self) -> Cells {
        Cells { strip: self, i: 1..=self.columns, j: 1..=self.n }
    }

    /// A column's own cells.
    pub(crate) fn column(self, i: usize) -> std::ops::Range<usize> {
        self.at(i, 1)..self.at(i, self.n + 1)
    }
}

/// A rectangle of cells whose values are unknown.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    pub(crate) strip: Strip,
    pub(crate) i: RangeInclusive<usize>,
    pub(crate) j: RangeInclusive<usize>,
}

impl Cells {
    /// Those in some of the columns.
    pub(crate) fn within(mut self, part: &RangeInclusive<usize>) -> Self {
        self.i = *self.i.start().max(part.start())..=*self.i.end().min(part.end());
        self
    }

    /// Their places, column by column.
    pub(crate) fn each(&self, mut visit: impl FnMut(usize)) {
        for i in self.i.clone() {
            self.j.clone().for_each(|j| visit(self.strip.at(i, j)));
        }
    }
}

/// Velocity and pressure: an iterate, a right side, a residual or a correction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Flow {
    pub(crate) strip: Strip,
    pub(crate) u: Vec<f64>,
    pub(crate) v: Vec<f64>,
    pub(crate) p: Vec<f64>,
}

impl Flow {
    /// At rest.
    pub(crate) fn new(strip: Strip) -> Self {
        Flow { strip, u: strip.zeros(), v: strip.zeros(), p: strip.zeros() }
    }

    pub(crate) fn fields(&self) -> [&Vec<f64>; 3] {
        [&self.u, &self.v, &self.p]
    }

    pub(crate) fn fields_mut(&mut self) -> [&mut Vec<f64>; 3] {
        [&mut self.u, &mut self.v, &mut self.p]
    }

    /// A column of all three.
    pub(crate) fn edge(&self, i: usize) -> Vec<f64> {
        self.fields().iter().flat_map(|field| &field[self.strip.column(i)]).copied().collect()
    }

    /// Takes over what [`Flow::edge`] of a neighbour has returned.
    pub(crate) fn set_edge(&mut self, i: usize, edge: &[f64]) {
        let strip = self.strip;
        for (field, part) in self.fields_mut().into_iter().zip(edge.chunks_exact(strip.n)) {
            field[strip.column(i)].copy_from_slice(part);
        }
    }

    /// The strip's own cells of all three, one after another.
    pub(crate) fn own(&self) -> Vec<f64> {
        // The columns' ghost rows are left out, and the columns of ghost cells.
        let columns = |field: &Vec<f64>| {
            (1..=self.strip.columns).flat_map(|i| field[self.strip.column(i)].to_vec()).collect::<Vec<_>>()
        };
        self.fields().map(columns).concat()
    }

    /// How long [`Flow::own`] is.
    pub(crate) fn own_len(&self) -> usize {
        3 * self.strip.columns * self.strip.n
    }

    /// Takes over what [`Flow::own`] has returned.
    pub(crate) fn set_own(&mut self, values: &[f64]) {
        let strip = self.strip;
        for (field, part) in self.fields_mut().into_iter().zip(values.chunks_exact(strip.n * strip.columns)) {
            for (i, part) in part.chunks_exact(strip.n).enumerate() {
                field[strip.column(i + 1)].copy_from_slice(part);
            }
        }
    }

    /// Ghost values at the cavity's walls, which do not let the fluid through and hold it; the top one moves at the speed `lid`.
    pub(crate) fn walls(&mut self, lid: f64) {
        let Flow { strip, u, v, p } = self;
        let (strip, c, n) = (*strip, strip.columns, strip.n);
        for j in 1..=n {
            if strip.is_first() {
                u[strip.at(1, j)] = 0.0;
                v[strip.at(0, j)] = -v[strip.at(1, j)];
                p[strip.at(0, j)] = p[strip.at(1, j)];
            }
            if strip.is_last() {
                u[strip.at(c + 1, j)] = 0.0;
                v[strip.at(c + 1, j)] = -v[strip.at(c, j)];
                p[strip.at(c + 1, j)] = p[strip.at(c, j)];
            }
        }
        for i in 0..=c + 1 {
            let [below, first, last, above] = [0, 1, n, n + 1].map(|j| strip.at(i, j));
            (u[below], u[above]) = (-u[first], 2.0 * lid - u[last]);
            (v[first], v[above]) = (0.0, 0.0);
            (p[below], p[above]) = (p[first], p[last]);
        }
    }
}
