//! What makes the frames between a node and the rendezvous survive their connection. Pure.
//!
//! Each direction counts its frames from 0. The sender keeps each one until the other end has said that it has it, by the
//! number of the next frame that it expects: in an acknowledgement while the connection lasts, in the handshake of the
//! next one. So whatever a cut takes along is sent again, once, in order; the numbers themselves need not travel.

use std::collections::VecDeque;

use bytes::Bytes;

/// How many frames, and from how many bytes on none more, are kept for the other end.
const FRAMES_MAX: usize = 64;
const BYTES_MAX: usize = 2 << 20;

/// One end of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Frames that the other end has not acknowledged: the first has the number `acknowledged`.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    acknowledged: u64,
    /// The number of the next frame to be sent on this connection.
    next: u64,
    /// The highest that `next` has been: what the other end may have, at most.
    sent: u64,
    /// How many frames have come.
    received: u64,
    /// How many of them the other end knows of.
    told: u64,
}

/// What is to be sent next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outgoing {
    /// That all frames before this number have come.
    Acknowledgement(u64),
    /// A frame.
    Frame(Bytes),
}

/// What the other end says to have, and cannot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it counts {claimed} frames of this side, which can be {least} to {most}")]
pub(super) struct Miscount {
    claimed: u64,
    least: u64,
    most: u64,
}

impl Session {
    /// Whether one more frame may be kept.
    pub(super) fn has_room(&self) -> bool {
        self.kept.len() < FRAMES_MAX && self.kept_bytes < BYTES_MAX
    }

    /// The number of the next frame expected.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Whether each end knows that the other has all.
    pub(super) fn is_settled(&self) -> bool {
        self.kept.is_empty() && self.told == self.received
    }

    /// A frame is to be sent.
    pub(super) fn push(&mut self, frame: Bytes) {
        self.kept_bytes += frame.len();
        self.kept.push_back(frame);
    }

    /// The next frame has come, and is in good hands.
    pub(super) fn has_come(&mut self) {
        self.received += 1;
    }

    /// The other end has all frames before the number `claimed`.
    pub(super) fn acknowledge(&mut self, claimed: u64) -> Result<(), Miscount> {
        self.forget_until(claimed, self.next)
    }

    /// There is a new connection, on which the other end has been told [`Session::received`], and expects `claimed` next.
    pub(super) fn resume(&mut self, claimed: u64) -> Result<(), Miscount> {
        self.forget_until(claimed, self.sent)?;
        (self.next, self.told) = (claimed, self.received);
        Ok(())
    }

    /// What is to be sent next on this connection, if anything.
    pub(super) fn next(&mut self) -> Option<Outgoing> {
        if self.told < self.received {
            self.told = self.received;
            return Some(Outgoing::Acknowledgement(self.received));
        }
        let frame = self.kept.get((self.next - self.acknowledged) as usize)?.clone();
        self.next += 1;
        self.sent = self.sent.max(self.next);
        Some(Outgoing::Frame(frame))
    }

    fn forget_until(&mut self, claimed: u64, most: u64) -> Result<(), Miscount> {
        let least = self.acknowledged;
        if !(least..=most).contains(&claimed) {
            return Err(Miscount { claimed, least, most });
        }
        for frame in self.kept.drain(..(claimed - least) as usize) {
            self.kept_bytes -= frame.len();
        }
        self.acknowledged = claimed;
        Ok(())
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
