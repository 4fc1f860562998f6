//! When a byte leaves and when it arrives: the arithmetic of an emulated link. Pure; times are nanoseconds of one clock.

use std::time::Duration;

use super::spec::LinkSpec;

/// A link's figures in the units of the relay.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) delay_ns: u64,
    jitter_ns: u64,
    /// Zero: unlimited.
    pub(super) ns_per_byte: f64,
    pub(super) shared: bool,
    /// Bytes with more behind them arrive at multiples of this: all directions share these wake-ups.
    pub(super) grain_ns: u64,
    /// The most bytes that are sent as one.
    pub(super) piece_bytes: usize,
    /// The most bytes that one direction of a connection holds.
    pub(super) queue_bytes_max: usize,
}

impl Shape {
    /// The shape of `link`; `Err` if more bytes are in flight on it than the relay holds.
    pub(super) fn of(link: &LinkSpec) -> Result<Shape, String> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (delay_ns, jitter_ns) = (nanoseconds(link.delay), nanoseconds(link.jitter));
        let ns_per_byte = link.rate_bits_per_s.map_or(0.0, |rate| 8e9 / rate.get() as f64);
        let (mut grain_ns, mut piece_bytes, mut queue_bytes_max) = (1, usize::MAX, UNLIMITED_QUEUE_BYTES);
        if ns_per_byte > 0.0 {
            let worth_a_wake_ns = (WAKE_BYTES * ns_per_byte) as u64;
            grain_ns = worth_a_wake_ns.max(delay_ns / GRAINS_PER_DELAY).clamp(GRAIN_NS_MIN, GRAIN_NS_MAX);
            piece_bytes = ((grain_ns as f64 / ns_per_byte) as usize).max(PIECE_BYTES_MIN);
            // Thrice the queue before the link: what is due but not yet written, since the relay woke late, counts too.
            let held_ns = delay_ns as f64 + jitter_ns as f64 + 3.0 * AHEAD_NS as f64;
            let held = held_ns / ns_per_byte;
            if held > LIMITED_QUEUE_BYTES_MAX as f64 {
                return Err(format!(
                    "the link {link} holds {} MB in flight per direction, the relay at most 256 MiB; lower its delay or \
                     its rate",
                    held as u64 / 1_000_000
                ));
            }
            queue_bytes_max = held as usize + 2 * piece_bytes + QUEUE_BYTES_MIN;
        }
        Ok(Shape { delay_ns, jitter_ns, ns_per_byte, shared: link.shared, grain_ns, piece_bytes, queue_bytes_max })
    }

    /// Bytes that pass in this time; `None` if unlimited.
    pub(super) fn bytes_in(&self, ns: u64) -> Option<usize> {
        (self.ns_per_byte > 0.0).then(|| (ns as f64 / self.ns_per_byte) as usize)
    }

    /// When what has left at `sent_ns` arrives.
    pub(super) fn due_ns(&self, sent_ns: u64, random: &mut fastrand::Rng) -> u64 {
        sent_ns + self.delay_ns + random.u64(0..=self.jitter_ns)
    }
}

/// One capacity: of one direction of one connection, or, if shared, of all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Medium {
    /// When the last byte that was taken has left.
    free_ns: u64,
}

impl Medium {
    /// From when on bytes may be taken. Not at once when there is room for one more byte, so that taking is seldom.
    pub(super) fn opens_ns(&self, shape: &Shape) -> u64 {
        if shape.ns_per_byte > 0.0 { self.free_ns.saturating_sub(AHEAD_NS - TAKE_NS) } else { 0 }
    }

    /// How many bytes may be taken now.
    pub(super) fn room_bytes(&self, shape: &Shape, now_ns: u64) -> usize {
        if shape.ns_per_byte == 0.0 {
            return usize::MAX;
        }
        if self.opens_ns(shape) > now_ns {
            return 0;
        }
        // On a shared medium each sender gets one piece at a time.
        let piece = shape.piece_bytes;
        let ahead_ns = AHEAD_NS.saturating_sub(self.free_ns.saturating_sub(now_ns));
        if shape.shared { piece } else { piece.max((ahead_ns as f64 / shape.ns_per_byte) as usize) }
    }

