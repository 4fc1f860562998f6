//! Incompressible Navier-Stokes on the staggered grid, implicit in time: finite volumes, central differences, backward Euler.
//!
//! u/dt + d(uu)/dx + d(uv)/dy - nu (d2u/dx2 + d2u/dy2) + dp/dx = f_u, the same for v, and du/dx + dv/dy = f_p. On the finest grid
//! f_u is u/dt of the plane before (Stoica, Sultan and Keyes 1994, 5.2.1).

use std::ops::RangeInclusive;

use super::grid::{Flow, Strip};
use super::ilu::Five;

/// What the equations depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fluid {
    /// Kinematic viscosity; the reciprocal of the Reynolds number of a unit cavity and a lid of speed 1.
    pub(crate) viscosity: f64,
    /// The reciprocal of the time step.
    pub(crate) rate: f64,
    /// The lid's speed at the plane's time.
    pub(crate) lid: f64,
}

/// The velocities through the east, west, north and south faces of a velocity's control volume.
type Through = [f64; 4];

fn through_u(w: &Flow, at: usize) -> Through {
    let (u, v, s) = (&w.u, &w.v, w.strip.stride());
    let [east, west] = [u[at] + u[at + s], u[at - s] + u[at]];
    [0.5 * east, 0.5 * west, 0.5 * (v[at - s + 1] + v[at + 1]), 0.5 * (v[at - s] + v[at])]
}

fn through_v(w: &Flow, at: usize) -> Through {
    let (u, v, s) = (&w.u, &w.v, w.strip.stride());
    let [north, south] = [v[at] + v[at + 1], v[at - 1] + v[at]];
    [0.5 * (u[at + s - 1] + u[at + s]), 0.5 * (u[at - 1] + u[at]), 0.5 * north, 0.5 * south]
}

/// Transport of `x`, a velocity, by convection and diffusion, and its time derivative without the plane before.
fn transport(fluid: &Fluid, strip: Strip, x: &[f64], at: usize, through: Through) -> f64 {
    let (h, s) = (strip.h(), strip.stride());
    let [e, w, n, b] = [x[at + s], x[at - s], x[at + 1], x[at - 1]];
    let here = x[at];
    let [ue, uw, vn, vs] = through;
    let convection = (ue * (here + e) - uw * (here + w) + vn * (here + n) - vs * (here + b)) / (2.0 * h);
    fluid.rate * here + convection - fluid.viscosity * (e + w + n + b - 4.0 * here) / (h * h)
}

/// The left sides of the equations in some columns.
pub(crate) fn apply(fluid: &Fluid, w: &Flow, columns: &RangeInclusive<usize>, result: &mut Flow) {
    let strip = w.strip;
    let (h, s) = (strip.h(), strip.stride());
    for at in strip.u_cells().within(columns).each() {
        let slope = (w.p[at] - w.p[at - s]) / h;
        result.u[at] = transport(fluid, strip, &w.u, at, through_u(w, at)) + slope;
    }
    for at in strip.v_cells().within(columns).each() {
        let slope = (w.p[at] - w.p[at - 1]) / h;
        result.v[at] = transport(fluid, strip, &w.v, at, through_v(w, at)) + slope;
    }
    for at in strip.p_cells().within(columns).each() {
        result.p[at] = divergence(w, at);
    }
}

/// What flows out of a cell, per area.
pub(crate) fn divergence(w: &Flow, at: usize) -> f64 {
    (w.u[at + w.strip.stride()] - w.u[at] + w.v[at + 1] - w.v[at]) / w.strip.h()
}

/// A neighbour's coefficient, with `out` the velocity towards it: central, but not where that were negative (hybrid differences).
fn coefficient(fluid: &Fluid, h: f64, out: f64) -> f64 {
    let diffusion = fluid.viscosity / (h * h);
    (diffusion - 0.5 * out / h).max(-out / h).max(0.0)
}

/// The matrix of u, linear about `w`, in some columns: its neighbours' coefficients, and the diagonal divided by `relaxation`.
pub(crate) fn matrix_u(fluid: &Fluid, w: &Flow, columns: &RangeInclusive<usize>, relaxation: f64, matrix: &mut Five) {
    let strip = w.strip;
    for at in strip.u_cells().within(columns).each() {
        matrix.set(at, coefficients(fluid, strip.h(), through_u(w, at)), fluid.rate, relaxation);
        // The wall is half as far away as a neighbour, and the velocity there is known.
        let j = at % strip.stride();
        matrix.close(at, [false, false, j == strip.n, j == 1], 1.0 / relaxation);
    }
}

/// The matrix of v, as [`matrix_u`].
pub(crate) fn matrix_v(fluid: &Fluid, w: &Flow, columns: &RangeInclusive<usize>, relaxation: f64, matrix: &mut Five) {
    let strip = w.strip;
    for at in strip.v_cells().within(columns).each() {
        matrix.set(at, coefficients(fluid, strip.h(), through_v(w, at)), fluid.rate, relaxation);
        let i = at / strip.stride();
        let walls = [strip.is_last() && i == strip.columns, strip.is_first() && i == 1, false, false];
        matrix.close(at, walls, 1.0 / relaxation);
    }
}

fn coefficients(fluid: &Fluid, h: f64, [e, w, n, s]: Through) -> [f64; 4] {
    [coefficient(fluid, h, e), coefficient(fluid, h, -w), coefficient(fluid, h, n), coefficient(fluid, h, -s)]
}
