//! Broadcast: what the root has, everybody gets. Works in place: the output of the root holds the data at first.

pub(crate) mod binary;
pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod serial;

use super::blocks::segments;
use super::schedule::{After, Builder, Region};
use crate::ids::Rank;

/// Messages of so few elements leave together.
const TOGETHER_COUNT: u64 = 512;

/// Passes `region` down a tree: each segment comes from the parent and goes on to the children.
///
/// Children are sent to one after the other, each when the message before has left: the first can pass it on
/// while the second is served, instead of all having it late. Short ones leave together. Segment `s` waits for `after[s]`, if that is given.
pub(super) fn pass_down(
    builder: &mut Builder,
    (parent, children): (Option<Rank>, &[Rank]),
    region: Region,
    segment: u64,
    after: &[After],
) {
    let mut last: Option<(Rank, After)> = None;
    for (index, part) in segments(region.count, segment).enumerate() {
        let part = region.part(&part);
        let free = after.get(index).copied().flatten();
        let here = parent.map_or(free, |parent| builder.receive(parent, part, &[free]));
        for &child in children {
            // Messages to one peer are ordered anyway.
            let before =
                last.and_then(|(peer, sent)| if peer == child || part.count <= TOGETHER_COUNT { None } else { sent });
            last = Some((child, builder.send(child, part, &[here, before])));
        }
    }
}
