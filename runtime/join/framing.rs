//! The frames of the connection between a node and the rendezvous. Pure.
//!
//! A frame is its length in four little-endian bytes and that many bytes, at most [`FRAME_BYTES_MAX`]: a message in JSON, or an
//! acknowledgement, which begins with a byte that no JSON begins with. A tag follows, which shows that it is the next one
//! on its connection and unchanged ([`crate::wire::seal`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::seal::{Seal, TAG_BYTES};

/// The most a control frame may carry. A declared length beyond it ends the connection.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 20;
/// ASCII's sign for it; the number of the next frame expected follows in eight little-endian bytes.
const ACKNOWLEDGEMENT: u8 = 6;

/// What a frame is.
#[derive(PartialEq, Debug)]
pub(crate) enum Frame<T> {
    /// All frames before this number have come.
    Acknowledgement(u64),
    /// A report or a notice.
    Message(T),
}

/// What is wrong with a control frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// Its tag does not fit.
    #[error("it was changed on its way, or is not the next one that was sent")]
    Changed,
    /// Its length is beyond the limit.
    #[error("a control frame of {0} bytes; the most is {FRAME_BYTES_MAX}")]
    TooLong(usize),
    /// Its JSON is not what was due.
    #[error("a control frame that is none: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// The frame of a message, yet without its tag.
pub(crate) fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, ControlError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > FRAME_BYTES_MAX {
        return Err(ControlError::TooLong(length));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// The frame that says that all before the number `next` have come, yet without its tag.
pub(crate) fn acknowledgement(next: u64) -> Vec<u8> {
    let mut frame = 9_u32.to_le_bytes().to_vec();
    frame.push(ACKNOWLEDGEMENT);
    frame.extend(next.to_le_bytes());
    frame
}

/// A frame with the tag that makes it the next of its connection.
pub(crate) fn sealed(frame: &[u8], seal: &mut Seal) -> Vec<u8> {
    let tag = seal.tag(&[frame]);
    [frame, &tag].concat()
}

/// The length a frame's first four bytes declare, if it is within the limit.
pub(crate) fn frame_length(prefix: [u8; 4]) -> Result<usize, ControlError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > FRAME_BYTES_MAX { Err(ControlError::TooLong(length)) } else { Ok(length) }
}

/// The frame whose tag follows its payload.
pub(crate) fn unseal<T: DeserializeOwned>(
    prefix: [u8; 4],
    rest: &[u8],
    seal: &mut Seal,
) -> Result<Frame<T>, ControlError> {
    match rest.split_last_chunk::<TAG_BYTES>() {
        Some((payload, tag)) if seal.fits(&[&prefix, payload], *tag) => match payload {
            [ACKNOWLEDGEMENT, number @ ..] if number.len() == 8 => {
                let number = number.try_into().map_or(0, u64::from_le_bytes);
                Ok(Frame::Acknowledgement(number))
            }
            _ => Ok(Frame::Message(decode(payload)?)),
        },
        _ => Err(ControlError::Changed),
    }
}

/// The message of a frame's payload.
pub(crate) fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, ControlError> {
    Ok(serde_json::from_slice(payload)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a frame with its tag.
    fn opened(bytes: &[u8], seal: &mut Seal) -> Result<Frame<String>, ControlError> {
        let (prefix, rest) = bytes.split_first_chunk::<4>().expect("a length");
        unseal(*prefix, rest, seal)
    }

    #[test]
    fn messages_and_acknowledgements_share_a_connection() {
        let (mut there, mut here) = (Seal::new([1; 32]), Seal::new([1; 32]));
        for (text, number) in [("", 0), ("words", 1), ("\u{6}\u{6}\u{6}", u64::MAX)] {
            let frame = sealed(&encode(&text).unwrap(), &mut there);
            assert_eq!(opened(&frame, &mut here).unwrap(), Frame::Message(text.to_owned()));
            let frame = sealed(&acknowledgement(number), &mut there);
            assert_eq!(opened(&frame, &mut here).unwrap(), Frame::Acknowledgement(number));
        }
    }

    #[test]
    fn an_acknowledgement_that_was_changed_or_comes_twice_is_none() {
        let frame = sealed(&acknowledgement(7), &mut Seal::new([1; 32]));
        for at in 4..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 1;
            assert!(matches!(opened(&changed, &mut Seal::new([1; 32])), Err(ControlError::Changed)), "byte {at}");
        }
        let mut seal = Seal::new([1; 32]);
        opened(&frame, &mut seal).unwrap();
        assert!(matches!(opened(&frame, &mut seal), Err(ControlError::Changed)));
        // Sealed, but of another length.
        for count in [0, 1, 8, 10] {
            let mut frame = (count as u32).to_le_bytes().to_vec();
            frame.resize(4 + count, ACKNOWLEDGEMENT);
            let frame = sealed(&frame, &mut Seal::new([1; 32]));
            assert!(matches!(opened(&frame, &mut Seal::new([1; 32])), Err(ControlError::Malformed(_))), "{count}");
        }
    }
}
