//! What the ranks of a simulated job do: calls with their right results, and messages between two ranks.

use std::ops::Range;

use crate::buffer::Element;
use crate::collective::execute::work::{Typed, Work};
use crate::collective::prepared::Prepared;
use crate::collective::signature::Signature;
use crate::collective::trial_tests::Chance;
use crate::collective::{Algorithm, Blocks, Call, Operator};
use crate::ids::Rank;
use crate::operation::Collective;

/// What a call has to do with exchanges of observations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Exchange {
    Nothing,
    /// It begins one.
    Begins,
    /// It does not begin before the last one has ended.
    Adopts,
}

/// One line of a job's program. Every rank goes through all of them, in order, and waits where it says so.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Collective {
        /// Which group calls it: the line that founds it, or the whole job.
        group: Option<usize>,
        call: Call,
        algorithm: Algorithm,
        seed: u64,
        exchange: Exchange,
    },
    /// Of `count` elements, by a tag of its own.
    Message { from: usize, to: usize, count: usize, seed: u64 },
    /// These ranks found a group, by themselves or, `by_parent`, with a collective of the group that it is made of.
    Found { members: Vec<u32>, parent: Option<usize>, by_parent: bool },
    /// The group that this line has founded is dropped.
    Drop(usize),
    /// Waits for the line of this number.
    Wait(usize),
}

/// Maps `x -> (a x + b) mod 65521`, one after the other: associative, not commutative. `a` is the high half.
pub(super) fn compose(left: u64, right: u64) -> u64 {
    let half = |packed: u64| (packed >> 32, packed & 0xffff_ffff);
    let ((a, b), (c, d)) = (half(left), half(right));
    ((a * c % 65521) << 32) | ((b * c + d) % 65521)
}

fn map(seed: u64) -> u64 {
    let mut chance = Chance(seed);
    ((chance.below(65520) as u64 + 1) << 32) | chance.below(65521) as u64
}

/// A random call among `ranks`.
pub(super) fn random_call(chance: &mut Chance, ranks: u32) -> (Call, Algorithm) {
    let collective = Collective::ALL[chance.below(Collective::ALL.len())];
    let count = [0, 1, 2, 3, 7, 20, 100][chance.below(7)] as u64;
    let mut call = Call::new(collective, ranks, count, 8);
    call.is_commutative = chance.below(2) == 0;
    if call.has_root() {
        call.root = Rank(chance.below(ranks as usize) as u32);
    }
    let lengths = match collective {
        Collective::Allgather | Collective::Gather | Collective::ReduceScatter | Collective::Scatter => ranks,
        // Of each pair; what a rank knows of them, `of_rank` says.
        Collective::Alltoall => ranks * ranks,
        _ => 0,
    };
    if lengths > 0 && chance.below(2) == 0 {
        call.blocks = Blocks::Each((0..lengths).map(|_| chance.below(20usize).saturating_sub(5) as u64).collect());
    }
    if collective == Collective::Barrier {
        call.blocks = Blocks::Equal(0);
    }
    let algorithms = call.algorithms();
    let algorithm = algorithms[chance.below(algorithms.len())];
    let segment = [0, 1, 5, 30][chance.below(4)];
    let window = 1 + chance.below(4) as u32;
    let algorithm = match algorithm.with_segment(segment) {
        Algorithm::Windowed { .. } => Algorithm::Windowed { window },
        Algorithm::Granted { segment, .. } => Algorithm::Granted { window, segment },
        Algorithm::Pairwise { .. } => Algorithm::Pairwise { window: window - 1 },
        other => other,
    };
    (call, algorithm)
}

/// The call as `rank` makes it.
pub(super) fn of_rank(call: &Call, rank: u32) -> Call {
    let blocks = match &call.blocks {
        Blocks::Each(_) if call.collective == Collective::Alltoall => Blocks::Own {
            sent: (0..call.ranks).map(|to| length(call, rank, to)).collect(),
            received: (0..call.ranks).map(|from| length(call, from, rank)).collect(),
        },
        other => other.clone(),
    };
    Call { blocks, ..call.clone() }
}

/// How many elements an alltoall sends from one rank to another.
fn length(call: &Call, from: u32, to: u32) -> u64 {
    match &call.blocks {
        Blocks::Each(lengths) => lengths[(from * call.ranks + to) as usize],
        other => other.longest(),
    }
}

/// Element `index` of the block of `rank` for `to`.
fn element(seed: u64, rank: u32, to: u32, index: u64) -> u64 {
    map(seed ^ (u64::from(rank) << 40) ^ (u64::from(to) << 20) ^ index)
}

fn block(seed: u64, rank: u32, to: u32, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |index| element(seed, rank, to, index))
}

pub(super) fn operator(call: &Call, panics: bool) -> Option<Operator<u64>> {
    use Collective::*;
    if !matches!(call.collective, Allreduce | Exscan | Reduce | ReduceScatter | Scan) {
        return None;
    }
    Some(match (panics, call.is_commutative) {
        // Not by a panic's usual way, which prints.
        (true, _) => Operator::new("faulty", call.is_commutative, |_, _| {
            std::panic::resume_unwind(Box::new("on purpose".to_owned()))
        }),
        (false, true) => Operator::new("sum", true, u64::wrapping_add),
        (false, false) => Operator::new("compose", false, compose),
    })
}

