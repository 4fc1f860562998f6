//! The engine with its sockets, under one lock: whoever holds the lock drives.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::SockRef;
use tokio::sync::Notify;

use super::clock::Clock;
use super::flurry::Flurry;
use super::greeting::{Connection, is_local};
use super::observed::Observed;
use super::pacing::Pacing;
use super::poller::{Poller, Ready};
use super::silence;
use super::slot::Slot;
use super::unsent::Unsent;
use crate::collective::execute::Collectives;
use crate::engine::{Completion, Engine, LateRefusal, OpId, Outcome, Sent};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::cipher::Cipher;

/// Bytes read from one link before the others have their turn.
const READ_TURN_BYTES: usize = 1 << 20;
/// A read of this much is part of a long transfer.
const BULK_BYTES: usize = 16 << 10;
/// Completed writes kept at hand in case the receiver refuses late.
const RECENT_MAX: usize = 64;
/// Refusals kept for the next call.
const REFUSALS_MAX: usize = 64;

pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(super) collectives: Collectives,
    sockets: Vec<Option<Socket>>,
    poller: Arc<Poller>,
    pub(super) clock: Clock,
    slots: HashMap<OpId, Arc<Slot>>,
    recent: VecDeque<(OpId, Arc<Slot>)>,
    /// Refusals of messages whose handles are gone: the next call that names the peer returns them.
    refusals: VecDeque<(Rank, Error)>,
    /// Who is to be woken once the lock is free.
    wakers: Vec<Waker>,
    /// Waits for something that no slot tells; woken once, by the next who may have changed it.
    pub(crate) onlooker: Option<Waker>,
    /// Whether the rendezvous is there to say who was lost first.
    pub(crate) is_advised: bool,
    /// The first rank whose connection ended without goodbye, or that a peer blamed.
    suspect: Option<(Rank, String)>,
    /// Tells the task that there is one.
    suspicion: Arc<Notify>,
    /// A thread that waits drives, not the task.
    pub(crate) is_helped: bool,
    /// What passes over the links, if that is counted.
    pub(crate) observed: Option<Observed>,
}

struct Socket {
    stream: TcpStream,
    /// Seals and opens what passes, if the job wants it.
    cipher: Option<Box<Cipher>>,
    pacing: Pacing,
    flurry: Flurry,
    unsent: Unsent,
    /// The last write found no room.
    is_blocked: bool,
    /// The poller watches for room.
    is_watched: bool,
}

impl Socket {
    fn new(Connection { stream, cipher }: Connection<TcpStream>) -> Self {
        let pacing = Pacing::new(&SockRef::from(&stream));
        Socket {
            stream,
            cipher,
            pacing,
            flurry: Flurry::default(),
            unsent: Unsent::new(),
            is_blocked: false,
            is_watched: false,
        }
    }
}

impl Core {
    pub(crate) fn new(
        engine: Engine,
        links: Vec<Option<Connection<TcpStream>>>,
        poller: Arc<Poller>,
        clock: Clock,
        suspicion: Arc<Notify>,
    ) -> io::Result<Self> {
        let collectives = Collectives::new(engine.rank(), links.len() as u32);
        let mut sockets = Vec::with_capacity(links.len());
        for (rank, link) in (0..).zip(links) {
            if let Some(link) = &link {
                poller.add(Rank(rank), link.stream.as_fd())?;
            }
            sockets.push(link.map(Socket::new));
        }
        let (slots, recent, refusals) = (HashMap::new(), VecDeque::new(), VecDeque::new());
        Ok(Core {
            engine,
            collectives,
            sockets,
            poller,
            clock,
            slots,
            recent,
            refusals,
            wakers: Vec::new(),
            onlooker: None,
            is_advised: false,
            suspect: None,
            suspicion,
            is_helped: false,
            observed: None,
        })
    }

    /// Has `slot` filled when its operation completes.
    pub(crate) fn expect(&mut self, slot: Arc<Slot>) {
        self.slots.insert(slot.op, slot);
    }

    /// Withdraws a read nobody waits for any more, if it has met no message.
    pub(crate) fn withdraw(&mut self, slot: &Slot) {
        self.engine.withdraw(slot.operation().peer, slot.key, slot.op);
        self.hand_on();
    }

    /// Moves what can be moved now: reads the links that are ready, then writes. Never blocks. Stops early to
    /// `give_way`; what is ready stays so. Returns how many bytes it was, the last writes not counted.
    pub(crate) fn drive(&mut self, ready: &[Ready], give_way: &dyn Fn() -> bool) -> usize {
        let mut count = 0;
        for link in ready {
            if link.readable {
                count += self.read(link.peer);
            }
            if link.writable {
                count += self.writable(link.peer);
            }
            if give_way() {
                break;
            }
        }
        self.flush();
        count
    }

    /// A write of `bytes` to `peer` begins, at `now`. Returns whether it may wait for others to leave with.
    pub(crate) fn gathers(&mut self, peer: Rank, bytes: u64, now: Duration) -> bool {
        self.sockets[peer.index()].as_mut().is_some_and(|socket| socket.flurry.gathers(bytes, now))
    }

