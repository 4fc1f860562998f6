//! What ranks must agree on when they call a collective, how it travels, and what to say when they do not.
//!
//! In the good case nothing travels: [`Signature::digest`] is part of what a collective's messages are matched by,
//! so that messages of calls that differ never meet. Who finds one of another digest, or waits in vain, sends its
//! signature in full, and [`Disagreement`] has the words.

use std::fmt;

use super::blocks::Blocks;
use super::call::{Algorithm, Call};
use crate::buffer::ElementType;
use crate::ids::Rank;
use crate::operation::Collective;

/// Bytes of an encoded signature.
pub(crate) const SIGNATURE_BYTES: usize = 64;
/// In place of a digest of lengths: each rank knows its own ones only.
const OWN_LENGTHS: u32 = u32::MAX;
/// The longest part of an operator's name that is compared.
const NAME_BYTES: usize = 24;

/// A call as it must be the same on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    collective: u8,
    algorithm: u8,
    element: ElementType,
    root: Rank,
    window: u32,
    /// Where blocks differ, a digest of their lengths, or [`OWN_LENGTHS`]; else 0.
    lengths: u32,
    /// Elements of all blocks, of the longest one, and of a segment.
    total: u64,
    longest: u64,
    segment: u64,
    operator: [u8; NAME_BYTES],
    /// Of all before.
    digest: u32,
}

const COLLECTIVES: [Collective; 11] = Collective::ALL;

/// Names by code; codes are for comparing only.
const ALGORITHMS: [&str; 14] = [
    "binary",
    "binomial",
    "bruck",
    "chain",
    "dissemination",
    "doubling",
    "global",
    "granted",
    "halving",
    "pairwise",
    "ring",
    "serial",
    "simple",
    "windowed",
];

impl Signature {
    /// The signature of a call carried out by `algorithm`; `operator` is its operator's name, or empty.
    pub(crate) fn new(call: &Call, algorithm: Algorithm, element: ElementType, operator: &str) -> Self {
        let place = |found: Option<usize>| found.map_or(u8::MAX, |index| index as u8);
        Signature {
            collective: place(COLLECTIVES.iter().position(|known| *known == call.collective)),
            algorithm: place(ALGORITHMS.iter().position(|known| *known == algorithm.name())),
            element,
            root: call.root,
            window: algorithm.window().unwrap_or(0),
            lengths: match &call.blocks {
                Blocks::Equal(_) => 0,
                Blocks::Own { .. } => OWN_LENGTHS,
                Blocks::Each(lengths) => {
                    let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
                    digest(&bytes).clamp(1, OWN_LENGTHS - 1)
                }
            },
            total: call.blocks.total(call.ranks),
            longest: call.blocks.longest(),
            segment: algorithm.segment().unwrap_or(0),
            operator: padded(operator),
            digest: 0,
        }
        .with_digest()
    }

    /// Whether it is of elements of this type, combined by an operator of this name.
    pub(crate) fn is_of(&self, element: ElementType, operator: &str) -> bool {
        self.element == element && self.operator == padded(operator)
    }

    /// The bytes that travel; integers are little-endian.
    pub(crate) fn encode(&self) -> [u8; SIGNATURE_BYTES] {
        let mut bytes = [0; SIGNATURE_BYTES];
        bytes[0] = self.collective;
        bytes[1] = self.algorithm;
        bytes[2..4].copy_from_slice(&self.element.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.root.0.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.window.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.lengths.to_le_bytes());
        for (index, number) in [self.total, self.longest, self.segment].into_iter().enumerate() {
            bytes[16 + 8 * index..24 + 8 * index].copy_from_slice(&number.to_le_bytes());
        }
        bytes[40..].copy_from_slice(&self.operator);
        bytes
    }

