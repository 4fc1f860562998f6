//! The axes of charts: ranges, places along them, ticks and their labels. Pure.

/// How values lie along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scale {
    Linear,
    /// Each tick is so many times the one before.
    Log(u32),
}

/// The part of an axis that a chart shows. `low < high`, and on a logarithmic axis both are above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// Whether a chart can show this value: it is not beyond anything that is measured.
    pub(super) fn shows(self, value: f64) -> bool {
        value.abs() < 1e100 && (self == Scale::Linear || value > 1e-100)
    }

    /// From the least to the greatest of these values; around a single one, some room. `None` without any.
    pub(super) fn range(self, values: impl Iterator<Item = f64>) -> Option<Range> {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match self {
            _ if low > high => return None,
            Scale::Log(_) if high / low < 1.0 + 1e-9 => (low / 2.0, high * 2.0),
            Scale::Linear if high - low < 1e-9 * high.abs().max(f64::MIN_POSITIVE) => {
                let room = if high == 0.0 { 0.5 } else { 0.5 * high.abs() };
                (low - room, high + room)
            }
            _ => (low, high),
        };
        Some(Range { scale: self, low, high })
    }
}

impl Range {
    /// A little longer at both ends.
    pub(super) fn with_room(self) -> Self {
        let (low, high) = match self.scale {
            Scale::Log(_) => {
                let room = (self.high / self.low).powf(0.04);
                (self.low / room, self.high * room)
            }
            Scale::Linear => {
                let room = 0.06 * (self.high - self.low);
                (self.low - room, self.high + room)
            }
        };
        Range { low, high, ..self }
    }

    /// How far along a value lies: 0 at the beginning, 1 at the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log(_) => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// To the next round values at both ends, and these with those between: at most so many as can be read.
    pub(super) fn ticked(self) -> (Self, Vec<f64>) {
        let ticks: Vec<f64> = match self.scale {
            Scale::Linear => {
                let step = nice_step(self.low, self.high);
                let (first, last) = ((self.low / step).floor() as i64, (self.high / step).ceil() as i64);
                (first..=last).map(|at| at as f64 * step).collect()
            }
            Scale::Log(base) => {
                let (base, power) = (f64::from(base), |value: f64| value.ln() / f64::from(base).ln());
                (power(self.low).floor() as i32..=power(self.high).ceil() as i32).map(|at| base.powi(at)).collect()
            }
        };
        (Range { low: ticks[0], high: ticks[ticks.len() - 1], ..self }, ticks)
    }

    /// Round values: at most so many, and three where that can be.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(3);
        let candidates = match self.scale {
            Scale::Linear => self.even(),
            Scale::Log(base) => [self.powers(base), self.between(base), self.even()].concat(),
        };
        let fits = |ticks: &&Vec<f64>| (3..=most).contains(&ticks.len());
        let thinned =
            |stride: usize| candidates.iter().map(move |ticks| ticks.iter().step_by(stride).copied().collect());
        let all = (2..=5).flat_map(thinned);
        candidates.iter().find(fits).cloned().or_else(|| all.into_iter().find(|ticks| fits(&ticks))).unwrap_or_default()
    }

    /// Powers of a base, each, then every second and so on.
    fn powers(&self, base: u32) -> Vec<Vec<f64>> {
        let (base, power) = (f64::from(base), |value: f64| value.ln() / f64::from(base).ln());
        let (first, last) = (power(self.low).ceil() as i32, power(self.high).floor() as i32);
        let span = (last - first).max(0) as usize;
        // From a multiple of the stride on: 1 is one of the ticks, wherever the range begins.
        let from = |stride: usize| first + (-first).rem_euclid(stride as i32);
        (1..=span / 2 + 1)
            .map(|stride| (from(stride)..=last).step_by(stride).map(|at| base.powi(at)).collect())
            .collect()
    }

    /// Less than three powers: round values between them too.
    fn between(&self, base: u32) -> Vec<Vec<f64>> {
        let decades: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0, 3.0]];
        let octaves: [&[f64]; 2] = [&[1.0], &[1.0, 1.5]];
        let (base, factors) = if base == 10 { (10.0_f64, decades) } else { (2.0, octaves) };
        let power = |value: f64| value.ln() / base.ln();
        let (first, last) = (power(self.low).floor() as i32, power(self.high).ceil() as i32);
        let is_inside = |at: &f64| (self.low..=self.high).contains(at);
        let all = |of: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|at| of.iter().map(move |factor| factor * base.powi(at)))
                .filter(is_inside)
                .collect()
        };
        if last - first > 8 { Vec::new() } else { factors.into_iter().map(all).collect() }
    }

    /// Round values at even distances, more and more of them.
    fn even(&self) -> Vec<Vec<f64>> {
        [6.0, 5.0, 4.0, 3.0, 8.0, 10.0, 12.0].map(|parts| steps(self.low, self.high, parts)).to_vec()
    }
}

