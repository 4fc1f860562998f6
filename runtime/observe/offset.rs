//! How far two nodes' clocks are apart, by the minimum round trip. Pure.
//!
//! Short messages carry stamps; where none come, a node asks its peer now and then.
//!
//! A stamp that arrives shows the time on the way plus the difference of the clocks. The least such time of either
//! direction, seen lately, belongs to messages that nothing held up; together they are a round trip, free of the
//! clocks. If both ways took the same time, the difference of the clocks is half the difference of the two, and if they
//! did not, it is wrong by at most half the round trip.

use serde::{Deserialize, Serialize};

/// Clocks drift apart: what is older than two of these is forgotten. Disciplined clocks part by less than a
/// microsecond in it.
const WINDOW_NS: u64 = 1_000_000_000;

/// A clock difference with its bound, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Offset {
    /// This node's clock minus the peer's.
    pub(crate) ns: i64,
    /// Half of the least round trip: the difference is wrong by no more.
    pub(crate) error_ns: u64,
}

/// What is known of a peer's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkClock {
    came: Least,
    /// The same seen by the peer, of what this node sent.
    went: Option<i64>,
}

/// The least value of the window under way and of the one before.
#[derive(Clone, Debug, Default)]
struct Least {
    now: Option<i64>,
    before: Option<i64>,
    until_ns: u64,
}

/// How often two clocks of one machine are read for a comparison, at most.
const READINGS: usize = 64;
/// A comparison this close needs no other.
const CLOSE_NS: u64 = 1_000;

/// What the machine's clock showed when a node's own clock began; both are nanoseconds. The reading that took the least
/// time counts: a thread may be interrupted between two clocks. It is wrong by at most half of that time.
pub(crate) fn began_ns(machine_ns: impl Fn() -> u64, own_ns: impl Fn() -> u64) -> u64 {
    let mut best: Option<(u64, u64)> = None;
    for _ in 0..READINGS {
        let before = own_ns();
        let machine = machine_ns();
        let took = own_ns().saturating_sub(before);
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, machine.saturating_sub(before + took / 2)));
        }
        if took <= CLOSE_NS {
            break;
        }
    }
    best.map_or(0, |(_, began)| began)
}

impl LinkClock {
    /// A stamp of `sent_ns` arrives at `now_ns`; the peer has seen `echo_ns`. Returns the time on the way plus the
    /// difference of the clocks. `is_short`: little came with it, so that it shows the link's latency.
    pub(crate) fn hear(&mut self, now_ns: u64, sent_ns: u64, echo_ns: Option<i64>, is_short: bool) -> i64 {
        let raw = now_ns.wrapping_sub(sent_ns) as i64;
        if is_short {
            self.came.take(now_ns, raw);
        }
        self.went = echo_ns.or(self.went);
        raw
    }

    /// What the peer is to know.
    pub(crate) fn echo(&self) -> Option<i64> {
        self.came.least()
    }

    /// The difference of the clocks; `None` until stamps have come and echoes of this node's own.
    pub(crate) fn offset(&self) -> Option<Offset> {
        let (came, went) = (self.came.least()?, self.went?);
        let round_trip = came.saturating_add(went);
        Some(Offset { ns: came.saturating_sub(went) / 2, error_ns: round_trip.max(0) as u64 / 2 + 1 })
    }
}

impl Least {
    fn take(&mut self, now_ns: u64, value: i64) {
        if now_ns >= self.until_ns {
            (self.before, self.now) = (self.now, None);
            self.until_ns = now_ns.saturating_add(WINDOW_NS);
        }
        self.now = Some(self.now.map_or(value, |least| least.min(value)));
    }

    fn least(&self) -> Option<i64> {
        match (self.now, self.before) {
            (Some(now), Some(before)) => Some(now.min(before)),
            (now, before) => now.or(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two nodes whose clocks differ by `offset` tell each other the time; each way takes a time of its own.
    fn talk(offset: i64, ways_ns: &[(u64, u64)]) -> (LinkClock, LinkClock) {
        let (mut here, mut there) = (LinkClock::default(), LinkClock::default());
        let mut now = 10_000_000_000_000u64;
        let there_at = |now: u64| now.wrapping_add_signed(-offset);
        for (out, back) in ways_ns {
            there.hear(there_at(now + out), now, here.echo(), true);
            now += out;
            here.hear(now + back, there_at(now), there.echo(), true);
            now += back;
        }
        (here, there)
    }

    /// A thread that reads two clocks is interrupted for up to 20 ms, in more than half of the places where it can be.
    #[test]
    fn a_beginning_is_known_where_threads_are_interrupted() {
        use std::cell::Cell;
        let began = 5_000_000_000;
        for seed in 0..1000u64 {
            let (now, random) = (Cell::new(77), Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
            let read = || {
                let shown = now.get();
                let mut next = random.get();
                next ^= next << 13;
                next ^= next >> 7;
                next ^= next << 17;
                random.set(next);
                let interrupted = if next % 16 < 9 { next % 20_000_000 } else { 0 };
                now.set(shown + 40 + interrupted);
                shown
            };
            let found = began_ns(|| began + read(), read);
            assert!(found.abs_diff(began) <= CLOSE_NS, "seed {seed}: {found} instead of {began}");
        }
    }

    #[test]
    fn equal_ways_give_the_exact_difference() {
        let (here, there) = talk(-123_456, &[(9_000, 70_000), (4_000, 5_000), (30_000, 4_000), (5_000, 5_000)]);
        assert_eq!(here.offset(), Some(Offset { ns: -123_456, error_ns: 4_001 }));
        // The peer has not heard yet what the last answer showed.
        let offset = there.offset().unwrap();
        assert!((offset.ns - 123_456).unsigned_abs() <= offset.error_ns, "{offset:?}");
    }

    #[test]
    fn nothing_is_known_before_an_echo() {
        let mut clock = LinkClock::default();
        clock.hear(10, 5, None, true);
        assert_eq!((clock.echo(), clock.offset()), (Some(5), None), "one way only");
        assert_eq!(clock.hear(4_000, 5, Some(7), false), 3_995, "of a long message");
        assert_eq!(clock.echo(), Some(5), "which says nothing about the latency");
        assert!(clock.offset().is_some());
        clock.hear(30, 5, None, true);
        assert!(clock.offset().is_some(), "the last echo stands");
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut clock = LinkClock::default();
        clock.hear(1_000, 900, Some(100), true);
        for window in 1..4 {
            let now = window * WINDOW_NS + 2_000;
            clock.hear(now, now - 5_000, None, true);
        }
        assert_eq!(clock.echo(), Some(5_000), "the clocks have drifted since");
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn the_difference_is_within_its_bound(
            offset in -1_000_000_000_000i64..1_000_000_000_000,
            ways in prop::collection::vec((1u64..100_000_000, 1u64..100_000_000), 2..20),
        ) {
            let (here, there) = talk(offset, &ways);
            for (clock, truth) in [(here, offset), (there, -offset)] {
                let found = clock.offset().unwrap();
                prop_assert!(found.ns.abs_diff(truth) <= found.error_ns, "{found:?} of {truth}");
            }
        }

        #[test]
        fn no_stamp_breaks_it(stamps: Vec<(u64, u64, Option<i64>)>) {
            let mut clock = LinkClock::default();
            for (now, sent, echo) in stamps {
                clock.hear(now >> 1, sent, echo, true);
                let _ = (clock.echo(), clock.offset());
            }
        }
    }
}
