//! The engine with its sockets, under one lock: whoever holds the lock drives.

mod at_once;
mod cuts;
mod ends;
mod lanes;
mod looks;
mod loss;
mod observe;
mod sending;
mod sockets;
mod unwanted;
mod withdraw;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use socket2::SockRef;

use super::awaited::Awaited;
use super::clock::Clock;
use super::completion::Completion;
use super::down::{Down, Standstill};
use super::observed::Observed;
use super::poller::{Poller, Ready};
use super::shared::SharedCompletion;
use super::tuning::batching::Batching;
use super::wake::TaskWake;
use crate::collective::execute::Collectives;
use crate::controllers::{Controller, Disabled};
use crate::engine::{ByOp, Engine, OpId, Outcome, Sent};
use crate::error::Error;
use crate::ids::{Path, Rank};
use crate::join::handshake::Connection;
use crate::window::Windows;
use sockets::{Socket, Sockets, read_now, write_evenly, write_now};
pub(super) use unwanted::Unwanted;

/// Bytes read from one link before the others have their turn.
const READ_TURN_BYTES: usize = 1 << 20;
/// A read of this much is part of a long transfer.
const BULK_BYTES: usize = 16 << 10;
/// Links whose round trip is looked at.
const ROUND_TRIPS_MAX: usize = 16;

pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(super) collectives: Collectives,
    pub(super) windows: Windows,
    sockets: Sockets,
    poller: Arc<Poller>,
    pub(super) clock: Clock,
    completions: ByOp<SharedCompletion>,
    /// How collectives follow each other.
    batching: Batching,
    /// The operation that is being posted, until it has ended or is to be ended by others.
    posted: Option<SharedCompletion>,
    /// The message of a collective that its caller carries out.
    pub(super) awaited: Option<Awaited>,
    /// The place of the last one.
    #[expect(clippy::box_collection, reason = "the engine takes places in boxes")]
    pub(super) spare_place: Option<Box<Vec<u8>>>,
    recent: VecDeque<(OpId, SharedCompletion)>,
    /// Refusals that no handle has returned, until the program asks for them or finalizes.
    refusals: VecDeque<Error>,
    /// Who is to be woken once the lock is free.
    wakers: Vec<Waker>,
    /// Operations that were completed so far.
    pub(crate) completed_count: u64,
    /// Who is to be woken by the next that is.
    pub(crate) watchers: Vec<Waker>,
    /// What nobody wants any more; dropped once the lock is free, since a buffer's drop may be the program's code.
    unwanted: Vec<Outcome>,
    /// Waits for something that no completion tells; woken once, by the next who may have changed it.
    pub(crate) onlooker: Option<Waker>,
    /// Whether the rendezvous is there to say who was lost first.
    pub(crate) is_advised: bool,
    /// The first rank whose connection ended without goodbye, or that a peer blamed.
    suspect: Option<(Rank, String)>,
    /// Tells the task that there is one.
    wake: Arc<TaskWake>,
    /// A thread has panicked with the core locked.
    pub(crate) is_broken: bool,
    /// A thread that waits drives, not the task.
    pub(crate) is_helped: bool,
    /// How often a thread has begun to wait for what was not there.
    pub(crate) waits: u64,
    /// When a socket was read, an operation posted or a collective's part put back last: what ends by that has ended then.
    pub(super) latest: Duration,
    /// Something was sent since a socket was read last.
    has_sent: bool,
    /// The bytes that each rank's sockets have taken, those of records and those sent again among them.
    pub(super) written: Vec<u64>,
    /// Lanes that have no connection now.
    pub(super) down: BTreeMap<Path, Down>,
    /// How far lanes were when they were cut last.
    standstills: BTreeMap<Path, Standstill>,
    /// Links that are to have more lanes, and how many; the task opens them.
    wanted_lanes: BTreeMap<Rank, u8>,
    /// How many lanes a link may have beside the first.
    pub(super) lanes_max: u8,
    /// How often few links were looked at.
    looks: u32,
    /// A timer runs for what peers are to be told of.
    is_telling: bool,
    /// For how long a connection that is cut is made anew, if it is.
    pub(super) resumes: Option<Duration>,
    /// What passes over the links, if that is counted.
    pub(crate) observed: Option<Observed>,
}

