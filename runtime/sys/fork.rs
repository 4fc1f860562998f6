//! Whether a process has been forked from the one that made something that a child must not use.
//!
//! A child of `fork(2)` has one thread, and the descriptors of its parent: whoever relied on the other threads, or writes to
//! those descriptors, must know. [`Flag`]s are set in the child before `fork` returns there. What is set is what was there
//! already: flags that somebody looks at anyway cost nothing more.

use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// A flag that becomes `true` in every process that is forked from this one while the flag is there. It is also its owner's
/// to set.
pub struct Flag(&'static Slot);

/// Never freed, but used again. Alone in its cache lines, since it is looked at often.
#[repr(align(128))]
struct Slot {
    flag: AtomicBool,
    is_used: AtomicBool,
    next: OnceLock<&'static Slot>,
}

static FIRST: Slot = Slot::new();
static WATCH: Once = Once::new();

impl Slot {
    const fn new() -> Self {
        Slot { flag: AtomicBool::new(false), is_used: AtomicBool::new(false), next: OnceLock::new() }
    }

    fn all() -> impl Iterator<Item = &'static Slot> {
        std::iter::successors(Some(&FIRST), |slot| slot.next.get().copied())
    }
}

impl Flag {
    /// A flag that is not set.
    pub fn new() -> Self {
        WATCH.call_once(|| {
            // SAFETY: `set_all` does what is allowed in a child of `fork`: it reads and writes atomics, and neither locks nor
            // allocates. Without memory for the handler the call fails; then a child's flags are not set.
            _ = unsafe { libc::pthread_atfork(None, None, Some(set_all)) };
        });
        let mut slot: &'static Slot = &FIRST;
        while slot.is_used.swap(true, Ordering::AcqRel) {
            slot = slot.next.get_or_init(|| Box::leak(Box::new(Slot::new())));
        }
        slot.flag.store(false, Ordering::Release);
        Flag(slot)
    }
}

impl Default for Flag {
    fn default() -> Self {
        Flag::new()
    }
}

impl Deref for Flag {
    type Target = AtomicBool;
    fn deref(&self) -> &AtomicBool {
        &self.0.flag
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.is_used.store(false, Ordering::Release);
    }
}

/// Runs `program` in a process that is forked from this one, and returns its exit status: what `program` returned, or 101 if
/// it panicked. For tests of what a child may not do.
///
/// # Errors
/// There is no process, or a signal has ended it.
pub fn in_child(program: impl FnOnce() -> u8) -> io::Result<u8> {
    // SAFETY: the child has this one thread. The C libraries of Linux keep their allocator usable in it; any other lock may be
    // held for ever, which blocks the child, and touches no memory.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        let status = catch_unwind(AssertUnwindSafe(program)).unwrap_or(101);
        // SAFETY: ends the process at once, with neither destructors nor what was to run at its exit.
        unsafe { libc::_exit(status.into()) }
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status to a place of this function.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let by_itself = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u8);
    by_itself.ok_or_else(|| io::Error::other(format!("the child was ended by signal {}", libc::WTERMSIG(status))))
}

extern "C" fn set_all() {
    Slot::all()
        .filter(|slot| slot.is_used.load(Ordering::Acquire))
        .for_each(|slot| slot.flag.store(true, Ordering::Release));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_start_unset() {
        let flags: Vec<Flag> = (0..9).map(|_| Flag::new()).collect();
        let count = Slot::all().count();
        assert!(flags.iter().all(|flag| !flag.load(Ordering::Relaxed)));
        flags[4].store(true, Ordering::Relaxed);
        drop(flags);
        let again: Vec<Flag> = (0..9).map(|_| Flag::new()).collect();
        // Another test may have one meanwhile.
        assert!(Slot::all().count() <= count + 1);
        assert!(again.iter().all(|flag| !flag.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_child_sees_the_flags_of_its_parent_set() {
        let flag = Flag::new();
        let seen = in_child(|| u8::from(flag.load(Ordering::Acquire))).expect("a child");
        assert_eq!(seen, 1);
        assert_eq!(in_child(|| panic!("as the test wants it")).expect("a child"), 101);
        assert!(!flag.load(Ordering::Acquire), "nothing changes here");
    }
}
