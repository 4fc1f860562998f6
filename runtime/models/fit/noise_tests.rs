//! Seeded noise for the tests of fits: the same in every run.

use super::Sample;
use crate::chance::Chance;

/// Noise, from a seed.
pub(super) struct Noise(Chance);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Noise(Chance(seed))
    }

    /// Evenly between 0 and 1.
    pub(super) fn even(&mut self) -> f64 {
        self.0.even()
    }

    /// Evenly on a logarithmic scale.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.even())
    }

    /// Normal, with standard deviation 1.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.even()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.even()).cos()
    }

    /// `exact` with 5 % noise, and one in ten grossly wrong: mostly far too slow, as on a busy machine.
    pub(super) fn measure(&mut self, exact: f64) -> f64 {
        if self.even() < 0.1 {
            let factor = self.between(3.0, 30.0);
            return if self.even() < 0.75 { exact * factor } else { exact / factor };
        }
        exact * (0.05 * self.normal()).exp()
    }

    /// `repeats` noisy measurements of every size.
    pub(super) fn samples(&mut self, sizes: &[u64], repeats: u32, time_s: impl Fn(u64) -> f64) -> Vec<Sample> {
        let mut all = Vec::new();
        for &bytes in sizes {
            all.extend((0..repeats).map(|_| Sample { bytes, time_s: self.measure(time_s(bytes)) }));
        }
        all
    }
}

/// One exact measurement of every size.
pub(super) fn exact(sizes: &[u64], time_s: impl Fn(u64) -> f64) -> Vec<Sample> {
    sizes.iter().map(|&bytes| Sample { bytes, time_s: time_s(bytes) }).collect()
}

/// The powers of two from 8 bytes to 16 MiB.
pub(super) fn sizes() -> Vec<u64> {
    (3..=24).map(|exponent| 1 << exponent).collect()
}

/// Whether `value` is within a relative distance of `expected`.
pub(super) fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}

#[test]
fn the_noise_is_what_it_says() {
    let mut noise = Noise::new(1);
    let normal: Vec<f64> = (0..10_000).map(|_| noise.normal()).collect();
    let mean = normal.iter().sum::<f64>() / 1e4;
    let variance = normal.iter().map(|value| value * value).sum::<f64>() / 1e4;
    assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    let gross = (0..10_000).filter(|_| !near(noise.measure(1.0), 1.0, 0.3)).count();
    assert!((800..1200).contains(&gross), "{gross}");
}