impl Core {
    pub(crate) fn new(
        engine: Engine,
        links: Vec<Option<Connection<TcpStream>>>,
        poller: Arc<Poller>,
        clock: Clock,
        wake: Arc<TaskWake>,
        disabled: Disabled,
    ) -> io::Result<Self> {
        let collectives = Collectives::new(engine.rank(), links.len() as u32);
        let windows = Windows::new(engine.rank());
        let ranks = links.len();
        let mut sockets = Vec::with_capacity(ranks);
        for (rank, link) in (0..).zip(links) {
            let socket = link.map(|link| Socket::new(link, disabled, ranks));
            if let Some(socket) = &socket {
                poller.add(Rank(rank).into(), socket.stream.clone())?;
            }
            sockets.push(socket);
        }
        let (completions, recent, refusals) = (ByOp::new(), VecDeque::new(), VecDeque::new());
        let written = vec![0; sockets.len()];
        Ok(Core {
            engine,
            collectives,
            windows,
            sockets: Sockets::new(sockets),
            poller,
            clock,
            completions,
            batching: Batching::new(disabled.leaves(Controller::Batching)),
            posted: None,
            awaited: None,
            spare_place: None,
            recent,
            refusals,
            wakers: Vec::new(),
            completed_count: 0,
            watchers: Vec::new(),
            unwanted: Vec::new(),
            onlooker: None,
            is_advised: false,
            suspect: None,
            wake,
            is_broken: false,
            is_helped: false,
            waits: 0,
            latest: Duration::ZERO,
            has_sent: false,
            written,
            down: BTreeMap::new(),
            standstills: BTreeMap::new(),
            wanted_lanes: BTreeMap::new(),
            lanes_max: 0,
            looks: 0,
            is_telling: false,
            resumes: None,
            observed: None,
        })
    }

    /// Has `completion` filled when its operation completes.
    pub(crate) fn expect(&mut self, completion: SharedCompletion) {
        self.completions.insert(completion.op, completion);
    }

    /// The same for one that may complete before the lock is free: it is not put into the table for nothing. Then
    /// [`Core::end_post`].
    pub(crate) fn begin_post(&mut self, completion: SharedCompletion) {
        self.posted = Some(completion);
    }

    /// What the post could complete at once is complete.
    pub(crate) fn end_post(&mut self) {
        if let Some(completion) = self.posted.take() {
            self.expect(completion);
        }
    }

