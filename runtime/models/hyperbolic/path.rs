//! How long a message takes, and how long its sender and its receiver (section 2.5, Fig. 8).

use super::rules::{Dependence, serial};
use super::{Block, some_blocks};
use crate::{BadParameter, at_least_zero};

/// What a send or a receive does while the next block is busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// It gives the processor back: only its own work counts.
    Preemptive,
    /// It keeps the processor until the last packet is through.
    NonPreemptive,
}

/// The blocks between two processes: independent, the sender's first and the receiver's last.
///
/// ```
/// use lathide_models::hyperbolic::{Block, Path, Primitive};
/// let (fast, slow) = (Block::new(1e-3, 1e-6)?, Block::new(2e-3, 3e-6)?);
/// let path = Path::new(&[fast, slow, fast])?;
/// assert_eq!(path.total()?, Block::new(4e-3, 3e-6)?);
/// assert_eq!(path.sending(Primitive::Preemptive)?, fast);
/// assert_eq!(path.sending(Primitive::NonPreemptive)?, Block::new(1e-3, 3e-6)?);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// Times of the protocol in front of the first block, in all.
    protocol_s: f64,
    blocks: Vec<Block>,
}

/// The hyperbola of the receiving time lies between these.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Receiving {
    /// With enough other messages to work on while waiting for packets.
    pub least: Block,
    /// With none: the receiver waits for each packet.
    pub most: Block,
}

impl Path {
    /// The path through `blocks`, in order.
    ///
    /// # Errors
    /// If there are no blocks.
    pub fn new(blocks: &[Block]) -> Result<Self, BadParameter> {
        some_blocks(blocks)?;
        Ok(Self { protocol_s: 0.0, blocks: blocks.to_vec() })
    }

    /// The blocks, the sender's first.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The same path behind a step of the protocol that takes `step_s` and delays the sender: a rendezvous
    /// (`CB_0(a_0, 0)`), or waiting for acknowledgements (`CB(a_ack, 0)`).
    ///
    /// # Errors
    /// If `step_s` is not a finite number of at least 0, or all steps together too large for a number.
    pub fn behind(mut self, step_s: f64) -> Result<Self, BadParameter> {
        self.protocol_s = at_least_zero("a_0", self.protocol_s + at_least_zero("a_0", step_s)?)?;
        Ok(self)
    }

    /// The total communication time T_c: rule 1 over all blocks.
    ///
    /// # Errors
    /// If the sum is too large for a number.
    pub fn total(&self) -> Result<Block, BadParameter> {
        let reduced = serial(&self.blocks, Dependence::Independent)?;
        Block::new(self.protocol_s + reduced.a_s, reduced.b_s_per_byte)
    }

    /// The sending time T_s: `(a_1, b_1)` if preemptive, `(a_1, max b_i)` if not.
    ///
    /// The steps of the protocol count as the sender's. (The paper does not say; its sender waits for them.)
    ///
    /// # Errors
    /// If the sum is too large for a number.
    pub fn sending(&self, primitive: Primitive) -> Result<Block, BadParameter> {
        let first = self.blocks[0];
        let b_s_per_byte = match primitive {
            Primitive::Preemptive => first.b_s_per_byte,
            Primitive::NonPreemptive => self.slowest_s_per_byte(),
        };
        Block::new(self.protocol_s + first.a_s, b_s_per_byte)
    }

    /// The receiving time T_r: `(a_n, b_n)` if preemptive; if not, `a_n`, and between `b_n` and `max b_i`.
    #[must_use]
    pub fn receiving(&self, primitive: Primitive) -> Receiving {
        let last = self.blocks[self.blocks.len() - 1];
        let most = match primitive {
            Primitive::Preemptive => last,
            Primitive::NonPreemptive => Block { a_s: last.a_s, b_s_per_byte: self.slowest_s_per_byte() },
        };
        Receiving { least: last, most }
    }

    fn slowest_s_per_byte(&self) -> f64 {
        self.blocks.iter().map(|block| block.b_s_per_byte).fold(0.0, f64::max)
    }
}
