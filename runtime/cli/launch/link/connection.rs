//! A connection through the link: the client's socket, the target's socket, a flow each way.

use rustix::event::epoll::EventFlags;
use socket2::Socket;

use super::flow::{Flow, Link, Side};

/// Side 0 is the client, side 1 the target; flow `i` goes from side `i` to the other.
pub(super) struct Connection {
    /// By which events name it.
    pub(super) number: u64,
    pub(super) sides: [Side; 2],
    flows: [Flow; 2],
    /// The target has accepted. Until then nothing is read.
    connected: bool,
}

impl Connection {
    pub(super) fn new(client: Socket, target: Socket, number: u64) -> Self {
        let side = |socket| Side { socket, readable: false, writable: false, ended: false, reset: false };
        let flows = [Flow::new(number), Flow::new(!number)];
        Connection { number, sides: [side(client), side(target)], flows, connected: false }
    }

    /// Something happened to the socket of `side`. `Err`: the target cannot be reached.
    pub(super) fn handle_event(&mut self, side: usize, event: EventFlags, link: &Link) -> std::io::Result<()> {
        let failed = event.contains(EventFlags::ERR);
        let hung_up = failed || event.contains(EventFlags::HUP);
        if side == 1 && !self.connected {
            if let Some(error) = self.sides[1].socket.take_error()? {
                return Err(error);
            }
            self.connected = event.contains(EventFlags::OUT);
        }
        let ended = &mut self.sides[side];
        ended.ended |= hung_up || event.contains(EventFlags::RDHUP);
        ended.readable |= ended.ended || event.contains(EventFlags::IN);
        ended.writable |= hung_up || event.contains(EventFlags::OUT);
        if failed && self.flows[side].end.is_some_and(|end| !end.reset) {
            self.lose(side, link);
        }
        Ok(())
    }

    /// Moves what can be moved; `first` is the side that takes first. `false`: the connection is over.
    pub(super) fn advance(&mut self, first: usize, link: &mut Link) -> bool {
        if !self.connected {
            return true;
        }
        for side in [first, 1 - first] {
            self.flows[side].take(&mut self.sides[side], link);
            if !self.flows[side].release(&mut self.sides[1 - side], link) {
                self.lose(1 - side, link);
            }
            if self.flows[side].done && self.flows[side].end.is_some_and(|end| end.reset) {
                return false;
            }
        }
        !self.flows.iter().all(|flow| flow.done)
    }

    /// When time alone lets this connection go on.
    pub(super) fn wakes_ns(&self, link: &Link) -> Option<u64> {
        let flows = self.flows.iter().zip(&self.sides).filter(|_| self.connected);
        flows.filter_map(|(flow, source)| flow.wakes_ns(source, link)).min()
    }

    /// The relay ends: who still waits for bytes learns that they are lost.
    pub(super) fn cut(&self) {
        for side in 0..2 {
            if self.flows[1 - side].queue.len() > 0 {
                self.sides[side].make_reset();
            }
        }
    }

    /// `side` was reset by its peer: nothing can be written to it, and the other side is to learn of it, after what
    /// was still received.
    fn lose(&mut self, side: usize, link: &Link) {
        self.flows[1 - side].abandon(link);
        let lost = &mut self.sides[side];
        (lost.reset, lost.readable, lost.ended) = (true, true, true);
        if self.flows[side].end.is_some() {
            self.flows[side].finish(true, link);
        }
    }
}
