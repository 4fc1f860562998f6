//! One level of the grids, and the pieces of a smoothing sweep: SIMPLE (Patankar and Spalding 1972) with incomplete factorisations.
//!
//! A sweep solves the linearised momentum equations approximately for a change of velocity, then a Poisson equation for the change
//! of pressure that makes the velocity free of divergence. Both use the factors of the strip's own block, so that only columns of
//! ghost cells cross the edges of strips. Between the pieces there are exchanges: `cycle.rs`.

use std::ops::RangeInclusive;

use super::grid::{Cells, Flow, Strip};
use super::ilu::Five;
use super::momentum::{self, Fluid};

/// Under-relaxation of the momentum equations.
const RELAXATION: f64 = 0.7;
/// How much.
const SIMPLEC: f64 = 0.0;
const PRESSURE: f64 = 0.5;

/// An iterate, its right side, and what a sweep works with.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) strip: Strip,
    pub(crate) w: Flow,
    /// The right side.
    pub(crate) f: Flow,
    /// The residual; then the change in a sweep.
    pub(crate) r: Flow,
    /// Where a cycle has begun, on a coarse level.
    pub(crate) begun: Flow,
    u: Five,
    v: Five,
    p: Five,
    /// By which the slope of the pressure's change is multiplied to get that of u and v.
    ease: [Vec<f64>; 2],
    /// The right side of the Poisson equation.
    source: Vec<f64>,
}

impl Level {
    pub(crate) fn new(strip: Strip) -> Self {
        let (flow, five) = (Flow::new(strip), Five::new(strip));
        Level {
            strip,
            w: flow.clone(),
            f: flow.clone(),
            r: flow.clone(),
            begun: flow,
            u: five.clone(),
            v: five.clone(),
            p: five,
            ease: [strip.zeros(), strip.zeros()],
            source: strip.zeros(),
        }
    }

    /// Columns that need no ghost cells, and the first and the last one.
    pub(crate) fn inner(&self) -> RangeInclusive<usize> {
        2..=self.strip.columns - 1
    }

    pub(crate) fn outer(&self) -> [RangeInclusive<usize>; 2] {
        [1..=1, self.strip.columns..=self.strip.columns]
    }

    /// The left sides of the equations in some columns, and the matrices of the momentum equations.
    pub(crate) fn apply(&mut self, fluid: &Fluid, columns: &RangeInclusive<usize>) {
        momentum::apply(fluid, &self.w, columns, &mut self.r);
        self.linearise(fluid, columns);
    }

    /// What the equations lack, from their left sides.
    pub(crate) fn subtract(&mut self) {
        let cells = [self.strip.u_cells(), self.strip.v_cells(), self.strip.p_cells()];
        for ((r, f), cells) in self.r.fields_mut().into_iter().zip(self.f.fields()).zip(cells) {
            cells.each().for_each(|at| r[at] = f[at] - r[at]);
        }
    }

    /// The sums of the squares of the three equations' residuals.
    pub(crate) fn squares(&self) -> [f64; 3] {
        let cells = [self.strip.u_cells(), self.strip.v_cells(), self.strip.p_cells()];
        let sum = |(r, cells): (&Vec<f64>, Cells)| cells.each().map(|at| r[at] * r[at]).sum();
        let [u, v, p] = self.r.fields();
        let [of_u, of_v, of_p] = cells;
        [(u, of_u), (v, of_v), (p, of_p)].map(sum)
    }

    /// What has been added since the cycle has begun on this level.
    pub(crate) fn correction(&self) -> Flow {
        let mut correction = self.w.clone();
        for (w, begun) in correction.fields_mut().into_iter().zip(self.begun.fields()) {
            w.iter_mut().zip(begun).for_each(|(w, begun)| *w -= begun);
        }
        correction
    }

    /// A column of the pressure's change.
    pub(crate) fn change_of_pressure(&self, i: usize) -> Vec<f64> {
        self.r.p[self.strip.column(i)].to_vec()
    }

    pub(crate) fn set_change_of_pressure(&mut self, i: usize, change: &[f64]) {
        let column = self.strip.column(i);
        self.r.p[column].copy_from_slice(change);
    }

