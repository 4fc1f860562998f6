//! The problem: -Laplace u = f on the unit square, u = 0 on its boundary, with a known smooth solution.
//!
//! u(x, y) = X(x) Y(y), X = (x - x^2) e^x, Y = (y - y^2) e^-y. All eigenvectors of the matrix are in it, so that no method gets
//! to the end in a few steps by chance. There are `n` x `n` points within the square, `h = 1 / (n + 1)` apart. Equations are
//! multiplied by h^2: four times a point minus its four neighbours is h^2 f.

use std::ops::Range;

/// h, the distance of points.
pub(crate) fn spacing(n: usize) -> f64 {
    1.0 / (n + 1) as f64
}

/// u at all points of some rows.
pub(crate) fn solution(n: usize, rows: Range<usize>) -> Vec<f64> {
    at_points(n, rows, |x, y| along_x(x)[0] * along_y(y)[0])
}

/// h^2 f at all points of some rows.
pub(crate) fn right_side(n: usize, rows: Range<usize>) -> Vec<f64> {
    let h = spacing(n);
    at_points(n, rows, |x, y| {
        let ([u, u_xx], [v, v_yy]) = (along_x(x), along_y(y));
        -h * h * (u_xx * v + u * v_yy)
    })
}

/// What no point can be further from u than, if the residual's norm is this.
///
/// The discretisation's part is h^2 / 96 times the greatest |u_xxxx| plus the greatest |u_yyyy|: the local error is an eighth of
/// that times 12 / h^2, and no row of the inverse of h^-2 times the matrix sums up to more than 1/8. The same bounds what the
/// residual still means. |u_xxxx| = |(8 + 7x + x^2) e^x Y| <= 16 e 0.162, and |u_yyyy| = |X (16 - 9y + y^2) e^-y| <= 0.442 * 16.
pub(crate) fn error_bound(n: usize, residual: f64) -> f64 {
    let h = spacing(n);
    let fourth_derivatives = 16.0 * std::f64::consts::E * 0.162 + 0.442 * 16.0;
    h * h / 96.0 * fourth_derivatives + residual / (8.0 * h * h)
}

fn at_points(n: usize, rows: Range<usize>, value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let place = |index: usize| (index + 1) as f64 * spacing(n);
    rows.flat_map(|row| (0..n).map(move |column| (row, column)))
        .map(|(row, column)| value(place(column), place(row)))
        .collect()
}

/// X and its second derivative.
fn along_x(x: f64) -> [f64; 2] {
    [(x - x * x) * x.exp(), (-3.0 * x - x * x) * x.exp()]
}

/// Y and its second derivative.
fn along_y(y: f64) -> [f64; 2] {
    [(y - y * y) * (-y).exp(), (-4.0 + 5.0 * y - y * y) * (-y).exp()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_derivatives_are_those_of_the_functions() {
        let d = 1e-4;
        for at in [0.1, 0.37, 0.8] {
            for function in [along_x, along_y] {
                let differences = (function(at - d)[0] - 2.0 * function(at)[0] + function(at + d)[0]) / (d * d);
                assert!((differences - function(at)[1]).abs() < 1e-6, "{at}: {differences}, {}", function(at)[1]);
            }
        }
    }

    #[test]
    fn the_solution_vanishes_on_the_boundary_and_its_factors_are_within_their_bounds() {
        for at in [0.0, 1.0] {
            assert_eq!((along_x(at)[0], along_y(at)[0]), (0.0, 0.0));
        }
        let all = |function: fn(f64) -> [f64; 2]| (0..=1000).map(move |i| function(f64::from(i) / 1000.0)[0]);
        assert!(all(along_x).all(|x| x <= 0.442) && all(along_y).all(|y| y <= 0.162));
    }

    /// The local error of the five points is within its bound, so the bound of the error is one.
    #[test]
    fn the_solution_nearly_solves_the_equations() {
        let n = 20;
        let h = spacing(n);
        let (u, right) = (solution(n, 0..n), right_side(n, 0..n));
        let mut product = vec![0.0; n * n];
        super::super::matrix::product(n, &u, [&vec![0.0; n], &vec![0.0; n]], &mut product);
        let local = product.iter().zip(&right).map(|(a, b)| (a - b).abs() / (h * h)).fold(0.0, f64::max);
        let bound = 8.0 * error_bound(n, 0.0);
        assert!(local > 0.1 * bound && local < bound, "{local}, {bound}");
    }
}
