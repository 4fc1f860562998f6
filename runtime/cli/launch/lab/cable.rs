//! What a host's cable to the switch is like, and what it has carried. Pure.

use std::num::NonZeroU64;
use std::time::Duration;

use lathide::launcher::quantity::{PART, Quantity, SIZE};
use serde::{Deserialize, Serialize};

use crate::launch::link::LinkSpec;

/// What the cable between a host and the switch is like; both directions are alike. What is not set is as it was, or as at
/// first: no delay, no limit, no loss, and a queue to match.
///
/// Delay and loss are those of a whole way between two hosts with such cables: each cable has its half.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
pub(crate) struct Cable {
    /// How long a packet travels from one host to another with such a cable (0ms unless set)
    #[arg(long, value_name = "TIME", value_parser = LinkSpec::parse_delay)]
    pub delay: Option<Duration>,
    /// The rate of each host, each way, such as 50mbit (as fast as this machine is unless set)
    #[arg(long, value_name = "RATE", value_parser = LinkSpec::parse_rate)]
    pub rate: Option<NonZeroU64>,
    /// The rate of each host's own network card, in front of its cable; what waits for it waits within the host, where TCP
    /// knows of it (as fast as this machine is unless set)
    #[arg(long, value_name = "RATE", value_parser = LinkSpec::parse_rate)]
    pub host_rate: Option<NonZeroU64>,
    /// The part of the packets that gets lost between two hosts with such cables, such as 0.1% or 0.001 (none unless set)
    #[arg(long, value_name = "PART", value_parser = loss)]
    pub loss: Option<f64>,
    /// What may wait before each direction of a host's cable, such as 128KiB (unless set, what passes in two round
    /// trips or in 10 ms, at least 64KiB)
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| QUEUE.one::<u64>(text))]
    pub queue: Option<u64>,
}

impl Cable {
    /// The bytes that may wait before each direction. Unless it is set, as much as passes in two round trips or in 10 ms,
    /// and at least 64 KiB. With room for one, BBR would always lose some: it has that much under way besides what the
    /// link holds, and at its start more.
    pub(super) fn queue_bytes(&self) -> u64 {
        let time = (4 * self.delay()).max(Duration::from_millis(10));
        let passing = self.rate.map_or(0.0, |rate| rate.get() as f64 / 8.0 * time.as_secs_f64());
        self.queue.unwrap_or((passing as u64).max(64 << 10))
    }

    /// How long a bit travels from one host to another.
    pub(super) fn delay(&self) -> Duration {
        self.delay.unwrap_or_default()
    }

    /// The part of the packets that get lost between two hosts.
    pub(super) fn loss(&self) -> f64 {
        self.loss.unwrap_or_default()
    }

    /// This cable with a change.
    pub(super) fn changed(&self, to: &Cable) -> Cable {
        Cable {
            delay: to.delay.or(self.delay),
            rate: to.rate.or(self.rate),
            host_rate: to.host_rate.or(self.host_rate),
            loss: to.loss.or(self.loss),
            queue: to.queue.or(self.queue),
        }
    }

    /// The most bytes that a host may send as one train of packets, so that no train holds the cable for long.
    pub(super) fn train_bytes(&self) -> u32 {
        // What gets lost should be single packets, and so should what a network card sends.
        if self.loss() > 0.0 || self.host_rate.is_some() {
            return MTU;
        }
        let Some(rate) = self.rate else { return TRAIN_MAX };
        // What finds no room too, almost.
        let held_s = TRAIN_S.max(self.delay().as_secs_f64() / TRAINS_PER_DELAY);
        let bytes = (rate.get() as f64 / 8.0 * held_s).min(self.queue_bytes() as f64 / TRAINS_PER_QUEUE);
        (bytes as u32).clamp(MTU, TRAIN_MAX)
    }

    pub(super) fn half_delay_ns(&self) -> u64 {
        u64::try_from(self.delay().as_nanos()).unwrap_or(u64::MAX) / 2
    }

    /// The loss of one cable, two of which make a way.
    pub(super) fn half_loss(&self) -> f64 {
        1.0 - (1.0 - self.loss()).sqrt()
    }

    /// How long `bytes` take to pass, rounded up, so that the rate is never exceeded.
    pub(super) fn passing_ns(&self, bytes: u64) -> u64 {
        self.rate.map_or(0, |rate| (bytes * 8_000_000_000).div_ceil(rate.get()))
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

/// A part of the packets.
fn loss(text: &str) -> Result<f64, String> {
    PART.within("0", "99.99%").one(text).map_err(|why| format!("{why}; to lose all, cut a host's cable"))
}

/// A cable holds no more.
const QUEUE: Quantity = SIZE.within("1B", "256MiB");
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
        Cable { rate: NonZeroU64::new(rate), delay: Some(delay), ..Cable::default() }
    }

    #[test]
    fn a_queue_holds_more_than_a_round_trip() {
        assert_eq!(cable(50_000_000, Duration::from_millis(25)).queue_bytes(), 625_000);
        assert_eq!(cable(1_000_000_000, Duration::from_micros(100)).queue_bytes(), 1_250_000);
        assert_eq!(cable(9600, Duration::ZERO).queue_bytes(), 65_536);
        assert_eq!(Cable { queue: Some(3000), ..Cable::default() }.queue_bytes(), 3000);
    }

    #[test]
    fn trains_are_short() {
        let fast = cable(1_000_000_000, Duration::ZERO);
        assert_eq!(fast.train_bytes(), 62_500);
        assert_eq!(Cable { queue: Some(128 << 10), ..fast }.train_bytes(), 8192);
        assert_eq!(Cable { loss: Some(1e-3), ..fast }.train_bytes(), MTU);
        assert_eq!(cable(10_000_000, Duration::ZERO).train_bytes(), MTU);
        assert_eq!(Cable::default().train_bytes(), TRAIN_MAX);
        assert_eq!(cable(50_000_000, Duration::from_millis(1)).train_bytes(), 3125);
        assert_eq!(cable(50_000_000, Duration::from_millis(25)).train_bytes(), 15_625);
    }

    #[test]
    fn two_cables_make_a_way() {
        let cable = Cable { loss: Some(0.19), ..cable(8, Duration::from_nanos(7)) };
        assert!((cable.half_loss() - 0.1).abs() < 1e-12);
        assert_eq!((cable.half_delay_ns(), cable.passing_ns(3)), (3, 3_000_000_000));
        assert_eq!(Cable { rate: NonZeroU64::new(3_000_000_000), ..cable }.passing_ns(1), 3);
    }
}
