//! The sockets of all lanes.

use std::collections::BTreeMap;

use super::Socket;
use crate::ids::{Path, Rank};

/// A socket for each lane that has a connection.
pub(super) struct Sockets {
    count: usize,
    /// Of the first lanes, by rank.
    first: Vec<Option<Socket>>,
    others: BTreeMap<Path, Socket>,
}

impl Sockets {
    pub(super) fn new(first: Vec<Option<Socket>>) -> Self {
        Sockets { count: first.iter().flatten().count(), first, others: BTreeMap::new() }
    }

    /// Every rank, this node's among them.
    pub(super) fn ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.first.len() as u32).map(Rank)
    }

    /// Every lane that has a connection.
    pub(super) fn paths(&self) -> Vec<Path> {
        let first = self.ranks().filter(|rank| self.first[rank.index()].is_some()).map(Path::from);
        first.chain(self.others.keys().copied()).collect()
    }

    /// The lanes beside the first of the link to `peer` that have a connection.
    pub(super) fn lanes(&self, peer: Rank) -> Vec<Path> {
        let range = Path { peer, lane: 0 }..=Path { peer, lane: u8::MAX };
        self.others.range(range).map(|(path, _)| *path).collect()
    }

    pub(super) fn get(&self, path: Path) -> Option<&Socket> {
        if path.is_first() { self.first.get(path.peer.index())?.as_ref() } else { self.others.get(&path) }
    }

    pub(super) fn get_mut(&mut self, path: Path) -> Option<&mut Socket> {
        if path.is_first() { self.first.get_mut(path.peer.index())?.as_mut() } else { self.others.get_mut(&path) }
    }

    pub(super) fn take(&mut self, path: Path) -> Option<Socket> {
        let socket = if path.is_first() { self.first[path.peer.index()].take() } else { self.others.remove(&path) };
        self.count -= usize::from(socket.is_some());
        socket
    }

    pub(super) fn put(&mut self, path: Path, socket: Socket) {
        let before = if path.is_first() {
            self.first[path.peer.index()].replace(socket)
        } else {
            self.others.insert(path, socket)
        };
        self.count += usize::from(before.is_none());
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The sockets of first lanes.
    pub(super) fn first(&self) -> impl Iterator<Item = &Socket> {
        self.first.iter().flatten()
    }

    /// All sockets.
    pub(super) fn all(&self) -> impl Iterator<Item = &Socket> {
        self.first().chain(self.others.values())
    }
}
