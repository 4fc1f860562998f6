//! The sockets of all lanes.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::controllers::{Controller, Disabled};
use crate::ids::{Path, Rank};
use crate::join::handshake::Connection;
use crate::kernel::tuning::batching::Batching;
use crate::kernel::tuning::notsent_lowat::NotsentLowat;
use crate::kernel::tuning::pacing::Pacing;
use crate::wire::records::Records;

/// The system's longest piece has less than 64 KiB, and a whole number of segments.
const EVENLY_BYTES: Range<usize> = (60 << 10)..(127 << 10);

/// A lane's socket, and what is known of it.
pub(super) struct Socket {
    /// The poller has it, too.
    pub(super) stream: Arc<TcpStream>,
    /// What earlier sockets of the link have taken.
    pub(super) taken_before: u64,
    /// When it was connected.
    pub(super) began: Duration,
    /// When it was last looked what its path holds.
    pub(super) looked: Duration,
    /// When it was last asked whether its link is to have more lanes.
    pub(super) considered: Duration,
    /// What passes, if the job wants checksums or encryption.
    pub(super) records: Option<Box<Records>>,
    pub(super) pacing: Pacing,
    pub(super) batching: Batching,
    pub(super) notsent_lowat: NotsentLowat,
    /// The last write found no room.
    pub(super) is_blocked: bool,
    /// The poller watches for room.
    pub(super) is_watched: bool,
    /// What comes must wait for something on another lane: the poller does not watch at all.
    pub(super) is_waiting: bool,
}

impl Socket {
    /// The socket of one of so many ranks.
    pub(super) fn new(Connection { stream, records }: Connection<TcpStream>, disabled: Disabled, ranks: usize) -> Self {
        let pacing = Pacing::new(&stream, disabled.leaves(Controller::Pacing), ranks > 2);
        Socket {
            stream: Arc::new(stream),
            taken_before: 0,
            began: Duration::ZERO,
            looked: Duration::ZERO,
            considered: Duration::ZERO,
            records,
            pacing,
            batching: Batching::new(disabled.leaves(Controller::Batching)),
            notsent_lowat: NotsentLowat::new(disabled.leaves(Controller::NotsentLowat)),
            is_blocked: false,
            is_watched: false,
            is_waiting: false,
        }
    }
}

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

/// One non-blocking read.
pub(super) fn read_now(stream: &TcpStream, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let result = match slices {
        [slice] => rustix::net::recv(stream, &mut slice[..], RecvFlags::DONTWAIT).map(|(count, _)| count),
        slices => rustix::io::readv(stream, slices),
    };
    Ok(result?)
}

/// One non-blocking write to a connection that is paced, in halves if the bytes are a little more than the system's longest piece (45
/// segments of 1448 bytes). Otherwise that piece would leave, and a rest of a segment or a few when the piece has arrived. BBR would take
/// the rest's round trip for the bandwidth, and pace the next message by it: 64 KiB over 1 Gbit/s took up to 30 ms instead of 0.5
/// (`benches/results/2026-11-30-peers.md`).
pub(super) fn write_evenly(stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    if !EVENLY_BYTES.contains(&bytes) {
        return write_now(stream, slices);
    }
    let [first, second] = halves(slices, bytes / 2);
    let written = write_now(stream, &first)?;
    if written < bytes / 2 {
        return Ok(written);
    }
    // An error that stays is found again.
    Ok(written + write_now(stream, &second).unwrap_or(0))
}

/// The first `room` bytes, and the others.
fn halves<'a>(slices: &'a [IoSlice<'_>], mut room: usize) -> [Vec<IoSlice<'a>>; 2] {
    let mut halves = [Vec::new(), Vec::new()];
    for slice in slices {
        let (first, second) = slice.split_at(room.min(slice.len()));
        room -= first.len();
        for (half, part) in halves.iter_mut().zip([first, second]) {
            half.extend((!part.is_empty()).then(|| IoSlice::new(part)));
        }
    }
    halves
}

/// One non-blocking write that raises no signal.
pub(super) fn write_now(stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let result = match slices {
        [slice] => rustix::net::send(stream, slice, flags),
        slices => rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags),
    };
    Ok(result?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn halves_are_the_whole(lengths in prop::collection::vec(0usize..50, 0..20), part in 0.0..=1.0) {
            let bytes: Vec<u8> = (0..lengths.iter().sum::<usize>()).map(|place| place as u8).collect();
            let (mut rest, mut slices) = (&bytes[..], Vec::new());
            for length in lengths {
                let (slice, left) = rest.split_at(length);
                slices.push(IoSlice::new(slice));
                rest = left;
            }
            let room = (part * bytes.len() as f64) as usize;
            let [first, second] = halves(&slices, room).map(|half| half.iter().flat_map(|slice| slice.to_vec()).collect::<Vec<u8>>());
            prop_assert_eq!((&first[..], &second[..]), bytes.split_at(room));
        }
    }

    /// Whatever the length, and however little the socket takes.
    #[test]
    fn what_leaves_evenly_arrives_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let ours = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut theirs, _) = listener.accept().expect("one has connected");
        let (lengths, byte) =
            ([1, EVENLY_BYTES.start, 65_592, EVENLY_BYTES.end, 1 << 20], |place: usize| (place % 251) as u8);
        let total: usize = lengths.iter().sum();
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; total];
            theirs.read_exact(&mut bytes).map(|()| bytes)
        });
        let bytes: Vec<u8> = (0..total).map(byte).collect();
        let mut sent = 0;
        for length in lengths {
            let end = sent + length;
            while sent < end {
                let (head, payload) = bytes[sent..end].split_at((end - sent).min(24));
                match write_evenly(&ours, &[IoSlice::new(head), IoSlice::new(payload)]) {
                    Ok(count) => sent += count,
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
        }
        assert!(reader.join().expect("it reads").expect("all comes") == bytes);
    }
}