    /// Sends a write to `peer` that does not wait for others, and all before it.
    pub(crate) fn send(&mut self, peer: Rank) {
        self.flush();
        if let Some(socket) = self.sockets[peer.index()].as_mut() {
            socket.flurry.was_sent(self.clock.now());
        }
    }

    /// Sends what the engine has, as far as the sockets take it, and hands completions on.
    pub(crate) fn flush(&mut self) {
        loop {
            let has_written = self.write_pending();
            self.hand_on();
            // What has ended may have had collectives say something.
            if !has_written || self.collectives.is_idle() {
                return;
            }
        }
    }

    /// Sends to all links with new output. Returns whether there were such.
    fn write_pending(&mut self) -> bool {
        let mut has_written = false;
        while let Some(peer) = self.engine.poll_pending() {
            self.write(peer);
            has_written = true;
        }
        has_written
    }

    /// Hands outcomes to their slots.
    pub(crate) fn hand_on(&mut self) {
        loop {
            while let Some(completion) = self.engine.poll_completion() {
                if self.collectives.awaits_messages() {
                    self.complete_for_collectives(completion);
                } else {
                    self.fill_slot(completion);
                }
            }
            if self.hand_on_collectives() {
                continue;
            }
            // What it has said about collectives before says more: it is heard first, and passed on.
            let Some((culprit, cause)) = self.engine.poll_failed_peer() else { break };
            self.write_pending();
            self.suspect(culprit, cause);
        }
        while let Some(LateRefusal { peer, op, error }) = self.engine.poll_refusal() {
            let slot = self.recent.iter().find(|(recent, _)| Some(*recent) == op);
            if !slot.is_some_and(|(_, slot)| slot.refuse(&error)) && self.refusals.len() < REFUSALS_MAX {
                self.refusals.push_back((peer, error));
            }
        }
    }

    pub(super) fn fill_slot(&mut self, Completion { op, mut outcome }: Completion) {
        let Some(slot) = self.slots.remove(&op) else { return };
        self.observe_end(&slot, &mut outcome);
        let is_write = matches!(outcome, Outcome::Written(_));
        self.wakers.extend(slot.complete(outcome));
        if is_write {
            if self.recent.len() == RECENT_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back((op, slot));
        }
    }

    /// A refusal that no handle was there to return; of any peer if `peer` is `None`.
    pub(crate) fn take_refusal(&mut self, peer: Option<Rank>) -> Option<Error> {
        let at = self.refusals.iter().position(|(rank, _)| peer.is_none_or(|peer| peer == *rank))?;
        self.refusals.remove(at).map(|(_, error)| error)
    }

