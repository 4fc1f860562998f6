//! What leaves: at once, or with what follows.

use std::time::Duration;

use super::Core;
use crate::ids::Rank;

/// Between a call and a wait that follows it at once.
const AT_ONCE: Duration = Duration::from_micros(2);

impl Core {
    /// A write of `bytes` to `peer` begins, at `now`. Returns whether it may wait for others to leave with.
    pub(crate) fn gathers(&mut self, peer: Rank, bytes: u64, now: Duration) -> bool {
        // There may be no such rank: the engine says so.
        let socket = self.sockets.get_mut(peer.into()).filter(|socket| !socket.is_blocked);
        socket.is_some_and(|socket| socket.batching.gathers(bytes, now, self.waits))
    }

    /// A collective of `bytes` begins, at `now`; the program left the call of the one before at `before`. Returns whether what it sends
    /// may wait for what the next ones send.
    pub(in crate::kernel) fn collective_gathers(&mut self, bytes: u64, before: Duration, now: Duration) -> bool {
        self.batching.left(before);
        self.batching.gathers(bytes, now, self.waits)
    }

    /// Whether something was sent just before `now`, and nobody has computed since: it cannot be answered yet, least of all by a
    /// rank that needs this very core.
    pub(in crate::kernel) fn has_just_sent(&self, now: Duration) -> bool {
        self.has_sent && now.saturating_sub(self.latest) < AT_ONCE
    }

    /// Sends a write to `peer` that does not wait for others, and all before it.
    pub(crate) fn send(&mut self, peer: Rank) {
        self.flush();
        self.was_sent(peer);
    }

    /// A write to `peer` that did not wait for others has been sent.
    pub(in crate::kernel) fn was_sent(&mut self, peer: Rank) {
        if let Some(socket) = self.sockets.get_mut(peer.into()) {
            socket.batching.was_sent(|| self.clock.now());
        }
    }

    /// Sends what the engine has, as far as the sockets take it, and hands completions on.
    pub(crate) fn flush(&mut self) {
        loop {
            let has_written = self.write_pending();
            self.hand_on();
            // What has ended may have had collectives say something, and windows answer.
            let has_more = self.windows.take_has_output() || self.engine.has_pending();
            if !has_more && (!has_written || self.collectives.is_idle()) {
                return;
            }
        }
    }

    /// Sends to all links with new output. Returns whether there were such.
    pub(super) fn write_pending(&mut self) -> bool {
        let mut has_written = false;
        while let Some(path) = self.engine.poll_pending() {
            self.write(path);
            has_written = true;
        }
        has_written
    }
}
