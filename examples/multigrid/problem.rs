//! Poisson's equation on the unit square or cube, 0 on its boundary, with a solution that is known: the product of
//! `sin(pi x)` in all dimensions. Pure.
//!
//! That is an eigenvector of the discrete operator too, so the solution on the grid is known as well: it is greater by
//! `(pi h / 2)² / sin²(pi h / 2)`, which is `1 + (pi h)² / 12` and less than h^4. The first guess is rough, so that cycles have all
//! waves to damp.

use std::array::from_fn;
use std::f64::consts::PI;

use super::cube::Block;
use super::hierarchy::Level;
use super::kernels;

/// What a V-cycle of two sweeps down and one up leaves of the residual at most, in the mean of a run: 0.21 and 0.33 are measured in
/// two and three dimensions.
pub(crate) const FACTOR_MAX: [f64; 2] = [0.3, 0.45];
/// Residuals below this part of the first one are rounding errors, as far as a check is concerned.
const ROUNDED: f64 = 1e-10;

/// Sets the right side and the first guess on the finest grid.
pub(crate) fn prepare<const D: usize>(level: &mut Level<D>) {
    let (shape, h) = (level.shape, 1.0 / level.shape.points as f64);
    let scale = D as f64 * PI * PI * h * h;
    let points = each(&shape.own, shape.origin);
    let b: Vec<f64> = points.iter().map(|point| scale * solution(*point, h)).collect();
    let u: Vec<f64> = points.iter().map(|point| rough(*point, shape.points)).collect();
    shape.own.unpack(shape.cube, &mut level.b, &b);
    shape.own.unpack(shape.cube, &mut level.u, &u);
}

/// The numbers of a block's points in the whole grid, line by line.
fn each<const D: usize>(block: &Block<D>, origin: [usize; D]) -> Vec<[usize; D]> {
    let all = (0..block.len()).map(|number| {
        let mut rest = number;
        let mut point = [0; D];
        for d in (0..D).rev() {
            point[d] = origin[d] + block.first[d] + rest % block.count[d];
            rest /= block.count[d];
        }
        point
    });
    all.collect()
}

fn solution<const D: usize>(point: [usize; D], h: f64) -> f64 {
    point.iter().map(|x| (PI * *x as f64 * h).sin()).product()
}

/// From -1 to 1, different from each point to the next.
fn rough<const D: usize>(point: [usize; D], points: usize) -> f64 {
    let number = point.iter().fold(1u64, |number, x| number * points as u64 + *x as u64);
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// How far a grid's solution is from the analytic one, and from that of the discrete equations; the greatest differences.
pub(crate) fn errors<const D: usize>(level: &Level<D>) -> [f64; 2] {
    let (shape, h) = (level.shape, 1.0 / level.shape.points as f64);
    let mut errors = [0.0f64; 2];
    let discrete = discrete(h);
    for (point, u) in each(&shape.own, shape.origin).into_iter().zip(shape.own.pack(shape.cube, &level.u)) {
        let exact = solution(point, h);
        let found = [u - exact, u - discrete * exact];
        errors = from_fn(|i| errors[i].max(found[i].abs()));
    }
    errors
}

/// The solution of the discrete equations over the analytic one.
fn discrete(h: f64) -> f64 {
    (PI * h / 2.0).powi(2) / (PI * h / 2.0).sin().powi(2)
}

/// The greatest residual; only where the rank is alone, since no edges are exchanged.
pub(crate) fn residual<const D: usize>(level: &mut Level<D>) -> f64 {
    let Level { shape, u, b, r, .. } = level;
    kernels::residual(shape.cube, &shape.own, [u, b], r);
    kernels::largest(shape.cube, &shape.own, r)
}

/// What the whole run has done to the residual, and the errors at its end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Found {
    pub(crate) cycles: usize,
    /// Before the first cycle and after the last one.
    pub(crate) residuals: [f64; 2],
    pub(crate) errors: [f64; 2],
}

impl Found {
    /// What a cycle has left of the residual, in the mean.
    pub(crate) fn factor(&self) -> f64 {
        (self.residuals[1] / self.residuals[0]).powf(1.0 / self.cycles as f64)
    }