    /// Sends `bytes`; tells when the last of them has left.
    pub(super) fn send(&mut self, shape: &Shape, bytes: usize, now_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + (bytes as f64 * shape.ns_per_byte).round() as u64;
        self.free_ns
    }
}

/// The queue before the link, in time, like a network card's. As long as the relay may sleep past its time on a busy
/// machine: taken from a full queue, the link then has no idle gap.
const AHEAD_NS: u64 = 10_000_000;
/// How much of that queue must be free before more is taken: at most 500 reads per second and direction.
const TAKE_NS: u64 = 2_000_000;
/// At most 2000 wake-ups per second.
const GRAIN_NS_MIN: u64 = 500_000;
/// On a slow link fewer do, since each costs the computation beside it some 30 us: one for so many bytes.
const WAKE_BYTES: f64 = (32 << 10) as f64;
/// On a long link too.
const GRAINS_PER_DELAY: u64 = 25;
/// What is taken at once; it is much less than the queue.
const GRAIN_NS_MAX: u64 = TAKE_NS;
/// A full Ethernet frame's worth of payload.
const PIECE_BYTES_MIN: usize = 1460;
/// Without a rate: allows 20 Gbit/s over 25 ms.
const UNLIMITED_QUEUE_BYTES: usize = 64 << 20;
/// With a rate, the memory is the link's doing; but beyond this it is probably a mistake.
const LIMITED_QUEUE_BYTES_MAX: usize = 256 << 20;
/// Room for some small messages on the slowest links.
const QUEUE_BYTES_MIN: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        Shape::of(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn bytes_leave_one_after_the_other() {
        let (shape, mut medium) = (shape("rate=100mbit"), Medium::default());
        assert_eq!(shape.piece_bytes, 25_000);
        assert_eq!(medium.send(&shape, 1000, 5_000_000), 5_080_000);
        assert_eq!(medium.send(&shape, 1000, 5_000_000), 5_160_000);
        assert_eq!(medium.send(&shape, 8, 9_000_000), 9_000_640);
    }

    #[test]
    fn a_full_queue_closes_and_opens_again() {
        let (shape, mut medium) = (shape("rate=100mbit"), Medium::default());
        assert_eq!(medium.room_bytes(&shape, 0), 125_000);
        medium.send(&shape, 125_000, 0);
        assert_eq!(medium.opens_ns(&shape), 2_000_000);
        assert_eq!(medium.room_bytes(&shape, 1_999_999), 0);
        assert_eq!(medium.room_bytes(&shape, 2_000_000), 25_000);
        // An idle link does not save up capacity.
        assert_eq!(medium.room_bytes(&shape, 1_000_000_000), 125_000);
    }

    #[test]
    fn the_slowest_and_the_unlimited_link_have_room() {
        let (slow, mut medium) = (shape("rate=1bit"), Medium::default());
        assert_eq!(medium.room_bytes(&slow, 0), PIECE_BYTES_MIN);
        assert_eq!(medium.send(&slow, 8, 0), 64_000_000_000);
        let (unlimited, mut medium) = (shape("delay=25ms"), Medium::default());
        assert_eq!(medium.send(&unlimited, 1 << 30, 7), 7);
        assert_eq!(medium.room_bytes(&unlimited, 7), usize::MAX);
        assert!(unlimited.queue_bytes_max as f64 / 0.025 * 8.0 > 5e9);
    }

    #[test]
    fn too_much_in_flight_is_refused() {
        assert!(Shape::of(&"delay=1s,rate=1gbit".parse().unwrap()).is_ok());
        assert!(Shape::of(&"delay=60s,rate=1gbit".parse().unwrap()).is_err_and(|why| why.contains("holds 7")));
    }

    #[test]
    fn jitter_covers_its_range() {
        let (mut random, jittery) = (fastrand::Rng::with_seed(0), shape("delay=1us,jitter=0.009us"));
        let drawn: Vec<u64> = (0..1000).map(|_| jittery.due_ns(5, &mut random)).collect();
        assert!((1005..=1014).all(|value| drawn.iter().filter(|&&d| d == value).count() > 50), "{drawn:?}");
        assert_eq!(shape("delay=1us").due_ns(5, &mut random), 1005);
    }
}
