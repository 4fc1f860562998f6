//! What makes one conversation of many connections: each side numbers what it says, and keeps it until the other says that
//! it has come. After a cut, each says what it expects next, and the other goes on from there. Pure.
//!
//! A line is `NUMBER ACKNOWLEDGED MESSAGE`, or `- ACKNOWLEDGED` alone, or the launcher's [`LAST_WORD`].

use std::collections::VecDeque;
use std::io::Write;

/// What the launcher says when it ends the conversation before its time, or what is said for it when it was killed. The
/// end of a connection without it is a cut.
pub(super) const LAST_WORD: &str = "bye";
/// More messages than that wait for the other side only where others bound them.
const KEPT_MAX: usize = 256;
/// And more bytes only if it is one message.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// After so many messages or bytes, the other side is told at once that they have come.
const UNTOLD_MAX: u64 = 32;
const UNTOLD_BYTES_MAX: usize = 1 << 20;

/// One side of a conversation.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// What the other side may not have, the oldest first.
    kept: VecDeque<Vec<u8>>,
    kept_bytes: usize,
    /// The number of the oldest, kept or to come.
    acknowledged: u64,
    /// The number of the next to go over this connection.
    to_send: u64,
    /// The number of the next to come.
    expected: u64,
    /// What the other side knows of that.
    told: u64,
    untold_bytes: usize,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Message { number: u64, acknowledged: u64, body: &'a [u8] },
    Acknowledgement(u64),
    LastWord,
}

/// Why a conversation cannot go on over this connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("a line is no message")]
    Malformed,
    #[error("message {number} came, and {expected} was to come")]
    Gap { number: u64, expected: u64 },
    #[error("{acknowledged} messages are acknowledged of {said}")]
    NeverSaid { acknowledged: u64, said: u64 },
    #[error("the other side wants message {wanted} again, and had {acknowledged}")]
    Forgotten { wanted: u64, acknowledged: u64 },
}

impl<'a> Line<'a> {
    /// Reads a line, which ends with its newline unless the connection was cut within it.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, SessionError> {
        let line = line.strip_suffix(b"\n").ok_or(SessionError::Malformed)?;
        if line == LAST_WORD.as_bytes() {
            return Ok(Line::LastWord);
        }
        let mut parts = line.splitn(3, |&byte| byte == b' ');
        let parsed = match (parts.next(), parts.next(), parts.next()) {
            (Some(b"-"), Some(acknowledged), None) => number(acknowledged).map(Line::Acknowledgement),
            (Some(first), Some(acknowledged), Some(body)) => number(first)
                .zip(number(acknowledged))
                .map(|(number, acknowledged)| Line::Message { number, acknowledged, body }),
            _ => None,
        };
        parsed.ok_or(SessionError::Malformed)
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl Session {
    /// Whether more may be said before the other side has taken some.
    pub(super) fn has_room(&self) -> bool {
        self.kept.is_empty() || self.kept.len() < KEPT_MAX && self.kept_bytes < KEPT_BYTES_MAX
    }

    /// Whether the other side has all that was said.
    pub(super) fn is_taken(&self) -> bool {
        self.kept.is_empty()
    }

    /// The number of the next message to come: all before it have come.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// How many messages were said so far.
    fn said(&self) -> u64 {
        self.acknowledged + self.kept.len() as u64
    }

    /// Says something. A message has no newline.
    pub(super) fn say(&mut self, body: Vec<u8>) {
        debug_assert!(!body.contains(&b'\n'), "a message is a line");
        self.kept_bytes += body.len();
        self.kept.push_back(body);
    }

    /// Adds the next line to be sent to `lines`, if there is one.
    pub(super) fn poll_transmit(&mut self, lines: &mut Vec<u8>) -> bool {
        let Some(body) = self.kept.get((self.to_send - self.acknowledged) as usize) else { return false };
        // Writing to memory cannot fail.
        let _ = write!(lines, "{} {} ", self.to_send, self.expected);
        lines.extend(body);
        lines.push(b'\n');
        self.to_send += 1;
        (self.told, self.untold_bytes) = (self.expected, 0);
        true
    }

    /// Whether the other side does not know of all that has come.
    pub(super) fn owes_acknowledgement(&self) -> bool {
        self.told < self.expected
    }

    /// Whether that is so much that it may wait for it.
    pub(super) fn owes_much(&self) -> bool {
        self.expected - self.told >= UNTOLD_MAX || self.untold_bytes >= UNTOLD_BYTES_MAX
    }

    /// Adds a line that only acknowledges, if there is something to acknowledge.
    pub(super) fn acknowledge(&mut self, lines: &mut Vec<u8>) {
        if self.owes_acknowledgement() {
            // Writing to memory cannot fail.
            let _ = writeln!(lines, "- {}", self.expected);
            (self.told, self.untold_bytes) = (self.expected, 0);
        }
    }

    /// The other side has said this. Returns whether it is new.
    pub(super) fn handle_message(
        &mut self,
        number: u64,
        acknowledged: u64,
        bytes: usize,
    ) -> Result<bool, SessionError> {
        self.handle_acknowledgement(acknowledged)?;
        if number > self.expected {
            return Err(SessionError::Gap { number, expected: self.expected });
        }
        let is_new = number == self.expected;
        if is_new {
            self.expected += 1;
            self.untold_bytes += bytes;
        }
        Ok(is_new)
    }

    /// The other side has taken all before number `acknowledged`.
    pub(super) fn handle_acknowledgement(&mut self, acknowledged: u64) -> Result<(), SessionError> {
        // What never went over this connection cannot have come over it.
        if acknowledged > self.to_send {
            return Err(SessionError::NeverSaid { acknowledged, said: self.to_send });
        }
        self.drop_until(acknowledged);
        Ok(())
    }

    fn drop_until(&mut self, acknowledged: u64) {
        while self.acknowledged < acknowledged {
            self.kept_bytes -= self.kept.pop_front().map_or(0, |body| body.len());
            self.acknowledged += 1;
        }
    }

    /// Goes on over another connection, at whose other end message `wanted` is expected, and where is known what is
    /// expected here.
    pub(super) fn resume(&mut self, wanted: u64) -> Result<(), SessionError> {
        if wanted < self.acknowledged {
            return Err(SessionError::Forgotten { wanted, acknowledged: self.acknowledged });
        }
        if wanted > self.said() {
            return Err(SessionError::NeverSaid { acknowledged: wanted, said: self.said() });
        }
        self.drop_until(wanted);
        self.to_send = wanted;
        (self.told, self.untold_bytes) = (self.expected, 0);
        Ok(())
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
