//! Whether it pays to wait before a buffer goes back: see [`super::listen`].

use std::sync::atomic::{AtomicU32, Ordering};

/// After a wait in vain so many buffers go back without.
const PAUSE: u32 = 16;

/// Whether waiting has paid. Only a hint, so nothing is ordered by it.
#[derive(Default)]
pub(super) struct Patience {
    /// Buffers that go back at once before it is tried again.
    pause: AtomicU32,
}

impl Patience {
    /// Whether the next one waits.
    pub(super) fn is_due(&self) -> bool {
        let pause = self.pause.load(Ordering::Relaxed);
        self.pause.store(pause.saturating_sub(1), Ordering::Relaxed);
        pause == 0
    }

    /// Of so many `bytes` as many are `left` after a wait.
    pub(super) fn learns(&self, bytes: usize, left: usize) {
        if left > bytes / 2 {
            self.pause.store(PAUSE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_in_vain_does_not_wait_for_a_while() {
        let patience = Patience::default();
        for (left, waits) in [(0, 100), (400, 100), (600, 6)] {
            let mut tried = 0;
            for _ in 0..100 {
                if patience.is_due() {
                    tried += 1;
                    patience.learns(1000, left);
                }
            }
            assert_eq!(tried, waits, "{left} of 1000 are left");
        }
    }
}
