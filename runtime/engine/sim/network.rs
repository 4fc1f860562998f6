//! What lies between the engines: bytes move in pieces, stop halfway, and end with a rank.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};

use super::flips::Flips;
use super::world::{LANES, Verdict, World};
use crate::buffer::{ElementType, SendBuffer};
use crate::chance::Chance;
use crate::engine::{OpId, Sent};
use crate::ids::Rank;
use crate::wire::checksum::Damaged;
use crate::wire::frame::MatchKey;

/// What lies between two sockets, in one direction.
#[derive(Default)]
pub(super) struct Pipe {
    pub(super) bytes: VecDeque<u8>,
    pub(super) capacity: usize,
    /// Nothing will be added; the reader is to learn it.
    pub(super) is_cut: bool,
    /// Writes fail.
    pub(super) is_broken: bool,
    pub(super) is_clogged: bool,
    /// Writes go nowhere.
    pub(super) is_void: bool,
}

/// What one call of a sender offers to a pipe: as with sockets, some of it is taken, nothing, or it fails.
struct Offer<'a> {
    ends: (usize, usize),
    pipe: &'a mut Pipe,
    rng: &'a mut Chance,
    flips: &'a mut Flips,
    piece: usize,
    moved: usize,
}

impl Offer<'_> {
    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let Offer { ends, pipe, rng, flips, piece, moved } = self;
        if pipe.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        match rng.below(12) {
            0 => return Err(ErrorKind::WouldBlock.into()),
            1 => return Err(ErrorKind::Interrupted.into()),
            _ => {}
        }
        let room = pipe.capacity - pipe.bytes.len();
        if room == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let most = room.min(1 + rng.below(4 * *piece));
        if pipe.is_void {
            let lost = slices.iter().map(|slice| slice.len()).sum::<usize>().min(most);
            *moved += lost;
            return Ok(lost);
        }
        let before = pipe.bytes.len();
        for slice in slices {
            let left = most - (pipe.bytes.len() - before);
            pipe.bytes.extend(&slice[..left.min(slice.len())]);
        }
        let count = pipe.bytes.len() - before;
        *moved += count;
        flips.strike(*ends, pipe, before, rng);
        Ok(count)
    }
}

