//! What ranks say to each other about collectives that do not go as they should, as bytes. All integers are
//! little-endian; words are UTF-8 and end with the message.
//!
//! Each begins with the group, u32, by the number that the receiver has for it; 0 for the whole job. Ranks are those of the job.
//!
//! ```text
//! ask     1 u8 | number u64 | signature [64]
//! revoke  2 u8 | number u64 | 1 u8 | rank u32 | signature [64] | rank u32 | signature [64]    a disagreement
//! revoke  2 u8 | number u64 | 2 u8 | rank u32 | words                                         a rank failed
//! revoke  2 u8 | number u64 | 3 u8 | rank u32 | words                                         a rank is gone
//! leave   3 u8 | number u64 | history u64 | signature [64]
//! agree   4 u8 | number u64
//! ```

use crate::collective::signature::{Disagreement, SIGNATURE_BYTES, Signature};
use crate::ids::Rank;
use crate::wire::text;

/// The longest message.
pub(super) const WORD_BYTES_MAX: usize = 1024;
/// The most of an error's words that travels.
const CAUSE_BYTES_MAX: usize = 1000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ControlMessage {
    /// How the sender has called collective `number`.
    Ask {
        number: u64,
        signature: Signature,
    },
    Revoke(Revocation),
    /// The sender has called so many collectives and calls no more: what all of them were, and the last.
    Leave {
        number: u64,
        history: u64,
        last: Signature,
    },
    /// The sender's first collectives, so many, are those of the one it answers.
    Agree {
        number: u64,
    },
}

/// From a number on, no collective completes any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Revocation {
    pub(super) number: u64,
    pub(super) cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    Disagreement(Disagreement),
    Failed { rank: Rank, words: String },
    Lost { peer: Rank, words: String },
}

impl ControlMessage {
    pub(super) fn encode(&self, group: u32) -> Vec<u8> {
        let mut bytes = group.to_le_bytes().to_vec();
        match self {
            ControlMessage::Ask { number, signature } => {
                bytes.push(1);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.extend_from_slice(&signature.encode());
            }
            ControlMessage::Revoke(Revocation { number, cause }) => {
                bytes.push(2);
                bytes.extend_from_slice(&number.to_le_bytes());
                cause.encode(&mut bytes);
            }
            ControlMessage::Leave { number, history, last } => {
                bytes.push(3);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.extend_from_slice(&history.to_le_bytes());
                bytes.extend_from_slice(&last.encode());
            }
            ControlMessage::Agree { number } => {
                bytes.push(4);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes
    }

    /// The group and what is said of it. `None`: no rank of this version says that.
    pub(super) fn decode(bytes: &[u8]) -> Option<(u32, Self)> {
        let (group, rest) = bytes.split_first_chunk()?;
        let (&kind, rest) = rest.split_first()?;
        let (number, rest) = rest.split_first_chunk()?;
        let number = u64::from_le_bytes(*number);
        let message = match kind {
            1 => Some(ControlMessage::Ask { number, signature: Signature::decode(rest.try_into().ok()?) }),
            2 => Some(ControlMessage::Revoke(Revocation { number, cause: Cause::decode(rest)? })),
            3 => {
                let (history, last) = rest.split_first_chunk()?;
                let last = Signature::decode(last.try_into().ok()?);
                Some(ControlMessage::Leave { number, history: u64::from_le_bytes(*history), last })
            }
            4 => rest.is_empty().then_some(ControlMessage::Agree { number }),
            _ => None,
        };
        Some((u32::from_le_bytes(*group), message?))
    }
}

impl Cause {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let mut about = |kind: u8, rank: &Rank, rest: &[u8]| {
            if kind > 0 {
                bytes.push(kind);
            }
            bytes.extend_from_slice(&rank.0.to_le_bytes());
            bytes.extend_from_slice(rest);
        };
        match self {
            Cause::Disagreement(Disagreement { one: (one, left), other: (other, right) }) => {
                about(1, one, &left.encode());
                about(0, other, &right.encode());
            }
            Cause::Failed { rank, words } => about(2, rank, cut(words)),
            Cause::Lost { peer, words } => about(3, peer, cut(words)),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (rank, rest) = rank_and_rest(rest)?;
        let words = || String::from_utf8_lossy(rest).into_owned();
        match kind {
            1 => {
                let (left, rest) = rest.split_first_chunk::<SIGNATURE_BYTES>()?;
                let (other, right) = rank_and_rest(rest)?;
                let right: &[u8; SIGNATURE_BYTES] = right.try_into().ok()?;
                let [one, other] = [(rank, Signature::decode(left)), (other, Signature::decode(right))];
                Disagreement::between(one, other).map(Cause::Disagreement)
            }
            2 => Some(Cause::Failed { rank, words: words() }),
            3 => Some(Cause::Lost { peer: rank, words: words() }),
            _ => None,
        }
    }
}

fn rank_and_rest(bytes: &[u8]) -> Option<(Rank, &[u8])> {
    let (rank, rest) = bytes.split_first_chunk()?;
    Some((Rank(u32::from_le_bytes(*rank)), rest))
}

/// As much of `words` as travels.
fn cut(words: &str) -> &[u8] {
    text::cut(words, CAUSE_BYTES_MAX).as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signature(seed: u8) -> Signature {
        Signature::decode(&[seed; SIGNATURE_BYTES])
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn words_come_back(group: u32, number: u64, rank: u32, text in ".{0,300}", one: u8, other: u8) {
            prop_assume!(one != other);
            let disagreement = Disagreement { one: (Rank(rank), signature(one)), other: (Rank(7), signature(other)) };
            let causes = [
                Cause::Disagreement(disagreement),
                Cause::Failed { rank: Rank(rank), words: text.clone() },
                Cause::Lost { peer: Rank(rank), words: text },
            ];
            let mut words: Vec<ControlMessage> = causes.map(|cause| ControlMessage::Revoke(Revocation { number, cause })).into();
            words.push(ControlMessage::Ask { number, signature: signature(one) });
            words.push(ControlMessage::Leave { number, history: !number, last: signature(one) });
            words.push(ControlMessage::Agree { number });
            for word in words {
                let bytes = word.encode(group);
                prop_assert!(bytes.len() <= WORD_BYTES_MAX);
                prop_assert_eq!(ControlMessage::decode(&bytes), Some((group, word)));
            }
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..4) {
            let _ = ControlMessage::decode(&bytes);
            let mut bytes = bytes;
            bytes.splice(..0, [9, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, kind]);
            let _ = ControlMessage::decode(&bytes);
        }
    }

    #[test]
    fn long_words_are_cut() {
        let words = "ä".repeat(5000);
        let cause = Cause::Failed { rank: Rank(1), words: words.clone() };
        let bytes = ControlMessage::Revoke(Revocation { number: 1, cause }).encode(1 << 20);
        assert!(bytes.len() <= WORD_BYTES_MAX);
        let Some((_, ControlMessage::Revoke(Revocation { cause: Cause::Failed { words: got, .. }, .. }))) =
            ControlMessage::decode(&bytes)
        else {
            panic!("words of a failure");
        };
        assert!(words.starts_with(&got) && got.len() > 990);
    }
}
