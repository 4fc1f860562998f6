//! The sine transform of many vectors by a complex FFT.

use std::sync::Arc;

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

/// `X[k] = sum over j of x[j] sin(pi j k / n)`, for `j` and `k` in `1..n`. Applied twice it multiplies by `n / 2`.
///
/// An odd sequence of `2 n` numbers has a purely imaginary Fourier transform, `-2 i X`. So one FFT transforms two vectors: one as
/// its real part, the other one as its imaginary part.
pub(super) struct Sine {
    n: usize,
    fft: Arc<dyn Fft<f64>>,
    buffer: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl Sine {
    pub(super) fn new(n: usize) -> Self {
        let fft = FftPlanner::new().plan_fft_forward(2 * n);
        let zero = Complex64::new(0.0, 0.0);
        let scratch = vec![zero; fft.get_inplace_scratch_len()];
        Sine { n, fft, buffer: vec![zero; 2 * n], scratch }
    }

    /// Transforms consecutive vectors of `n - 1` elements each.
    pub(super) fn transform(&mut self, vectors: &mut [f64]) {
        let length = self.n - 1;
        for pair in vectors.chunks_mut(2 * length) {
            let (first, second) = pair.split_at_mut(length);
            self.pair(first, second);
        }
    }

    /// Two vectors, or one if the second one is empty.
    fn pair(&mut self, first: &mut [f64], second: &mut [f64]) {
        let zero = Complex64::new(0.0, 0.0);
        let (ahead, behind) = self.buffer.split_at_mut(self.n);
        (ahead[0], behind[0]) = (zero, zero);
        let places = ahead[1..].iter_mut().zip(behind[1..].iter_mut().rev());
        if second.is_empty() {
            places.zip(&*first).for_each(|((ahead, behind), x)| {
                *ahead = Complex64::new(*x, 0.0);
                *behind = -*ahead;
            });
        } else {
            places.zip(first.iter().zip(&*second)).for_each(|((ahead, behind), (x, y))| {
                *ahead = Complex64::new(*x, *y);
                *behind = -*ahead;
            });
        }
        self.fft.process_with_scratch(&mut self.buffer, &mut self.scratch);
        first.iter_mut().zip(&self.buffer[1..]).for_each(|(x, transformed)| *x = -0.5 * transformed.im);
        second.iter_mut().zip(&self.buffer[1..]).for_each(|(y, transformed)| *y = 0.5 * transformed.re);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_sum_of_its_definition() {
        for n in [2, 4, 16, 64] {
            let mut sine = Sine::new(n);
            for vectors in [1, 2, 3] {
                let x: Vec<f64> = (0..vectors * (n - 1)).map(|i| f64::from((i * 37 % 19) as u32) - 7.0).collect();
                let mut fast = x.clone();
                sine.transform(&mut fast);
                for (x, fast) in x.chunks(n - 1).zip(fast.chunks(n - 1)) {
                    for (k, fast) in (1..n).zip(fast) {
                        let angle = |j: usize| std::f64::consts::PI * (j * k) as f64 / n as f64;
                        let sum: f64 = (1..n).map(|j| x[j - 1] * angle(j).sin()).sum();
                        assert!((sum - fast).abs() < 1e-11, "n = {n}, k = {k}: {fast} instead of {sum}");
                    }
                }
            }
        }
    }
}
