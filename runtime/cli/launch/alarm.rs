//! One epoll instance that also wakes at a moment: what the emulated link and the virtual network's switch wait with.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::{Errno, Result};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};

/// Descriptors to be watched, and a moment.
pub(super) struct Alarm {
    epoll: OwnedFd,
    /// Not epoll's own timeout: rustix passes that on in milliseconds. It also has no slack, and is absolute.
    timer: OwnedFd,
    armed_ns: Option<u64>,
}

impl Alarm {
    /// Nothing is watched yet.
    pub(super) fn new() -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered, the timer need not be read.
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Alarm { epoll, timer, armed_ns: None })
    }

    /// Watches `descriptor`, whose events carry `token`.
    pub(super) fn watch(&self, descriptor: impl AsFd, token: u64, flags: EventFlags) -> Result<()> {
        epoll::add(&self.epoll, descriptor, EventData::new_u64(token), flags)
    }

    /// Watches for something else from now on.
    pub(super) fn watch_for(&self, descriptor: impl AsFd, token: u64, flags: EventFlags) -> Result<()> {
        epoll::modify(&self.epoll, descriptor, EventData::new_u64(token), flags)
    }

    /// Watches it no more.
    pub(super) fn forget(&self, descriptor: impl AsFd) -> Result<()> {
        epoll::delete(&self.epoll, descriptor)
    }

    /// Sleeps until a descriptor has something to say or `wakes_ns` has come; `None`: however long that is. Adds what has
    /// happened to `events`, up to its capacity; for the moment a [`TIMER`].
    pub(super) fn sleep(&mut self, wakes_ns: Option<u64>, events: &mut Vec<Event>) -> Result<()> {
        let due = wakes_ns.is_some_and(|at_ns| at_ns <= clock_ns());
        if !due && wakes_ns != self.armed_ns {
            // Time zero, long past, disarms.
            let at_ns = wakes_ns.unwrap_or(0);
            let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
            let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
            self.armed_ns = wakes_ns;
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), due.then_some(&at_once)) {
            Err(Errno::INTR) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The token of the event that only says that the moment has come.
pub(super) const TIMER: u64 = u64::MAX;

/// Nanoseconds of the clock that moments are told by.
pub(super) fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