    /// Reads what [`Signature::encode`] wrote. Any bytes are some signature.
    pub(crate) fn decode(bytes: &[u8; SIGNATURE_BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let number = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let mut operator = [0; NAME_BYTES];
        operator.copy_from_slice(&bytes[40..]);
        Signature {
            collective: bytes[0],
            algorithm: bytes[1],
            element: ElementType(u16::from_le_bytes([bytes[2], bytes[3]])),
            root: Rank(word(4)),
            window: word(8),
            lengths: word(12),
            total: number(16),
            longest: number(24),
            segment: number(32),
            operator,
            digest: 0,
        }
        .with_digest()
    }

    /// A number for a sequence of calls: that of the calls `before` this one, and this one. Of none it is 0.
    pub(crate) fn chained(&self, before: u64) -> u64 {
        let words = self.encode();
        let (words, _) = words.as_chunks::<8>();
        words.iter().fold(before, |chain, word| {
            (chain ^ u64::from_le_bytes(*word)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    /// 20 bits that differ, in all likelihood, when signatures do. Nobody is to be kept from finding two that have the same:
    /// who does wrong its own job only.
    pub(crate) fn digest(&self) -> u32 {
        self.digest
    }

    fn with_digest(self) -> Self {
        let chain = self.chained(0);
        // What only the highest bits of the last word show.
        let digest = ((chain ^ (chain >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as u32;
        Signature { digest, ..self }
    }
}

/// As much of an operator's name as is compared.
fn padded(name: &str) -> [u8; NAME_BYTES] {
    let mut padded = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES);
    padded[..length].copy_from_slice(&name.as_bytes()[..length]);
    padded
}

/// Of lists of any length.
fn digest(bytes: &[u8]) -> u32 {
    let [first, second, third, fourth, ..] = *blake3::hash(bytes).as_bytes();
    u32::from_le_bytes([first, second, third, fourth])
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(collective) = COLLECTIVES.get(usize::from(self.collective)) else {
            return write!(f, "an unknown collective");
        };
        write!(f, "{collective}")?;
        if *collective == Collective::Barrier {
            return Ok(());
        }
        if self.lengths == OWN_LENGTHS {
            write!(f, "(each rank's own counts of {}", self.element)?;
        } else {
            write!(f, "({} elements of {}", self.longest, self.element)?;
        }
        if ![0, OWN_LENGTHS].contains(&self.lengths) {
            write!(f, " at most, {} in all, lengths #{:08x}", self.total, self.lengths)?;
        }
        if matches!(collective, Collective::Broadcast | Collective::Gather | Collective::Reduce | Collective::Scatter) {
            write!(f, ", root {}", self.root)?;
        }
        let name = String::from_utf8_lossy(&self.operator);
        let name = name.trim_end_matches('\0');
        if !name.is_empty() {
            write!(f, ", operator {name}")?;
        }
        f.write_str(")")
    }
}

/// Two ranks that called different collectives, or one differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Disagreement {
    /// One rank and its call.
    pub one: (Rank, Signature),
    /// Another rank and its call.
    pub other: (Rank, Signature),
}

impl Disagreement {
    /// The disagreement between two ranks, if they disagree.
    pub(crate) fn between(one: (Rank, Signature), other: (Rank, Signature)) -> Option<Self> {
        (one.1 != other.1).then_some(Disagreement { one, other })
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { one: (one, left), other: (other, right) } = self;
        let (mine, theirs) = (left.to_string(), right.to_string());
        if mine != theirs {
            return write!(
                f,
                "rank {one} called {mine}, rank {other} called {theirs}; all ranks must call the same collectives in the \
                 same order, with the same root, counts, element type and operator"
            );
        }
        let by = |signature: &Signature| {
            let name = ALGORITHMS.get(usize::from(signature.algorithm)).copied().unwrap_or("unknown");
            format!("{name} (window {}, segments of {})", signature.window, signature.segment)
        };
        write!(
            f,
            "rank {one} carries out {mine} by {}, rank {other} by {}; force the same algorithm on all ranks, and run the \
             same version of lathide",
            by(left),
            by(right)
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::Element;

    fn signature(call: &Call) -> Signature {
        Signature::new(call, call.algorithms()[0], f64::TYPE, "")
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn signatures_come_back(bytes: [u8; 32], more: [u8; 32]) {
            let mut all = [0; SIGNATURE_BYTES];
            all[..32].copy_from_slice(&bytes);
            all[32..].copy_from_slice(&more);
            let signature = Signature::decode(&all);
            prop_assert_eq!(Signature::decode(&signature.encode()), signature);
            prop_assert!(signature.digest() < 1 << 20);
            prop_assert!(!signature.to_string().is_empty());
        }
    }

    #[test]
    fn every_algorithm_and_collective_has_a_code() {
        for collective in COLLECTIVES {
            let call = Call::new(collective, 5, 3, 8);
            for algorithm in call.algorithms() {
                let signature = Signature::new(&call, algorithm, f64::TYPE, "sum");
                assert_eq!(COLLECTIVES[usize::from(signature.collective)], collective);
                assert_eq!(ALGORITHMS[usize::from(signature.algorithm)], algorithm.name());
            }
        }
    }

    /// Whatever differs shows, with the values of both sides.
    #[test]
    fn differences_are_said() {
        let call = Call::new(Collective::Reduce, 4, 100, 8);
        let sum = |call: &Call| Signature::new(call, Algorithm::Binary { segment: 0 }, f64::TYPE, "sum");
        let said = |other: Signature, words: &[&str]| {
            let disagreement = Disagreement::between((Rank(1), sum(&call)), (Rank(2), other)).expect("a difference");
            let text = disagreement.to_string();
            assert_ne!(sum(&call).digest(), other.digest());
            for word in words.iter().chain(&["rank 1", "rank 2"]) {
                assert!(text.contains(word), "{word} in {text}");
            }
        };
        assert_eq!(Disagreement::between((Rank(1), sum(&call)), (Rank(2), sum(&call))), None);
        said(sum(&Call { root: Rank(3), ..call.clone() }), &["root 0", "root 3"]);
        said(sum(&Call { blocks: Blocks::Equal(99), ..call.clone() }), &["100 elements", "99 elements"]);
        said(sum(&Call { collective: Collective::Allreduce, ..call.clone() }), &["reduce(", "allreduce("]);
        said(signature(&Call::new(Collective::Barrier, 4, 0, 1)), &["reduce(", "barrier"]);
        let by = |algorithm, element, operator| Signature::new(&call, algorithm, element, operator);
        said(by(Algorithm::Binary { segment: 0 }, f32::TYPE, "sum"), &["of f64", "of f32"]);
        said(by(Algorithm::Binary { segment: 0 }, f64::TYPE, "max"), &["operator sum", "operator max"]);
        said(by(Algorithm::Chain { segment: 7 }, f64::TYPE, "sum"), &["binary", "chain", "segments of 7"]);
        let each = Blocks::Each([1, 5, 1, 1].into());
        let uneven = Call { blocks: each, ..Call::new(Collective::Gather, 4, 0, 8) };
        said(signature(&uneven), &["5 elements of f64 at most, 8 in all", "root 0"]);
        let turned = Call { blocks: Blocks::Each([5, 1, 1, 1].into()), ..uneven.clone() };
        assert_ne!(signature(&turned).to_string(), signature(&uneven).to_string(), "the same lengths, turned");
    }
}
