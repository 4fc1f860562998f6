//! The four rules that reduce several blocks to one (sections 2.1 to 2.4).

use super::{Block, some_blocks};
use crate::{BadParameter, above_zero, at_least_zero};

/// Whether blocks can work at the same time (section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependence {
    /// They share a processor: only one of them works at a time.
    Dependent,
    /// They work on different packets at the same time.
    Independent,
}

/// Rule 1, eqs. (5) and (6): blocks that every packet passes one after another.
///
/// `a` is the sum of theirs; `b` the greatest of theirs if they are independent, and the sum if they are dependent.
///
/// # Errors
/// If there are no blocks, or a sum is too large for a number.
pub fn serial(blocks: &[Block], dependence: Dependence) -> Result<Block, BadParameter> {
    some_blocks(blocks)?;
    let a_s = blocks.iter().map(|block| block.a_s).sum();
    let b_s_per_byte = blocks.iter().map(|block| block.b_s_per_byte);
    match dependence {
        Dependence::Dependent => Block::new(a_s, b_s_per_byte.sum()),
        Dependence::Independent => Block::new(a_s, b_s_per_byte.fold(0.0, f64::max)),
    }
}

/// Rule 2, eqs. (7) to (10): blocks of which every packet passes one.
///
/// `a` is the least of theirs. `b` is the least of theirs if they are dependent; independent ones share the packets so
/// that all are busy: `1/b = sum(1/b_i)`, and 0 if one of them is free.
///
/// # Errors
/// If there are no blocks.
pub fn parallel(blocks: &[Block], dependence: Dependence) -> Result<Block, BadParameter> {
    some_blocks(blocks)?;
    let least = |of: fn(&Block) -> f64| blocks.iter().map(of).fold(f64::INFINITY, f64::min);
    let least_b = least(|block| block.b_s_per_byte);
    let b_s_per_byte = match dependence {
        // Relative to the least, since a reciprocal may be too large for a number.
        Dependence::Independent if least_b > 0.0 => {
            least_b / blocks.iter().map(|block| least_b / block.b_s_per_byte).sum::<f64>()
        }
        _ => least_b,
    };
    Block::new(least(|block| block.a_s), b_s_per_byte)
}

/// Rule 3, eq. (14): what `block` is to one of several messages that it works on at the same time.
///
/// `a_i = n a` and `b_i = b sum_j(x_j) / x_i`, as if the message were the last of the n to be served: an upper bound.
/// For n equal messages it is `(n a, n b)`.
///
/// # Errors
/// If `message` is not a place in `sizes_bytes`, a size is not a finite number of at least 0, the message's own is 0, or
/// a result is too large for a number.
pub fn concurrent(block: Block, sizes_bytes: &[f64], message: usize) -> Result<Block, BadParameter> {
    let Some(&own) = sizes_bytes.get(message) else {
        return Err(BadParameter { name: "i", value: message as f64, domain: "the place of one of the messages" });
    };
    let own = above_zero("x_i", own)?;
    let mut all = 0.0;
    for &size in sizes_bytes {
        all += at_least_zero("x_j", size)?;
    }
    let share = at_least_zero("sum(x_j) / x_i", all / own)?;
    Block::new(block.a_s * sizes_bytes.len() as f64, block.b_s_per_byte * share)
}

/// Rule 4, eq. (15): the block of a pattern that is one graph for small messages and another for large ones.
///
/// `a` is that of `small`, the reduced graph of the small messages, and `b` that of `large`.
#[must_use]
pub fn general(small: Block, large: Block) -> Block {
    Block { a_s: small.a_s, b_s_per_byte: large.b_s_per_byte }
}

/// The workstation of section 2.1: application and operating system share a processor, the adapter has its own.
///
/// `a = a_a + a_os + a_c`, `b = max(b_a + b_os, b_c)`. (The paper calls the second one m.)
///
/// ```
/// use lathide_models::hyperbolic::{Block, workstation};
/// let all = workstation(Block::new(100e-6, 0.3e-6)?, Block::new(500e-6, 0.9e-6)?, Block::new(345.6e-6, 0.92e-6)?)?;
/// assert!((all.b_s_per_byte() - 1.2e-6).abs() < 1e-12);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If a sum is too large for a number.
pub fn workstation(application: Block, system: Block, adapter: Block) -> Result<Block, BadParameter> {
    serial(&[serial(&[application, system], Dependence::Dependent)?, adapter], Dependence::Independent)
}
