//! A node's end of its line to the rendezvous: what it says and hears there survives the connections that carry it.
//!
//! A connection that ends, or whose other end is silent, is made again ([`super::redial`]), for as long as the job allows;
//! what was under way then is sent again ([`super::session`]). The line itself has ended when nobody listens at the rendezvous' address any
//! more, when the time is over, or when somebody has had a hand in what came.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::control::{self, Notice, Report};
use super::handshake::Line;
use super::interface::Changes;
use super::keepalive::{self, EndedBy};
use super::lines::{self, End, Words};
use super::redial::{Caller, Lost};
use super::session::Session;
use crate::wire::handshake::Party;

/// Reports and notices that may wait to be sent or read.
const QUEUE_MAX: usize = 64;

/// The line to the rendezvous. Its task lives on the runtime that opened it, and ends with it.
pub(crate) struct Control {
    reports: mpsc::Sender<Report>,
    /// What the rendezvous says. `None` from it: the rendezvous is gone, which ends nothing by itself.
    pub(crate) notices: mpsc::Receiver<Notice>,
    local: watch::Receiver<IpAddr>,
    ended: Arc<OnceLock<Ended>>,
    task: JoinSet<()>,
}

/// Why there are no more notices, if the rendezvous has not just gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It could not be reached again in time.
    Cut(String),
    /// Somebody between here and there has had a hand in what came.
    Forged(String),
    /// It has given this node up.
    Unwanted(String),
}

/// How long connections may be silent, and may then take to be made again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) keepalive: Option<Duration>,
    pub(super) resume: Option<Duration>,
}

impl Control {
    /// Takes over a connection to the rendezvous, which may also be found at `addresses`.
    pub(super) fn new(line: Line, party: Party, addresses: &[SocketAddr], patience: Patience) -> io::Result<Self> {
        let peer = line.stream.peer_addr()?;
        let (locals, local) = watch::channel(line.stream.local_addr()?.ip());
        let addresses = [peer].into_iter().chain(addresses.iter().copied().filter(|address| *address != peer));
        let (epoch, incarnation) = (line.epoch, line.established.incarnation);
        let caller = Caller { party, addresses: addresses.collect(), epoch, incarnation };
        let (reports, queue) = mpsc::channel(QUEUE_MAX);
        let (notices_in, notices) = mpsc::channel(QUEUE_MAX);
        let ended = Arc::new(OnceLock::new());
        let reason = ended.clone();
        let words = Words::new(queue, control::report_frame);
        let line_task =
            LineTask { caller, patience, words, notices: notices_in, locals, is_over: AtomicBool::new(false) };
        keepalive::limit(&line.stream, patience.keepalive, EndedBy::System)?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // Set before the notices end: whoever sees that they have, may ask why.
            let mut line_task = line_task;
            if let Some(why) = line_task.live(line).await {
                let _ = reason.set(why);
            }
        });
        Ok(Control { reports, notices, local, ended, task })
    }

    /// One that says nothing, and what keeps it so.
    #[cfg(test)]
    pub(super) fn silent(local: IpAddr) -> (Self, impl Sized) {
        let ((reports, queue), (sender, notices)) = (mpsc::channel(1), mpsc::channel(1));
        let (locals, local) = watch::channel(local);
        (Control { reports, notices, local, ended: Arc::default(), task: JoinSet::new() }, (queue, sender, locals))
    }

    /// This node's address on the way to the rendezvous.
    pub(crate) fn local(&self) -> IpAddr {
        *self.local.borrow()
    }

    /// The same, as it changes: when a connection was cut and the next one leaves this host by another address.
    pub(crate) fn locals(&self) -> watch::Receiver<IpAddr> {
        self.local.clone()
    }

    /// Why there are no more notices, if the rendezvous has not just gone.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        self.ended.get()
    }

    /// Why there are no more notices, if somebody between here and the rendezvous has had a hand in them.
    pub(crate) fn forged(&self) -> Option<&str> {
        match self.ended() {
            Some(Ended::Forged(why)) => Some(why),
            _ => None,
        }
    }

    /// A sender for reports that never blocks: `try_send` fails if the queue is full.
    pub(crate) fn sender(&self) -> mpsc::Sender<Report> {
        self.reports.clone()
    }

    /// Says the last word, if there is one, and waits until the rendezvous has all, at most `patience`. All other senders
    /// must be gone.
    pub(crate) async fn leave(self, last: Option<Report>, patience: Duration) {
        let Control { reports, notices, mut task, .. } = self;
        // Nobody reads them any more; they must not stand in the way of acknowledgements.
        drop(notices);
        let _ = timeout(patience, async {
            if let Some(last) = last {
                let _ = reports.send(last).await;
            }
            drop(reports);
            let _ = task.join_next().await;
        })
        .await;
    }
}

