//! Between a grid and the one with half as many cells per side: full weighting down, bilinear interpolation up.
//!
//! Coarse cell (i, j) is made of the cells 2i-1, 2i and 2j-1, 2j. Its faces lie on theirs.

use std::ops::RangeInclusive;

use super::grid::Flow;

/// An iterate on the coarse grid: means over faces and cells, which keep the flow through the faces.
pub(crate) fn inject(fine: &Flow, coarse: &mut Flow) {
    let strip = coarse.strip;
    strip.p_cells().each(|at| {
        let corner = corner(fine, strip.stride(), at);
        let (up, right) = (corner + 1, corner + fine.strip.stride());
        coarse.u[at] = 0.5 * (fine.u[corner] + fine.u[up]);
        coarse.v[at] = 0.5 * (fine.v[corner] + fine.v[right]);
        coarse.p[at] = 0.25 * (fine.p[corner] + fine.p[up] + fine.p[right] + fine.p[right + 1]);
    });
}

/// The residual on the coarse grid, by full weighting, added to what is there; in some of the coarse columns. That of u in the first
/// one needs the column of ghost cells to the left.
pub(crate) fn restrict(fine: &Flow, columns: &RangeInclusive<usize>, coarse: &mut Flow) {
    let (strip, s) = (coarse.strip, fine.strip.stride());
    strip.u_cells().within(columns).each(|at| {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.u[at] + fine.u[at + 1];
        coarse.u[at] += 0.125 * (pair(corner - s) + 2.0 * pair(corner) + pair(corner + s));
    });
    strip.v_cells().within(columns).each(|at| {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.v[at] + fine.v[at + s];
        coarse.v[at] += 0.125 * (pair(corner - 1) + 2.0 * pair(corner) + pair(corner + 1));
    });
    strip.p_cells().within(columns).each(|at| {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.p[at] + fine.p[at + 1];
        coarse.p[at] += 0.25 * (pair(corner) + pair(corner + s));
    });
}

/// The fine cell in the lower left corner of a coarse one.
fn corner(fine: &Flow, stride: usize, at: usize) -> usize {
    fine.strip.at(2 * (at / stride) - 1, 2 * (at % stride) - 1)
}

/// Adds a coarse grid's correction, interpolated, in some of the fine columns.
pub(crate) fn prolong(coarse: &Flow, columns: &RangeInclusive<usize>, fine: &mut Flow) {
    let (strip, s) = (fine.strip, coarse.strip.stride());
    // The coarse cell, and the next ones towards which the fine cell lies.
    let place = |at: usize| {
        let (i, j) = (at / strip.stride(), at % strip.stride());
        let here = coarse.strip.at(i.div_ceil(2), j.div_ceil(2));
        (i % 2 == 1, j % 2 == 1, here, if i % 2 == 1 { here - s } else { here + s }, if j % 2 == 1 { -1 } else { 1 })
    };
    strip.u_cells().within(columns).each(|at| {
        let (is_left, _, here, _, up) = place(at);
        let column = |at: usize| 0.75 * coarse.u[at] + 0.25 * coarse.u[at.wrapping_add_signed(up)];
        fine.u[at] += if is_left { column(here) } else { 0.5 * (column(here) + column(here + s)) };
    });
    strip.v_cells().within(columns).each(|at| {
        let (_, is_low, here, beside, _) = place(at);
        let row = |up: usize| 0.75 * coarse.v[here + up] + 0.25 * coarse.v[beside + up];
        fine.v[at] += if is_low { row(0) } else { 0.5 * (row(0) + row(1)) };
    });
    strip.p_cells().within(columns).each(|at| {
        let (_, _, here, beside, up) = place(at);
        let column = |at: usize| 0.75 * coarse.p[at] + 0.25 * coarse.p[at.wrapping_add_signed(up)];
        fine.p[at] += 0.75 * column(here) + 0.25 * column(beside);
    });
}

#[cfg(test)]
mod tests {
    use super::super::grid::Strip;
    use super::super::momentum::divergence;
    use super::*;

    /// A flow of values that are functions of a place: of the middles of left faces, of bottom faces and of cells.
    fn flow(n: usize, value: impl Fn(f64, f64) -> f64) -> Flow {
        let strip = Strip::of(n, 0, 1);
        let (h, mut flow) = (strip.h(), Flow::new(strip));
        for i in 0..=n + 1 {
            for j in 0..=n + 1 {
                let (at, left, bottom) = (strip.at(i, j), (i as f64 - 1.0) * h, (j as f64 - 1.0) * h);
                flow.u[at] = value(left, bottom + h / 2.0);
                flow.v[at] = value(left + h / 2.0, bottom);
                flow.p[at] = value(left + h / 2.0, bottom + h / 2.0);
            }
        }
        flow
    }

    fn assert_equal(a: &Flow, b: &Flow) {
        let strip = a.strip;
        let cells = [strip.u_cells(), strip.v_cells(), strip.p_cells()];
        for ((a, b), cells) in a.fields().into_iter().zip(b.fields()).zip(cells) {
            cells.each(|at| assert!((a[at] - b[at]).abs() < 1e-13, "{at}: {} {}", a[at], b[at]));
        }
    }

    fn linear(x: f64, y: f64) -> f64 {
        3.0 * x - 2.0 * y + 0.5
    }

    #[test]
    fn linear_functions_are_kept_both_ways() {
        let (fine, coarse) = (flow(16, linear), flow(8, linear));
        let strip = coarse.strip;
        let [mut injected, mut restricted] = [Flow::new(strip), Flow::new(strip)];
        inject(&fine, &mut injected);
        restrict(&fine, &(1..=8), &mut restricted);
        assert_equal(&injected, &coarse);
        assert_equal(&restricted, &coarse);
        let mut prolonged = Flow::new(fine.strip);
        prolong(&coarse, &(1..=7), &mut prolonged);
        prolong(&coarse, &(8..=16), &mut prolonged);
        assert_equal(&prolonged, &fine);
    }

    #[test]
    fn the_flow_through_coarse_faces_is_that_through_fine_ones() {
        let fine = flow(16, |x, y| (7.0 * x).sin() * (5.0 * y).cos() + x * y);
        let mut coarse = Flow::new(Strip::of(8, 0, 1));
        inject(&fine, &mut coarse);
        let s = fine.strip.stride();
        for i in 1..=7 {
            for j in 1..=7 {
                let corner = fine.strip.at(2 * i - 1, 2 * j - 1);
                let four = [corner, corner + 1, corner + s, corner + s + 1].map(|at| divergence(&fine, at));
                let difference = divergence(&coarse, coarse.strip.at(i, j)) - four.iter().sum::<f64>() / 4.0;
                assert!(difference.abs() < 1e-12, "{i} {j}: {difference}");
            }
        }
    }

    /// A strip's first coarse column has the ghost column in it.
    #[test]
    fn full_weighting_reaches_into_the_ghost_column() {
        let (mut fine, mut coarse) = (Flow::new(Strip::of(16, 1, 2)), Flow::new(Strip::of(8, 1, 2)));
        fine.u[fine.strip.column(0)].fill(4.0);
        restrict(&fine, &(1..=4), &mut coarse);
        assert_eq!(coarse.u[coarse.strip.column(1)], [1.0; 8]);
        assert_eq!(coarse.u[coarse.strip.column(2)], [0.0; 8]);
    }
}
