//! The matrix of five points, and sums of vectors. A vector is a strip: some rows of `n` points, one after the other.

/// The matrix times `v`; the rows before and behind it are `ghosts`.
pub(crate) fn product(n: usize, v: &[f64], ghosts: [&[f64]; 2], out: &mut [f64]) {
    interior(n, v, out);
    edges(n, v, ghosts, out);
}

/// The rows of the product that need no other rank's.
pub(crate) fn interior(n: usize, v: &[f64], out: &mut [f64]) {
    for row in 1..(v.len() / n).saturating_sub(1) {
        let rows = [row - 1, row, row + 1].map(|row| &v[row * n..(row + 1) * n]);
        product_row(rows, &mut out[row * n..(row + 1) * n]);
    }
}

/// The first row and the last, which need the rows before and behind the strip.
pub(crate) fn edges(n: usize, v: &[f64], [before, behind]: [&[f64]; 2], out: &mut [f64]) {
    let last = v.len() - n;
    let second = if last == 0 { behind } else { &v[n..2 * n] };
    product_row([before, &v[..n], second], &mut out[..n]);
    if last > 0 {
        product_row([&v[last - n..last], &v[last..], behind], &mut out[last..]);
    }
}

fn product_row([above, here, below]: [&[f64]; 3], out: &mut [f64]) {
    let last = here.len() - 1;
    for (column, out) in out.iter_mut().enumerate() {
        let left = if column == 0 { 0.0 } else { here[column - 1] };
        let right = if column == last { 0.0 } else { here[column + 1] };
        *out = 4.0 * here[column] - above[column] - left - right - below[column];
    }
}

/// The scalar product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `y += a x`.
pub(crate) fn add(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// `y = x + b y`, as directions follow residuals.
pub(crate) fn turn(y: &mut [f64], x: &[f64], b: f64) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + b * *y);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(len: usize, seed: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * 37 + seed * 11) % 23) as f64 - 9.0).collect()
    }

    #[test]
    fn strips_have_the_rows_of_the_whole_product() {
        let (n, rows) = (5, 7);
        let (v, nothing) = (some(n * rows, 1), vec![0.0; n]);
        let mut whole = vec![0.0; n * rows];
        product(n, &v, [&nothing, &nothing], &mut whole);
        for cuts in [vec![0, 7], vec![0, 1, 3, 7], vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0, 5, 7]] {
            for cut in cuts.windows(2) {
                let own = &v[cut[0] * n..cut[1] * n];
                let before = if cut[0] == 0 { &nothing[..] } else { &v[(cut[0] - 1) * n..cut[0] * n] };
                let behind = if cut[1] == rows { &nothing[..] } else { &v[cut[1] * n..(cut[1] + 1) * n] };
                let mut out = vec![f64::NAN; own.len()];
                product(n, own, [before, behind], &mut out);
                assert_eq!(out, whole[cut[0] * n..cut[1] * n], "{cut:?}");
            }
        }
    }

    #[test]
    fn the_product_is_that_of_the_five_points() {
        let mut out = vec![0.0; 9];
        product(3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [&[0.0; 3], &[0.0; 3]], &mut out);
        assert_eq!(out, [-2.0, -1.0, 4.0, 3.0, 0.0, 7.0, 16.0, 11.0, 22.0]);
    }

    #[test]
    fn the_matrix_is_symmetric() {
        let (n, a, b) = (6, some(36, 2), some(36, 5));
        let nothing = vec![0.0; n];
        let times = |v: &[f64]| {
            let mut out = vec![0.0; 36];
            product(n, v, [&nothing, &nothing], &mut out);
            out
        };
        assert_eq!(dot(&times(&a), &b), dot(&a, &times(&b)));
    }

    #[test]
    fn sums_of_vectors() {
        let mut y = vec![1.0, 2.0];
        add(&mut y, 2.0, &[10.0, 20.0]);
        assert_eq!(y, [21.0, 42.0]);
        turn(&mut y, &[1.0, 1.0], 0.5);
        assert_eq!(y, [11.5, 22.0]);
    }
}
