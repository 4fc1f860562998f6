//! Sending by way of records, which have checksums or are encrypted.
//!
//! A frame that was offered and not taken may be put back, to let another pass; but what is in a record is sealed under its
//! number and cannot be. So all bytes of a record count as written, and what the socket has no room for is kept with the records.
//! Two things follow. The link has something to send as long as they have, even if the engine has nothing more. And a write is
//! over when its bytes have left for the socket, not for a record: in deferred mode nothing else would move them before
//! the next call. So completions wait until no part of a record is left.

use std::collections::VecDeque;
use std::io;

use super::link::Link;
use super::{Completed, Engine, Sent};
use crate::ids::Path;
use crate::wire::frame::MessageHeader;
use crate::wire::records::Records;

impl Engine {
    /// As [`Engine::transmit`], by way of `records`; `send` is a non-blocking write of what they are made of.
    ///
    /// # Errors
    /// What `send` fails with, to be handled as a lost peer.
    pub(crate) fn transmit_sealed(
        &mut self,
        to: impl Into<Path>,
        records: &mut Records,
        send: &mut dyn FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let to = to.into();
        match records.flush(send) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
            Err(error) => return Err(error),
        }
        self.links[to.peer.index()].release_sealed_of(to, &mut self.shared.completions);
        let before = self.shared.completions.len();
        let sent = self.transmit(to, &mut |slices| records.write(slices, send))?;
        if !records.has_unsent() {
            return Ok(sent);
        }
        if self.failure.is_none() {
            let done = self.shared.completions.split_off(before);
            let link = &mut self.links[to.peer.index()];
            if link.sealed().next().is_none() {
                link.sealed_since = self.shared.now;
            }
            match link.lane(to) {
                None => link.sealed.extend(done),
                Some(lane) => link.lanes[lane].sealed.extend(done),
            }
        }
        Ok(Sent::Blocked)
    }
}

impl Link {
    /// The writes whose last bytes wait, in a record, for room in the socket.
    pub(super) fn sealed(&self) -> impl Iterator<Item = &MessageHeader> {
        let on_lanes = self.lanes.iter().flat_map(|lane| &lane.sealed);
        self.sealed.iter().chain(on_lanes).filter_map(|completion| self.outgoing.remembered(completion.op))
    }

    /// No record holds anything of these writes any more, or it will never be sent.
    pub(super) fn release_sealed(&mut self, completions: &mut VecDeque<Completed>) {
        completions.append(&mut self.sealed);
        self.lanes.iter_mut().for_each(|lane| completions.extend(lane.sealed.drain(..)));
    }

    /// No record of `path` does.
    fn release_sealed_of(&mut self, path: Path, completions: &mut VecDeque<Completed>) {
        match self.lane(path) {
            None => completions.append(&mut self.sealed),
            Some(lane) => completions.extend(self.lanes[lane].sealed.drain(..)),
        }
    }
}
