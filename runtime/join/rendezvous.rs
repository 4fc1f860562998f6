//! The rendezvous: where the nodes of a job find each other, and hear of each other's end for as long as it lasts.
//!
//! It runs inside the launcher, or inside rank 0 when there is none. It proves every connection, collects the ranks'
//! addresses, hands out the table when all have joined, relays losses, and decides deadlocks from what ranks report.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::control::{self, ControlError, Notice, Report};
use super::coordinator::{Contact, Coordinator, Input};
use super::handshake;
use super::keepalive::{self, EndedBy};
use crate::config::{Config, Key};
use crate::ids::Rank;
use crate::wire::handshake::{Limits, Party, Purpose, RENDEZVOUS, VERSIONS};
use crate::wire::seal::{Seal, TAG_BYTES};

/// What a rendezvous needs to know.
pub struct Settings {
    /// The number of ranks.
    pub size: u32,
    /// The job's secret.
    pub key: Key,
    /// How long after the first rank joined the others may take.
    pub join_timeout: Duration,
    /// Whether a launcher watches the processes.
    pub launcher: bool,
    /// The host of each rank, if there are several.
    pub hosts: Vec<String>,
    /// Replaces the ranks' addresses by those others shall use: an emulated link's relays.
    pub rewrite: Option<Rewrite>,
}

/// See [`Settings::rewrite`]. What it returns beside the addresses is kept until the rendezvous ends.
pub type Rewrite = Box<dyn FnOnce(Vec<SocketAddr>) -> io::Result<(Vec<SocketAddr>, Box<dyn Send>)> + Send>;

/// The launcher tells the rendezvous.
#[derive(Clone, Debug)]
pub enum Order {
    /// Find out what every rank waits for: [`Event::Shown`].
    Ask,
    /// A process has ended.
    Lost {
        /// Its rank.
        rank: Rank,
        /// How it ended.
        cause: String,
    },
}

/// The rendezvous tells the launcher.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The last rank has joined.
    AllJoined(Instant),
    /// There will be no job: why.
    JoinFailed(String),
    /// A rank has said its last word, or its connection has closed without one. In the order in which they went: a
    /// connection closes before those who notice that can fail.
    Left {
        /// Which.
        rank: Rank,
        /// When.
        at: Instant,
        /// Whether in order.
        finalized: bool,
        /// The rank whose loss made it fail.
        blames: Option<Rank>,
    },
    /// A rank has said what it has observed.
    Observed(Rank, Box<crate::observe::Report>),
    /// Ranks that can never move again: the report.
    Deadlock(String),
    /// Some ranks have stood still for ten seconds, and it is not decided why.
    Stalled(String),
    /// What every rank waits for, as [`Order::Ask`] wanted to know.
    Shown(String),
}

/// Serves a job until every rank that joined has left. `orders` may be closed from the start.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<Event>,
) -> io::Result<()> {
    let limits = Limits::of(&Config::alone());
    let party = Party {
        key: settings.key.clone(),
        rank: RENDEZVOUS,
        size: settings.size,
        incarnation: handshake::incarnation()?,
        limits,
        encrypts: false,
        versions: VERSIONS,
    };
    let (sender, mut inputs) = mpsc::channel(256);
    let mut tasks = JoinSet::new();
    let (guests, deaf) = (sender.clone(), sender.clone());
    tasks.spawn(async move {
        let error =
            handshake::receive(listener, party, Purpose::Control, guests, |guest| Input::Guest(Box::new(guest))).await;
        let _ = deaf.send(Input::Deaf(error)).await;
    });
    tasks.spawn(relay_orders(orders, sender.clone()));
    let mut coordinator = Coordinator::new(settings, events, sender, tasks);
    while !coordinator.is_done() {
        match timeout(coordinator.patience(), inputs.recv()).await {
            Ok(Some(input)) => coordinator.take(input).await,
            Ok(None) => break,
            Err(_) => {}
        }
        coordinator.look_at_clock(Instant::now()).await;
    }
    // Last words are under way in the writers' queues.
    coordinator.flush().await;
    Ok(())
}

async fn relay_orders(mut orders: mpsc::Receiver<Order>, inputs: mpsc::Sender<Input>) {
    while let Some(order) = orders.recv().await {
        if inputs.send(Input::Launcher(order)).await.is_err() {
            return;
        }
    }
}

pub(super) async fn write_notices(mut writer: OwnedWriteHalf, mut seal: Seal, mut queue: mpsc::Receiver<Notice>) {
    while let Some(notice) = queue.recv().await {
        let written = match control::seal_notice(&notice, &mut seal) {
            Ok(frame) => writer.write_all(&frame).await,
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a notice could not be sent");
            return;
        }
    }
}

pub(super) async fn read_reports(
    mut reader: OwnedReadHalf,
    mut seal: Seal,
    (rank, contact): (Rank, Contact),
    inputs: mpsc::Sender<Input>,
) {
    let why = loop {
        match read_sealed::<Report>(&mut reader, &mut seal).await {
            Ok(report) => {
                if let Report::Join { keepalive, .. } = &report {
                    let _ = keepalive::limit(reader.as_ref(), *keepalive, EndedBy::System);
                }
                if inputs.send(Input::Report(rank, contact, Box::new(report))).await.is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                break "its connection closed without a goodbye: it crashed, was killed, or ended without finalize"
                    .into();
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let why = format!("what it said to the rendezvous cannot be trusted: {error}");
                let _ = inputs.send(Input::Forged(rank, contact, why)).await;
                return;
            }
            Err(error) => break keepalive::explain(&error),
        }
    };
    let _ = inputs.send(Input::Closed(rank, contact, why)).await;
}

/// Reads one frame without a tag.
pub async fn read_frame<T: DeserializeOwned>(reader: impl AsyncRead + Unpin) -> io::Result<T> {
    let (_, payload) = read_bytes(reader, 0).await?;
    control::decode(&payload).map_err(invalid)
}

/// Reads one frame with its tag. [`io::ErrorKind::InvalidData`]: it is not what the other end has sent.
pub(crate) async fn read_sealed<T: DeserializeOwned>(reader: impl AsyncRead + Unpin, seal: &mut Seal) -> io::Result<T> {
    let (prefix, rest) = read_bytes(reader, TAG_BYTES).await?;
    control::unseal(prefix, &rest, seal).map_err(invalid)
}

/// A frame's length, and so many bytes and `more`. Memory grows with what arrives, not with what a length claims.
async fn read_bytes(mut reader: impl AsyncRead + Unpin, more: usize) -> io::Result<([u8; 4], Vec<u8>)> {
    let mut prefix = [0; 4];
    reader.read_exact(&mut prefix).await?;
    let length = control::frame_length(prefix).map_err(invalid)? + more;
    let mut bytes = Vec::new();
    reader.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok((prefix, bytes)) }
}

fn invalid(error: ControlError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