    /// The operations that are not complete.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &Completion> {
        self.completions.values().map(|completion| &**completion)
    }

    /// How many segments the links have sent again so far.
    pub(super) fn retransmitted(&self) -> u64 {
        let sockets = self.sockets.all();
        sockets.filter_map(|socket| lathide_sys::tcp::retransmitted(socket.stream.as_fd()).ok()).map(u64::from).sum()
    }

    /// Half of the usual round trip of the first links, as TCP has seen it.
    pub(super) fn half_round_trip(&self) -> Option<Duration> {
        let sockets = self.sockets.first().take(ROUND_TRIPS_MAX);
        let mut times: Vec<Duration> =
            sockets.filter_map(|socket| lathide_sys::tcp::round_trip(socket.stream.as_fd()).ok()).collect();
        times.sort_unstable();
        times.get(times.len() / 2).map(|time| *time / 2)
    }

    /// Moves what can be moved now: reads the links that are ready, then writes. Never blocks. Stops early to
    /// `give_way`; what is ready stays so. Returns how many bytes it was, the last writes not counted.
    pub(crate) fn drive(&mut self, ready: &[Ready], give_way: &dyn Fn() -> bool) -> usize {
        let mut count = 0;
        for link in ready {
            if link.readable {
                count += self.read(link.path);
            }
            if link.writable {
                count += self.writable(link.path);
            }
            if give_way() {
                break;
            }
        }
        self.flush();
        count
    }

    /// Whether [`Core::take_wakers`] has somebody to return.
    pub(crate) fn has_wakers(&self) -> bool {
        !self.wakers.is_empty() || self.onlooker.is_some()
    }

    /// Those to be woken; call them after unlocking.
    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        if let Some(onlooker) = self.onlooker.take() {
            self.wakers.push(onlooker);
        }
        std::mem::take(&mut self.wakers)
    }

    /// A thread has panicked with the core locked, or the task has: `cause`. Ends every operation without touching what may
    /// be half changed. Returns who is to be woken.
    pub(super) fn break_down(&mut self, cause: &str) -> Vec<Waker> {
        let error = Error::Panicked { rank: self.engine.rank(), cause: cause.into() };
        self.is_broken = true;
        self.engine.declare_failed(error.clone());
        self.close();
        self.end_post();
        let wakers = self.completions.drain().filter_map(|completion| completion.fail(&error));
        self.wakers.extend(wakers);
        self.wakers.append(&mut self.watchers);
        self.take_wakers()
    }

    /// Buffers that nobody wants any more.
    pub(super) fn take_unwanted(&mut self) -> Unwanted {
        Unwanted { outcomes: std::mem::take(&mut self.unwanted), buffers: self.engine.take_spent() }
    }

    /// Closes every connection.
    pub(crate) fn close(&mut self) {
        for path in self.sockets.paths() {
            self.hang_up(path);
        }
    }

    /// Reads what is there, at most a turn's worth. Returns how many bytes it was.
    pub(crate) fn read(&mut self, path: impl Into<Path>) -> usize {
        self.read_at(path, None)
    }

    /// [`Core::read`] by one who knew the time just now; who has waited for the lock since may know less than the core.
    pub(crate) fn read_at(&mut self, path: impl Into<Path>, mut now: Option<Duration>) -> usize {
        let path = path.into();
        let peer = path.peer;
        self.observe_departures(peer);
        self.has_sent = false;
        let (mut turn, mut holds) = (0, false);
        while holds || turn < READ_TURN_BYTES {
            let Some(Socket { stream, records, .. }) = self.sockets.get_mut(path) else { break };
            let mut offered = 0;
            self.latest = now.take().filter(|now| *now >= self.latest).unwrap_or_else(|| self.clock.now());
            let result = self.engine.receive(self.latest, path, &mut |slices| {
                offered = slices.iter().map(|slice| slice.len()).sum();
                match records {
                    None => read_now(stream, slices),
                    Some(records) => records.read(slices, &mut |bytes| read_now(stream, &mut [IoSliceMut::new(bytes)])),
                }
            });
            // Of what is held here, no poller tells.
            holds = records.as_ref().is_some_and(|records| records.holds());
            match result {
                Ok(0) => {
                    if !path.is_first() {
                        // Its goodbye came the other way.
                        self.read(peer);
                    }
                    self.ended(
                        path,
                        "its connection was closed without goodbye: it crashed, was killed, or ended without finalize",
                    );
                    break;
                }
                Ok(count) => {
                    turn += count;
                    self.observe_arrivals(peer);
                    if self.engine.owes(path) {
                        // Who sends a long message may wait for it, and is not to wait until the turn is over.
                        self.write(path);
                    }
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
                    if self.engine.has_completions() || self.engine.has_requests() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broke(path, &error);
                    break;
                }
            }
        }
        if self.engine.has_lane_news(path) {
            self.tend_lanes(path);
        }
        turn
    }

    /// The most that is still to come of one message from those that were `ready`, as far as is known.
    pub(crate) fn to_come(&self, ready: &[Ready]) -> u64 {
        ready.iter().map(|link| self.engine.to_come(link.path.peer)).max().unwrap_or(0)
    }

    /// There is room to write. If there is nothing to write any more, the poller need not watch: so a long
    /// transfer that fills the socket again and again does not tell it each time. Returns how many bytes went.
    fn writable(&mut self, path: Path) -> usize {
        let Some(socket) = self.sockets.get_mut(path) else { return 0 };
        let was_blocked = std::mem::replace(&mut socket.is_blocked, false);
        if was_blocked {
            self.write(path)
        } else {
            self.watch(path, false);
            0
        }
    }

    /// Returns how many bytes went.
    fn write(&mut self, path: Path) -> usize {
        let peer = path.peer;
        let Some(socket) = self.sockets.get_mut(path) else { return 0 };
        if socket.is_blocked {
            return 0;
        }
        let Socket { stream, records, notsent_lowat, pacing, .. } = socket;
        let (mut written, mut before) = (0, 0);
        let sent = loop {
            let mut write = |slices: &[IoSlice<'_>]| {
                let count = if pacing.paces() { write_evenly(stream, slices) } else { write_now(stream, slices) };
                count.inspect(|count| written += count)
            };
            let sent = match records {
                None => self.engine.transmit(path, &mut write),
                Some(records) => self.engine.transmit_sealed(path, records, &mut |bytes| write(&[IoSlice::new(bytes)])),
            };
            notsent_lowat.took(written - before);
            before = written;
            if !matches!(sent, Ok(Sent::Blocked)) {
                if matches!(sent, Ok(Sent::All)) {
                    notsent_lowat.is_done();
                }
                break sent;
            }
            let limit = notsent_lowat.limit();
            let Some(new) = notsent_lowat.is_full(self.clock.now(), self.is_helped) else { break sent };
            // A socket that refuses keeps the limit it has. If it is higher now, there is room again: who computes does
            // not leave to the task what it can hand over itself.
            if SockRef::from(&*stream).set_tcp_notsent_lowat(new).is_err() || new < limit {
                break sent;
            }
        };
        if pacing.wrote(written) {
            pacing.judge(self.clock.now(), &SockRef::from(&*stream));
        }
        self.has_sent |= written > 0;
        self.written[peer.index()] += written as u64;
        self.widen(path);
        self.observe_progress(peer);
        self.observe_departures(peer);
        self.consider_lanes(path);
        match sent {
            Ok(Sent::All) => {}
            // More to send: the poller says at once that there is room, and the other links have their turn.
            Ok(Sent::Blocked | Sent::More) => self.watch(path, true),
            Err(error) => self.write_failed(path, &error),
        }
        written
    }

    /// Has the poller watch for room to write on `path`, or no longer.
    fn watch(&mut self, path: Path, room: bool) {
        let Some(socket) = self.sockets.get_mut(path) else { return };
        socket.is_blocked = room;
        if std::mem::replace(&mut socket.is_watched, room) == room {
            return;
        }
        let waits = socket.is_waiting;
        let watched =
            if waits { self.poller.watch_no_input(path, room) } else { self.poller.watch_writable(path, room) };
        if let Err(error) = watched {
            self.ended(path, &format!("its connection cannot be watched: {error}"));
        }
    }
}

#[cfg(all(test, feature = "encrypt"))]
#[path = "core_tests.rs"]
mod tests;
