//! Sending by way of a cipher.
//!
//! A frame that was offered and not taken may be put back, to let another pass; but what a cipher has taken is sealed under
//! the next nonce and cannot be. So a cipher takes whole records: all bytes of one count as written, and what the socket
//! has no room for the cipher keeps. Two things follow. The link has something to send as long as the cipher has, even if
//! the engine has nothing more. And a write is over when its bytes have left for the socket, not for the cipher: in
//! deferred mode nothing else would move them before the next call. So completions wait until the cipher is empty.

use std::collections::VecDeque;
use std::io;

use super::link::Link;
use super::{Completed, Engine, Sent};
use crate::ids::Rank;
use crate::wire::cipher::Cipher;
use crate::wire::frame::MessageHeader;

impl Engine {
    /// As [`Engine::transmit`], by way of `cipher`; `send` is a non-blocking write of sealed bytes.
    ///
    /// # Errors
    /// What `send` fails with, to be handled as a lost peer.
    pub(crate) fn transmit_sealed(
        &mut self,
        to: Rank,
        cipher: &mut Cipher,
        send: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        match cipher.flush(send) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
            Err(error) => return Err(error),
        }
        self.links[to.index()].release_sealed(&mut self.shared.completions);
        let before = self.shared.completions.len();
        let sent = self.transmit(to, &mut |slices| cipher.write(slices, send))?;
        if !cipher.has_unsent() {
            return Ok(sent);
        }
        if self.failure.is_none() {
            let done = self.shared.completions.split_off(before);
            let link = &mut self.links[to.index()];
            if link.sealed.is_empty() {
                link.sealed_since = self.shared.now;
            }
            link.sealed.extend(done);
        }
        Ok(Sent::Blocked)
    }
}

impl Link {
    /// The writes whose last bytes wait, sealed, for room in the socket.
    pub(super) fn sealed(&self) -> impl Iterator<Item = &MessageHeader> {
        self.sealed.iter().filter_map(|completion| self.outgoing.remembered(completion.op))
    }

    /// The cipher holds nothing of these writes any more, or never will send it.
    pub(super) fn release_sealed(&mut self, completions: &mut VecDeque<Completed>) {
        completions.append(&mut self.sealed);
    }
}
