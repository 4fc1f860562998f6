//! Between a grid and the one with half as many cells per side: full weighting down, bilinear interpolation up.
//!
//! Coarse cell (i, j) is made of the cells 2i-1, 2i and 2j-1, 2j. Its faces lie on theirs.

use std::ops::RangeInclusive;

use super::grid::Flow;

/// An iterate on the coarse grid: means over faces and cells, which keep the flow through the faces.
pub(crate) fn inject(fine: &Flow, coarse: &mut Flow) {
    let strip = coarse.strip;
    for at in strip.p_cells().each() {
        let corner = corner(fine, strip.stride(), at);
        let (up, right) = (corner + 1, corner + fine.strip.stride());
        coarse.u[at] = 0.5 * (fine.u[corner] + fine.u[up]);
        coarse.v[at] = 0.5 * (fine.v[corner] + fine.v[right]);
        coarse.p[at] = 0.25 * (fine.p[corner] + fine.p[up] + fine.p[right] + fine.p[right + 1]);
    }
}

/// The residual on the coarse grid, by full weighting, added to what is there; in some of the coarse columns. That of u in the first
/// one needs the column of ghost cells to the left.
pub(crate) fn restrict(fine: &Flow, columns: &RangeInclusive<usize>, coarse: &mut Flow) {
    let (strip, s) = (coarse.strip, fine.strip.stride());
    for at in strip.u_cells().within(columns).each() {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.u[at] + fine.u[at + 1];
        coarse.u[at] += 0.125 * (pair(corner - s) + 2.0 * pair(corner) + pair(corner + s));
    }
    for at in strip.v_cells().within(columns).each() {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.v[at] + fine.v[at + s];
        coarse.v[at] += 0.125 * (pair(corner - 1) + 2.0 * pair(corner) + pair(corner + 1));
    }
    for at in strip.p_cells().within(columns).each() {
        let corner = corner(fine, strip.stride(), at);
        let pair = |at: usize| fine.p[at] + fine.p[at + 1];
        coarse.p[at] += 0.25 * (pair(corner) + pair(corner + s));
    }
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
    for at in strip.u_cells().within(columns).each() {
        let (is_left, _, here, _, up) = place(at);
        let column = |at: usize| 0.75 * coarse.u[at] + 0.25 * coarse.u[at.wrapping_add_signed(up)];
        fine.u[at] += if is_left { column(here) } else { 0.5 * (column(here) + column(here + s)) };
    }
    for at in strip.v_cells().within(columns).each() {
        let (_, is_low, here, beside, _) = place(at);
        let row = |up: usize| 0.75 * coarse.v[here + up] + 0.25 * coarse.v[beside + up];
        fine.v[at] += if is_low { row(0) } else { 0.5 * (row(0) + row(1)) };
    }
    for at in strip.p_cells().within(columns).each() {
        let (_, _, here, beside, up) = place(at);
        let column = |at: usize| 0.75 * coarse.p[at] + 0.25 * coarse.p[at.wrapping_add_signed(up)];
        fine.p[at] += 0.75 * column(here) + 0.25 * column(beside);
    }
}
