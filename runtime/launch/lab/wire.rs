//! The switch at work: a thread between the hosts' devices.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{Timespec, epoll::Event};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};

use super::address::owner;
use super::host::Host;
use super::packet::{HEADER_BYTES, parse};
use super::switch::Switch;

/// A packet as devices hand it over.
pub(super) type Frame = Vec<u8>;

/// What the thread owns.
pub(super) struct Wire {
    hosts: Arc<Vec<Host>>,
    switch: Arc<Mutex<Switch<Frame>>>,
    epoll: OwnedFd,
    timer: OwnedFd,
    armed_ns: Option<u64>,
    stop: Arc<OwnedFd>,
    /// Frames to be used again.
    spare: Vec<Frame>,
    scratch: Vec<u8>,
}

impl Wire {
    /// Serves until `stop` can be read.
    pub(super) fn new(
        hosts: Arc<Vec<Host>>,
        switch: Arc<Mutex<Switch<Frame>>>,
        stop: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered, the timer need not be read.
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        for (number, host) in hosts.iter().enumerate() {
            epoll::add(&epoll, host, EventData::new_u64(FIRST_HOST + number as u64), EventFlags::IN)?;
        }
        let scratch = vec![0; HEADER_BYTES + FRAME_BYTES_MAX];
        Ok(Wire { hosts, switch, epoll, timer, armed_ns: None, stop, spare: Vec::new(), scratch })
    }

    /// What ends the thread when it can be read.
    pub(super) fn stop(&self) -> Arc<OwnedFd> {
        self.stop.clone()
    }

    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut arrived = Vec::new();
        loop {
            let wakes_ns = self.deliver(&mut arrived);
            if let Err(error) = self.sleep(wakes_ns, &mut events) {
                tracing::error!("the lab's switch ends, its hosts are cut off: waiting for packets failed: {error}");
                return;
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return,
                    TIMER => self.armed_ns = None,
                    token => self.collect((token - FIRST_HOST) as usize, event.flags),
                }
            }
        }
    }

    /// Hands over what has arrived. Returns when more will.
    fn deliver(&mut self, arrived: &mut Vec<(usize, Frame)>) -> Option<u64> {
        let wakes_ns = {
            let (mut switch, now_ns) = (self.switch.lock(), clock_ns());
            while let Some(arrival) = switch.receive(now_ns) {
                arrived.push(arrival);
            }
            // A packet with others close behind it waits a little for them: fewer wake-ups.
            let grain_ns = (switch.least_delay_ns() / GRAINS_PER_DELAY).min(GRAIN_NS_MAX);
            switch.wakes_ns().map(|wakes_ns| switch.last_arrival_ns(wakes_ns + grain_ns).unwrap_or(0).max(wakes_ns))
        };
        for (to, mut frame) in arrived.drain(..) {
            if let Err(error) = self.hosts[to].write(&frame) {
                // The program has taken its interface down.
                tracing::debug!("host{to} does not take a packet: {error}");
            }
            if self.spare.len() < SPARE_MAX {
                frame.clear();
                self.spare.push(frame);
            }
        }
        wakes_ns
    }

    /// Takes what a host sends.
    fn collect(&mut self, number: usize, flags: EventFlags) {
        let host = &self.hosts[number];
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            tracing::warn!("host{number} has lost its interface, and with it the network");
            // It fails only if the device is not registered any more.
            let _ = epoll::delete(&self.epoll, host);
            return;
        }
        for _ in 0..BATCH_MAX {
            // Anything but a frame: it has nothing more to send now, or its interface is down.
            let Ok(bytes) = host.read(&mut self.scratch) else { return };
            let Some((to, count)) = parse(&self.scratch[..bytes]) else { continue };
            let mut frame = self.spare.pop().unwrap_or_default();
            frame.extend_from_slice(&self.scratch[..bytes]);
            self.switch.lock().send(clock_ns(), number, owner(to, self.hosts.len()), count, frame);
        }
    }

    fn sleep(&mut self, wakes_ns: Option<u64>, events: &mut Vec<Event>) -> rustix::io::Result<()> {
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

/// Nanoseconds of the clock that the timer uses.
pub(super) fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The longest train of packets.
const FRAME_BYTES_MAX: usize = 66_000;
const EVENTS_MAX: usize = 64;
/// The most frames from one host before the others have their turn.
const BATCH_MAX: usize = 64;
const SPARE_MAX: usize = 4096;
/// A packet with others behind it is at most this part of the delay late.
const GRAINS_PER_DELAY: u64 = 50;
const GRAIN_NS_MAX: u64 = 500_000;

// The tokens of events. Above them, one for each host.
const STOP: u64 = 0;
const TIMER: u64 = 1;
const FIRST_HOST: u64 = 2;
