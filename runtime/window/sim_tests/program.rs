//! Random programs, and what each of their lines finds.
//!
//! Every rank's part of the window has a region for each rank, which only that rank writes, so that what it finds there is
//! known when it calls; elements to which all ranks add; and counters, which all ranks count up.

use super::world::{ADDED, COUNTERS, REGION};
use crate::chance::Chance;

/// What a rank does. Elements are counted within the region of the rank.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Put {
        to: usize,
        start: usize,
        values: Vec<u64>,
    },
    Add {
        to: usize,
        start: usize,
        values: Vec<u64>,
    },
    Count {
        on: usize,
        counter: usize,
    },
    /// The value that is there, whether it is the one that the call expects.
    Swap {
        on: usize,
        index: usize,
        is_expected: bool,
        found: u64,
        new: u64,
    },
    Get {
        from: usize,
        start: usize,
        found: Vec<u64>,
    },
    /// What the region has then.
    Flush {
        to: usize,
        region: Vec<u64>,
    },
    /// A call that is refused; a write, or else a read.
    Bad {
        to: usize,
        count: usize,
        is_write: bool,
        is_bounds: bool,
    },
    Wait(usize),
}

impl Line {
    /// Whether the program goes on only when it has ended.
    pub(super) fn blocks(&self) -> bool {
        matches!(self, Line::Flush { .. })
    }

    pub(super) fn is_bad_write(&self) -> bool {
        matches!(self, Line::Bad { is_write: true, .. })
    }
}

/// A program of each rank, and what their regions are in the end: by target, then by writer.
pub(super) fn programs(chance: &mut Chance, ranks: usize) -> (Vec<Vec<Line>>, Vec<Vec<Vec<u64>>>) {
    let mut regions = vec![vec![vec![0; REGION]; ranks]; ranks];
    let programs = (0..ranks).map(|rank| program(chance, rank, ranks, &mut regions)).collect();
    (programs, regions)
}

fn program(chance: &mut Chance, rank: usize, ranks: usize, regions: &mut [Vec<Vec<u64>>]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..1 + chance.below(14) {
        let to = chance.below(ranks);
        let region = &mut regions[to][rank];
        let start = chance.below(REGION);
        // Short ones travel with their request.
        let most = if chance.once_in(2) { 5 } else { REGION };
        let count = chance.below(most.min(REGION - start) + 1);
        let values = || -> Vec<u64> { (0..count).map(|_| 1).collect() };
        let line = match chance.below(9) {
            0 | 1 => {
                let values: Vec<u64> = values().iter().map(|_| chance.next()).collect();
                region[start..start + count].copy_from_slice(&values);
                Line::Put { to, start, values }
            }
            2 => {
                let start = chance.below(ADDED);
                let count = chance.below(ADDED - start + 1);
                Line::Add { to, start, values: (0..count).map(|_| chance.next()).collect() }
            }
            3 => Line::Count { on: to, counter: chance.below(COUNTERS) },
            4 => {
                let (is_expected, found, new) = (chance.once_in(2), region[start], chance.next());
                if is_expected {
                    region[start] = new;
                }
                Line::Swap { on: to, index: start, is_expected, found, new }
            }
            5 => Line::Get { from: to, start, found: region[start..start + count].to_vec() },
            6 => Line::Flush { to, region: region.clone() },
            7 if chance.once_in(2) => {
                let (is_write, is_bounds) = (chance.once_in(2), chance.once_in(2));
                Line::Bad { to, count: 1 + chance.below(40), is_write, is_bounds }
            }
            _ if lines.is_empty() => continue,
            _ => Line::Wait(chance.below(lines.len())),
        };
        lines.push(line);
    }
    lines
}
