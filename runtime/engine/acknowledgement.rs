//! How much a link has received, and when its peer is told.
//!
//! The peer keeps what it has not been told of, so it must be told while long messages come in. But each word by itself is a system
//! call here and perhaps a wake-up there: so it travels with other frames if there are any, and else when a good part of
//! what the peer may keep has come, or has been here for [`DELAY`].

use std::time::Duration;

use crate::wire::frame::HEADER_BYTES;

/// What is worth a frame beside others.
const BESIDE_BYTES: u64 = 16 << 10;
/// After this time it is due that the peer is told of what has come.
pub(crate) const DELAY: Duration = Duration::from_millis(10);
/// Bytes of an acknowledgement.
pub(super) const ACKNOWLEDGEMENT_BYTES: u64 = HEADER_BYTES as u64 + 8;
/// Acknowledgements are acknowledged, too, but few of them: two ends that have nothing else to say fall silent, and they take a
/// small part of what may be kept.
const OF_ACKNOWLEDGEMENTS_MAX: u64 = 128 * ACKNOWLEDGEMENT_BYTES;

/// The state of one link.
pub(super) struct Acknowledgement {
    /// What comes in before the peer is told at once: a quarter of what it may keep.
    at_once: u64,
    /// Bytes received, over all connections.
    received: u64,
    /// Among them those of acknowledgements, and of a head that has begun: nobody waits to hear of these.
    of_acknowledgements: u64,
    of_head: u64,
    /// How much of all others the peer was told of, and how much of acknowledgements.
    told: (u64, u64),
    /// Since when there has been something to tell.
    since: Option<Duration>,
    is_due: bool,
}

impl Acknowledgement {
    /// Of a peer that may keep `bound` bytes.
    pub(super) fn new(bound: u64) -> Self {
        Acknowledgement {
            at_once: bound / 4,
            received: 0,
            of_acknowledgements: 0,
            of_head: 0,
            told: (0, 0),
            since: None,
            is_due: false,
        }
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    fn worth_telling(&self) -> u64 {
        self.received.wrapping_sub(self.of_acknowledgements + self.of_head)
    }

    /// What the peer was not told of, and is to be.
    pub(super) fn untold(&self) -> u64 {
        self.worth_telling().wrapping_sub(self.told.0)
    }

    /// Bytes have come, at `now`; `of_head` are those of a head that is not complete.
    pub(super) fn receives(&mut self, count: usize, of_head: usize, now: Duration) {
        self.received = self.received.wrapping_add(count as u64);
        self.of_head = of_head as u64;
        let (untold, of_acknowledgements) = (self.untold(), self.of_acknowledgements - self.told.1);
        self.since = match untold {
            0 => None,
            _ => Some(*self.since.get_or_insert(now)),
        };
        self.is_due |= untold >= self.at_once
            || of_acknowledgements >= OF_ACKNOWLEDGEMENTS_MAX.min(self.at_once / 2)
            || self.since.is_some_and(|since| now.saturating_sub(since) >= DELAY);
    }

    /// All of one acknowledgement was among them.
    pub(super) fn was_one(&mut self) {
        self.of_acknowledgements += ACKNOWLEDGEMENT_BYTES;
    }

    /// The peer waits for it.
    pub(super) fn is_wanted(&mut self) {
        self.is_due = true;
    }

    /// When the peer is to be told, if nothing else is sent.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.since.map(|since| since + DELAY)
    }

    /// Whether it is to be told now; `beside`: other frames go.
    pub(super) fn is_due(&self, beside: bool) -> bool {
        self.is_due || (beside && self.untold() >= BESIDE_BYTES.min(self.at_once))
    }

    /// It is being told: the position.
    pub(super) fn tell(&mut self) -> u64 {
        self.told = (self.worth_telling(), self.of_acknowledgements);
        (self.since, self.is_due) = (None, false);
        self.received
    }

    /// What was told was not sent: it is to be told again.
    pub(super) fn was_not_told(&mut self) {
        self.is_due = true;
    }

    /// The peer knows all that was received: a new connection has begun with it.
    pub(super) fn is_told(&mut self) {
        self.tell();
    }

    /// A peer that may keep little is told sooner.
    #[cfg(test)]
    pub(super) fn set_at_once(&mut self, bytes: u64) {
        self.at_once = bytes;
    }

    /// Nothing has been received; the counter begins here.
    #[cfg(test)]
    pub(super) fn begin_at(&mut self, position: u64) {
        (self.received, self.told) = (position, (position, 0));
    }
}