    /// Whether it is what a multigrid cycle does: the residual became less by a factor bounded away from 1, and the error is that
    /// of the discretisation, O(h²), beside what is left of the first one.
    pub(crate) fn check(&self, dims: usize, points: usize) -> Result<(), String> {
        let factor_max = FACTOR_MAX[dims - 2];
        let left = self.residuals[1] / self.residuals[0];
        let converges = left <= factor_max.powi(self.cycles as i32).max(ROUNDED);
        if !converges {
            let factor = self.factor();
            return Err(format!(
                "a cycle leaves {factor:.3} of the residual in the mean, and {factor_max} at most is right"
            ));
        }
        let h = 1.0 / points as f64;
        let most = 1.1 * (discrete(h) - 1.0) + 4.0 * factor_max.powi(self.cycles as i32) + ROUNDED;
        let is_near = self.errors[0] <= most;
        if !is_near {
            let error = self.errors[0];
            return Err(format!("the error is {error:.2e}, and {most:.2e} at most is right for h = 1/{points}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::cycle::Solver;
    use super::super::edges::Edges;
    use super::super::hierarchy::Place;
    use super::super::options::{Cycle, Version};
    use super::*;

    fn alone<const D: usize>(points: usize) -> Solver<'static, D> {
        let edges = |levels| Edges::new(None, Version::Native, 1, levels);
        Solver::new(points, Place::of_rank(0, 1), edges, false)
    }

    /// The mean factor over cycles, once the first guess's roughness is gone, and the errors.
    fn solve<const D: usize>(points: usize, cycle: Cycle, cycles: usize) -> (f64, [f64; 2]) {
        let mut solver = alone::<D>(points);
        solver.cycle(cycle).unwrap();
        let first = residual(&mut solver.levels[0]);
        (0..cycles).for_each(|_| _ = solver.cycle(cycle).unwrap());
        let factor = (residual(&mut solver.levels[0]) / first).powf(1.0 / cycles as f64);
        (factor, errors(&solver.levels[0]))
    }

    #[test]
    fn convergence_does_not_depend_on_the_grid() {
        for (points, least) in [(8, 0.02), (32, 0.05), (128, 0.1)] {
            let (factor, [_, algebraic]) = solve::<2>(points, Cycle::V, 9);
            assert!(factor > least && factor < FACTOR_MAX[0], "{points}: {factor}");
            assert!(algebraic < 1e-4, "{points}: {algebraic}");
            assert!(solve::<2>(points, Cycle::F, 9).0 <= factor * 1.02, "{points}");
        }
        for points in [8, 32] {
            let (factor, [_, algebraic]) = solve::<3>(points, Cycle::V, 9);
            assert!(factor > 0.05 && factor < FACTOR_MAX[1], "{points}: {factor}");
            assert!(algebraic < 1e-2, "{points}: {algebraic}");
        }
    }

    #[test]
    fn the_error_is_of_second_order() {
        let error = |points| solve::<2>(points, Cycle::F, 20).1;
        for (coarse, fine) in [(16, 32), (32, 64)] {
            let [[coarse, algebraic], [fine, _]] = [error(coarse), error(fine)];
            assert!((coarse / fine - 4.0).abs() < 0.05, "{coarse} {fine}");
            assert!(algebraic < 1e-9, "the discrete solution is the known one: {algebraic}");
        }
        let [error, algebraic] = solve::<3>(16, Cycle::F, 25).1;
        assert!((error / (PI * PI / 12.0 / 256.0) - 1.0).abs() < 0.01 && algebraic < 1e-8, "{error} {algebraic}");
    }

    #[test]
    fn what_is_no_multigrid_is_found() {
        let good = Found { cycles: 10, residuals: [1.0, 1e-7], errors: [8e-4, 1e-8] };
        assert_eq!(good.check(2, 32), Ok(()));
        assert!(Found { residuals: [1.0, 1e-4], ..good }.check(2, 32).unwrap_err().contains("residual"));
        assert!(Found { residuals: [1.0, f64::NAN], ..good }.check(2, 32).is_err());
        assert!(Found { errors: [2e-3, 1e-8], ..good }.check(2, 32).unwrap_err().contains("h = 1/32"));
    }
}
