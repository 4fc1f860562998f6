//! How long collectives take, beside their predicted time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Calls that are remembered: the last ones.
const CALLS: usize = 15;

/// The last calls by one algorithm: observed over predicted time.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    /// The bits of a floating point number; 0 for none.
    ratios: [AtomicU64; CALLS],
    next: AtomicUsize,
}

/// Where the time of one call goes.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) timing: Arc<Timing>,
    pub(crate) predicted_s: f64,
}

impl Timing {
    /// Observed over predicted time; `None` before a call has ended. The median of the calls, since one may be held up; or the mean
    /// where calls are `uneven`: ranks that send to a root run ahead of it, and ranks that share cores take turns, so that one call waits
    /// long and the next ones not at all.
    pub(crate) fn ratio(&self, uneven: bool) -> Option<f64> {
        let ratios = self.ratios.iter().map(|ratio| f64::from_bits(ratio.load(Ordering::Relaxed)));
        let mut ratios: Vec<f64> = ratios.filter(|ratio| *ratio > 0.0).collect();
        ratios.sort_by(f64::total_cmp);
        if uneven && ratios.len() > 2 {
            return Some(ratios.iter().sum::<f64>() / ratios.len() as f64);
        }
        // Of two the shorter: the first call of all is long.
        ratios.get(ratios.len().saturating_sub(1) / 2).copied()
    }

    /// By one at a time: whoever has the core locked.
    fn put(&self, ratio: f64) {
        let next = self.next.load(Ordering::Relaxed);
        let at = if next < CALLS { next } else { 0 };
        self.next.store(at + 1, Ordering::Relaxed);
        self.ratios[at].store(ratio.to_bits(), Ordering::Relaxed);
    }
}

impl Timed {
    /// The call took so long on this rank.
    pub(crate) fn took(&self, time: Duration) {
        if self.predicted_s > 0.0 {
            self.timing.put(time.as_secs_f64().max(1e-9) / self.predicted_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_count_and_their_median() {
        let timed = Timed { timing: Arc::default(), predicted_s: 0.5 };
        assert_eq!(timed.timing.ratio(false), None);
        timed.took(Duration::from_secs(10));
        timed.took(Duration::from_secs(1));
        assert_eq!(timed.timing.ratio(false), Some(2.0), "the shorter of two");
        for _ in 0..CALLS {
            timed.took(Duration::from_secs(2));
        }
        timed.took(Duration::from_secs(30));
        assert_eq!(timed.timing.ratio(false), Some(4.0));
        assert_eq!(timed.timing.ratio(true), Some((14.0 * 4.0 + 60.0) / 15.0));
    }
}
