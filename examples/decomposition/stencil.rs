//! The five-point matrix on a subdomain: `n` rows of its own `n` points, with one line of points of each neighbour around them.

use super::layout::{Layout, SIDES, Side};

/// The points of a subdomain next to the outside of one side, or the neighbours' ones there, in the order west, south, east, north.
pub(super) type Lines = [Vec<f64>; 4];

/// The row of a subdomain's points next to a side, as its neighbour needs them.
pub(super) fn line(field: &[f64], n: usize, side: Side) -> Vec<f64> {
    match side {
        Side::West => field.iter().step_by(n).copied().collect(),
        Side::South => field[..n].to_vec(),
        Side::East => field[n - 1..].iter().step_by(n).copied().collect(),
        Side::North => field[n * (n - 1)..].to_vec(),
    }
}

/// The matrix times the vector, at points with all neighbours on the same subdomain.
pub(super) fn product_inside(field: &[f64], n: usize, product: &mut [f64]) {
    for j in 1..n - 1 {
        let row = |j: usize| &field[j * n..(j + 1) * n];
        let (south, here, north) = (row(j - 1), row(j), row(j + 1));
        for i in 1..n - 1 {
            product[j * n + i] = five_points(here[i], [here[i - 1], south[i], here[i + 1], north[i]]);
        }
    }
}

/// The matrix times the vector, at the other points. Those on the boundary of the square get 0.
pub(super) fn product_around(field: &[f64], outside: &Lines, n: usize, product: &mut [f64]) {
    let last = n - 1;
    let mut point = |i: usize, j: usize| {
        let at = j * n + i;
        let west = if i == 0 { outside[0][j] } else { field[at - 1] };
        let south = if j == 0 { outside[1][i] } else { field[at - n] };
        let east = if i == last { outside[2][j] } else { field[at + 1] };
        let north = if j == last { outside[3][i] } else { field[at + n] };
        product[at] = five_points(field[at], [west, south, east, north]);
    };
    for i in 0..n {
        point(i, 0);
        point(i, last);
    }
    for j in 1..last {
        point(0, j);
        point(last, j);
    }
}

fn five_points(here: f64, [west, south, east, north]: [f64; 4]) -> f64 {
    4.0 * here - (west + east) - (south + north)
}

/// Puts 0 on those points of a subdomain that are on the boundary of the square.
pub(super) fn clear_boundary(layout: &Layout, subdomain: usize, field: &mut [f64]) {
    let n = layout.n;
    if layout.neighbour(subdomain, Side::East).is_none() {
        field[n - 1..].iter_mut().step_by(n).for_each(|value| *value = 0.0);
    }
    if layout.neighbour(subdomain, Side::North).is_none() {
        field[n * (n - 1)..].fill(0.0);
    }
}

/// Lines of zeros: what is around a subdomain without neighbours.
pub(super) fn nothing_around(n: usize) -> Lines {
    SIDES.map(|_| vec![0.0; n])
}

/// The scalar product, summed in eight lanes, in the same order on every rank.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a, b) = (a.chunks(lanes.len()), b.chunks(lanes.len()));
    for (a, b) in a.zip(b) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
    }
    lanes.iter().sum()
}

/// `y = y + factor x`.
pub(super) fn add(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// `y = x + factor y`.
pub(super) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + factor * *y);
}

/// The larger one, or NaN if one is.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b <= a || a.is_nan() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four subdomains with their neighbours' lines have the product of one that is all of them.
    #[test]
    fn subdomains_have_the_product_of_the_whole() {
        for n in [2, 4, 8] {
            let parts = Layout { side: 2, n, ranks: 1 };
            let whole = Layout { side: 1, n: 2 * n, ranks: 1 };
            let mut field: Vec<f64> = (0..4 * n * n).map(|at| f64::from((at * 7919 % 101) as u32)).collect();
            clear_boundary(&whole, 0, &mut field);
            let product = |layout: &Layout, subdomain, field: &[f64], outside: &Lines| {
                let mut product = vec![f64::NAN; field.len()];
                product_inside(field, layout.n, &mut product);
                product_around(field, outside, layout.n, &mut product);
                clear_boundary(layout, subdomain, &mut product);
                product
            };
            let expected = product(&whole, 0, &field, &nothing_around(2 * n));
            let part = |all: &[f64], subdomain| -> Vec<f64> {
                let (i, j) = parts.place(subdomain);
                let row = |row: usize| all[(j * n + row) * 2 * n + i * n..][..n].to_vec();
                (0..n).flat_map(row).collect()
            };
            for subdomain in 0..4 {
                let outside = SIDES.map(|side| {
                    let neighbour = parts.neighbour(subdomain, side).map(|other| part(&field, other));
                    neighbour.map_or(vec![0.0; n], |field| line(&field, n, side.opposite()))
                });
                let product = product(&parts, subdomain, &part(&field, subdomain), &outside);
                assert_eq!(product, part(&expected, subdomain), "n = {n}, subdomain {subdomain}");
            }
        }
    }

    #[test]
    fn a_scalar_product_has_all_elements() {
        for length in [1, 7, 8, 9, 64] {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            assert_eq!(dot(&a, &vec![2.0; a.len()]), f64::from(length * (length - 1)), "{length}");
        }
    }
}
