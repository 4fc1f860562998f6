//! The switch at work: a thread between the hosts' devices.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::epoll::{self, EventFlags};

use super::address::owner;
use super::host::Host;
use super::packet::{HEADER_BYTES, parse};
use super::switch::Switch;
use crate::launch::alarm::{Alarm, clock_ns};

/// A packet as devices hand it over.
pub(super) type Frame = Vec<u8>;

/// What the thread owns.
pub(super) struct Wire {
    hosts: Arc<Vec<Host>>,
    switch: Arc<Mutex<Switch<Frame>>>,
    alarm: Alarm,
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
        let alarm = Alarm::new(TIMER)?;
        alarm.watch(&stop, STOP, EventFlags::IN)?;
        for (number, host) in hosts.iter().enumerate() {
            alarm.watch(host, FIRST_HOST + number as u64, EventFlags::IN)?;
        }
        let scratch = vec![0; HEADER_BYTES + FRAME_BYTES_MAX];
        Ok(Wire { hosts, switch, alarm, stop, spare: Vec::new(), scratch })
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
            if let Err(error) = self.alarm.sleep(wakes_ns, &mut events) {
                tracing::error!("the lab's switch ends, its hosts are cut off: waiting for packets failed: {error}");
                return;
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return,
                    // `deliver` looks at the clock.
                    TIMER => {}
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
            let _ = epoll::delete(self.alarm.as_epoll(), host);
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