    /// The momentum equations' matrices in some columns.
    fn linearise(&mut self, fluid: &Fluid, columns: &RangeInclusive<usize>) {
        momentum::matrix_u(fluid, &self.w, columns, RELAXATION, &mut self.u);
        momentum::matrix_v(fluid, &self.w, columns, RELAXATION, &mut self.v);
        for at in self.strip.u_cells().within(columns).each() {
            self.ease[0][at] = 1.0 / (self.u.here[at] - SIMPLEC * self.u.neighbours(at));
        }
        for at in self.strip.v_cells().within(columns).each() {
            self.ease[1][at] = 1.0 / (self.v.here[at] - SIMPLEC * self.v.neighbours(at));
        }
    }

    /// The change of u, from its residual.
    pub(crate) fn change_u(&mut self) {
        self.u.factorise(&self.strip.u_cells());
        self.u.solve(&self.strip.u_cells(), &mut self.r.u);
    }

    /// The change of v, from its residual.
    pub(crate) fn change_v(&mut self) {
        self.v.factorise(&self.strip.v_cells());
        self.v.solve(&self.strip.v_cells(), &mut self.r.v);
    }

    /// What the left neighbour needs for its last column of pressures: the change of u through the edge between them, and its ease.
    pub(crate) fn left_faces(&self) -> Vec<f64> {
        let column = self.strip.column(1);
        [&self.r.u[column.clone()], &self.ease[0][column]].concat()
    }

    /// Takes over what [`Level::left_faces`] of the right neighbour has returned.
    pub(crate) fn set_right_faces(&mut self, faces: &[f64]) {
        let (n, column) = (self.strip.n, self.strip.column(self.strip.columns + 1));
        self.r.u[column.clone()].copy_from_slice(&faces[..n]);
        self.ease[0][column].copy_from_slice(&faces[n..]);
    }

    /// The new velocities, before the pressure's change.
    pub(crate) fn predict(&mut self) {
        let Level { strip, w, r, .. } = self;
        let own = strip.at(1, 0)..strip.at(strip.columns + 2, 0);
        for (w, r) in [(&mut w.u, &r.u), (&mut w.v, &r.v)] {
            w[own.clone()].iter_mut().zip(&r[own.clone()]).for_each(|(w, r)| *w += r);
        }
    }

    /// The Poisson equation for the pressure's change, and a first approximation of it.
    pub(crate) fn pressure(&mut self) {
        let (s, h, cells) = (self.strip.stride(), self.strip.h(), self.strip.p_cells());
        let [u, v] = &self.ease;
        for at in cells.each() {
            let neighbours = [u[at + s], u[at], v[at + 1], v[at]].map(|ease| ease / (h * h));
            self.p.set(at, neighbours, 0.0, 1.0);
            self.source[at] = self.f.p[at] - momentum::divergence(&self.w, at);
            self.r.p[at] = self.source[at];
        }
        self.p.factorise(&cells);
        self.p.solve(&cells, &mut self.r.p);
    }

    /// A better approximation of the pressure's change, with the neighbours' ghost cells.
    pub(crate) fn improve(&mut self) {
        let (s, cells) = (self.strip.stride(), self.strip.p_cells());
        let mut x = self.strip.zeros();
        let q = &self.r.p;
        for at in cells.each() {
            let [e, w, n, b] = [self.p.to[0][at], self.p.to[1][at], self.p.to[2][at], self.p.to[3][at]];
            x[at] = self.source[at] - self.p.here[at] * q[at]
                + e * q[at + s]
                + w * q[at - s]
                + n * q[at + 1]
                + b * q[at - 1];
        }
        self.p.solve(&cells, &mut x);
        cells.each().for_each(|at| self.r.p[at] += x[at]);
    }

    /// Adds the pressure's change, and that of the velocities by its slope, in some columns.
    pub(crate) fn correct(&mut self, columns: &RangeInclusive<usize>) {
        let (s, h) = (self.strip.stride(), self.strip.h());
        let q = &self.r.p;
        for at in self.strip.u_cells().within(columns).each() {
            self.w.u[at] -= self.ease[0][at] * (q[at] - q[at - s]) / h;
        }
        for at in self.strip.v_cells().within(columns).each() {
            self.w.v[at] -= self.ease[1][at] * (q[at] - q[at - 1]) / h;
        }
        self.strip.p_cells().within(columns).each().for_each(|at| self.w.p[at] += PRESSURE * q[at]);
    }
}
