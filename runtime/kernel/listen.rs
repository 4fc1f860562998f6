//! Before a buffer goes back: what its peer has not acknowledged is copied, for the case that it must be sent again. A moment's wait may
//! save the copy.
//!
//! A message has left when its last bytes are with the system, which holds megabytes. A peer that reads beside this node takes
//! them from there at the speed of a copy, and acknowledges them. So it is worth to wait for about as long as the copy takes: at the worst
//! that doubles its time, and where it was in vain the next buffers go back at once.

use std::time::{Duration, Instant};

use super::Kernel;
use crate::engine::Written;
use crate::ids::Rank;

/// To copy so many bytes takes longer than to look whether the peer has acknowledged them.
const LOOKED_FOR_BYTES: usize = 16 << 10;
/// Peers acknowledge at once what is as long; what is shorter may wait for a timer.
const LISTENED_FOR_BYTES: usize = 256 << 10;
/// Bytes that are copied in a nanosecond, if they are in a cache or not far from one.
const COPIED_PER_NS: u64 = 12;

impl Kernel {
    /// The program takes the buffer of `written` back. Hears first what `peer` has acknowledged, unless a thread helps and does so anyway.
    pub(crate) fn hear_before_return(&self, peer: Rank, written: &Written) {
        if written.unacknowledged() >= LOOKED_FOR_BYTES && !self.is_over() && !self.help.is_held() {
            self.look_at(peer);
            self.listen(peer, written);
        }
    }

    /// Waits a moment for `peer` to acknowledge what has left of `written`, if much has not been and the peer reads beside this node. For a
    /// thread that waits anyway.
    pub(super) fn listen(&self, peer: Rank, written: &Written) {
        let bytes = written.unacknowledged();
        let is_worth = || self.lock().engine.has_beside(peer) && written.is_copied() && self.patience.is_due();
        if bytes < LISTENED_FOR_BYTES || !is_worth() {
            return;
        }
        let (began, patience) = (Instant::now(), Duration::from_nanos(bytes as u64 / COPIED_PER_NS));
        let mut left = bytes;
        while left >= LISTENED_FOR_BYTES && began.elapsed() < patience {
            let mut core = self.lock();
            let goes_on = core.hear_word(peer);
            self.unlock(core);
            if !goes_on {
                break;
            }
            left = written.unacknowledged();
        }
        self.patience.learns(bytes, left);
    }
}