pub(super) fn signature(call: &Call, algorithm: Algorithm) -> Signature {
    // One that panics on one rank only is another operator of the same name.
    let operator = operator(call, false);
    Signature::new(&of_rank(call, 0), algorithm, u64::TYPE, operator.as_ref().map_or("", Operator::name))
}

/// The buffers of `rank`.
pub(super) fn work(call: &Call, schedule: &Prepared, rank: u32, seed: u64, panics: bool) -> Box<dyn Work> {
    let (count, ranks) = (call.blocks.longest(), call.ranks);
    let own = if call.collective == Collective::Alltoall { 0 } else { call.blocks.count(rank) };
    let is_root = call.root == rank;
    let nothing = |count: u64| vec![u64::MAX; count as usize];
    let (input, output): (Vec<u64>, Vec<u64>) = match call.collective {
        Collective::Barrier => (Vec::new(), Vec::new()),
        Collective::Broadcast if is_root => (Vec::new(), block(seed, rank, 0, count).collect()),
        Collective::Broadcast => (Vec::new(), nothing(count)),
        Collective::Reduce | Collective::Allreduce | Collective::Scan => {
            (Vec::new(), block(seed, rank, 0, count).collect())
        }
        Collective::Exscan => (block(seed, rank, 0, count).collect(), nothing(if rank > 0 { count } else { 0 })),
        Collective::ReduceScatter => (Vec::new(), block(seed, rank, 0, call.blocks.total(ranks)).collect()),
        Collective::Gather => {
            (block(seed, rank, 0, own).collect(), nothing(if is_root { call.blocks.total(ranks) } else { 0 }))
        }
        Collective::Scatter if is_root => {
            let blocks = (0..ranks).flat_map(|to| block(seed, rank, to, call.blocks.count(to)));
            (blocks.collect(), nothing(own))
        }
        Collective::Scatter => (Vec::new(), nothing(own)),
        Collective::Allgather => {
            let mut whole = nothing(call.blocks.total(ranks));
            let start = call.blocks.range(rank..rank + 1).start as usize;
            whole[start..start + own as usize].copy_from_slice(&block(seed, rank, 0, own).collect::<Vec<_>>());
            (Vec::new(), whole)
        }
        Collective::Alltoall => {
            let received = (0..ranks).map(|from| length(call, from, rank)).sum();
            let sent = (0..ranks).flat_map(|to| block(seed, rank, to, length(call, rank, to)));
            (sent.collect(), nothing(received))
        }
    };
    // What a reduce-scatter leaves beside the own block may be anything.
    let is_own = (call.collective == Collective::ReduceScatter).then(|| call.blocks.range(rank..rank + 1));
    let finish = move |_, mut result: Vec<u64>| {
        for (index, element) in (0..).zip(&mut result) {
            if is_own.as_ref().is_some_and(|own| !own.contains(&index)) {
                *element = u64::MAX;
            }
        }
        result
    };
    Box::new(Typed::new(schedule, input, output, operator(call, panics), finish))
}

/// What `rank` gets; `None` if that may be anything.
pub(super) fn expected(call: &Call, rank: u32, seed: u64) -> Option<Vec<u64>> {
    let (count, ranks, root) = (call.blocks.longest(), call.ranks, call.root.0);
    let is_root = call.root == rank;
    let combine = |left, right| if call.is_commutative { u64::wrapping_add(left, right) } else { compose(left, right) };
    let sum =
        |ranks: Range<u32>, index| ranks.map(|rank| element(seed, rank, 0, index)).reduce(combine).expect("a rank");
    Some(match call.collective {
        Collective::Barrier => return None,
        Collective::Broadcast => block(seed, root, 0, count).collect(),
        Collective::Reduce if !is_root => return None,
        Collective::Reduce | Collective::Allreduce => (0..count).map(|index| sum(0..ranks, index)).collect(),
        Collective::Scan => (0..count).map(|index| sum(0..rank + 1, index)).collect(),
        Collective::Exscan if rank == 0 => Vec::new(),
        Collective::Exscan => (0..count).map(|index| sum(0..rank, index)).collect(),
        Collective::ReduceScatter => {
            let total = call.blocks.total(ranks);
            let own = call.blocks.range(rank..rank + 1);
            (0..total).map(|index| if own.contains(&index) { sum(0..ranks, index) } else { u64::MAX }).collect()
        }
        Collective::Gather if !is_root => return None,
        Collective::Gather => (0..ranks).flat_map(|rank| block(seed, rank, 0, call.blocks.count(rank))).collect(),
        Collective::Scatter => block(seed, root, rank, call.blocks.count(rank)).collect(),
        Collective::Allgather => (0..ranks).flat_map(|rank| block(seed, rank, 0, call.blocks.count(rank))).collect(),
        Collective::Alltoall => (0..ranks).flat_map(|from| block(seed, from, rank, length(call, from, rank))).collect(),
    })
}

/// What a message carries.
pub(super) fn payload(seed: u64, count: usize) -> Vec<u64> {
    block(seed, 0, 0, count as u64).collect()
}

/// The place of `rank` in a group, or in the job; `None` if it is no member.
pub(super) fn place(program: &[Line], group: Option<usize>, rank: u32) -> Option<u32> {
    let Some(group) = group else { return Some(rank) };
    let Line::Found { members, .. } = &program[group] else { return None };
    members.iter().position(|member| *member == rank).map(|place| place as u32)
}
