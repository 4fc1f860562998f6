//! How often the task looks while a long message comes in and the program computes.
//!
//! Each packet would wake it, and a wake-up costs the computation more than the packet's bytes do. So it looks, takes
//! what is there and pauses; meanwhile a few packets gather in the socket. That pays where a handful comes in one
//! pause. On slower links that takes longer, and on the slowest there is nothing to gather; on faster ones the socket
//! would be full before.

use std::time::Duration;

/// How the task pauses on links of one class.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pace {
    rest: Duration,
    /// So much still to come of one message is long enough to pause.
    long_bytes: u64,
    /// What a pause brings that pays. Less was in vain: this much is one packet.
    least_bytes: usize,
    most_bytes: usize,
}

/// A socket holds what comes in that time and, besides, while the task waits for a busy core; a pause that brought more than
/// the most may have kept the sender waiting.
const QUICK: Pace =
    Pace { rest: Duration::from_millis(2), long_bytes: 256 << 10, least_bytes: 32 << 10, most_bytes: 768 << 10 };
/// On slower links less comes, in smaller packets; a pause that brought more than the most need not have been so long.
const SLOW: Pace =
    Pace { rest: Duration::from_millis(4), long_bytes: 64 << 10, least_bytes: 8 << 10, most_bytes: 128 << 10 };
/// After pauses in vain, so many looks at most without one.
const SKIPPED_MAX: u32 = 256;

/// What earlier pauses have taught.
pub(in crate::kernel) struct PollInterval {
    is_on: bool,
    pace: Pace,
    /// Pauses in vain since the last that paid.
    in_vain: u32,
    /// Looks to come without pause.
    skipped: u32,
}

impl PollInterval {
    /// `is_on`: whether the task pauses at all.
    pub(in crate::kernel) fn new(is_on: bool) -> Self {
        PollInterval { is_on, pace: QUICK, in_vain: 0, skipped: 0 }
    }

    /// The task has looked, and so much is still `to_come` of a message; returns how long it is to pause now.
    pub(in crate::kernel) fn after_look(&mut self, to_come: u64) -> Option<Duration> {
        let rest = self.pace.rest(to_come).filter(|_| self.is_on)?;
        let may_rest = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        may_rest.then_some(rest)
    }

    /// The task has paused and then `moved` so many bytes; so much is still `to_come`. Returns how long it is to pause
    /// again.
    pub(in crate::kernel) fn after_rest(&mut self, moved: usize, to_come: u64) -> Option<Duration> {
        let other = if self.pace == QUICK { SLOW } else { QUICK };
        if self.pace.pays(self.pace.rest, moved) {
            self.in_vain = 0;
        } else if other.pays(self.pace.rest, moved) {
            (self.pace, self.in_vain) = (other, 0);
        } else {
            self.pace = QUICK;
            self.in_vain = (self.in_vain + 1).min(u32::BITS - 1);
            self.skipped = (1 << self.in_vain).min(SKIPPED_MAX);
            return None;
        }
        self.pace.rest(to_come)
    }
}

impl Pace {
    /// How long the task pauses, if so much `to_come` is enough for it.
    fn rest(&self, to_come: u64) -> Option<Duration> {
        (to_come >= self.long_bytes).then_some(self.rest)
    }

    /// Whether its pauses pay on a link that `moved` so many bytes in a pause of this length.
    fn pays(&self, length: Duration, moved: usize) -> bool {
        let moved = (moved as f64 * self.rest.as_secs_f64() / length.as_secs_f64()) as usize;
        (self.least_bytes..=self.most_bytes).contains(&moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_taken_in_a_few_looks() {
        let mut rests = PollInterval::new(true);
        assert_eq!(rests.after_look(8 << 20), Some(QUICK.rest));
        assert_eq!(rests.after_rest(250_000, 7 << 20), Some(QUICK.rest));
        assert_eq!(rests.after_rest(250_000, 100_000), None, "its end is not waited for");
        assert_eq!(rests.after_look(8 << 20), Some(QUICK.rest));
        assert_eq!(rests.after_look(1000), None, "nor are short messages");
    }

    #[test]
    fn one_that_is_off_never_rests() {
        assert_eq!(PollInterval::new(false).after_look(8 << 20), None);
    }

    #[test]
    fn a_slower_link_has_longer_rests() {
        let mut rests = PollInterval::new(true);
        assert_eq!(rests.after_look(8 << 20), Some(QUICK.rest));
        assert_eq!(rests.after_rest(25_000, 8 << 20), Some(SLOW.rest));
        assert_eq!(rests.after_rest(50_000, 100_000), Some(SLOW.rest));
        assert_eq!(rests.after_rest(50_000, 10_000), None, "its end is not waited for");
        assert_eq!(rests.after_look(8 << 20), Some(SLOW.rest));
        assert_eq!(rests.after_rest(250_000, 8 << 20), Some(QUICK.rest), "it has become faster");
        assert_eq!(rests.after_rest(25_000, 8 << 20), Some(SLOW.rest));
        assert_eq!(rests.after_rest(6_000, 8 << 20), None, "it has become slower still");
        assert!((0..8).filter_map(|_| rests.after_look(8 << 20)).all(|rest| rest == QUICK.rest));
    }

    #[test]
    fn rests_in_vain_become_rare_and_one_that_pays_brings_them_back() {
        for moved in [0, 2 << 20] {
            let mut rests = PollInterval::new(true);
            let mut count = 0;
            for _ in 0..10_000 {
                if rests.after_look(8 << 20).is_some() {
                    count += 1;
                    assert_eq!(rests.after_rest(moved, 8 << 20), None);
                }
            }
            assert!((5..100).contains(&count), "{moved} bytes: {count} rests");
            while rests.after_look(8 << 20).is_none() {}
            assert!(rests.after_rest(100_000, 8 << 20).is_some());
            assert!(rests.after_look(8 << 20).is_some());
        }
    }
}
