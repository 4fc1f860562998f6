//! How much a socket may hold that is not sent yet.
//!
//! A small message waits for it behind a large one, so it should be little. But while the program computes, the
//! kernel's task may get a busy core only after a millisecond or two, and a link that has nothing to send
//! meanwhile loses that time for ever. So it is what the link sends in a few milliseconds, by what it took before.

use std::time::Duration;

/// Enough for slow links, and where nothing is known yet.
pub(super) const LEAST_BYTES: u32 = 32 << 10;
/// Enough for 1 Gbit/s; faster links are fed by threads that have a core of their own, or by nobody.
const MOST_BYTES: u32 = 512 << 10;
/// What the link sends in this time may be unsent.
const SPAN: Duration = Duration::from_millis(3);
/// Two moments at which the socket was full belong to one transfer if they are no further apart.
const PAUSE: Duration = Duration::from_millis(20);
/// A transfer is measured over this time.
const SAMPLE: Duration = Duration::from_millis(2);

/// The limit of one socket.
pub(super) struct Unsent {
    limit: u32,
    /// When the sample began, and what was taken since.
    since: Duration,
    bytes: u64,
    was_full: Duration,
}

impl Unsent {
    pub(super) fn new() -> Self {
        Unsent { limit: LEAST_BYTES, since: Duration::ZERO, bytes: 0, was_full: Duration::ZERO }
    }

    /// The socket took `count` bytes.
    pub(super) fn took(&mut self, count: usize) {
        self.bytes += count as u64;
    }

    /// The socket is full, at `now`. Returns a new limit to be set.
    pub(super) fn is_full(&mut self, now: Duration) -> Option<u32> {
        let pause = now.saturating_sub(std::mem::replace(&mut self.was_full, now));
        if pause > PAUSE {
            (self.since, self.bytes) = (now, 0);
            return None;
        }
        let elapsed = now.saturating_sub(self.since);
        if elapsed < SAMPLE {
            return None;
        }
        let limit = (self.bytes as f64 * (SPAN.as_secs_f64() / elapsed.as_secs_f64())) as u64;
        let limit = limit.clamp(LEAST_BYTES.into(), MOST_BYTES.into()) as u32;
        (self.since, self.bytes) = (now, 0);
        // A call for every change would cost more than it brings.
        let differs = limit > self.limit + self.limit / 4 || limit < self.limit / 2;
        differs.then(|| {
            self.limit = limit;
            limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit after a second of a transfer whose socket is full every millisecond.
    fn limit_at(bytes_per_ms: usize) -> u32 {
        let mut unsent = Unsent::new();
        for ms in 1000..2000 {
            unsent.took(bytes_per_ms);
            unsent.is_full(Duration::from_millis(ms));
        }
        unsent.limit
    }

    #[test]
    fn the_limit_is_what_the_link_sends_in_a_few_milliseconds() {
        assert_eq!(limit_at(1_250), LEAST_BYTES, "10 Mbit/s");
        assert!((LEAST_BYTES..=45_000).contains(&limit_at(12_500)), "100 Mbit/s: {}", limit_at(12_500));
        assert!((300_000..=450_000).contains(&limit_at(125_000)), "1 Gbit/s: {}", limit_at(125_000));
        assert_eq!(limit_at(1_250_000), MOST_BYTES, "10 Gbit/s");
    }

    #[test]
    fn a_pause_is_no_part_of_the_rate() {
        let mut unsent = Unsent::new();
        for turn in 0..100 {
            unsent.took(1 << 20);
            assert_eq!(unsent.is_full(Duration::from_millis(50 * turn + 1000)), None);
        }
    }
}
