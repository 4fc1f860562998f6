//! The rendezvous' end of its line to a rank: the task that carries it from connection to connection.
//!
//! It ends with the process at the other end: what has another incarnation gets a line of its own.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::control::{self, Notice, Report};
use super::events::{Contact, Input};
use super::handshake::Guest;
use super::keepalive::{self, EndedBy};
use super::lines::{self, End, Words};
use super::session::Session;
use crate::ids::Rank;
use crate::wire::handshake::Refusal;

/// Connections of one rank that may wait until the one before is put aside.
const GUESTS_MAX: usize = 4;

/// What the rendezvous holds of a rank's line. The line ends when it is dropped and the rank has heard all.
pub(super) struct Answering {
    guests: mpsc::Sender<Guest>,
    notices: mpsc::Sender<Notice>,
}

impl Answering {
    /// A line to `rank`, yet without a connection. `notices_max`: how many may wait.
    pub(super) fn new(rank: Rank, inputs: mpsc::Sender<Input>, notices_max: usize, tasks: &mut JoinSet<()>) -> Self {
        let (guests, arrived) = mpsc::channel(GUESTS_MAX);
        let (notices, queue) = mpsc::channel(notices_max);
        let words = Words::new(queue, control::notice_frame);
        tasks.spawn(async move { LineTask { rank, arrived, words, inputs }.live().await });
        Answering { guests, notices }
    }

    /// One without a task, and what the rank would hear.
    #[cfg(test)]
    pub(super) fn unanswered() -> (Self, mpsc::Receiver<Notice>) {
        let (notices, queue) = mpsc::channel(100);
        (Answering { guests: mpsc::channel(1).0, notices }, queue)
    }

    /// The rank has come with another connection, which replaces the one before. Returns whether there is room for it.
    pub(super) fn welcome(&self, guest: Guest) -> bool {
        self.guests.try_send(guest).is_ok()
    }

    /// Tells the rank something. Returns whether there is room for it.
    pub(super) fn tell(&self, notice: Notice) -> bool {
        self.notices.try_send(notice).is_ok()
    }
}

struct LineTask {
    rank: Rank,
    arrived: mpsc::Receiver<Guest>,
    words: Words<Notice>,
    inputs: mpsc::Sender<Input>,
}

impl LineTask {
    async fn live(mut self) {
        let session = Mutex::new(Session::default());
        // What the rank has said in its first report.
        let keepalive = OnceLock::new();
        let mut waiting = None;
        loop {
            let next = match waiting.take() {
                Some(guest) => Some(guest),
                None => self.arrived.recv().await,
            };
            let Some(guest) = next else { return };
            let established = guest.authenticated.established;
            let contact = Contact { incarnation: established.incarnation, epoch: guest.authenticated.epoch };
            match self.carry(guest, &session, &keepalive).await {
                Carried::Replaced(guest) => waiting = Some(*guest),
                Carried::Over(End::Done) => return,
                Carried::Over(End::Forged(why)) => {
                    let why = format!("what it said to the rendezvous cannot be trusted: {why}");
                    let _ = self.inputs.send(Input::Forged(self.rank, contact, why)).await;
                    return;
                }
                Carried::Over(End::Broken(error)) => {
                    let _ = self.inputs.send(Input::Closed(self.rank, contact, explain(&error))).await;
                }
            }
        }
    }

    /// Lets a connection in, and uses it until it ends or another comes.
    async fn carry(
        &mut self,
        guest: Guest,
        session: &Mutex<Session>,
        keepalive: &OnceLock<Option<Duration>>,
    ) -> Carried {
        let (rank, epoch) = (self.rank, guest.authenticated.epoch);
        let established = guest.authenticated.established;
        let resumed = session.lock().resume(established.next_expected);
        if let Err(miscount) = resumed {
            tracing::warn!(%rank, %miscount, "a connection does not continue the one before");
            guest.turn_away(&Refusal::Duplicate(rank.0)).await;
            return Carried::Over(End::Broken(io::Error::other(miscount)));
        }
        let received = session.lock().received();
        let line = match guest.register(received).await {
            Ok(line) => line,
            Err(error) => return Carried::Over(End::Broken(error)),
        };
        if let Some(keepalive) = keepalive.get() {
            let _ = keepalive::limit(&line.stream, *keepalive, EndedBy::System);
        }
        let contact = Contact { incarnation: established.incarnation, epoch };
        let hear = |stream: &TcpStream, report: Report| {
            if let Report::Join { keepalive: said, .. } = &report {
                let _ = keepalive::limit(stream, *keepalive.get_or_init(|| *said), EndedBy::System);
            }
            Some(Input::Report(rank, contact, Box::new(report)))
        };
        tokio::select! {
            end = lines::carry(line, session, &mut self.words, &self.inputs, hear) => Carried::Over(end),
            Some(guest) = self.arrived.recv() => Carried::Replaced(Box::new(guest)),
        }
    }
}

/// How a connection has ended.
enum Carried {
    Over(End),
    /// Its rank has come with another.
    Replaced(Box<Guest>),
}

fn explain(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "its connection closed without a goodbye: it crashed, was killed, or ended without finalize".into();
    }
    keepalive::explain(error)
}