/// What carries the line from connection to connection.
struct LineTask {
    caller: Caller,
    patience: Patience,
    words: Words<Report>,
    notices: mpsc::Sender<Notice>,
    locals: watch::Sender<IpAddr>,
    /// Whether the rendezvous has said that it ends.
    is_over: AtomicBool,
}

impl LineTask {
    /// Until the line has ended. Returns why, unless all was said or the rendezvous has gone.
    async fn live(&mut self, mut line: Line) -> Option<Ended> {
        let (session, changes) = (Mutex::new(Session::default()), Changes::listen());
        for cuts in 1_u64.. {
            let is_over = &self.is_over;
            let hear = |_: &TcpStream, notice: Notice| {
                let is_last = matches!(notice, Notice::Over);
                is_over.fetch_or(is_last, Ordering::Relaxed);
                (!is_last).then_some(notice)
            };
            let (own, resumes) = (*self.locals.borrow(), self.patience.resume.is_some());
            let end = tokio::select! {
                end = lines::carry(line, &session, &mut self.words, &self.notices, hear) => end,
                // Where the end of a connection is that of the line, the address may rather come back.
                () = changes.lost(own), if resumes => {
                    End::Broken(io::Error::other(format!("this host has lost its address {own}")))
                }
            };
            let why = match end {
                End::Done => return None,
                End::Forged(why) => return Some(forged(&why)),
                End::Broken(why) => why,
            };
            let resume = self.patience.resume.filter(|_| !self.is_over.load(Ordering::Relaxed))?;
            tracing::info!(%why, cuts, "the connection to the rendezvous was cut");
            let (began, received) = (Instant::now(), session.lock().received());
            line = match self.caller.again(received, began + resume).await {
                Ok(line) => line,
                Err(lost) => return explain(lost, &why, resume),
            };
            if let Err(miscount) = session.lock().resume(line.established.next_expected) {
                return Some(forged(&miscount.to_string()));
            }
            self.use_address(&line.stream);
            tracing::info!(cuts, after = ?began.elapsed(), "the rendezvous was reached again");
        }
        None
    }

    fn use_address(&self, stream: &TcpStream) {
        // A socket that has broken already says so when it is read.
        let _ = keepalive::limit(stream, self.patience.keepalive, EndedBy::System);
        if let Ok(local) = stream.local_addr() {
            self.locals.send_if_modified(|before| std::mem::replace(before, local.ip()) != local.ip());
        }
    }
}

fn forged(why: &str) -> Ended {
    Ended::Forged(format!("what the rendezvous said cannot be trusted: {why}"))
}

/// `why`: how the last connection broke.
fn explain(lost: Lost, why: &io::Error, resume: Duration) -> Option<Ended> {
    match lost {
        Lost::Refused => None,
        Lost::Silent(last) => Some(Ended::Cut(format!(
            "the connection to the rendezvous was cut ({why}) and could not be made again for {resume:?} \
             (LATHIDE_RESUME): {last}"
        ))),
        Lost::Unwanted(refusal) => Some(Ended::Unwanted(format!(
            "the connection to the rendezvous was cut ({why}), and it does not take this rank back, which it may have \
             given up meanwhile: {refusal}"
        ))),
    }
}

#[cfg(test)]
#[path = "caller_tests.rs"]
mod tests;
