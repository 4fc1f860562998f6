//! One connection between a node and the rendezvous, for as long as it lasts: either end writes what its session has to send,
//! and reads what comes. The session outlives it.

use std::io;
use std::pin::pin;
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::framing::{self, ControlError, Frame};
use super::handshake::Line;
use super::session::{Outgoing, Session};
use crate::wire::seal::{Seal, TAG_BYTES};

/// A connection that cannot be written to has ended; what it still holds to be read is there.
const REST: Duration = Duration::from_secs(1);

/// What this end has to say.
pub(super) struct Words<T> {
    pub(super) queue: mpsc::Receiver<T>,
    /// Makes a message its frame.
    pub(super) frame: fn(T) -> Result<Vec<u8>, ControlError>,
    /// Whether nobody can add to the queue any more.
    is_closed: bool,
}

impl<T> Words<T> {
    pub(super) fn new(queue: mpsc::Receiver<T>, frame: fn(T) -> Result<Vec<u8>, ControlError>) -> Self {
        Words { queue, frame, is_closed: false }
    }
}

/// How the use of a connection has ended.
pub(super) enum End {
    /// This end has said all, and the other has heard it.
    Done,
    /// It broke, or the other end closed it: [`io::ErrorKind::UnexpectedEof`].
    Broken(io::Error),
    /// What came is not what the other end has said.
    Forged(String),
}

/// Carries `session` over `line` until that ends. `hear` makes of a message what goes to `heard`, if anything; a message
/// counts as received when it is there.
pub(super) async fn carry<Out, In: DeserializeOwned, Heard>(
    line: Line,
    session: &Mutex<Session>,
    words: &mut Words<Out>,
    heard: &mpsc::Sender<Heard>,
    hear: impl Fn(&TcpStream, In) -> Option<Heard>,
) -> End {
    let Line { stream, seals, .. } = line;
    let (reader, writer) = stream.into_split();
    let stirred = Notify::new();
    let mut reading = pin!(read(reader, seals.incoming, session, &stirred, heard, hear));
    let writing = write(writer, seals.outgoing, session, &stirred, words);
    tokio::select! {
        end = &mut reading => end,
        written = writing => match written {
            Ok(()) => End::Done,
            // The other end may have said why before it went.
            Err(error) => timeout(REST, reading).await.unwrap_or(End::Broken(error)),
        },
    }
}

/// Writes what the session has to send, until all has been said and heard.
async fn write<T>(
    mut writer: OwnedWriteHalf,
    mut seal: Seal,
    session: &Mutex<Session>,
    stirred: &Notify,
    words: &mut Words<T>,
) -> io::Result<()> {
    loop {
        while let Some(next) = next(session) {
            let frame = match next {
                Outgoing::Acknowledgement(number) => framing::sealed(&framing::acknowledgement(number), &mut seal),
                Outgoing::Frame(frame) => framing::sealed(&frame, &mut seal),
            };
            writer.write_all(&frame).await?;
        }
        let (has_room, is_settled) = state(session);
        if words.is_closed && is_settled {
            return Ok(());
        }
        tokio::select! {
            word = words.queue.recv(), if has_room && !words.is_closed => match word.map(words.frame) {
                Some(Ok(frame)) => session.lock().push(frame.into()),
                // What follows is to be heard all the same: the last word above all.
                Some(Err(error)) => tracing::warn!(%error, "a message to or from the rendezvous fits no frame"),
                None => words.is_closed = true,
            },
            () = stirred.notified() => {}
        }
    }
}

fn next(session: &Mutex<Session>) -> Option<Outgoing> {
    session.lock().next()
}

/// Whether it has room, and whether it is settled.
fn state(session: &Mutex<Session>) -> (bool, bool) {
    let session = session.lock();
    (session.has_room(), session.is_settled())
}

/// Reads what comes, until the connection ends.
async fn read<In: DeserializeOwned, Heard>(
    mut reader: OwnedReadHalf,
    mut seal: Seal,
    session: &Mutex<Session>,
    stirred: &Notify,
    heard: &mpsc::Sender<Heard>,
    hear: impl Fn(&TcpStream, In) -> Option<Heard>,
) -> End {
    loop {
        match read_sealed(&mut reader, &mut seal).await {
            Ok(Frame::Message(message)) => match hear(reader.as_ref(), message) {
                // Counted as it is handed over: who gives up waiting for room has not received it.
                Some(message) => match heard.reserve().await {
                    Ok(room) => {
                        room.send(message);
                        session.lock().has_come();
                    }
                    // Nobody wants to know any more. This end may still have a last word to say.
                    Err(_) => session.lock().has_come(),
                },
                None => session.lock().has_come(),
            },
            Ok(Frame::Acknowledgement(number)) => {
                if let Err(error) = session.lock().acknowledge(number) {
                    return End::Forged(error.to_string());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return End::Forged(error.to_string()),
            Err(error) => return End::Broken(error),
        }
        stirred.notify_one();
    }
}

/// Reads one frame with its tag. [`io::ErrorKind::InvalidData`]: it is not what the other end has sent.
pub(super) async fn read_sealed<T: DeserializeOwned>(
    reader: impl AsyncRead + Unpin,
    seal: &mut Seal,
) -> io::Result<Frame<T>> {
    let (prefix, rest) = read_bytes(reader).await?;
    framing::unseal(prefix, &rest, seal).map_err(invalid)
}

/// A frame's length, and so many bytes with a tag. Memory grows with what arrives, not with what a length claims.
async fn read_bytes(mut reader: impl AsyncRead + Unpin) -> io::Result<([u8; 4], Vec<u8>)> {
    let mut prefix = [0; 4];
    reader.read_exact(&mut prefix).await?;
    let length = framing::frame_length(prefix).map_err(invalid)? + TAG_BYTES;
    let mut bytes = Vec::new();
    reader.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok((prefix, bytes)) }
}

fn invalid(error: ControlError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