    /// Those to be woken; call them after unlocking.
    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        self.wakers.extend(self.onlooker.take());
        std::mem::take(&mut self.wakers)
    }

    /// Closes every connection.
    pub(crate) fn close(&mut self) {
        for socket in self.sockets.iter_mut().filter_map(Option::take) {
            self.poller.remove(socket.stream.as_fd());
        }
    }

    /// Reads what is there, at most a turn's worth. Returns how many bytes it was.
    pub(crate) fn read(&mut self, peer: Rank) -> usize {
        let (mut turn, mut holds) = (0, false);
        while holds || turn < READ_TURN_BYTES {
            let Some(Socket { stream, cipher, .. }) = &mut self.sockets[peer.index()] else { break };
            let mut offered = 0;
            let result = self.engine.receive(self.clock.now(), peer, &mut |slices| {
                offered = slices.iter().map(|slice| slice.len()).sum();
                match cipher {
                    None => read_now(stream, slices),
                    Some(cipher) => cipher.read(slices, &mut |bytes| read_now(stream, &mut [IoSliceMut::new(bytes)])),
                }
            });
            // Of what the cipher holds, no poller tells.
            holds = cipher.as_ref().is_some_and(|cipher| cipher.holds());
            match result {
                Ok(0) => {
                    self.lost(peer, "its connection was closed without goodbye");
                    break;
                }
                Ok(count) => {
                    turn += count;
                    self.observe_arrivals(peer);
                    if holds {
                        continue;
                    }
                    // Less than asked for: the socket is empty, and asking again would only say so; unless so much
                    // came that more has come meanwhile.
                    if count < offered.min(BULK_BYTES) {
                        break;
                    }
                    // Who gets this goes on, and may post a read: what follows then goes straight to its place instead
                    // of into memory of the window. Until then TCP keeps it.
                    if self.engine.has_completions() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.lost(peer, &silence::explain(&error));
                    break;
                }
            }
        }
        turn
    }

    /// The most that is still to come of one message from those that were `ready`, as far as is known.
    pub(crate) fn to_come(&self, ready: &[Ready]) -> u64 {
        ready.iter().map(|link| self.engine.to_come(link.peer)).max().unwrap_or(0)
    }

    /// The ranks whose connections end on this host, this one included.
    pub(crate) fn ranks_here(&self) -> usize {
        let is_here = |socket: &Socket| is_local(&SockRef::from(&socket.stream));
        1 + self.sockets.iter().flatten().filter(|socket| is_here(socket)).count()
    }

    /// Tries again to write to `peer`, if it found no room before. Returns how many bytes went.
    pub(crate) fn write_on(&mut self, peer: Rank) -> usize {
        match &mut self.sockets[peer.index()] {
            Some(socket) if socket.is_blocked => socket.is_blocked = false,
            _ => return 0,
        }
        self.write(peer)
    }

    /// There is room to write. If there is nothing to write any more, the poller need not watch: so a long
    /// transfer that fills the socket again and again does not tell it each time. Returns how many bytes went.
    fn writable(&mut self, peer: Rank) -> usize {
        let Some(socket) = &mut self.sockets[peer.index()] else { return 0 };
        let was_blocked = std::mem::replace(&mut socket.is_blocked, false);
        if was_blocked {
            self.write(peer)
        } else {
            self.watch(peer, false);
            0
        }
    }

    /// Returns how many bytes went.
    fn write(&mut self, peer: Rank) -> usize {
        let Some(socket) = &mut self.sockets[peer.index()] else { return 0 };
        if socket.is_blocked {
            return 0;
        }
        let Socket { stream, cipher, unsent, pacing, .. } = socket;
        let mut write = |slices: &[IoSlice<'_>]| match cipher {
            None => write_now(stream, slices),
            Some(cipher) => cipher.write(slices, &mut |bytes| write_now(stream, &[IoSlice::new(bytes)])),
        };
        let (mut written, mut before) = (0, 0);
        let sent = loop {
            let sent = self.engine.transmit(peer, &mut |slices| write(slices).inspect(|count| written += count));
            unsent.took(written - before);
            before = written;
            if !matches!(sent, Ok(Sent::Blocked)) {
                if matches!(sent, Ok(Sent::All)) {
                    unsent.is_done();
                }
                break sent;
            }
            let limit = unsent.limit();
            let Some(new) = unsent.is_full(self.clock.now(), self.is_helped) else { break sent };
            // A socket that refuses keeps the limit it has. If it is higher now, there is room again: who computes does
            // not leave to the task what it can hand over itself.
            if SockRef::from(&*stream).set_tcp_notsent_lowat(new).is_err() || new < limit {
                break sent;
            }
        };
        if !pacing.is_settled() {
            pacing.wrote(written, self.clock.now(), &SockRef::from(&*stream));
        }
        self.observe_progress(peer);
        match sent {
            Ok(Sent::All) => {}
            // More to send: the poller says at once that there is room, and the other links have their turn.
            Ok(Sent::Blocked | Sent::More) => self.watch(peer, true),
            Err(error) => self.lost(peer, &silence::explain(&error)),
        }
        written
    }

    /// Has the poller watch for room to write to `peer`, or no longer.
    fn watch(&mut self, peer: Rank, room: bool) {
        let Some(socket) = &mut self.sockets[peer.index()] else { return };
        socket.is_blocked = room;
        if std::mem::replace(&mut socket.is_watched, room) == room {
            return;
        }
        if let Err(error) = self.poller.watch_writable(peer, socket.stream.as_fd(), room) {
            self.lost(peer, &format!("its connection cannot be watched: {error}"));
        }
    }

    /// The connection to `peer` has ended. Without its goodbye, the peer is lost; but others may be too, and who
    /// was first only the rendezvous can tell. As long as it is there, it has a moment to say so.
    fn lost(&mut self, peer: Rank, cause: &str) {
        if let Some(socket) = self.sockets[peer.index()].take() {
            self.poller.remove(socket.stream.as_fd());
        }
        if self.engine.is_over(peer) {
            return;
        }
        let cause = format!("{cause}; look for the first failure in that rank's output");
        self.suspect(peer, cause);
    }

    fn suspect(&mut self, peer: Rank, cause: String) {
        if self.is_advised {
            self.suspect.get_or_insert((peer, cause));
            self.suspicion.notify_one();
        } else {
            self.engine.fail_lost(peer, &cause);
        }
    }

    /// Whether a rank may be lost, and it is not known yet which was first.
    pub(crate) fn is_suspicious(&self) -> bool {
        self.suspect.is_some() && self.engine.failure().is_none()
    }

    /// The rendezvous has had its moment, or is gone: what was seen here stands.
    pub(crate) fn confirm_loss(&mut self) {
        if let Some((peer, cause)) = self.suspect.take() {
            self.engine.fail_lost(peer, &cause);
            self.hand_on();
        }
    }
}

/// One non-blocking read.
fn read_now(stream: &TcpStream, slices: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let result = match slices {
        [slice] => rustix::net::recv(stream, &mut slice[..], RecvFlags::DONTWAIT).map(|(count, _)| count),
        slices => rustix::io::readv(stream, slices),
    };
    Ok(result?)
}

/// One non-blocking write that raises no signal.
fn write_now(stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let result = match slices {
        [slice] => rustix::net::send(stream, slice, flags),
        slices => rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags),
    };
    Ok(result?)
}
