//! The primitives of the hand-over, under shuttle's control: what [`super::super::sync`] is in production.

use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

pub(super) use shuttle::sync::atomic::{AtomicU64, AtomicUsize};

use super::machine::{self, Fault};

/// parking_lot's face. It counts what each thread has locked.
#[derive(Default)]
pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

pub(crate) struct MutexGuard<'a, T>(shuttle::sync::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        machine::holds(1);
        MutexGuard(guard)
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = self.0.try_lock().ok()?;
        machine::holds(1);
        Some(MutexGuard(guard))
    }
}

impl<T> MutexGuard<'_, T> {
    /// Who is next is up to the schedule in any case.
    pub(super) fn unlock_fair(guard: Self) {
        drop(guard);
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        machine::holds(-1);
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

pub(super) struct AtomicBool(shuttle::sync::atomic::AtomicBool);

impl AtomicBool {
    pub(super) fn new(value: bool) -> Self {
        AtomicBool(shuttle::sync::atomic::AtomicBool::new(value))
    }

    pub(super) fn load(&self, order: Ordering) -> bool {
        self.0.load(order)
    }

    pub(super) fn store(&self, value: bool, order: Ordering) {
        self.0.store(value, order);
    }

    pub(super) fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(value, order)
    }

    pub(super) fn compare_exchange(&self, old: bool, new: bool, on: Ordering, off: Ordering) -> Result<bool, bool> {
        if machine::with(|state| state.fault == Fault::ExchangeIsTorn) {
            let found = self.load(off);
            return if found == old {
                self.store(new, on);
                Ok(found)
            } else {
                Err(found)
            };
        }
        self.0.compare_exchange(old, new, on, off)
    }
}

pub(super) struct AtomicU32(shuttle::sync::atomic::AtomicU32);

impl AtomicU32 {
    pub(super) fn new(value: u32) -> Self {
        AtomicU32(shuttle::sync::atomic::AtomicU32::new(value))
    }

    pub(super) fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value, order)
    }

    pub(super) fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        match machine::with(|state| state.fault) {
            Fault::ReasonIsLost(reason) if reason.bit() == bits => self.0.fetch_or(0, order),
            Fault::ReasonIsTorn => {
                let found = self.0.load(order);
                self.0.store(found | bits, order);
                found
            }
            _ => self.0.fetch_or(bits, order),
        }
    }
}

/// Tokio's, with one that waits: the machine's task.
pub(super) struct Notify;

impl Notify {
    pub(super) fn new() -> Self {
        Notify
    }

    pub(super) fn notify_one(&self) {
        machine::with(|state| {
            assert!(!state.is_notified, "the task is woken twice for the same");
            if state.fault == Fault::WakeUpIsLost && machine::once_in(4) {
                state.fault = Fault::None;
            } else {
                state.is_notified = true;
            }
        });
    }

    /// Who polls it sleeps on the machine until it is notified.
    pub(super) fn notified(&self) -> impl Future<Output = ()> {
        poll_fn(|_| match machine::with(|state| std::mem::take(&mut state.is_notified)) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
    }
}

/// A moment on the machine's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(super) fn now() -> Self {
        Instant(machine::with(|state| state.now))
    }

    pub(super) fn after(self, time: Duration) -> Self {
        Instant(self.0 + time)
    }

    pub(super) fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

pub(super) mod thread {
    use std::time::Duration;

    use super::super::machine::{self, Fault};

    #[derive(Clone, Copy)]
    pub(crate) struct Thread(usize);

    pub(crate) fn current() -> Thread {
        Thread(machine::me())
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            machine::with(|state| {
                if state.fault == Fault::UnparkIsLost && machine::once_in(4) {
                    state.fault = Fault::None;
                } else {
                    state.unparked.insert(self.0);
                }
            });
        }
    }

    pub(crate) fn park_timeout(timeout: Duration) {
        let me = machine::me();
        machine::sleep_for(timeout, |state| state.unparked.remove(&me).then_some(()), |_| ());
    }
}