/// Some round values between two, evenly.
pub(super) fn round_steps(low: f64, high: f64) -> Vec<f64> {
    steps(low, high, 6.0)
}

/// Round values between two, evenly, about so many parts.
fn steps(low: f64, high: f64, parts: f64) -> Vec<f64> {
    if high <= low {
        return Vec::new();
    }
    let step = step(low, high, parts);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|at| at as f64 * step).collect()
}

/// 1, 2 or 5 times a power of ten, about a sixth of this range.
fn nice_step(low: f64, high: f64) -> f64 {
    step(low, high, 6.0)
}

/// 1, 2 or 5 times a power of ten: the least that divides this range into so many parts at most.
fn step(low: f64, high: f64, parts: f64) -> f64 {
    let least = (high - low) / parts;
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|of| of * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// About three digits.
pub(super) fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    // Zero is not negative.
    let text = format!("{:.3}", value + 0.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size in bytes, in binary thousands: 512, 4K, 1M.
pub(super) fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1_048_576.0 => format!("{}M", short(bytes / 1_048_576.0)),
        bytes if bytes >= 1024.0 => format!("{}K", short(bytes / 1024.0)),
        bytes => short(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_ticks() {
        let range = Scale::Linear.range([0.0, 10.0].into_iter()).unwrap().with_room();
        assert!((range.share(5.0) - 0.5).abs() < 1e-9 && (range.share(10.6) - 1.0).abs() < 1e-9);
        assert_eq!(range.ticks(8), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(range.ticks(3), [0.0, 5.0, 10.0]);
        assert_eq!(round_steps(3.0, 3.0), Vec::<f64>::new());
        let range = Scale::Log(2).range([8.0, 1024.0].into_iter()).unwrap().with_room();
        assert_eq!(range.ticks(8), [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0]);
        assert_eq!(range.ticks(4), [16.0, 64.0, 256.0, 1024.0]);
        assert_eq!(Scale::Log(2).range([0.9, 3.0].into_iter()).unwrap().ticks(5), [1.0, 1.5, 2.0, 3.0]);
        assert_eq!(Scale::Log(10).range([1.0, 6.0].into_iter()).unwrap().ticks(5), [1.0, 2.0, 5.0]);
        assert!((range.share(90.509_667_991_878_1) - 0.5).abs() < 1e-9);
        assert!(Scale::Log(2).range([1.0, 1e30].into_iter()).unwrap().ticks(8).len() <= 8);
        assert!(Scale::Linear.range([].into_iter()).is_none());
    }

    #[test]
    fn one_value_has_room_around_it() {
        for (scale, value) in
            [(Scale::Linear, 0.0), (Scale::Linear, -5e6), (Scale::Linear, 1e-9), (Scale::Log(4), 1e-12)]
        {
            let range = scale.range([value].into_iter()).unwrap();
            assert!(range.low < value && value < range.high && !range.ticks(5).is_empty(), "{scale:?} {value}");
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.5, 100.0, 1.23456, 2e9, 0.0, -0.0].map(short), ["0.5", "100", "1.235", "2e9", "0", "0"]);
        assert_eq!([8.0, 4096.0, 1_048_576.0].map(size), ["8", "4K", "1M"]);
    }
}
