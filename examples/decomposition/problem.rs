//! The problem: `-Laplace u = f` on the unit square with the values of `u` on its boundary, and a smooth `u` to compare with.

use super::layout::Layout;
use super::stencil::larger;

/// `u = sin(3 x + y) + x^2 y`.
fn solution(x: f64, y: f64) -> f64 {
    (3.0 * x + y).sin() + x * x * y
}

/// `f = 10 sin(3 x + y) - 2 y`.
fn forcing(x: f64, y: f64) -> f64 {
    10.0 * (3.0 * x + y).sin() - 2.0 * y
}

/// At most so much is a solution of the five-point equations off the solution of the problem.
///
/// The equations have a truncation error of at most `h^2 / 12 (max |u_xxxx| + max |u_yyyy|) = 82 h^2 / 12`, and the inverse of the
/// discrete operator has a maximum norm of at most 1/8.
pub(super) fn discretization_error(layout: &Layout) -> f64 {
    82.0 / 96.0 / (layout.cells() as f64).powi(2)
}

/// The right side of the equations at a subdomain's own points, times `h^2`, with what the boundary contributes.
pub(super) fn right_side(layout: &Layout, subdomain: usize) -> Vec<f64> {
    let cells = layout.cells();
    let h = 1.0 / cells as f64;
    at_own_points(layout, subdomain, |i, j| {
        if i == cells || j == cells {
            return 0.0;
        }
        let around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)];
        let is_boundary = |(i, j): &(usize, usize)| *i == 0 || *j == 0 || *i == cells || *j == cells;
        let at = |(i, j): (usize, usize)| (i as f64 * h, j as f64 * h);
        let given = |(x, y): (f64, f64)| solution(x, y);
        let (x, y) = at((i, j));
        around.into_iter().filter(is_boundary).map(|point| given(at(point))).sum::<f64>() + h * h * forcing(x, y)
    })
}

/// How far the values of a subdomain are off the solution at most. The boundary does not count.
pub(super) fn error(layout: &Layout, subdomain: usize, values: &[f64]) -> f64 {
    let cells = layout.cells();
    let exact = at_own_points(layout, subdomain, |i, j| {
        if i == cells || j == cells { 0.0 } else { solution(i as f64 / cells as f64, j as f64 / cells as f64) }
    });
    exact.iter().zip(values).map(|(exact, value)| (exact - value).abs()).fold(0.0, larger)
}

/// The values of a function of the global grid's points, at a subdomain's own points.
fn at_own_points(layout: &Layout, subdomain: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let ((i, j), n) = (layout.place(subdomain), layout.n);
    (1..=n).flat_map(|row| (1..=n).map(move |column| (i * n + column, j * n + row))).map(|(i, j)| value(i, j)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forcing_is_the_laplacian() {
        let d = 1e-4;
        for (x, y) in [(0.1, 0.2), (0.5, 0.5), (0.9, 0.3)] {
            let around = solution(x - d, y) + solution(x + d, y) + solution(x, y - d) + solution(x, y + d);
            let laplacian = (around - 4.0 * solution(x, y)) / (d * d);
            assert!((laplacian + forcing(x, y)).abs() < 1e-5, "({x}, {y}): {laplacian}");
        }
    }

    #[test]
    fn a_wrong_value_is_an_error() {
        let layout = Layout { side: 1, n: 4, ranks: 1 };
        let mut values =
            at_own_points(
                &layout,
                0,
                |i, j| {
                    if i == 4 || j == 4 { 0.0 } else { solution(i as f64 / 4.0, j as f64 / 4.0) }
                },
            );
        assert_eq!(error(&layout, 0, &values), 0.0);
        values[5] += 0.25;
        assert!((error(&layout, 0, &values) - 0.25).abs() < 1e-15);
        values[6] = f64::NAN;
        assert!(error(&layout, 0, &values).is_nan());
    }
}
