//! A short write with nothing before it leaves as it is posted, and is over then: neither the engine's queues nor the table of
//! operations see it.

use std::io::{self, IoSlice};
use std::time::Duration;

use socket2::SockRef;

use super::Core;
use super::sockets::{Socket, write_now};
use crate::buffer::ElementType;
use crate::engine::{OpId, Sent};
use crate::ids::{Path, Rank};
use crate::join::keepalive;
use crate::kernel::observed::Observed;
use crate::wire::frame::MatchKey;

impl Core {
    /// Sends a write to `to` that is about to be posted, at `now`, of at most [`COPY_BYTES_MAX`](crate::engine::COPY_BYTES_MAX), if it
    /// can leave at once. Then it is over. `None`: it is to be posted.
    ///
    /// # Errors
    /// The connection has ended. The write is to be posted, and then [`Core::write_failed`] called: the write shares its fate.
    pub(in crate::kernel) fn write_at_once(
        &mut self,
        now: Duration,
        to: Rank,
        key: MatchKey,
        element: ElementType,
        bytes: &[u8],
    ) -> io::Result<Option<OpId>> {
        let is_noticed = |observed: &Observed| !observed.lets_pass(now, to, bytes.len() as u64);
        if self.engine.has_pending() || self.observed.as_ref().is_some_and(is_noticed) {
            return Ok(None);
        }
        let path = Path::from(to);
        let socket = self.sockets.get_mut(path).filter(|socket| !socket.is_blocked && socket.records.is_none());
        let Some(socket) = socket else { return Ok(None) };
        let Socket { stream, notsent_lowat, pacing, .. } = socket;
        let mut written = 0;
        let mut write = |slices: &[IoSlice<'_>]| write_now(stream, slices).inspect(|count| written += count);
        let sent = self.engine.write_at_once(to, (key, element), bytes, &mut write);
        if written > 0 {
            notsent_lowat.took(written);
            if pacing.wrote(written) {
                pacing.judge(now, &SockRef::from(&*stream));
            }
            self.has_sent = true;
            self.written[to.index()] += written as u64;
        }
        match sent? {
            Some((op, Sent::All)) => {
                notsent_lowat.is_done();
                Ok(Some(op))
            }
            Some((op, _)) => {
                self.watch(path, true);
                Ok(Some(op))
            }
            None => Ok(None),
        }
    }

    /// Writing to the socket of `path` has failed. What has come there before is heard first: it may say why, and a peer that refuses
    /// and ends closes its connection as soon as it has said so.
    pub(in crate::kernel) fn write_failed(&mut self, path: Path, error: &io::Error) {
        if let Some(socket) = self.sockets.get_mut(path) {
            // What is heard is not answered.
            socket.is_blocked = true;
        }
        self.hear_rest(path);
        if self.sockets.get(path).is_some() {
            self.ended(path, &keepalive::explain(error));
        }
    }
}
