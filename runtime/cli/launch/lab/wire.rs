//! The switch at work, between the hosts' devices.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::epoll::EventFlags;

use super::cable::MTU;
use super::host::Host;
use super::packet::{HEADER_BYTES, parse};
use super::switch::Switch;
use crate::launch::alarm::{Alarm, clock_ns};
use crate::launch::service::Work;

/// A packet as devices hand it over.
pub(super) type Frame = Vec<u8>;

/// Whether a host is listened to.
///
/// One that sends much will probably send more, which is fetched together: it is left alone for a while, and looked
/// after when the switch is awake anyway.
#[derive(Clone, Copy, Default)]
struct Ear {
    /// When the host is looked after next at the latest; `None`: it wakes the switch.
    look_ns: Option<u64>,
    /// When it had sent much.
    heard_ns: u64,
    /// When it was known to have nothing more to send.
    empty_ns: u64,
}

/// What the thread owns.
pub(super) struct Wire {
    hosts: Arc<Vec<Host>>,
    switch: Arc<Mutex<Switch<Frame>>>,
    alarm: Alarm,
    /// How much later than it should a packet may be handled that is one of many.
    grain_ns: u64,
    /// One for each host.
    ears: Vec<Ear>,
    scratch: Vec<u8>,
}

impl Wire {
    pub(super) fn new(hosts: Arc<Vec<Host>>, switch: Arc<Mutex<Switch<Frame>>>) -> io::Result<Self> {
        let alarm = Alarm::new()?;
        for (number, host) in hosts.iter().enumerate() {
            alarm.watch(&host.device, number as u64, EventFlags::IN)?;
        }
        let scratch = vec![0; HEADER_BYTES + FRAME_BYTES_MAX];
        let ears = vec![Ear::default(); hosts.len()];
        Ok(Wire { hosts, switch, alarm, grain_ns: 0, ears, scratch })
    }

    /// Hands over what has arrived.
    fn deliver(&mut self) {
        let arrived: Vec<(usize, Frame)> = {
            let (mut switch, now_ns) = (self.switch.lock(), clock_ns());
            self.grain_ns = (switch.least_delay_ns() / GRAINS_PER_DELAY).min(GRAIN_NS_MAX);
            std::iter::from_fn(|| switch.receive(now_ns)).collect()
        };
        for (to, frame) in arrived {
            if let Err(error) = rustix::io::write(&self.hosts[to].device, &frame) {
                // The program has taken its interface down.
                tracing::debug!("host{to} does not take a packet: {error}");
            }
        }
    }

    /// When the next packets arrive, or a host is looked after.
    fn wakes_ns(&self) -> Option<u64> {
        let switch = self.switch.lock();
        // A packet with others close behind it waits a little for them: fewer wake-ups.
        let arrival_ns = |wakes_ns: u64| switch.last_arrival_ns(wakes_ns + self.grain_ns).unwrap_or(0).max(wakes_ns);
        let arrives_ns = switch.wakes_ns().map(arrival_ns);
        arrives_ns.into_iter().chain(self.ears.iter().filter_map(|ear| ear.look_ns)).min()
    }

    /// Fetches what the hosts have sent that are left alone. Whoever has been silent for long enough is listened to
    /// again.
    fn look_after(&mut self) {
        for number in 0..self.hosts.len() {
            if self.ears[number].look_ns.is_none() || self.collect(number) {
                continue;
            }
            let rest_ns = self.rest_ns();
            let ear = &mut self.ears[number];
            // Now that it has been looked after, there is no need to wake up soon for that alone.
            ear.look_ns = (ear.empty_ns < ear.heard_ns + SILENT_RESTS * rest_ns).then_some(ear.empty_ns + rest_ns);
            if ear.look_ns.is_none() {
                self.listen(number, EventFlags::IN);
            }
        }
    }

    /// How long a host is left alone that has sent much: a little longer than trains of packets follow each other, so
    /// that it is looked after when one arrives somewhere.
    fn rest_ns(&self) -> u64 {
        self.grain_ns * 3 / 2
    }

    fn listen(&self, number: usize, flags: EventFlags) {
        // It fails only if the device is not registered any more.
        let _ = self.alarm.watch_for(&self.hosts[number].device, number as u64, flags);
    }

    /// Takes what a host sends. Returns whether it had sent as much as one does that will send more.
    fn collect(&mut self, number: usize) -> bool {
        let device = &self.hosts[number].device;
        let (mut frames, mut sent_bytes) = (0, 0);
        while frames < BATCH_MAX {
            // Anything but a frame: it has nothing more to send now, or its interface is down.
            let Ok(bytes) = rustix::io::read(device, &mut self.scratch) else { break };
            (frames, sent_bytes) = (frames + 1, sent_bytes + bytes);
            let Some((to, count)) = parse(&self.scratch[..bytes]) else { continue };
            let frame = self.scratch[..bytes].to_vec();
            let since_ns = self.ears[number].empty_ns;
            let mut switch = self.switch.lock();
            let to = switch.addresses.owner(to);
            switch.send(since_ns..=clock_ns(), number, to, count, frame);
        }
        let rest_ns = self.rest_ns();
        let ear = &mut self.ears[number];
        ear.empty_ns = clock_ns();
        if sent_bytes < MUCH_BYTES {
            return false;
        }
        if rest_ns >= REST_NS_MIN {
            // At once if there may be more.
            let rest_ns = if frames < BATCH_MAX { rest_ns } else { 0 };
            (ear.look_ns, ear.heard_ns) = (Some(ear.empty_ns + rest_ns), ear.empty_ns);
        }
        true
    }
}

impl Work for Wire {
    fn alarm(&mut self) -> &mut Alarm {
        &mut self.alarm
    }

    fn advance(&mut self) -> Option<u64> {
        self.deliver();
        self.look_after();
        self.wakes_ns()
    }

    /// A host sends, or has lost its device.
    fn handle_event(&mut self, token: u64, flags: EventFlags) {
        let number = token as usize;
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            tracing::warn!("host{number} has lost its interface, and with it the network");
            // It fails only if the device is not registered any more.
            let _ = self.alarm.forget(&self.hosts[number].device);
            return;
        }
        // What has come until now has come just now.
        self.ears[number].empty_ns = clock_ns();
        if self.collect(number) && self.ears[number].look_ns.is_some() {
            self.listen(number, EventFlags::empty());
        }
    }
}

/// The longest train of packets.
const FRAME_BYTES_MAX: usize = 66_000;
/// The most frames from one host before the others have their turn.
const BATCH_MAX: usize = 64;
/// A packet with others behind it is at most this part of the delay late.
const GRAINS_PER_DELAY: u64 = 12;
const GRAIN_NS_MAX: u64 = 2_000_000;
/// More than one packet, and more than some confirmations.
const MUCH_BYTES: usize = 2 * MTU as usize;
/// Who has not sent much for so many rests is not left alone any more.
const SILENT_RESTS: u64 = 2;
/// For less than that, no host is left alone.
const REST_NS_MIN: u64 = 100_000;
