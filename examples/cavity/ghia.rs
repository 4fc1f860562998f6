//! The steady flow at Reynolds number 100 on the cavity's centre lines, as published: U. Ghia, K. N. Ghia and C. T. Shin,
//! "High-Re solutions for incompressible flow using the Navier-Stokes equations and a multigrid method", Journal of Computational
//! Physics 48 (1982), 387-411, tables I and II, without the points on the walls.

use super::grid::Flow;

/// y, and u on the vertical line through the centre.
const U: [(f64, f64); 15] = [
    (0.9766, 0.84123),
    (0.9688, 0.78871),
    (0.9609, 0.73722),
    (0.9531, 0.68717),
    (0.8516, 0.23151),
    (0.7344, 0.00332),
    (0.6172, -0.13641),
    (0.5000, -0.20581),
    (0.4531, -0.21090),
    (0.2813, -0.15662),
    (0.1719, -0.10150),
    (0.1016, -0.06434),
    (0.0703, -0.04775),
    (0.0625, -0.04192),
    (0.0547, -0.03717),
];

/// x, and v on the horizontal line through the centre.
const V: [(f64, f64); 15] = [
    (0.9688, -0.05906),
    (0.9609, -0.07391),
    (0.9531, -0.08864),
    (0.9453, -0.10313),
    (0.9063, -0.16914),
    (0.8594, -0.22445),
    (0.8047, -0.24533),
    (0.5000, 0.05454),
    (0.2344, 0.17527),
    (0.2266, 0.17507),
    (0.1563, 0.16077),
    (0.0938, 0.12317),
    (0.0781, 0.10890),
    (0.0703, 0.10091),
    (0.0625, 0.09233),
];

/// The greatest difference from the published values, of a flow in the whole cavity with a lid of speed 1.
pub(crate) fn difference(flow: &Flow) -> f64 {
    let strip = flow.strip;
    // The faces of the cells on the right of the vertical line and above the horizontal line lie on them.
    let middle = strip.n / 2 + 1;
    let u = (1..=strip.n).map(|j| flow.u[strip.at(middle, j)]).collect();
    let v = (1..=strip.n).map(|i| flow.v[strip.at(i, middle)]).collect();
    let differences = |published: [(f64, f64); 15], line: Vec<f64>, end: f64| {
        let profile = profile(line, end);
        published.map(|(at, value)| (interpolate(&profile, at) - value).abs())
    };
    let all = [differences(U, u, 1.0), differences(V, v, 0.0)].concat();
    all.into_iter().fold(0.0, f64::max)
}

/// Values in the middles of cells on a line from 0 to 1, with those at the walls.
fn profile(line: Vec<f64>, end: f64) -> Vec<(f64, f64)> {
    let h = 1.0 / line.len() as f64;
    let middles = line.into_iter().enumerate().map(|(cell, value)| ((cell as f64 + 0.5) * h, value));
    std::iter::once((0.0, 0.0)).chain(middles).chain([(1.0, end)]).collect()
}

/// Linearly.
fn interpolate(profile: &[(f64, f64)], at: f64) -> f64 {
    let behind = profile.partition_point(|(x, _)| *x < at).clamp(1, profile.len() - 1);
    let [(left, a), (right, b)] = [profile[behind - 1], profile[behind]];
    a + (b - a) * (at - left) / (right - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_profile_is_interpolated_exactly() {
        let profile = profile(vec![0.125, 0.375, 0.625, 0.875], 1.0);
        for at in [0.0, 0.05, 0.125, 0.3, 0.5, 0.9, 1.0] {
            assert!((interpolate(&profile, at) - at).abs() < 1e-15, "at {at}");
        }
    }
}
