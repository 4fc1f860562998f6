//! What a host's cable to the switch is like, and what it has carried. Pure.

use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the cable between a host and the switch is like; both directions are alike.
///
/// Delay and loss are those of a whole way between two hosts with such cables: each cable has its half.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cable {
    /// How long a bit travels from one host to another.
    pub delay: Duration,
    /// Bits per second each way, IP headers included; `None`: unlimited.
    pub rate_bits_per_s: Option<NonZeroU64>,
    /// The part of the packets that get lost between two hosts, from 0 to below 1.
    pub loss: f64,
    /// The bytes that may wait before each direction; `None`: see [`Cable::queue`].
    pub queue_bytes: Option<u64>,
}

impl Cable {
    /// The bytes that may wait before each direction. Unless that is set: as much as passes in two round trips or in 10 ms,
    /// and at least 64 KiB. With room for one, BBR would always lose some: it has that much under way besides what the
    /// link holds, and at its start more.
    pub(crate) fn queue(&self) -> u64 {
        let time = (4 * self.delay).max(Duration::from_millis(10));
        let passing = self.rate_bits_per_s.map_or(0.0, |rate| rate.get() as f64 / 8.0 * time.as_secs_f64());
        self.queue_bytes.unwrap_or((passing as u64).max(64 << 10))
    }

    /// The most bytes that a host may send as one train of packets, so that no train holds the cable for long.
    pub(super) fn train_bytes(&self) -> u32 {
        // What gets lost should be single packets.
        if self.loss > 0.0 {
            return MTU;
        }
        let Some(rate) = self.rate_bits_per_s else { return TRAIN_MAX };
        // What finds no room too, almost.
        let held_s = TRAIN_S.max(self.delay.as_secs_f64() / TRAINS_PER_DELAY);
        let bytes = (rate.get() as f64 / 8.0 * held_s).min(self.queue() as f64 / TRAINS_PER_QUEUE);
        (bytes as u32).clamp(MTU, TRAIN_MAX)
    }

    pub(super) fn half_delay_ns(&self) -> u64 {
        u64::try_from(self.delay.as_nanos()).unwrap_or(u64::MAX) / 2
    }

    /// The loss of one cable, two of which make a way.
    pub(super) fn half_loss(&self) -> f64 {
        1.0 - (1.0 - self.loss).sqrt()
    }

    /// How long `bytes` take to pass, rounded up, so that the rate is never exceeded.
    pub(super) fn passing_ns(&self, bytes: u64) -> u64 {
        self.rate_bits_per_s.map_or(0, |rate| (bytes * 8_000_000_000).div_ceil(rate.get()))
    }
}

/// What is to be different about a cable; what is `None` stays.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Change {
    /// The new [`Cable::delay`].
    pub delay: Option<Duration>,
    /// The new [`Cable::rate_bits_per_s`].
    pub rate_bits_per_s: Option<NonZeroU64>,
    /// The new [`Cable::loss`].
    pub loss: Option<f64>,
    /// The new [`Cable::queue_bytes`].
    pub queue_bytes: Option<u64>,
}

impl Change {
    /// `cable` with this change.
    pub(super) fn of(&self, cable: &Cable) -> Cable {
        Cable {
            delay: self.delay.unwrap_or(cable.delay),
            rate_bits_per_s: self.rate_bits_per_s.or(cable.rate_bits_per_s),
            loss: self.loss.unwrap_or(cable.loss),
            queue_bytes: self.queue_bytes.or(cable.queue_bytes),
        }
    }
}

/// Packets, and their bytes with IP headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// What became of the packets that came to one direction of a cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Traffic {
    /// Came out at the other end.
    pub passed: Count,
    /// Found no room in the queue.
    pub dropped: Count,
    /// Got lost on the way at random.
    pub lost: Count,
    /// Got lost because the cable was cut.
    pub cut: Count,
    /// Had an address that no host has.
    pub stray: Count,
}

/// The largest packet, in bytes.
pub(super) const MTU: u32 = 1500;
/// The most bytes of a train: what an IP header can say.
const TRAIN_MAX: u32 = 65_535;
/// How long a train may hold a cable.
const TRAIN_S: f64 = 0.5e-3;
/// A train may hold a cable longer if the delay is longer by far.
const TRAINS_PER_DELAY: f64 = 10.0;
/// How many trains a queue has room for, at least.
const TRAINS_PER_QUEUE: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn cable(rate: u64, delay: Duration) -> Cable {
        Cable { rate_bits_per_s: NonZeroU64::new(rate), delay, ..Cable::default() }
    }

    #[test]
    fn a_queue_holds_more_than_a_round_trip() {
        assert_eq!(cable(50_000_000, Duration::from_millis(25)).queue(), 625_000);
        assert_eq!(cable(1_000_000_000, Duration::from_micros(100)).queue(), 1_250_000);
        assert_eq!(cable(9600, Duration::ZERO).queue(), 65_536);
        assert_eq!(Cable { queue_bytes: Some(3000), ..Cable::default() }.queue(), 3000);
    }

    #[test]
    fn trains_are_short() {
        let fast = cable(1_000_000_000, Duration::ZERO);
        assert_eq!(fast.train_bytes(), 62_500);
        assert_eq!(Cable { queue_bytes: Some(128 << 10), ..fast }.train_bytes(), 8192);
        assert_eq!(Cable { loss: 1e-3, ..fast }.train_bytes(), MTU);
        assert_eq!(cable(10_000_000, Duration::ZERO).train_bytes(), MTU);
        assert_eq!(Cable::default().train_bytes(), TRAIN_MAX);
        assert_eq!(cable(50_000_000, Duration::from_millis(1)).train_bytes(), 3125);
        assert_eq!(cable(50_000_000, Duration::from_millis(25)).train_bytes(), 15_625);
    }

    #[test]
    fn two_cables_make_a_way() {
        let cable = Cable { loss: 0.19, ..cable(8, Duration::from_nanos(7)) };
        assert!((cable.half_loss() - 0.1).abs() < 1e-12);
        assert_eq!((cable.half_delay_ns(), cable.passing_ns(3)), (3, 3_000_000_000));
        assert_eq!(Cable { rate_bits_per_s: NonZeroU64::new(3_000_000_000), ..cable }.passing_ns(1), 3);
    }
}
