//! A node's end of its connection to the rendezvous.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::control::{self, Notice, Report};
use super::handshake::Line;
use super::keepalive::{self, EndedBy};
use super::lines;
use crate::wire::seal::Seal;

/// Reports and notices that may wait to be sent or read.
const QUEUE_MAX: usize = 64;
/// How long until it is looked again whether a report has arrived.
const ARRIVAL_PAUSE: Duration = Duration::from_millis(2);

/// The connection to the rendezvous. Its tasks live on the runtime that opened it.
pub(crate) struct Control {
    reports: mpsc::Sender<Report>,
    /// What the rendezvous says. `None` from it: the rendezvous is gone, which ends nothing by itself.
    pub(crate) notices: mpsc::Receiver<Notice>,
    /// This node's address on the way to it.
    local: IpAddr,
    /// What is wrong with what came, if that has ended the notices.
    forged: Arc<OnceLock<String>>,
    writer: JoinHandle<()>,
}

impl Control {
    pub(super) fn new(Line { stream, seals }: Line, keepalive: Option<Duration>) -> io::Result<Self> {
        let local = stream.local_addr()?.ip();
        keepalive::limit(&stream, keepalive, EndedBy::System)?;
        let (reader, writer) = stream.into_split();
        let (reports, queue) = mpsc::channel(QUEUE_MAX);
        let (sender, notices) = mpsc::channel(QUEUE_MAX);
        let forged = Arc::new(OnceLock::new());
        let writer = tokio::spawn(write_reports(writer, seals.outgoing, queue));
        tokio::spawn(read_notices(reader, seals.incoming, sender, forged.clone()));
        Ok(Control { reports, notices, local, forged, writer })
    }

    /// Why there are no more notices, if somebody between here and the rendezvous has had a hand in them.
    pub(crate) fn forged(&self) -> Option<&str> {
        self.forged.get().map(String::as_str)
    }

    /// One that says nothing, and what keeps it so.
    #[cfg(test)]
    pub(super) fn silent(local: IpAddr) -> (Self, impl Sized) {
        let ((reports, queue), (sender, notices)) = (mpsc::channel(1), mpsc::channel(1));
        let writer = tokio::spawn(async {});
        (Control { reports, notices, local, forged: Arc::default(), writer }, (queue, sender))
    }

    /// This node's address on the way to the rendezvous.
    pub(crate) fn local(&self) -> IpAddr {
        self.local
    }

    /// A sender for reports that never blocks: `try_send` fails if the queue is full.
    pub(crate) fn sender(&self) -> mpsc::Sender<Report> {
        self.reports.clone()
    }

    /// Says the last word, if there is one, and waits until all is on its way, at most `patience`. All other senders
    /// must be gone.
    pub(crate) async fn leave(self, last: Option<Report>, patience: Duration) {
        let Control { reports, notices, writer, .. } = self;
        let _ = timeout(patience, async {
            if let Some(last) = last {
                let _ = reports.send(last).await;
            }
            drop(reports);
            let _ = writer.await;
        })
        .await;
        drop(notices);
    }
}

async fn write_reports(mut writer: OwnedWriteHalf, mut seal: Seal, mut queue: mpsc::Receiver<Report>) {
    let mut has_observations = false;
    while let Some(report) = queue.recv().await {
        has_observations |= matches!(report, Report::Observed(_));
        let frame = match control::seal_report(report, &mut seal) {
            Ok(frame) => frame,
            Err(error) => {
                // What follows is to be heard all the same: the last word above all.
                tracing::warn!(%error, "a report fits no frame");
                continue;
            }
        };
        if let Err(error) = writer.write_all(&frame).await {
            tracing::debug!(%error, "a report could not be sent");
            return;
        }
    }
    // The process ends after this, and a launcher waits for its report not much longer than that. So who has a long one to send
    // over a slow network stays until it is there.
    let socket: &TcpStream = writer.as_ref();
    while has_observations && lathide_sys::tcp::heard(socket.as_fd()).is_ok_and(|heard| heard.has_bytes_under_way) {
        sleep(ARRIVAL_PAUSE).await;
    }
}

async fn read_notices(
    mut reader: OwnedReadHalf,
    mut seal: Seal,
    notices: mpsc::Sender<Notice>,
    forged: Arc<OnceLock<String>>,
) {
    loop {
        match lines::read_sealed(&mut reader, &mut seal).await {
            Ok(notice) => {
                if notices.send(notice).await.is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let _ = forged.set(format!("what the rendezvous said cannot be trusted: {error}"));
                return;
            }
            Err(_) => return,
        }
    }
}