impl World {
    /// Half of the writes are tried to be sent as they are posted.
    pub(super) fn write_at_once(
        &mut self,
        from: usize,
        to: usize,
        what: (MatchKey, ElementType),
        source: &(dyn SendBuffer + 'static),
    ) -> io::Result<Option<OpId>> {
        let at = self.between(from, to);
        let Some(bytes) = source.all().filter(|_| self.records[at].is_none()) else { return Ok(None) };
        if self.rng.once_in(2) {
            return Ok(None);
        }
        let (rng, flips, piece) = (&mut self.rng, &mut self.flips, self.program.piece_bytes);
        let mut offer = Offer { ends: (from, to), pipe: &mut self.pipes[at], rng, flips, piece, moved: 0 };
        let engine = &mut self.nodes[from].engine;
        let sent = engine.write_at_once(Rank(to as u32), what, bytes, &mut |slices| offer.write(slices));
        let moved = offer.moved as u64;
        self.note(&[6, from as u64, to as u64, moved]);
        let op = sent?.map(|(op, _)| op);
        self.counts.at_once += u64::from(op.is_some());
        Ok(op)
    }

    /// Writing has failed.
    pub(super) fn has_broken(&mut self, from: usize, to: usize, error: &io::Error) -> Verdict {
        self.pipe(from, to).is_broken = true;
        self.lose(from, to, &error.to_string())
    }

    pub(super) fn send(&mut self, from: usize, to: usize) -> Verdict {
        let (at, size, path) = (self.between(from, to), self.size(), self.path(to));
        let (rng, flips, piece) = (&mut self.rng, &mut self.flips, self.program.piece_bytes);
        let mut offer = Offer { ends: (from, to), pipe: &mut self.pipes[at], rng, flips, piece, moved: 0 };
        let mut write = |slices: &[IoSlice<'_>]| offer.write(slices);
        let end = from;
        let from = from % size;
        let engine = &mut self.nodes[from].engine;
        let sent = match &mut self.records[at] {
            None => engine.transmit(path, &mut write),
            Some(records) => engine.transmit_sealed(path, records, &mut |bytes| write(&[IoSlice::new(bytes)])),
        };
        let moved = offer.moved as u64;
        self.note(&[2, from as u64, to as u64, moved]);
        match sent {
            Ok(Sent::All) => {
                self.nodes[from].sends[to] = false;
                if self.nodes[from].engine.has_output(path) {
                    return Err(format!("rank {from} has sent all to {to}, and has more to send"));
                }
            }
            Ok(Sent::Blocked | Sent::More) => {}
            Err(error) => {
                self.nodes[from].sends[to] = false;
                self.has_broken(end, to, &error)?;
            }
        }
        self.settle(from)
    }

    pub(super) fn deliver(&mut self, from: usize, to: usize) -> Verdict {
        let (now, size, path) = (self.now(), self.size(), self.path(from));
        let (at, back) = (self.between(from, to), self.between(to, from));
        let pipe = &mut self.pipes[at];
        let holds = from >= size && self.records[back].as_ref().is_some_and(|records| records.holds());
        if pipe.bytes.is_empty() && !holds {
            pipe.is_cut = false;
            self.note(&[3, from as u64, to as u64]);
            return self.lose(to, from, "the connection has ended");
        }
        let piece = (1 + self.rng.below(self.program.piece_bytes)).min(pipe.bytes.len());
        let piece = self.cuts.before(from, to, piece);
        let (feeds, blocks) = (self.rng.once_in(3) && path.is_first(), self.rng.once_in(12));
        let peer = path.peer;
        let (engine, predicted) = (&mut self.nodes[to % size].engine, &mut self.counts.predicted);
        let Some(records) = &mut self.records[back] else {
            let moved = if feeds {
                let bytes: Vec<u8> = pipe.bytes.drain(..piece).collect();
                engine.handle_bytes(now, peer, &bytes);
                piece
            } else {
                let mut read = |slices: &mut [IoSliceMut<'_>]| {
                    if blocks {
                        return Err(io::Error::from(ErrorKind::WouldBlock));
                    }
                    *predicted += u64::from(slices.len() > 1);
                    Ok(read_into(pipe, slices, piece))
                };
                engine.receive(now, path, &mut read).unwrap_or(0)
            };
            self.note(&[4, from as u64, to as u64, moved as u64]);
            self.count_to_cut(from, to, moved);
            return self.settle(to % size);
        };
        let (mut moved, mut left) = (0, if blocks { 0 } else { piece });
        let mut take = |bytes: &mut [u8]| match read_into(pipe, &mut [IoSliceMut::new(bytes)], left) {
            0 => Err(io::Error::from(ErrorKind::WouldBlock)),
            taken => {
                left -= taken;
                Ok(taken)
            }
        };
        // As the kernel does: what is held is read at once, since no poller tells of it.
        let end = loop {
            let mut read = |slices: &mut [IoSliceMut<'_>]| {
                *predicted += u64::from(slices.len() > 1);
                records.read(slices, &mut take)
            };
            let result = if feeds {
                let mut bytes = vec![0; piece];
                read(&mut [IoSliceMut::new(&mut bytes)])
                    .inspect(|count| engine.handle_bytes(now, peer, &bytes[..*count]))
            } else {
                engine.receive(now, path, &mut read)
            };
            match result {
                Ok(count) => moved += count,
                Err(error) => break error,
            }
            if !records.holds() {
                break ErrorKind::WouldBlock.into();
            }
        };
        self.note(&[4, from as u64, to as u64, moved as u64]);
        self.count_to_cut(from, to, moved);
        if Damaged::is(&end) {
            return self.damaged(to, from);
        }
        if end.kind() != ErrorKind::WouldBlock {
            // As the kernel does: nobody looks at the connection any more.
            self.pipe(from, to).bytes.clear();
            return self.lose(to, from, &end.to_string());
        }
        self.settle(to % size)
    }

    /// `rank` ends its connection to `peer`, on which a checksum was wrong.
    fn damaged(&mut self, rank: usize, peer: usize) -> Verdict {
        self.counts.damaged += 1;
        self.note(&[9, rank as u64, peer as u64]);
        if !self.cuts.is_dead(rank, peer) {
            self.cut(rank, peer);
        }
        self.notice(rank, peer)
    }

    /// `rank` learns that `peer` is gone.
    pub(super) fn lose(&mut self, rank: usize, peer: usize, cause: &str) -> Verdict {
        if self.cuts.is_dead(rank, peer) {
            return self.notice(rank, peer);
        }
        let (size, path) = (self.size(), self.path(peer));
        let engine = &mut self.nodes[rank % size].engine;
        // As the kernel does: a lane that nothing more is to be said on may end.
        if path.is_first() || !engine.may_end(path) {
            engine.handle_lost(path.peer, cause);
        }
        // Nobody asks it again what it has to send.
        if !path.is_first() {
            engine.suspend(path);
        }
        self.settle(rank % size)
    }

    /// The process of `rank` ends. What it has sent arrives in part; then its peers notice.
    pub(super) fn kill(&mut self, rank: usize) {
        self.nodes[rank].is_dead = true;
        let size = self.size();
        for peer in 0..size * LANES {
            let rank = peer / size * size + rank;
            let arrives = self.rng.next() as usize;
            let pipe = self.pipe(rank, peer);
            pipe.bytes.truncate(arrives % (pipe.bytes.len() + 1));
            pipe.is_cut = true;
            let back = self.pipe(peer, rank);
            back.bytes.clear();
            back.is_broken = true;
        }
    }
}

/// Reads up to `most` bytes into `slices`, as a vectored read does.
fn read_into(pipe: &mut Pipe, slices: &mut [IoSliceMut<'_>], most: usize) -> usize {
    let mut count = 0;
    for slice in slices {
        let now = slice.len().min(most - count).min(pipe.bytes.len());
        for (to, from) in slice.iter_mut().zip(pipe.bytes.drain(..now)) {
            *to = from;
        }
        count += now;
    }
    count
}
