//! Waiting for sockets. One epoll instance watches all links; a helping thread sleeps in it directly. A second
//! one, the task's set, watches the first: through it the kernel's task is woken, or not, with one call for all links.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::ids::{Path, Rank};

/// Marks the event of the nudge among those of the links.
const NUDGE: u64 = u64::MAX;
/// Links reported by one call; more come with the next.
const EVENTS_MAX: usize = 64;

/// Readiness of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) path: Path,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

pub(crate) struct Poller {
    links: OwnedFd,
    task_set: TaskSet,
    nudge: OwnedFd,
}

/// The kernel task's view: readable when a link is, while it is open.
pub(crate) struct TaskSet {
    epoll: Arc<OwnedFd>,
    is_open: Mutex<bool>,
}

/// The task set's descriptor, as tokio watches it.
pub(crate) struct TaskSetDescriptor(Arc<OwnedFd>);

impl AsRawFd for TaskSetDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Poller {
    /// A poller without links; its task's set is disarmed.
    pub(crate) fn new() -> io::Result<Self> {
        let links = epoll::create(CreateFlags::CLOEXEC)?;
        let nudge = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&links, &nudge, EventData::new_u64(NUDGE), EventFlags::IN)?;
        let task_set = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&task_set, &links, EventData::new_u64(0), EventFlags::empty())?;
        Ok(Poller { links, task_set: TaskSet { epoll: Arc::new(task_set), is_open: Mutex::new(false) }, nudge })
    }

    pub(crate) fn task_set_descriptor(&self) -> TaskSetDescriptor {
        TaskSetDescriptor(self.task_set.epoll.clone())
    }

    /// Watches a link for input.
    pub(crate) fn add(&self, path: Path, socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::add(&self.links, socket, data(path), EventFlags::IN | EventFlags::RDHUP)?)
    }

    /// Watches a link for room to write too, or no longer.
    pub(crate) fn watch_writable(&self, path: Path, socket: BorrowedFd<'_>, watch: bool) -> io::Result<()> {
        let input = EventFlags::IN | EventFlags::RDHUP;
        let flags = if watch { input | EventFlags::OUT } else { input };
        Ok(epoll::modify(&self.links, socket, data(path), flags)?)
    }

    /// Watches a link for no input, until it is watched for room or no longer: what comes must wait.
    pub(crate) fn watch_no_input(&self, path: Path, socket: BorrowedFd<'_>, room: bool) -> io::Result<()> {
        let flags = if room { EventFlags::OUT } else { EventFlags::empty() };
        Ok(epoll::modify(&self.links, socket, data(path), flags)?)
    }

    /// Watches a link no longer.
    pub(crate) fn remove(&self, socket: BorrowedFd<'_>) {
        // A descriptor that was never added, or is closed, is not watched either.
        let _ = epoll::delete(&self.links, socket);
    }

    /// Which links are ready, into `ready`; waits at most `timeout` for the first. Sleeps in the system.
    /// Returns whether somebody nudges. That stays so until [`Poller::heed_nudge`]: who looks first must not take
    /// the nudge from the one it is for.
    pub(crate) fn wait(&self, ready: &mut Vec<Ready>, timeout: Duration) -> io::Result<bool> {
        ready.clear();
        let mut is_nudged = false;
        let mut events = [const { Event { flags: EventFlags::empty(), data: EventData::new_u64(0) } }; EVENTS_MAX];
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let count = match epoll::wait(&self.links, &mut events[..], Some(&timeout)) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == NUDGE {
                is_nudged = true;
                continue;
            }
            ready.push(Ready {
                path: Path { peer: Rank(data as u32), lane: (data >> 32) as u8 },
                readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
                writable: flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR),
            });
        }
        Ok(is_nudged)
    }

    /// Arms the task's set: the kernel's task is woken when a link is ready, or at once if one is.
    ///
    /// The system does not tell the task set's watcher of links that became ready while it was disarmed, if the task's set
    /// has them on its list from before. So they are looked for here, and the nudge tells.
    /// Returns whether it was armed before; then nothing is looked for.
    pub(crate) fn open_gate(&self) -> bool {
        if self.arm_task_set(true) {
            return true;
        }
        let mut links = [PollFd::new(&self.links, PollFlags::IN)];
        if poll(&mut links, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            self.nudge();
        }
        false
    }

    /// Disarms the task's set: a helper watches the links itself.
    pub(crate) fn close_gate(&self) {
        self.arm_task_set(false);
    }

    /// Returns whether it was so before.
    pub(super) fn arm_task_set(&self, open: bool) -> bool {
        let mut is_open = self.task_set.is_open.lock();
        if *is_open != open {
            let flags = if open { EventFlags::IN } else { EventFlags::empty() };
            // Both descriptors live as long as the poller, so this cannot fail.
            let changed = epoll::modify(&*self.task_set.epoll, &self.links, EventData::new_u64(0), flags);
            debug_assert!(changed.is_ok(), "the gate watches the links: {changed:?}");
            *is_open = open;
            return false;
        }
        true
    }

    /// Wakes the thread that sleeps in [`Poller::wait`], and the task if the task's set is armed.
    pub(crate) fn nudge(&self) {
        // Full means that a nudge is pending already.
        let _ = rustix::io::write(&self.nudge, &1u64.to_ne_bytes());
    }

    /// The nudge has reached the one it is for.
    pub(crate) fn heed_nudge(&self) {
        // Nothing to read means that another has heeded it.
        let _ = rustix::io::read(&self.nudge, &mut [0; 8]);
    }
}

fn data(path: Path) -> EventData {
    EventData::new_u64(u64::from(path.lane) << 32 | u64::from(path.peer.0))
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.links.as_fd()
    }
}
