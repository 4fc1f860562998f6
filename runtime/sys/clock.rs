//! The system's clocks, read in few instructions.
//!
//! By the C library, which finds the vDSO of the system, or does without where a tool such as valgrind hides it.

use std::time::Duration;

/// The monotonic clock: time since a moment that is the same for all processes of this boot.
#[inline]
pub fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// The real-time clock: time since 1970.
pub fn real_time() -> Duration {
    read(libc::CLOCK_REALTIME)
}

#[inline]
fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for the answer. It fails only if there is no such clock, and every system has both.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, UNIX_EPOCH};

    use super::*;

    #[test]
    fn it_goes_as_the_clock_of_the_standard_library() {
        for _ in 0..1000 {
            let (outer, first) = (Instant::now(), monotonic());
            let inner = Instant::now();
            std::thread::sleep(Duration::from_micros(10));
            let (least, second) = (inner.elapsed(), monotonic());
            assert!(least <= second - first && second - first <= outer.elapsed());
        }
    }

    /// A file's time is the system's too.
    #[test]
    fn real_time_is_that_of_files() {
        let path = std::env::temp_dir().join(format!("lathide-clock-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let written = std::fs::metadata(&path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(real_time().abs_diff(written) < Duration::from_secs(60), "{written:?}");
    }
}
