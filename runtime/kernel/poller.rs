//! Waiting for sockets. One epoll instance watches all links; a helping thread sleeps in it directly. A second
//! one, the task's set, watches the first: through it the kernel's task is woken, or not, with one call for all links.
//!
//! Whatever comes on a socket that is watched, the system tells both instances, also where nobody hears: that takes 3 to 6 % of a short
//! message's time. So where few links are polled wait after wait, they are not watched until somebody waits for them here.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::ids::{Path, Rank};

/// Marks the event of the nudge among those of the links.
const NUDGE: u64 = u64::MAX;
/// Links reported by one call; more come with the next.
const EVENTS_MAX: usize = 64;
/// Links that need not be watched while they are polled: watching them again takes a call for each.
const UNWATCHED_MAX: usize = 4;
/// What every link is watched for.
const INPUT: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

/// Readiness of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) path: Path,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// A socket that can be watched.
type Pollable = Arc<dyn AsFd + Send + Sync>;

pub(crate) struct Poller {
    links: OwnedFd,
    /// The kernel task's view: readable when a link is, while it is armed.
    task_set: Arc<OwnedFd>,
    nudge: OwnedFd,
    state: Mutex<State>,
}

struct State {
    /// The lanes' sockets, and what each is to be watched for.
    sockets: BTreeMap<Path, (Pollable, EventFlags)>,
    /// Whether they are watched.
    are_watched: bool,
    /// Threads in [`Poller::wait`].
    waiting: usize,
    /// Whether the task's set is armed.
    is_armed: bool,
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
        let state = State { sockets: BTreeMap::new(), are_watched: true, waiting: 0, is_armed: false };
        Ok(Poller { links, task_set: Arc::new(task_set), nudge, state: Mutex::new(state) })
    }

    pub(crate) fn task_set_descriptor(&self) -> TaskSetDescriptor {
        TaskSetDescriptor(self.task_set.clone())
    }

    /// Watches a link for input.
    pub(crate) fn add(&self, path: Path, socket: Pollable) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.are_watched {
            epoll::add(&self.links, &*socket, data(path), INPUT)?;
        }
        state.sockets.insert(path, (socket, INPUT));
        Ok(())
    }

    /// Watches a link for room to write too, or no longer.
    pub(crate) fn watch_writable(&self, path: Path, watch: bool) -> io::Result<()> {
        self.watch_for(path, if watch { INPUT | EventFlags::OUT } else { INPUT })
    }

    /// Watches a link for no input, until it is watched for room or no longer: what comes must wait.
    pub(crate) fn watch_no_input(&self, path: Path, room: bool) -> io::Result<()> {
        self.watch_for(path, if room { EventFlags::OUT } else { EventFlags::empty() })
    }

    fn watch_for(&self, path: Path, flags: EventFlags) -> io::Result<()> {
        let mut state = self.state.lock();
        let are_watched = state.are_watched;
        let Some((socket, watched)) = state.sockets.get_mut(&path) else { return Err(io::ErrorKind::NotFound.into()) };
        *watched = flags;
        if are_watched {
            epoll::modify(&self.links, &**socket, data(path), flags)?;
        }
        Ok(())
    }

    /// Watches a link no longer.
    pub(crate) fn remove(&self, path: Path) {
        let mut state = self.state.lock();
        if let Some((socket, _)) = state.sockets.remove(&path)
            && state.are_watched
        {
            // It was added, and so it is there.
            let _ = epoll::delete(&self.links, &*socket);
        }
    }

    /// Whoever waits polls the links itself, wait after wait: if they are few, they are watched no longer until somebody waits here, or
    /// the task's set is armed. Returns whether they are now.
    pub(crate) fn stop_watching(&self) -> bool {
        let mut state = self.state.lock();
        if !state.are_watched || state.is_armed || state.waiting > 0 || state.sockets.len() > UNWATCHED_MAX {
            return false;
        }
        for (socket, _) in state.sockets.values() {
            let _ = epoll::delete(&self.links, &**socket);
        }
        state.are_watched = false;
        true
    }

    /// Watches them again. What has come meanwhile is told of.
    fn watch_again(&self, state: &mut State) -> io::Result<()> {
        if state.are_watched {
            return Ok(());
        }
        for (path, (socket, flags)) in &state.sockets {
            match epoll::add(&self.links, &**socket, data(*path), *flags) {
                // Of an earlier attempt that failed at another.
                Err(Errno::EXIST) => epoll::modify(&self.links, &**socket, data(*path), *flags)?,
                added => added?,
            }
        }
        state.are_watched = true;
        Ok(())
    }

    /// Which links are ready, into `ready`; waits at most `timeout` for the first. Sleeps in the system.
    /// Returns whether somebody nudges. That stays so until [`Poller::heed_nudge`]: who looks first must not take
    /// the nudge from the one it is for.
    pub(crate) fn wait(&self, ready: &mut Vec<Ready>, timeout: Duration) -> io::Result<bool> {
        ready.clear();
        self.begin_wait()?;
        let mut is_nudged = false;
        let mut events = [const { Event { flags: EventFlags::empty(), data: EventData::new_u64(0) } }; EVENTS_MAX];
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let waited = epoll::wait(&self.links, &mut events[..], Some(&timeout));
        self.state.lock().waiting -= 1;
        let count = match waited {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
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

    /// From now on the links are watched, until nobody waits any more.
    fn begin_wait(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        self.watch_again(&mut state)?;
        state.waiting += 1;
        Ok(())
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
    pub(super) fn arm_task_set(&self, armed: bool) -> bool {
        let mut state = self.state.lock();
        if state.is_armed == armed {
            return true;
        }
        if armed && self.watch_again(&mut state).is_err() {
            // The task tries again, and says why it cannot be.
            self.nudge();
        }
        let flags = if armed { EventFlags::IN } else { EventFlags::empty() };
        // Both descriptors live as long as the poller, so this cannot fail.
        let changed = epoll::modify(&*self.task_set, &self.links, EventData::new_u64(0), flags);
        debug_assert!(changed.is_ok(), "the gate watches the links: {changed:?}");
        state.is_armed = armed;
        false
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
