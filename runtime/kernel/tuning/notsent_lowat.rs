//! How much a socket may hold that is not sent yet.
//!
//! A small message waits for it behind a large one, so it should be little. But while the program computes, the
//! kernel's task rests, and may then get a busy core only after a millisecond or two; a link that has nothing to send
//! meanwhile loses that time for ever. So it is what the link sends in some milliseconds, by what it took before; and
//! little while a thread helps, which is there at once.

use std::time::Duration;

use crate::join::handshake::NOTSENT_LOWAT_BYTES;

/// Enough for slow links. More would have messages to two ranks pass at once where one could pass before the other: the
/// first of a tree's children would have its message late.
const LEAST_BYTES: u32 = 8 << 10;
/// Enough for 1 Gbit/s; faster links are fed by threads that have a core of their own, or by nobody.
const MOST_BYTES: u32 = 1 << 20;
/// What the link sends in this time may be unsent while the program computes.
const COMPUTING: Duration = Duration::from_millis(6);
/// The same while a thread helps.
const HELPED: Duration = Duration::from_micros(500);
/// Two moments at which the socket was full belong to one transfer if they are no further apart.
const PAUSE: Duration = Duration::from_millis(20);
/// A transfer is measured over this time.
const SAMPLE: Duration = Duration::from_millis(2);

/// The limit of one socket.
pub(in crate::kernel) struct NotsentLowat {
    is_on: bool,
    limit: u32,
    /// Bytes per second, by the last sample.
    rate: f64,
    /// When the sample began, and what was taken since.
    since: Duration,
    bytes: u64,
    was_full: Duration,
    /// All was sent since: what is sent next is another transfer, and the time until then says nothing.
    is_over: bool,
}

impl NotsentLowat {
    /// `is_on`: whether the limit changes at all.
    pub(in crate::kernel) fn new(is_on: bool) -> Self {
        NotsentLowat {
            is_on,
            limit: NOTSENT_LOWAT_BYTES,
            rate: 0.0,
            since: Duration::ZERO,
            bytes: 0,
            was_full: Duration::ZERO,
            is_over: false,
        }
    }

    /// The limit of now.
    pub(in crate::kernel) fn limit(&self) -> u32 {
        self.limit
    }

    /// The socket took `count` bytes.
    pub(in crate::kernel) fn took(&mut self, count: usize) {
        self.bytes += count as u64;
    }

    /// There is nothing more to send.
    pub(in crate::kernel) fn is_done(&mut self) {
        self.is_over = true;
    }

    /// The socket is full, at `now`; `is_helped`: a thread helps. Returns a new limit to be set.
    pub(in crate::kernel) fn is_full(&mut self, now: Duration, is_helped: bool) -> Option<u32> {
        let pause = now.saturating_sub(std::mem::replace(&mut self.was_full, now));
        let elapsed = now.saturating_sub(self.since);
        if std::mem::take(&mut self.is_over) || pause > PAUSE {
            (self.since, self.bytes) = (now, 0);
        } else if elapsed >= SAMPLE {
            self.rate = self.bytes as f64 / elapsed.as_secs_f64();
            (self.since, self.bytes) = (now, 0);
        }
        if !self.is_on || self.rate == 0.0 {
            return None;
        }
        let span = if is_helped { HELPED } else { COMPUTING };
        let limit = ((self.rate * span.as_secs_f64()) as u64).clamp(LEAST_BYTES.into(), MOST_BYTES.into()) as u32;
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

    /// The limits after a second of a transfer whose socket is full every millisecond: while the program computes, and
    /// then while a thread helps.
    fn limits_at(bytes_per_ms: usize) -> [u32; 2] {
        limits_of(NotsentLowat::new(true), bytes_per_ms)
    }

    fn limits_of(mut unsent: NotsentLowat, bytes_per_ms: usize) -> [u32; 2] {
        [false, true].map(|is_helped| {
            for ms in 1000..2000 {
                unsent.took(bytes_per_ms);
                unsent.is_full(Duration::from_millis(ms), is_helped);
            }
            unsent.limit
        })
    }

    #[test]
    fn the_limit_is_what_the_link_sends_in_a_few_milliseconds() {
        assert_eq!(limits_at(1_250), [LEAST_BYTES; 2], "10 Mbit/s");
        let [computing, helped] = limits_at(12_500);
        assert!((60_000..=90_000).contains(&computing) && helped == LEAST_BYTES, "100 Mbit/s: {computing}, {helped}");
        let [computing, helped] = limits_at(125_000);
        assert!((600_000..=900_000).contains(&computing), "1 Gbit/s: {computing}");
        assert!((50_000..=80_000).contains(&helped), "1 Gbit/s, helped: {helped}");
        assert_eq!(limits_at(1_250_000), [MOST_BYTES; 2], "10 Gbit/s: near enough");
    }

    #[test]
    fn one_that_is_off_keeps_its_limit() {
        assert_eq!(limits_of(NotsentLowat::new(false), 125_000), [NOTSENT_LOWAT_BYTES; 2]);
    }

    #[test]
    fn a_pause_is_no_part_of_the_rate() {
        let mut unsent = NotsentLowat::new(true);
        for turn in 0..100 {
            unsent.took(1 << 20);
            assert_eq!(
                unsent.is_full(Duration::from_millis(50 * turn + 1000), turn % 2 == 0),
                None,
                "nothing is known"
            );
        }
        assert_eq!(unsent.limit, NOTSENT_LOWAT_BYTES);
    }

    /// Messages with pauses between them show how fast the link is all the same.
    #[test]
    fn pauses_are_no_slowness() {
        let mut unsent = NotsentLowat::new(true);
        for message in 0..100 {
            for ms in 0..8 {
                unsent.took(125_000);
                unsent.is_full(Duration::from_millis(1000 + 18 * message + ms), false);
            }
            unsent.is_done();
        }
        assert!(unsent.limit() >= 700_000, "{} at 125 MB/s", unsent.limit());
    }
}
