//! What nodes calculate while messages travel.

use std::hint::black_box;
use std::time::Instant;

use super::strip::{Shape, Side, Strip};

/// Something to calculate: a column of `lathide gain`'s stencil that stays in the first-level cache, so that nothing but
/// the processor is shared with the transfer.
pub(crate) struct Calculation {
    strip: Strip,
}

const ROWS: usize = 512;

impl Calculation {
    pub(crate) fn new() -> Self {
        Calculation { strip: Strip::new(Shape { rows: ROWS, columns: 1, work: 1 }, Side::Left) }
    }

    /// Seconds for one unit of work. The least of some counts: whatever disturbs, prolongs.
    pub(crate) fn unit_s(&mut self) -> f64 {
        const UNITS: u32 = 5000;
        self.prepare(UNITS);
        let least = (0..5).map(|_| self.run()).fold(f64::MAX, f64::min);
        (least / f64::from(UNITS)).max(1e-12)
    }

    pub(crate) fn prepare(&mut self, work: u32) {
        self.strip.restart(work);
    }

    /// Calculates; returns the seconds it took.
    pub(crate) fn run(&mut self) -> f64 {
        let began = Instant::now();
        self.strip.calculate(self.strip.all());
        black_box(&mut self.strip);
        began.elapsed().as_secs_f64()
    }
}
