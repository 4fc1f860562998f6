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
    strip.u_cells().within(columns).each(|at| {
        let slope = (w.p[at] - w.p[at - s]) / h;
        result.u[at] = transport(fluid, strip, &w.u, at, through_u(w, at)) + slope;
    });
    strip.v_cells().within(columns).each(|at| {
        let slope = (w.p[at] - w.p[at - 1]) / h;
        result.v[at] = transport(fluid, strip, &w.v, at, through_v(w, at)) + slope;
    });
    strip.p_cells().within(columns).each(|at| {
        result.p[at] = divergence(w, at);
    });
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
    strip.u_cells().within(columns).each(|at| {
        matrix.set(at, coefficients(fluid, strip.h(), through_u(w, at)), fluid.rate, relaxation);
        // The wall is half as far away as a neighbour, and the velocity there is known.
        let j = at % strip.stride();
        matrix.close(at, [false, false, j == strip.n, j == 1], 1.0 / relaxation);
    });
}

/// The matrix of v, as [`matrix_u`].
pub(crate) fn matrix_v(fluid: &Fluid, w: &Flow, columns: &RangeInclusive<usize>, relaxation: f64, matrix: &mut Five) {
    let strip = w.strip;
    strip.v_cells().within(columns).each(|at| {
        matrix.set(at, coefficients(fluid, strip.h(), through_v(w, at)), fluid.rate, relaxation);
        let i = at / strip.stride();
        let walls = [strip.is_last() && i == strip.columns, strip.is_first() && i == 1, false, false];
        matrix.close(at, walls, 1.0 / relaxation);
    });
}

fn coefficients(fluid: &Fluid, h: f64, [e, w, n, s]: Through) -> [f64; 4] {
    [coefficient(fluid, h, e), coefficient(fluid, h, -w), coefficient(fluid, h, n), coefficient(fluid, h, -s)]
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// u = sin^2(pi x) sin(2 pi y), v = -sin(2 pi x) sin^2(pi y), p = cos(pi x) cos(pi y): it stands at the walls. The velocities are
    /// differences of a stream function, so that nothing flows out of any cell.
    fn vortex(strip: Strip) -> Flow {
        let (h, mut flow) = (strip.h(), Flow::new(strip));
        let stream = |x: f64, y: f64| ((PI * x).sin() * (PI * y).sin()).powi(2) / PI;
        strip.p_cells().each(|at| {
            let (x, y) = place(strip, at);
            flow.u[at] = (stream(x, y + h) - stream(x, y)) / h;
            flow.v[at] = (stream(x, y) - stream(x + h, y)) / h;
            flow.p[at] = (PI * (x + h / 2.0)).cos() * (PI * (y + h / 2.0)).cos();
        });
        flow.walls(0.0);
        flow
    }

    /// The lower left corner of a cell.
    fn place(strip: Strip, at: usize) -> (f64, f64) {
        let (i, j) = (at / strip.stride(), at % strip.stride());
        ((i - 1) as f64 * strip.h(), (j - 1) as f64 * strip.h())
    }

    /// The left side of the equation of u for that flow, by calculus.
    fn exact(fluid: &Fluid, x: f64, y: f64) -> f64 {
        let (s, c) = ((PI * x).sin(), (2.0 * PI * y).sin());
        let (u, v) = (s * s * c, -(2.0 * PI * x).sin() * (PI * y).sin().powi(2));
        let (ux, uy) = (PI * (2.0 * PI * x).sin() * c, 2.0 * PI * s * s * (2.0 * PI * y).cos());
        let laplacian = 2.0 * PI * PI * (2.0 * PI * x).cos() * c - 4.0 * PI * PI * u;
        let slope = -PI * (PI * x).sin() * (PI * y).cos();
        fluid.rate * u + u * ux + v * uy - fluid.viscosity * laplacian + slope
    }

    /// The greatest error of the equation of u, away from the walls, where the differences are of a lower order.
    fn error(n: usize) -> f64 {
        let fluid = Fluid { viscosity: 0.1, rate: 3.0, lid: 0.0 };
        let strip = Strip::of(n, 0, 1);
        let mut result = Flow::new(strip);
        apply(&fluid, &vortex(strip), &(1..=n), &mut result);
        let mut greatest = 0.0f64;
        strip.u_cells().each(|at| {
            let (x, bottom) = place(strip, at);
            let y = bottom + strip.h() / 2.0;
            if y > 0.1 && y < 0.9 {
                greatest = greatest.max((result.u[at] - exact(&fluid, x, y)).abs());
            }
        });
        greatest
    }

    #[test]
    fn the_error_is_of_second_order() {
        let [coarse, fine] = [32, 64].map(error);
        assert!(fine < 0.02 && (3.6..4.4).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    /// Where the grid is fine enough for central differences, and nothing flows out of control volumes, the matrices times the flow are
    /// its transport.
    #[test]
    fn matrices_agree_with_the_equations() {
        let fluid = Fluid { viscosity: 0.1, rate: 3.0, lid: 0.0 };
        let strip = Strip::of(32, 0, 1);
        let (mut flow, s) = (vortex(strip), strip.stride());
        flow.p.fill(0.0);
        let mut result = Flow::new(strip);
        apply(&fluid, &flow, &(1..=32), &mut result);
        let [mut u, mut v] = [Five::new(strip), Five::new(strip)];
        matrix_u(&fluid, &flow, &(1..=32), 1.0, &mut u);
        matrix_v(&fluid, &flow, &(1..=32), 1.0, &mut v);
        for (five, x, y, cells) in
            [(&u, &flow.u, &result.u, strip.u_cells()), (&v, &flow.v, &result.v, strip.v_cells())]
        {
            cells.each(|at| {
                let near = [at + s, at - s, at + 1, at - 1];
                let sum: f64 = five.to.iter().zip(near).map(|(to, near)| to[at] * x[near]).sum();
                let product = five.here[at] * x[at] - sum;
                assert!((product - y[at]).abs() < 1e-10, "{at}: {product} {}", y[at]);
            });
        }
    }

    #[test]
    fn coefficients_are_never_negative() {
        let fluid = Fluid { viscosity: 0.01, rate: 0.0, lid: 1.0 };
        for out in [-9.0, -1.0, 0.0, 0.5, 1.0, 9.0] {
            let value = coefficient(&fluid, 0.1, out);
            let upwind = (-out / 0.1f64).max(0.0);
            assert!(value >= upwind, "{out}: {value}");
        }
        assert_eq!(coefficient(&fluid, 0.1, 9.0), 0.0);
        assert!((coefficient(&fluid, 0.1, 0.1) - 0.5).abs() < 1e-12); // central: 1 - 0.5
    }
}
