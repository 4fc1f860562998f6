//! How often the task looks while a long message comes in and the program computes.
//!
//! Each packet would wake it, and a wake-up costs the computation more than the packet's bytes do. So it looks, takes
//! what is there and rests; meanwhile a few packets gather in the socket. That pays where a handful comes in one
//! rest. On slower links that takes longer, and on the slowest there is nothing to gather; on faster ones the socket would be
//! full before.

use std::time::Duration;

/// How long the task rests. A socket holds what comes in that time and, besides, while the task waits for a busy core.
const REST: Duration = Duration::from_millis(2);
/// The same on a slower link, where less comes.
const LONG_REST: Duration = Duration::from_millis(4);
/// So much still to come of one message is long enough to rest.
const LONG_BYTES: u64 = 256 << 10;
/// The same on a slower link.
const SLOW_LONG_BYTES: u64 = 64 << 10;
/// A rest that brought less was in vain: this much is one packet.
const LEAST_BYTES: usize = 32 << 10;
/// Slower links have smaller packets: a long rest that brought less was in vain.
const SLOW_LEAST_BYTES: usize = 8 << 10;
/// A long rest that brought more was longer than it had to be.
const SLOW_MOST_BYTES: usize = 128 << 10;
/// A rest that brought more may have kept the sender waiting.
const MOST_BYTES: usize = 768 << 10;
/// After rests in vain, so many looks at most without one.
const SKIPPED_MAX: u32 = 256;

/// What earlier rests have taught.
pub(super) struct Rests {
    /// How long the next is.
    length: Duration,
    /// Rests in vain since the last that paid.
    in_vain: u32,
    /// Looks to come without rest.
    skipped: u32,
}

impl Default for Rests {
    fn default() -> Self {
        Rests { length: REST, in_vain: 0, skipped: 0 }
    }
}

impl Rests {
    /// The task has looked, and so much is still `to_come` of a message; returns how long it is to rest now.
    pub(super) fn after_look(&mut self, to_come: u64) -> Option<Duration> {
        let rest = self.rest(to_come)?;
        let may_rest = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        may_rest.then_some(rest)
    }

    /// The task has rested and then `moved` so many bytes; so much is still `to_come`. Returns how long it is to rest
    /// again.
    pub(super) fn after_rest(&mut self, moved: usize, to_come: u64) -> Option<Duration> {
        // What would have come in a long rest, if this was none.
        let slow = if self.length == REST { 2 * moved } else { moved };
        self.length = match moved {
            LEAST_BYTES..SLOW_MOST_BYTES => self.length,
            SLOW_MOST_BYTES..=MOST_BYTES => REST,
            ..LEAST_BYTES if slow >= SLOW_LEAST_BYTES => LONG_REST,
            _ => {
                self.length = REST;
                self.in_vain = (self.in_vain + 1).min(u32::BITS - 1);
                self.skipped = (1 << self.in_vain).min(SKIPPED_MAX);
                return None;
            }
        };
        self.in_vain = 0;
        self.rest(to_come)
    }

    /// The next rest, if so much `to_come` is enough for one.
    fn rest(&self, to_come: u64) -> Option<Duration> {
        let long_bytes = if self.length == REST { LONG_BYTES } else { SLOW_LONG_BYTES };
        (to_come >= long_bytes).then_some(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_taken_in_a_few_looks() {
        let mut rests = Rests::default();
        assert_eq!(rests.after_look(8 << 20), Some(REST));
        assert_eq!(rests.after_rest(250_000, 7 << 20), Some(REST));
        assert_eq!(rests.after_rest(250_000, 100_000), None, "its end is not waited for");
        assert_eq!(rests.after_look(8 << 20), Some(REST));
        assert_eq!(rests.after_look(1000), None, "nor are short messages");
    }

    #[test]
    fn a_slower_link_has_longer_rests() {
        let mut rests = Rests::default();
        assert_eq!(rests.after_look(8 << 20), Some(REST));
        assert_eq!(rests.after_rest(25_000, 8 << 20), Some(LONG_REST));
        assert_eq!(rests.after_rest(50_000, 100_000), Some(LONG_REST));
        assert_eq!(rests.after_rest(50_000, 10_000), None, "its end is not waited for");
        assert_eq!(rests.after_look(8 << 20), Some(LONG_REST));
        assert_eq!(rests.after_rest(250_000, 8 << 20), Some(REST), "it has become faster");
        assert_eq!(rests.after_rest(25_000, 8 << 20), Some(LONG_REST));
        assert_eq!(rests.after_rest(6_000, 8 << 20), None, "it has become slower still");
        assert!((0..8).filter_map(|_| rests.after_look(8 << 20)).all(|rest| rest == REST));
    }

    #[test]
    fn rests_in_vain_become_rare_and_one_that_pays_brings_them_back() {
        for moved in [0, 2 << 20] {
            let mut rests = Rests::default();
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
