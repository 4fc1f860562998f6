//! Reduction: the contributions of all ranks, combined by an operator, at the root. Works in place: everybody's
//! output holds its contribution at first; at the root it holds the result at the end, elsewhere anything.
//!
//! Operands are combined in the order of ranks unless the operator is commutative and the algorithm says
//! otherwise. What is combined with what is fixed by the algorithm and the number of ranks: it does not depend on
//! who comes first, so that results are the same bits every time.

pub(crate) mod binary;
pub(crate) mod binomial;
pub(crate) mod chain;

use super::blocks::segments;
use super::schedule::{After, Builder, Region, Side};
use crate::ids::Rank;

/// Children's contributions that are received at once; the others wait in the window, or at their senders.
const ROOMS: usize = 2;
/// All are, if they have no more elements together.
const ROOM_COUNT: u64 = 4096;

/// Combines the regions of a tree's subtrees upwards: each child's contribution is received and combined in the
/// order of `children`, and the result goes to the parent. Returns for each segment the step after which the
/// region is free: it holds the subtree's result, and that has left.
pub(super) fn pass_up(
    builder: &mut Builder,
    parent: Option<Rank>,
    children: &[(Rank, Side)],
    region: Region,
    segment: u64,
) -> Vec<After> {
    let rooms = usize::try_from(ROOM_COUNT / region.count.max(1)).map_or(ROOMS, |short| short.max(ROOMS));
    let rooms: Vec<Region> = (0..children.len().min(rooms)).map(|_| builder.scratch(region.count)).collect();
    let mut free = Vec::new();
    for part in segments(region.count, segment) {
        let own = region.part(&part);
        let mut combined: Vec<After> = Vec::new();
        for (index, &(child, side)) in children.iter().enumerate() {
            let room = rooms[index % rooms.len()].part(&part);
            let emptied = index.checked_sub(rooms.len()).and_then(|before| combined[before]);
            let received = builder.receive(child, room, &[emptied]);
            let before = combined.last().copied().flatten();
            combined.push(builder.combine(own, room, side, &[received, before]));
        }
        let result = combined.last().copied().flatten();
        free.push(parent.map_or(result, |parent| builder.send(parent, own, &[result])));
    }
    free
}
