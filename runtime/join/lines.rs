//! The connection between a rank and the rendezvous: frames in and out.

use std::io;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::control::{self, ControlError, Notice, Report};
use super::events::{Contact, Input};
use super::keepalive::{self, EndedBy};
use crate::ids::Rank;
use crate::wire::seal::{Seal, TAG_BYTES};

pub(super) async fn write_notices(mut writer: OwnedWriteHalf, mut seal: Seal, mut queue: mpsc::Receiver<Notice>) {
    while let Some(notice) = queue.recv().await {
        let frame = match control::seal_notice(notice, &mut seal) {
            Ok(frame) => frame,
            Err(error) => {
                // What follows is to be heard all the same.
                tracing::warn!(%error, "a notice fits no frame");
                continue;
            }
        };
        if let Err(error) = writer.write_all(&frame).await {
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

/// Reads one frame with its tag. [`io::ErrorKind::InvalidData`]: it is not what the other end has sent.
pub(crate) async fn read_sealed<T: DeserializeOwned>(reader: impl AsyncRead + Unpin, seal: &mut Seal) -> io::Result<T> {
    let (prefix, rest) = read_bytes(reader).await?;
    control::unseal(prefix, &rest, seal).map_err(invalid)
}

/// A frame's length, and so many bytes with a tag. Memory grows with what arrives, not with what a length claims.
async fn read_bytes(mut reader: impl AsyncRead + Unpin) -> io::Result<([u8; 4], Vec<u8>)> {
    let mut prefix = [0; 4];
    reader.read_exact(&mut prefix).await?;
    let length = control::frame_length(prefix).map_err(invalid)? + TAG_BYTES;
    let mut bytes = Vec::new();
    reader.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok((prefix, bytes)) }
}

fn invalid(error: ControlError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
