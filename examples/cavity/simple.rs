//! One level of the grids, and the pieces of a smoothing sweep: SIMPLE (Patankar and Spalding 1972) with incomplete factorisations.
//!
//! A sweep solves the linearised momentum equations approximately for a change of velocity, then a Poisson equation for the change
//! of pressure that makes the velocity free of divergence. Both use the factors of the strip's own block, so that only columns of
//! ghost cells cross the edges of strips. Between the pieces there are exchanges: `cycle.rs`.

use std::ops::RangeInclusive;

use super::grid::{Flow, Strip};
use super::ilu::Five;
use super::momentum::{self, Fluid};

/// Under-relaxation of the momentum equations, and of the pressure: with these a V-cycle reduces the residual to a quarter, from steady
/// flow to small time steps.
const RELAXATION: f64 = 0.7;
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
            cells.each(|at| r[at] = f[at] - r[at]);
        }
    }

    /// The sum of the squares of all residuals.
    pub(crate) fn squares(&self) -> f64 {
        let cells = [self.strip.u_cells(), self.strip.v_cells(), self.strip.p_cells()];
        let mut sum = 0.0;
        for (r, cells) in self.r.fields().into_iter().zip(cells) {
            cells.each(|at| sum += r[at] * r[at]);
        }
        sum
    }

    /// What has been added since the cycle has begun on this level.
    pub(crate) fn correction(&self) -> Flow {
        let mut correction = self.w.clone();
        for (w, begun) in correction.fields_mut().into_iter().zip(self.begun.fields()) {
            w.iter_mut().zip(begun).for_each(|(w, begun)| *w -= begun);
        }
        correction
    }

    /// The momentum equations' matrices in some columns.
    fn linearise(&mut self, fluid: &Fluid, columns: &RangeInclusive<usize>) {
        momentum::matrix_u(fluid, &self.w, columns, RELAXATION, &mut self.u);
        momentum::matrix_v(fluid, &self.w, columns, RELAXATION, &mut self.v);
        self.strip.u_cells().within(columns).each(|at| {
            self.ease[0][at] = 1.0 / self.u.here[at];
        });
        self.strip.v_cells().within(columns).each(|at| {
            self.ease[1][at] = 1.0 / self.v.here[at];
        });
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

    /// The pressure's change, from the divergence of the new velocities.
    pub(crate) fn pressure(&mut self) {
        let (s, h, cells) = (self.strip.stride(), self.strip.h(), self.strip.p_cells());
        let [u, v] = &self.ease;
        cells.each(|at| {
            let neighbours = [u[at + s], u[at], v[at + 1], v[at]].map(|ease| ease / (h * h));
            self.p.set(at, neighbours, 0.0, 1.0);
            self.r.p[at] = self.f.p[at] - momentum::divergence(&self.w, at);
        });
        self.p.factorise(&cells);
        self.p.solve(&cells, &mut self.r.p);
    }

    /// What the right neighbour needs for the slope at the edge between them.
    pub(crate) fn last_pressures(&self) -> Vec<f64> {
        self.r.p[self.strip.column(self.strip.columns)].to_vec()
    }

    /// Takes over what [`Level::last_pressures`] of the left neighbour has returned.
    pub(crate) fn set_left_pressures(&mut self, pressures: &[f64]) {
        let column = self.strip.column(0);
        self.r.p[column].copy_from_slice(pressures);
    }

    /// Adds the pressure's change, and that of the velocities by its slope, in some columns.
    pub(crate) fn correct(&mut self, columns: &RangeInclusive<usize>) {
        let (s, h) = (self.strip.stride(), self.strip.h());
        let q = &self.r.p;
        self.strip.u_cells().within(columns).each(|at| {
            self.w.u[at] -= self.ease[0][at] * (q[at] - q[at - s]) / h;
        });
        self.strip.v_cells().within(columns).each(|at| {
            self.w.v[at] -= self.ease[1][at] * (q[at] - q[at - 1]) / h;
        });
        self.strip.p_cells().within(columns).each(|at| self.w.p[at] += PRESSURE * q[at]);
    }
}
