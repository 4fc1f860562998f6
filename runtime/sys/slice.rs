//! How long a thread may run before another has its turn.
//!
//! Since 6.6 Linux gives processors to threads by virtual deadlines (EEVDF): who asks for a short slice has an early
//! deadline, and preempts who has asked for a long one. Since 6.12 a thread says itself how long its slice shall be, in
//! `sched_runtime` of `sched_setattr(2)`, without any privilege; its share of the processor stays the same. Without that a
//! thread that wakes up while others compute waits for the end of their slices, of some milliseconds.

use std::io;
use std::time::Duration;

/// Asks for slices of `slice`, between 0.1 and 100 ms, for the calling thread and those that it starts. Its policy and
/// niceness stay.
///
/// # Errors
/// A sandbox forbids it. A Linux before 6.12 takes the call and goes on as before.
pub fn request(slice: Duration) -> io::Result<()> {
    let mut attributes = system::get()?;
    attributes.runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    system::set(&attributes)
}

mod system {
    use std::io;

    /// `struct sched_attr` in its first version, which every Linux since 3.14 knows (sched_setattr(2)).
    #[repr(C)]
    #[derive(Default)]
    pub(crate) struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        pub(crate) runtime: u64,
        deadline: u64,
        period: u64,
    }

    const SIZE: u32 = size_of::<Attributes>() as u32;
    /// The calling thread, and no flags.
    const SELF: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;

    pub(crate) fn get() -> io::Result<Attributes> {
        let mut attributes = Attributes::default();
        // SAFETY: the system writes at most SIZE bytes to a place that has as many, is mutable, and holds plain integers.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, SELF, &raw mut attributes, SIZE, NO_FLAGS) };
        outcome(result).map(|()| attributes)
    }

    pub(crate) fn set(attributes: &Attributes) -> io::Result<()> {
        let attributes = Attributes { size: SIZE, flags: 0, ..*attributes };
        // SAFETY: the system reads the bytes that `size` says, which the place has, and keeps no pointer to them.
        outcome(unsafe { libc::syscall(libc::SYS_sched_setattr, SELF, &raw const attributes, NO_FLAGS) })
    }

    fn outcome(result: libc::c_long) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calling thread's slice; zero where the system does not say.
    fn current() -> io::Result<Duration> {
        Ok(Duration::from_nanos(system::get()?.runtime))
    }

    #[test]
    fn a_thread_has_the_slice_it_asks_for_and_others_keep_theirs() {
        let before = current().expect("every Linux says");
        if before.is_zero() {
            // Linux before 6.12 takes the call, and there is nothing to see.
            return request(Duration::from_millis(1)).expect("no privilege is needed");
        }
        for micros in [100, 250, 3_000, 100_000] {
            let asked = Duration::from_micros(micros);
            let has = std::thread::spawn(move || request(asked).and_then(|()| current()));
            assert_eq!(has.join().expect("no panic").expect("no privilege is needed"), asked);
        }
        let limited = std::thread::spawn(|| request(Duration::from_nanos(1)).and_then(|()| current()));
        assert_eq!(limited.join().expect("no panic").expect("taken"), Duration::from_micros(100), "no shorter");
        assert_eq!(current().expect("as before"), before, "of this thread");
    }
}
