//! A thread that carries others' bytes: that of the emulated link, and that of the virtual network's switch.

use std::io;
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};

use super::alarm::{Alarm, TIMER};

/// What such a thread serves.
pub(super) trait Work: Send + 'static {
    /// What it waits with.
    fn alarm(&mut self) -> &mut Alarm;

    /// Does what is due. Returns when the next is, if time alone makes it so.
    fn advance(&mut self) -> Option<u64>;

    /// A descriptor has something to say.
    fn handle_event(&mut self, token: u64, flags: EventFlags);

    /// The thread is told to end.
    fn end(&mut self) {}
}

/// The thread. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Service {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts the thread. `what` says what it means if the thread cannot go on.
    pub(super) fn start(name: &str, what: &'static str, mut work: impl Work) -> io::Result<Self> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        work.alarm().watch(&stop, STOP, EventFlags::IN)?;
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            hurry();
            serve(what, &mut work);
        })?;
        Ok(Service { stop, thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Adding one to a counter that nobody else writes cannot fail.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported, and what it had is closed either way.
            let _ = thread.join();
        }
    }
}

fn serve(what: &str, work: &mut impl Work) {
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        let wakes_ns = work.advance();
        if let Err(error) = work.alarm().sleep(wakes_ns, &mut events) {
            tracing::error!("{what}: waiting for events failed: {error}");
            return;
        }
        for event in events.drain(..) {
            match event.data.u64() {
                STOP => return work.end(),
                // The next turn looks at the clock.
                TIMER => {}
                token => work.handle_event(token, event.flags),
            }
        }
    }
}

/// Gives the calling thread a busy processor at once. It works for microseconds at a time, at moments that the link it
/// stands for sets; while ranks compute it would wait for the end of their slices, some milliseconds. It keeps its share.
fn hurry() {
    if let Err(error) = lathide_sys::slice::request(SLICE) {
        tracing::debug!("an emulated network may be late where processors are busy: no short slices: {error}");
    }
    // An ordinary user may not do this; then the link's queue makes up for late wake-ups.
    let own = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(own), PRIORITY);
}

/// As short as Linux allows.
const SLICE: Duration = Duration::from_micros(100);
const PRIORITY: i32 = -15;
const EVENTS_MAX: usize = 64;
const STOP: u64 = TIMER - 1;
