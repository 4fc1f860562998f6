//! The bytes of one message that one lane has sent and may have to send again.

use std::collections::VecDeque;
use std::ops::Range;

/// In order, with gaps where other lanes have sent. One range, which is the rule, takes no memory of its own.
#[derive(Clone, Default)]
pub(super) struct Ranges {
    first: Range<usize>,
    more: VecDeque<Range<usize>>,
}

impl Ranges {
    /// Adds `range`, behind all that are here.
    pub(super) fn add(&mut self, range: Range<usize>) {
        let last = self.more.back_mut().unwrap_or(&mut self.first);
        if last.end == range.start {
            last.end = range.end;
        } else if last.start == last.end {
            *last = range;
        } else {
            self.more.push_back(range);
        }
    }

    /// Forgets all before `position`.
    pub(super) fn drop_before(&mut self, position: usize) {
        while self.first.end <= position {
            match self.more.pop_front() {
                Some(next) => self.first = next,
                None => return self.first = position..position,
            }
        }
        self.first.start = self.first.start.max(position);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<usize>> {
        std::iter::once(&self.first).chain(&self.more).filter(|range| range.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_hold_what_was_added_and_not_dropped(steps in prop::collection::vec((0usize..4, 1usize..5, 0usize..30), 1..30)) {
            let (mut ranges, mut model, mut end, mut dropped) = (Ranges::default(), Vec::new(), 0, 0);
            for (gap, length, drop) in steps {
                let start = end + gap;
                end = start + length;
                ranges.add(start..end);
                model.extend(start..end);
                // As positions of a lane: never beyond what it has sent, and never back.
                dropped = drop.clamp(dropped.min(end), end);
                ranges.drop_before(dropped);
                model.retain(|&at| at >= dropped);
                prop_assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), model.clone());
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(one, next)| one.end < next.start));
            }
        }
    }
}
