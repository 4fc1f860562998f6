//! The binary tree of section 3.1: process i sends to 2 i + 1 and then to 2 i + 2.
//!
//! The number i + 1 in binary is 1 followed by the way from the root, 0 for a first child and 1 for a second. So what
//! holds for all processes is counted by their digits, and a tree of four thousand million costs no more than one of ten.

use crate::{BadParameter, check};

/// How one message is brought to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broadcast {
    /// Either: both take the same time.
    Equal,
    /// The root sends to one after another.
    Serial,
    /// Down a binary tree.
    Tree,
}

impl Broadcast {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Broadcast::Equal => "equal",
            Broadcast::Serial => "serial",
            Broadcast::Tree => "tree",
        }
    }
}

/// How many transfers go on at once in each round of a tree broadcast of large messages, section 3.1.
///
/// The round of a process is `r(0) = 0`, `r(2i + s) = r(i) + s` for the s-th child; round k has all with `r = k`.
///
/// ```
/// use lathide_models::hyperbolic::broadcast_tree_rounds;
/// assert_eq!(broadcast_tree_rounds(11)?, [1, 2, 3, 3, 1]); // Fig. 10
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If there are no processes.
pub fn broadcast_tree_rounds(processes: u32) -> Result<Vec<u64>, BadParameter> {
    Ok(rounds(processes)?.collect())
}

pub(super) fn rounds(processes: u32) -> Result<impl Iterator<Item = u64>, BadParameter> {
    let (depth, last) = levels(processes)?;
    // A process of depth d with j second children on its way is in round d + j.
    let in_round = move |round: u32| {
        let full: u64 = (0..depth).filter(|&d| d <= round).map(|d| choose(d, round - d)).sum();
        full + if depth <= round { with_ones(last, round - depth) } else { 0 }
    };
    Ok((1..=2 * depth).map(in_round).filter(|&at_once| at_once > 0))
}

/// The processes that a small message may reach last: edges on their way, and second children among them.
///
/// On each level the most second children take longest, and of full levels the lowest.
pub(super) fn deepest(processes: u32) -> Result<Vec<(u32, u32)>, BadParameter> {
    let (depth, last) = levels(processes)?;
    // The way `last` itself, or one that has a 0 where `last` has a 1, and then ones only.
    let turned = (0..32).filter(|&bit| last >> bit & 1 == 1).map(|bit| (last >> (bit + 1)).count_ones() + bit);
    let on_last_level = turned.chain([last.count_ones()]).max().unwrap_or(0);
    let above = depth.checked_sub(1).map(|depth| (depth, depth));
    Ok(above.into_iter().chain([(depth, on_last_level)]).collect())
}

/// The depth of the tree, and the ways of its last level: all of that many digits up to this number.
fn levels(processes: u32) -> Result<(u32, u32), BadParameter> {
    check("p", f64::from(processes), processes > 0, "at least 1")?;
    let depth = processes.ilog2();
    Ok((depth, processes - (1 << depth)))
}

/// How many numbers from 0 to `last` have `ones` binary ones.
fn with_ones(last: u32, ones: u32) -> u64 {
    let mut count = u64::from(last.count_ones() == ones);
    for bit in (0..32).filter(|&bit| last >> bit & 1 == 1) {
        // Numbers that agree with `last` above this bit, and have a 0 here.
        let above = (u64::from(last) >> (bit + 1)).count_ones();
        if above <= ones {
            count += choose(bit, ones - above);
        }
    }
    count
}

fn choose(of: u32, how_many: u32) -> u64 {
    if how_many > of {
        return 0;
    }
    (0..u64::from(how_many)).fold(1, |count, i| count * (u64::from(of) - i) / (i + 1))
}

/// The sizes of the two subtrees below the root of a tree of `nodes`.
pub(super) fn children(nodes: u64) -> (u64, u64) {
    let depth = nodes.ilog2();
    if depth == 0 {
        return (0, 0);
    }
    let on_last_level = nodes - ((1 << depth) - 1);
    let half = 1 << (depth - 1);
    (half - 1 + on_last_level.min(half), half - 1 + on_last_level.saturating_sub(half))
}
