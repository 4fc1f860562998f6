//! The problem and its iteration, without communication.
//!
//! Laplace's equation on the unit square, with the boundary values of u(x, y) = x^3 - 3 x y^2, which is harmonic. The five points
//! are exact for polynomials of third degree, so the iteration converges to u itself. It starts from 0.

use std::ops::Range;

/// Some rows and columns.
pub(crate) type Area = [Range<usize>; 2];

/// u at a point; rows and columns 0 and `n + 1` are the boundary.
pub(crate) fn solution(n: usize, row: usize, column: usize) -> f64 {
    let [x, y] = [column, row].map(|index| index as f64 / (n + 1) as f64);
    x * x * x - 3.0 * x * y * y
}

/// The values before the first iteration of an area of the `n` x `n` points, counted from 0, within a frame of neighbours' points or
/// of the boundary.
pub(crate) fn framed(n: usize, [rows, columns]: &Area) -> Vec<f64> {
    let is_within = |index: usize| (1..=n).contains(&index);
    let value = |row, column| match is_within(row) && is_within(column) {
        true => 0.0,
        false => solution(n, row, column),
    };
    (rows.start..rows.end + 2).flat_map(|row| (columns.start..columns.end + 2).map(move |c| value(row, c))).collect()
}

/// The new values of an area of points, each the mean of its four old neighbours: returns the greatest change. Indices count from
/// the frame, and `width` is that of a row with its frame.
pub(crate) fn relax(old: &[f64], new: &mut [f64], width: usize, [rows, columns]: &Area) -> f64 {
    let mut change = 0.0f64;
    for row in rows.clone() {
        let at = |row: usize, from: usize, to: usize| row * width + from..row * width + to;
        let above = &old[at(row - 1, columns.start, columns.end)];
        let here = &old[at(row, columns.start - 1, columns.end + 1)];
        let below = &old[at(row + 1, columns.start, columns.end)];
        for (i, new) in new[at(row, columns.start, columns.end)].iter_mut().enumerate() {
            *new = (above[i] + here[i] + here[i + 2] + below[i]) / 4.0;
            change = change.max((*new - here[i + 1]).abs());
        }
    }
    change
}

/// Divides the points of a block, `height` x `width` within its frame, into those that need no neighbour and the rest.
/// `neighbours` are those above, below, left and right.
pub(crate) fn divide(height: usize, width: usize, neighbours: [bool; 4]) -> (Area, [Area; 4]) {
    let [above, below, left, right] = neighbours.map(usize::from);
    // The second edge has nothing left where the first one is the whole block.
    let inner = |first: usize, size: usize, last: usize| 1 + first..(size + 1 - last).max(1 + first);
    let (rows, columns) = (inner(above, height, below), inner(left, width, right));
    let all = 1..width + 1;
    let edges = [
        [1..rows.start, all.clone()],
        [rows.end..height + 1, all],
        [rows.clone(), 1..columns.start],
        [rows.clone(), columns.end..width + 1],
    ];
    ([rows, columns], edges)
}

/// The iteration's contraction, in the Euclidean norm.
pub(crate) fn contraction(n: usize) -> f64 {
    (std::f64::consts::PI / (n + 1) as f64).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_stays_as_it_is() {
        let n = 8;
        let old: Vec<f64> = (0..n + 2).flat_map(|row| (0..n + 2).map(move |column| solution(n, row, column))).collect();
        let mut new = old.clone();
        let change = relax(&old, &mut new, n + 2, &[1..n + 1, 1..n + 1]);
        assert!(change < 1e-15, "{change}");
    }

    #[test]
    fn a_point_becomes_the_mean_of_its_neighbours() {
        let mut old: Vec<f64> = (0..20).map(f64::from).collect();
        old[7] = 100.0;
        let mut new = vec![f64::NAN; 20];
        let change = relax(&old, &mut new, 5, &[1..3, 2..4]);
        let expected = [(2.0 + 6.0 + 8.0 + 12.0) / 4.0, (3.0 + 100.0 + 9.0 + 13.0) / 4.0];
        assert_eq!((&new[7..9], &new[12..14]), (&expected[..], &[(100.0 + 11.0 + 13.0 + 17.0) / 4.0, 13.0][..]));
        assert_eq!(change, 93.0);
        assert_eq!(new.iter().filter(|value| value.is_nan()).count(), 16, "the others are untouched");
    }

    #[test]
    fn a_frame_has_the_boundary_and_nothing_else() {
        let whole = framed(3, &[0..3, 0..3]);
        assert_eq!((whole[0], whole[4], whole[24]), (0.0, 1.0, -2.0));
        // The last two columns of the middle row, and the boundary on their right.
        let right = [1, 2, 3].map(|row| solution(3, row, 4));
        let expected = [[0.0, 0.0, 0.0, right[0]], [0.0, 0.0, 0.0, right[1]], [0.0, 0.0, 0.0, right[2]]];
        assert_eq!(framed(3, &[1..2, 1..3]), expected.concat());
    }

    /// Each point is in one part, and those of the first part are next to no neighbour.
    #[test]
    fn a_block_is_divided_without_rest() {
        for (height, width) in [(1, 1), (1, 4), (2, 1), (2, 2), (5, 3), (3, 7)] {
            for sides in 0..16u8 {
                let neighbours = [1, 2, 4, 8].map(|side| sides & side != 0);
                let (interior, edges) = divide(height, width, neighbours);
                let mut times = vec![0; (height + 2) * (width + 2)];
                for [rows, columns] in edges.iter().chain([&interior]) {
                    let points = rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
                    points.for_each(|(row, column)| times[row * (width + 2) + column] += 1);
                }
                for (at, times) in times.into_iter().enumerate() {
                    let (row, column) = (at / (width + 2), at % (width + 2));
                    let is_point = (1..=height).contains(&row) && (1..=width).contains(&column);
                    assert_eq!(times, i32::from(is_point), "{height} x {width}, {neighbours:?}, {row}, {column}");
                }
                let [rows, columns] = interior;
                let touches =
                    [rows.contains(&1), rows.contains(&height), columns.contains(&1), columns.contains(&width)];
                let is_empty = rows.is_empty() || columns.is_empty();
                assert!(is_empty || !touches.iter().zip(neighbours).any(|(touches, neighbour)| *touches && neighbour));
            }
        }
    }
}
