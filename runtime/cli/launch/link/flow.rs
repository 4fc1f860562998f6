//! One direction of one connection: from a source socket, through the link, to a sink socket.

use std::collections::VecDeque;
use std::net::Shutdown;

use rustix::io::Errno;
use socket2::Socket;

use super::medium::{Medium, Random, Shape};
use super::queue::{Pool, Queue};

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
pub(super) struct Flow {
    queue: Queue,
    ready: usize,
    marks: VecDeque<Mark>,
    medium: Medium,
    arrived_ns: u64,
    random: Random,
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
    pub(super) due_ns: u64,
    pub(super) reset: bool,
}

/// What a flow did with its sink.
#[derive(PartialEq)]
pub(super) enum Released {
    /// Wrote what was due, as far as the sink took it.
    Written,
    /// The source's reset is due: the sink is to be reset.
    Reset,
    /// The sink is gone.
    SinkLost,
}

impl Flow {
    pub(super) fn new(seed: u64) -> Self {
        Flow {
            queue: Queue::default(),
            ready: 0,
            marks: VecDeque::new(),
            medium: Medium::default(),
            arrived_ns: 0,
            random: Random::new(seed),
            end: None,
            done: false,
        }
    }

    /// Takes what the source has, as far as there is room on the link.
    pub(super) fn take(&mut self, source: &mut Side, shared: Option<&mut Medium>, at: &mut Turn<'_>) {
        let space = at.shape.queue_bytes_max.saturating_sub(self.queue.len());
        if self.end.is_some() || !source.readable || space == 0 {
            return;
        }
        let room = shared.as_deref().unwrap_or(&self.medium).room_bytes(at.shape, at.now_ns);
        let limit = room.min(space).min(TAKE_BYTES_MAX);
        if limit == 0 {
            return;
        }
        match self.queue.read_from(&source.socket, limit, at.pool) {
            Ok(0) => self.finish(source.reset, at),
            Ok(bytes) => {
                // Less than asked for: nothing is left, and whatever comes next is a new edge.
                source.readable = bytes == limit || source.ended;
                self.send(bytes, bytes == limit, shared, at);
            }
            Err(Errno::WOULDBLOCK) => source.readable = false,
            Err(Errno::INTR) => {}
            Err(_) => self.finish(true, at),
        }
    }

    /// Sends the last `bytes` of the queue; `more`: the source has more to send behind them.
    fn send(&mut self, bytes: usize, more: bool, shared: Option<&mut Medium>, at: &Turn<'_>) {
        let (mut shared, mut left) = (shared, bytes);
        while left > 0 {
            let piece = left.min(at.shape.piece_bytes);
            left -= piece;
            let medium = shared.as_deref_mut().unwrap_or(&mut self.medium);
            let sent_ns = medium.send(at.shape, piece, at.now_ns);
            let due_ns = sent_ns + at.shape.delay_ns + self.random.up_to(at.shape.jitter_ns);
            self.arrived_ns = self.arrived_ns.max(due_ns);
            if left > 0 || more {
                self.mark(self.arrived_ns.next_multiple_of(at.shape.grain_ns), piece);
            } else {
                self.mark_end(piece);
            }
        }
    }

    fn mark(&mut self, due_ns: u64, bytes: usize) {
        match self.marks.back_mut() {
            Some(last) if last.due_ns == due_ns => last.bytes += bytes,
            _ => self.marks.push_back(Mark { due_ns, bytes }),
        }
    }

    /// The end of what a source sends is what a receiver waits for: that is never late for the grain's sake, nor is
    /// what goes before it.
    fn mark_end(&mut self, mut bytes: usize) {
        while let Some(mark) = self.marks.back().filter(|mark| mark.due_ns >= self.arrived_ns) {
            bytes += mark.bytes;
            self.marks.pop_back();
        }
        self.marks.push_back(Mark { due_ns: self.arrived_ns, bytes });
    }

    /// Writes what has arrived, then passes the end on.
    pub(super) fn release(&mut self, sink: &mut Side, at: &mut Turn<'_>) -> Released {
        while let Some(mark) = self.marks.front().filter(|mark| mark.due_ns <= at.now_ns) {
            self.ready += mark.bytes;
            self.marks.pop_front();
        }
        while self.ready > 0 && sink.writable {
            match self.queue.write_to(&sink.socket, self.ready, at.pool) {
                Ok(bytes) => self.ready -= bytes,
                Err(Errno::WOULDBLOCK) => sink.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Released::SinkLost,
            }
        }
        match self.end {
            Some(end) if !self.done && self.queue.len() == 0 && end.due_ns <= at.now_ns => {
                self.done = true;
                if end.reset {
                    return Released::Reset;
                }
                // It fails only if the sink is gone, which its own end tells.
                let _ = sink.socket.shutdown(Shutdown::Write);
                Released::Written
            }
            _ => Released::Written,
        }
    }

    /// The source has ended; the sink learns of it after all bytes and a travel time.
    pub(super) fn finish(&mut self, reset: bool, at: &Turn<'_>) {
        self.done = false;
        self.end = Some(End { due_ns: self.arrived_ns.max(at.now_ns + at.shape.delay_ns), reset });
    }

    /// The sink is gone: nothing more is taken or passed on.
    pub(super) fn abandon(&mut self, at: &mut Turn<'_>) {
        self.queue.clear(at.pool);
        self.marks.clear();
        self.ready = 0;
        self.end = Some(End { due_ns: at.now_ns, reset: false });
        self.done = true;
    }

    /// When time alone lets this flow go on; `None` if it waits for its sockets.
    pub(super) fn wakes_ns(&self, source: &Side, shared: Option<&Medium>, shape: &Shape) -> Option<u64> {
        let takes = self.end.is_none() && source.readable && self.queue.len() < shape.queue_bytes_max;
        let take_ns = takes.then(|| shared.unwrap_or(&self.medium).opens_ns(shape));
        let end_ns = self.end.filter(|_| !self.done && self.queue.len() == 0).map(|end| end.due_ns);
        let release_ns = self.marks.front().map(|mark| mark.due_ns).or(end_ns);
        take_ns.into_iter().chain(release_ns).min()
    }

    pub(super) fn holds_bytes(&self) -> bool {
        self.queue.len() > 0
    }
}

/// What all connections use in one turn of the relay.
pub(super) struct Turn<'a> {
    pub(super) shape: &'a Shape,
    pub(super) pool: &'a mut Pool,
    pub(super) now_ns: u64,
    /// The side of each connection that takes first.
    pub(super) first_side: usize,
}

/// Without a rate: the most that one direction reads before the others have their turn.
const TAKE_BYTES_MAX: usize = 256 << 10;
