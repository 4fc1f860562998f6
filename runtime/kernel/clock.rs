//! The one place that reads the clock for the engine.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time since the node started.
// Not by `std::time::Instant`, whose difference costs as much again as the reading: a short message needs several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Timespec,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { began: clock_gettime(ClockId::Monotonic) }
    }

    pub(crate) fn now(&self) -> Duration {
        let now = clock_gettime(ClockId::Monotonic);
        let (seconds, nanoseconds) = (now.tv_sec - self.began.tv_sec, now.tv_nsec - self.began.tv_nsec);
        if nanoseconds < 0 {
            return Duration::new(seconds as u64 - 1, (nanoseconds + 1_000_000_000) as u32);
        }
        Duration::new(seconds as u64, nanoseconds as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_as_the_clock_of_the_standard_library() {
        for _ in 0..1000 {
            let (began, clock) = (std::time::Instant::now(), Clock::start());
            let first = clock.now();
            std::thread::sleep(Duration::from_micros(10));
            let (second, most) = (clock.now(), began.elapsed());
            assert!(first <= second && second - first >= Duration::from_micros(10) && second <= most);
        }
    }

    /// The nanoseconds of the start are mostly more than those of the time now.
    #[test]
    fn it_carries_from_seconds_to_nanoseconds() {
        let before = clock_gettime(ClockId::Monotonic);
        let began = Timespec { tv_sec: before.tv_sec - 2, tv_nsec: 999_999_999 };
        let now = Clock { began }.now();
        let least = Duration::new(before.tv_sec as u64, before.tv_nsec as u32)
            - Duration::new(began.tv_sec as u64, 999_999_999);
        assert!(now >= least && now < least + Duration::from_secs(60));
    }
}
