//! Who made the processor, and the time that a thread has had of it, as other threads of the process can read it.

use std::time::Duration;

/// Tells the processor time of one thread of this process.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the calling thread; `None` if the system has none.
    pub fn here() -> Option<Self> {
        let mut clock = 0;
        // SAFETY: the calling thread is alive, and `clock` is a place for the answer.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        (failed == 0).then_some(ThreadClock(clock))
    }

    /// The processor time that the thread has used so far; `None` once it has ended.
    pub fn read(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a place for the answer. A clock that is there no more is an error, nothing else.
        let failed = unsafe { libc::clock_gettime(self.0, &mut time) };
        (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

/// Whether it is one of AMD's, or built like them.
pub fn is_by_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every processor of this kind has it. Newer compilers know that.
        #[allow(unused_unsafe, reason = "older ones do not")]
        let vendor = unsafe { std::arch::x86_64::__cpuid(0) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        matches!(name.as_flattened(), b"AuthenticAMD" | b"HygonGenuine")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system reads the same.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn who_made_the_processor_is_known() {
        let about = std::fs::read_to_string("/proc/cpuinfo").expect("Linux");
        assert_eq!(is_by_amd(), about.contains("AuthenticAMD") || about.contains("HygonGenuine"));
    }

    #[test]
    fn a_threads_work_is_seen_by_others() {
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(1);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let worker = std::thread::spawn(move || {
            let clock = ThreadClock::here().expect("a clock");
            while clock.read().expect("it runs") < Duration::from_millis(5) {}
            tell.send(clock).expect("a listener");
            _ = ended.recv();
        });
        let clock = told.recv().expect("its clock");
        assert!(clock.read().expect("it lives") >= Duration::from_millis(5));
        drop(end);
        worker.join().expect("it ends");
    }
}
