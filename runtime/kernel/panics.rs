//! A panic of one thread does not leave the others waiting: the node fails, with an error that says so.
//!
//! Code of the program runs under the core's lock in few places (a buffer's methods), and outside it where wakers wake.
//! Whoever unwinds with the core locked leaves it half changed, so nothing of it is trusted any more: its connections
//! close, and every operation ends with [`crate::error::Error::Panicked`].

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

use super::core::Core;
use super::sync::MutexGuard;

/// The core, locked.
pub(crate) struct Locked<'a> {
    core: Option<MutexGuard<'a, Core>>,
    /// One who unwinds already when it locks has not been interrupted with the core half changed.
    was_panicking: bool,
}

impl<'a> Locked<'a> {
    pub(super) fn new(core: MutexGuard<'a, Core>) -> Self {
        Locked { core: Some(core), was_panicking: std::thread::panicking() }
    }

    /// Unlocks. `fair`: a thread in line gets the lock, not one that comes back for it at once.
    pub(super) fn unlock(mut self, fair: bool) {
        match self.core.take() {
            Some(core) if fair => MutexGuard::unlock_fair(core),
            core => drop(core),
        }
    }
}

impl Deref for Locked<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.core.as_ref().expect("it is locked until it is dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        self.core.as_mut().expect("it is locked until it is dropped")
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(core) = self.core.take()
            && std::thread::panicking()
            && !self.was_panicking
        {
            break_down(core);
        }
    }
}

#[cold]
fn break_down(mut core: MutexGuard<'_, Core>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a thread without a name");
    let wakers = core.break_down(&format!("{name} panicked while it moved messages; look at its output"));
    drop(core);
    // A second panic would end the process.
    let _ = catch_unwind(AssertUnwindSafe(|| wake(wakers)));
}

/// Wakes all, also if one of them panics.
pub(super) fn wake(wakers: Vec<Waker>) {
    if wakers.is_empty() {
        return;
    }
    let mut panicked = None;
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            panicked.get_or_insert(payload);
        }
    }
    if let Some(payload) = panicked {
        resume_unwind(payload);
    }
}
