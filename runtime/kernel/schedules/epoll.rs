//! A model of the system's epoll, as exact as the hand-over needs it: one instance holds the links and the nudge, level
//! by level; the task's set holds that instance; tokio watches the task's set, and hears of changes only. `runs::the_model_wakes…`
//! in [`super::real`] holds it against the real one.

use std::collections::VecDeque;

/// A piece of a message on its way to this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) tag: u32,
    /// The message is complete with it.
    pub(super) is_last: bool,
}

/// A socket, seen from this node.
#[derive(Default)]
pub(super) struct Socket {
    pub(super) inbox: VecDeque<Piece>,
    /// So many messages can be written until the peer makes room.
    pub(super) room: u32,
    /// Messages that have reached the peer.
    pub(super) sent: u32,
    is_room_watched: bool,
}

impl Socket {
    fn is_writable(&self) -> bool {
        self.is_room_watched && self.room > 0
    }

    fn is_ready(&self) -> bool {
        !self.inbox.is_empty() || self.is_writable()
    }
}

/// What the links' instance holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    Nudge,
    Link(usize),
}

/// A link as a look finds it: its index, and whether there is something to read, and room to write.
pub(super) type Found = (usize, bool, bool);

pub(super) struct Epoll {
    pub(super) sockets: Vec<Socket>,
    nudges: u64,
    /// Whether the instance watches the links.
    are_watched: bool,
    /// Threads that wait for it.
    waiting: usize,
    /// The instance's ready list: what was ready once, until a look finds that it is not.
    listed: VecDeque<Item>,
    is_gate_open: bool,
    /// The links' instance is on the task set's own ready list.
    is_gate_listed: bool,
    /// The task's set is on tokio's ready list.
    is_task_told: bool,
}

impl Epoll {
    pub(super) fn new(links: usize, room: u32) -> Self {
        let sockets = (0..links).map(|_| Socket { room, ..Socket::default() }).collect();
        Epoll {
            sockets,
            nudges: 0,
            are_watched: true,
            waiting: 0,
            listed: VecDeque::new(),
            is_gate_open: false,
            is_gate_listed: false,
            is_task_told: false,
        }
    }

    /// A piece has come from `peer`.
    pub(super) fn arrives(&mut self, peer: usize, piece: Piece) {
        self.sockets[peer].inbox.push_back(piece);
        self.happens(Item::Link(peer));
    }

    /// `peer` has read: so many messages more may be written to it.
    pub(super) fn makes_room(&mut self, peer: usize, room: u32) {
        self.sockets[peer].room += room;
        if self.sockets[peer].is_room_watched {
            self.happens(Item::Link(peer));
        }
    }

    /// Watches a link for room too, or no longer. What is ready already is told of now, unless it is listed.
    pub(super) fn watch_writable(&mut self, peer: usize, watch: bool) {
        self.sockets[peer].is_room_watched = watch;
        if self.sockets[peer].is_ready() && !self.listed.contains(&Item::Link(peer)) {
            self.happens(Item::Link(peer));
        }
    }

    /// Watches the links no longer, if nobody waits for them and the task's set is disarmed. Returns whether it has been so until now.
    pub(super) fn stop_watching(&mut self) -> bool {
        let may = self.are_watched && !self.is_gate_open && self.waiting == 0;
        if may {
            self.listed.retain(|item| *item == Item::Nudge);
            self.are_watched = false;
        }
        may
    }

    /// Watches them again: what is ready is told of now.
    fn watch_again(&mut self) {
        if !std::mem::replace(&mut self.are_watched, true) {
            let ready: Vec<usize> = (0..self.sockets.len()).filter(|&peer| self.sockets[peer].is_ready()).collect();
            ready.into_iter().for_each(|peer| self.happens(Item::Link(peer)));
        }
    }

    /// A thread begins to wait for the links. `is_told`: the poller counts it.
    pub(super) fn begins_wait(&mut self, is_told: bool) {
        self.watch_again();
        self.waiting += usize::from(is_told);
    }

    /// It waits no longer.
    pub(super) fn ends_wait(&mut self, is_told: bool) {
        self.waiting -= usize::from(is_told);
    }

    pub(super) fn nudge(&mut self) {
        self.nudges += 1;
        self.happens(Item::Nudge);
    }

    pub(super) fn heed_nudge(&mut self) {
        self.nudges = 0;
    }

    /// The ready links, and whether somebody nudges. Does not wait.
    pub(super) fn look(&mut self) -> (Vec<Found>, bool) {
        let (mut found, mut is_nudged) = (Vec::new(), false);
        for item in std::mem::take(&mut self.listed) {
            if !self.is_item_ready(item) {
                continue;
            }
            self.listed.push_back(item);
            match item {
                Item::Nudge => is_nudged = true,
                Item::Link(peer) => {
                    let socket = &self.sockets[peer];
                    found.push((peer, !socket.inbox.is_empty(), socket.is_writable()));
                }
            }
        }
        (found, is_nudged)
    }

    /// Whether a look would find anything.
    pub(super) fn is_ready(&mut self) -> bool {
        while let Some(&item) = self.listed.front() {
            if self.is_item_ready(item) {
                return true;
            }
            self.listed.pop_front();
        }
        false
    }

    /// Opens or disarms the task's set. Returns whether it was so before.
    pub(super) fn arm_task_set(&mut self, open: bool) -> bool {
        if self.is_gate_open == open {
            return true;
        }
        if open {
            self.watch_again();
        }
        self.is_gate_open = open;
        if self.is_ready() && open && !self.is_gate_listed {
            (self.is_gate_listed, self.is_task_told) = (true, true);
        }
        false
    }

    pub(super) fn is_gate_open(&self) -> bool {
        self.is_gate_open
    }

    /// What tokio finds when it looks: whether there was a change at the task's set since, and still is what changed.
    pub(super) fn look_at_gate(&mut self) -> bool {
        if !std::mem::take(&mut self.is_task_told) {
            return false;
        }
        self.is_gate_listed = self.is_gate_listed && self.is_ready() && self.is_gate_open;
        self.is_gate_listed
    }

    /// The item's own wake-up: through the instance that holds it, and the task's set if it is open.
    fn happens(&mut self, item: Item) {
        if item != Item::Nudge && !self.are_watched {
            return;
        }
        if !self.listed.contains(&item) {
            self.listed.push_back(item);
        }
        if self.is_gate_open {
            (self.is_gate_listed, self.is_task_told) = (true, true);
        }
    }

    fn is_item_ready(&self, item: Item) -> bool {
        match item {
            Item::Nudge => self.nudges > 0,
            Item::Link(peer) => self.sockets[peer].is_ready(),
        }
    }
}
