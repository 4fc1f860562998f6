//! What a thread does that looks at few links again and again.

use super::Core;
use crate::ids::{Path, Rank};

/// So little is a word of the peer's kernel, with what encryption adds, or a short message.
const WORD_BYTES: u64 = 128;
/// Of so many looks at few links one is at all.
const LOOKS: u32 = 16;

impl Core {
    /// Tries again to write on `path`, if it found no room before. Returns how many bytes went.
    pub(crate) fn write_on(&mut self, path: impl Into<Path>) -> usize {
        let path = path.into();
        match self.sockets.get_mut(path) {
            Some(socket) if socket.is_blocked => socket.is_blocked = false,
            _ => return 0,
        }
        self.write(path)
    }

    /// Takes what `peer` has sent if that is no more than a word, such as an acknowledgement, and sends what waits for room. What is longer
    /// finds its place when it is read later. Returns whether words may follow soon.
    pub(crate) fn hear_word(&mut self, peer: Rank) -> bool {
        // What is long goes by other lanes, over a path that is no short one.
        if self.engine.lanes(peer) > 0 {
            return false;
        }
        self.write_on(peer);
        let Some(socket) = self.sockets.get(peer.into()) else { return false };
        match rustix::io::ioctl_fionread(&socket.stream) {
            Ok(0) => true,
            Ok(count) if count <= WORD_BYTES => {
                self.read(peer);
                self.flush();
                true
            }
            _ => false,
        }
    }

    /// Whether somebody who looks at so many links only is to look at all of them, this time.
    pub(crate) fn is_time_for_others(&mut self, looked_at: usize) -> bool {
        if self.sockets.count() <= looked_at {
            return false;
        }
        self.looks = self.looks.wrapping_add(1);
        self.looks.is_multiple_of(LOOKS)
    }
}
