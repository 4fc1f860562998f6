//! How often the task looks while a long message comes in and the program computes.
//!
//! Each packet would wake it, and a wake-up costs the computation more than the packet's bytes do. So it looks, takes
//! what is there and rests; meanwhile a few packets gather in the socket. That pays where a handful comes in one
//! rest: on slower links there is nothing to gather, on faster ones the socket would be full before.

use std::time::Duration;

/// How long the task rests. A socket holds what comes in that time and, besides, while the task waits for a busy core.
pub(super) const REST: Duration = Duration::from_millis(2);
/// So much still to come of one message is long enough to rest.
const LONG_BYTES: u64 = 256 << 10;
/// A rest that brought less was in vain: this much is one packet.
const LEAST_BYTES: usize = 32 << 10;
/// A rest that brought more may have kept the sender waiting.
const MOST_BYTES: usize = 768 << 10;
/// After rests in vain, so many looks at most without one.
const SKIPPED_MAX: u32 = 256;

/// What earlier rests have taught.
#[derive(Default)]
pub(super) struct Rests {
    /// Rests in vain since the last that paid.
    in_vain: u32,
    /// Looks to come without rest.
    skipped: u32,
}

impl Rests {
    /// The task has looked, and so much is still `to_come` of a message; whether it is to rest now.
    pub(super) fn after_look(&mut self, to_come: u64) -> bool {
        if to_come < LONG_BYTES {
            return false;
        }
        let may_rest = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        may_rest
    }

    /// The task has rested and then `moved` so many bytes; so much is still `to_come`. Whether it is to rest again.
    pub(super) fn after_rest(&mut self, moved: usize, to_come: u64) -> bool {
        if (LEAST_BYTES..=MOST_BYTES).contains(&moved) {
            self.in_vain = 0;
            return to_come >= LONG_BYTES;
        }
        self.in_vain = (self.in_vain + 1).min(u32::BITS - 1);
        self.skipped = (1 << self.in_vain).min(SKIPPED_MAX);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_taken_in_a_few_looks() {
        let mut rests = Rests::default();
        assert!(rests.after_look(8 << 20));
        assert!(rests.after_rest(250_000, 7 << 20));
        assert!(!rests.after_rest(250_000, 100_000), "its end is not waited for");
        assert!(rests.after_look(8 << 20));
        assert!(!rests.after_look(1000), "nor are short messages");
    }

    #[test]
    fn rests_in_vain_become_rare_and_one_that_pays_brings_them_back() {
        for moved in [0, 2 << 20] {
            let mut rests = Rests::default();
            let mut count = 0;
            for _ in 0..10_000 {
                if rests.after_look(8 << 20) {
                    count += 1;
                    assert!(!rests.after_rest(moved, 8 << 20));
                }
            }
            assert!((5..100).contains(&count), "{moved} bytes: {count} rests");
            while !rests.after_look(8 << 20) {}
            assert!(rests.after_rest(100_000, 8 << 20));
            assert!(rests.after_look(8 << 20));
        }
    }
}
