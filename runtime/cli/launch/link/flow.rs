//! One direction of one connection: from a source socket, through the link, to a sink socket.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::time::Duration;

use rustix::io::Errno;
use socket2::Socket;

use super::medium::{Medium, Shape};
use super::queue::Queue;

/// One end of a connection. Readiness is edge-triggered: a flag stands until a system call says otherwise.
pub(super) struct Side {
    pub(super) socket: Socket,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The peer has ended or reset: a short read does not mean that there is nothing more to learn.
    pub(super) ended: bool,
    /// A write found the connection reset. The system tells that once; a read then only sees an end.
    pub(super) reset: bool,
}

/// One direction. Bytes wait in `queue`: first `ready` bytes that have arrived, then those of `marks`.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) queue: Queue,
    ready: usize,
    marks: VecDeque<Mark>,
    medium: Medium,
    arrived_ns: u64,
    random: fastrand::Rng,
    pub(super) end: Option<End>,
    /// The end has been passed on.
    pub(super) done: bool,
}

struct Mark {
    due_ns: u64,
    bytes: usize,
}

/// How the source ended, and when the sink learns of it.
#[derive(Clone, Copy)]
pub(super) struct End {
    due_ns: u64,
    pub(super) reset: bool,
}

impl Side {
    /// Makes the close of the socket a reset.
    pub(super) fn make_reset(&self) {
        // It fails only for a socket that is gone already.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
    }
}

impl Flow {
    pub(super) fn new(seed: u64) -> Self {
        Flow { random: fastrand::Rng::with_seed(seed), ..Flow::default() }
    }

    /// Takes what the source has, as far as there is room on the link.
    pub(super) fn take(&mut self, source: &mut Side, link: &mut Link) {
        let space = link.shape.queue_bytes_max.saturating_sub(self.queue.len());
        if self.end.is_some() || !source.readable || space == 0 {
            return;
        }
        let room = link.shared.as_ref().unwrap_or(&self.medium).room_bytes(&link.shape, link.now_ns);
        let limit = room.min(space).min(link.scratch.len());
        if limit == 0 {
            return;
        }
        match self.queue.read_from(&source.socket, &mut link.scratch[..limit]) {
            Ok(0) => self.finish(source.reset, link),
            Ok(bytes) => {
                // Less than asked for: nothing is left, and whatever comes next is a new edge.
                source.readable = bytes == limit || source.ended;
                self.send(bytes, bytes == limit, link);
            }
            Err(Errno::WOULDBLOCK) => source.readable = false,
            Err(Errno::INTR) => {}
            Err(_) => self.finish(true, link),
        }
    }

    /// Sends the last `left` bytes of the queue; `more`: the source has more to send behind them.
    fn send(&mut self, mut left: usize, more: bool, link: &mut Link) {
        let Link { shape, shared, now_ns, .. } = link;
        while left > 0 {
            let piece = left.min(shape.piece_bytes);
            left -= piece;
            let sent_ns = shared.as_mut().unwrap_or(&mut self.medium).send(shape, piece, *now_ns);
            self.arrived_ns = self.arrived_ns.max(shape.due_ns(sent_ns, &mut self.random));
            // The end of what a source sends is what a receiver waits for: that is never late for the grain's sake.
            let is_end = left == 0 && !more;
            self.mark(if is_end { self.arrived_ns } else { self.arrived_ns.next_multiple_of(shape.grain_ns) }, piece);
        }
    }

    /// The next `bytes` are due then, and what goes before them not later.
    fn mark(&mut self, due_ns: u64, mut bytes: usize) {
        while let Some(mark) = self.marks.back().filter(|mark| mark.due_ns >= due_ns) {
            bytes += mark.bytes;
            self.marks.pop_back();
        }
        self.marks.push_back(Mark { due_ns, bytes });
    }

    /// Writes what has arrived, as far as the sink takes it, then passes the end on. `false`: the sink is gone.
    pub(super) fn release(&mut self, sink: &mut Side, link: &Link) -> bool {
        while let Some(mark) = self.marks.front().filter(|mark| mark.due_ns <= link.now_ns) {
            self.ready += mark.bytes;
            self.marks.pop_front();
        }
        while self.ready > 0 && sink.writable {
            match self.queue.write_to(&sink.socket, self.ready) {
                Ok(bytes) => self.ready -= bytes,
                Err(Errno::WOULDBLOCK) => sink.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        if let Some(end) = self.pending_end().filter(|end| end.due_ns <= link.now_ns) {
            self.done = true;
            if end.reset {
                sink.make_reset();
            } else {
                // It fails only if the sink is gone, which its own end tells.
                let _ = sink.socket.shutdown(Shutdown::Write);
            }
        }
        true
    }

    /// The end, if all bytes have been passed on but not that.
    fn pending_end(&self) -> Option<End> {
        self.end.filter(|_| !self.done && self.queue.len() == 0)
    }

    /// The source has ended; the sink learns of it after all bytes and a travel time.
    pub(super) fn finish(&mut self, reset: bool, link: &Link) {
        self.done = false;
        self.end = Some(End { due_ns: self.arrived_ns.max(link.now_ns + link.shape.delay_ns), reset });
    }

    /// The sink is gone: nothing more is taken or passed on.
    pub(super) fn abandon(&mut self, link: &Link) {
        self.queue.clear();
        self.marks.clear();
        self.ready = 0;
        self.end = Some(End { due_ns: link.now_ns, reset: false });
        self.done = true;
    }

    /// When time alone lets this flow go on; `None` if it waits for its sockets.
    pub(super) fn wakes_ns(&self, source: &Side, link: &Link) -> Option<u64> {
        let takes = self.end.is_none() && source.readable && self.queue.len() < link.shape.queue_bytes_max;
        let take_ns = takes.then(|| link.shared.as_ref().unwrap_or(&self.medium).opens_ns(&link.shape));
        let release_ns = self.marks.front().map(|mark| mark.due_ns).or(self.pending_end().map(|end| end.due_ns));
        take_ns.into_iter().chain(release_ns).min()
    }
}

/// What all connections have in common.
pub(super) struct Link {
    pub(super) shape: Shape,
    /// The one capacity of a shared link.
    pub(super) shared: Option<Medium>,
    /// What a read goes to first.
    pub(super) scratch: Vec<u8>,
    pub(super) now_ns: u64,
}

impl Link {
    pub(super) fn new(shape: Shape) -> Self {
        Link { shared: shape.shared.then(Medium::default), shape, scratch: vec![0; TAKE_BYTES_MAX], now_ns: 0 }
    }
}

/// Without a rate: the most that one direction reads before the others have their turn.
const TAKE_BYTES_MAX: usize = 256 << 10;
