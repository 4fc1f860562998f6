//! Reduces the ways of one message to a list of independent blocks, by rules 1 and 2.
//!
//! What is reduced so far is a *part*: stages in series, each a block on processors of its own. Two parts in series are
//! one where the first leads only to the second, and nothing else leads there. Parts are parallel if the same lead to
//! them and they lead to the same.

use std::collections::{BTreeMap, BTreeSet};

use super::Block;
use super::rules::{Dependence, parallel, serial};
use crate::BadParameter;

/// Why the rules do not apply; with the blocks concerned.
pub(super) enum Failure {
    Entangled(Vec<usize>),
    Irreducible(Vec<usize>),
    Parameter(BadParameter),
}

impl From<BadParameter> for Failure {
    fn from(parameter: BadParameter) -> Self {
        Self::Parameter(parameter)
    }
}

#[derive(Clone)]
struct Stage {
    block: Block,
    processors: BTreeSet<usize>,
    /// The blocks of the graph in it, for messages.
    members: BTreeSet<usize>,
}

struct Part {
    stages: Vec<Stage>,
    /// `None` stands for the source here, and for the destination below.
    from: BTreeSet<Option<usize>>,
    to: BTreeSet<Option<usize>>,
}

/// From a block, or from the source; to a block, or to the destination.
pub(super) type Edge = (Option<usize>, Option<usize>);

/// The blocks on cycles of `edges`, and between them, if there are any.
pub(super) fn cycle(edges: &[Edge]) -> Option<Vec<usize>> {
    let mut left: BTreeSet<usize> = edges.iter().filter_map(|&(from, _)| from).collect();
    loop {
        let before = left.len();
        for block in left.clone() {
            // What no block leads to, and what leads to no block, is on no cycle.
            let inside = |end: Option<usize>| end.is_some_and(|end| left.contains(&end));
            let entered = edges.iter().any(|&(from, to)| to == Some(block) && inside(from));
            let leaves = edges.iter().any(|&(from, to)| from == Some(block) && inside(to));
            if !entered || !leaves {
                left.remove(&block);
            }
        }
        if left.len() == before {
            return (before > 0).then(|| left.into_iter().collect());
        }
    }
}

/// The independent blocks in series that are equivalent to `stations` (number, processor, block) joined by `edges`,
/// each with the numbers of the stations in it.
pub(super) fn reduce(stations: &[(usize, usize, Block)], edges: &[Edge]) -> Result<Vec<(Block, Vec<usize>)>, Failure> {
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for &(number, processor, block) in stations {
        let stage = Stage { block, processors: [processor].into(), members: [number].into() };
        let from = edges.iter().filter(|&&(_, to)| to == Some(number)).map(|&(from, _)| from).collect();
        let to = edges.iter().filter(|&&(from, _)| from == Some(number)).map(|&(_, to)| to).collect();
        parts.insert(number, Part { stages: vec![stage], from, to });
    }
    while parts.len() > 1 {
        if let Some((first, second)) = in_series(&parts) {
            join_series(&mut parts, first, second)?;
        } else if let Some(branches) = in_parallel(&parts) {
            join_parallel(&mut parts, &branches)?;
        } else {
            let stages = parts.into_values().flat_map(|part| part.stages);
            let members: BTreeSet<usize> = stages.flat_map(|stage| stage.members).collect();
            return Err(Failure::Irreducible(members.into_iter().collect()));
        }
    }
    let stages = parts.into_values().flat_map(|part| part.stages);
    Ok(stages.map(|stage| (stage.block, stage.members.into_iter().collect())).collect())
}

/// Two parts of which the first leads only to the second, and only it leads there.
fn in_series(parts: &BTreeMap<usize, Part>) -> Option<(usize, usize)> {
    parts.iter().find_map(|(&first, part)| {
        let second = only(&part.to)?;
        (only(&parts.get(&second)?.from)? == first).then_some((first, second))
    })
}

fn only(ends: &BTreeSet<Option<usize>>) -> Option<usize> {
    if ends.len() == 1 { ends.first().copied().flatten() } else { None }
}

/// All parts that are parallel to the first that has such.
fn in_parallel(parts: &BTreeMap<usize, Part>) -> Option<Vec<usize>> {
    parts.values().find_map(|part| {
        let same = parts.iter().filter(|(_, other)| other.from == part.from && other.to == part.to);
        let branches: Vec<usize> = same.map(|(&number, _)| number).collect();
        (branches.len() > 1).then_some(branches)
    })
}

fn join_series(parts: &mut BTreeMap<usize, Part>, first: usize, second: usize) -> Result<(), Failure> {
    let Some(behind) = parts.remove(&second) else { return Ok(()) };
    let Some(front) = parts.get_mut(&first) else { return Ok(()) };
    for stage in behind.stages {
        let Some(other) = front.stages.iter_mut().find(|other| !other.processors.is_disjoint(&stage.processors)) else {
            front.stages.push(stage);
            continue;
        };
        // Rule 1 for dependent blocks, wherever on the way they are.
        if other.processors != stage.processors || stage.processors.len() > 1 {
            return Err(entangled(&[other, &stage]));
        }
        other.block = serial(&[other.block, stage.block], Dependence::Dependent)?;
        other.members.extend(stage.members);
    }
    front.to = behind.to;
    for part in parts.values_mut() {
        if part.from.remove(&Some(second)) {
            part.from.insert(Some(first));
        }
    }
    Ok(())
}

fn join_parallel(parts: &mut BTreeMap<usize, Part>, branches: &[usize]) -> Result<(), Failure> {
    // First rule 2 for branches that depend on each other, then for the rest, which must not.
    let mut joined: Vec<Stage> = Vec::new();
    for branch in branches.iter().filter_map(|branch| parts.get(branch)) {
        let blocks: Vec<Block> = branch.stages.iter().map(|stage| stage.block).collect();
        let stage = Stage {
            block: serial(&blocks, Dependence::Independent)?,
            processors: branch.stages.iter().flat_map(|stage| &stage.processors).copied().collect(),
            members: branch.stages.iter().flat_map(|stage| &stage.members).copied().collect(),
        };
        let Some(other) = joined.iter_mut().find(|other| !other.processors.is_disjoint(&stage.processors)) else {
            joined.push(stage);
            continue;
        };
        if other.processors != stage.processors || stage.processors.len() > 1 {
            return Err(entangled(&[other, &stage]));
        }
        other.block = parallel(&[other.block, stage.block], Dependence::Dependent)?;
        other.members.extend(stage.members);
    }
    let blocks: Vec<Block> = joined.iter().map(|stage| stage.block).collect();
    let whole = Stage {
        block: parallel(&blocks, Dependence::Independent)?,
        processors: joined.iter().flat_map(|stage| &stage.processors).copied().collect(),
        members: joined.iter().flat_map(|stage| &stage.members).copied().collect(),
    };
    let (kept, gone) = (branches[0], &branches[1..]);
    for branch in gone {
        parts.remove(branch);
    }
    for part in parts.values_mut() {
        part.from.retain(|end| end.is_none_or(|end| !gone.contains(&end)));
        part.to.retain(|end| end.is_none_or(|end| !gone.contains(&end)));
    }
    if let Some(part) = parts.get_mut(&kept) {
        part.stages = vec![whole];
    }
    Ok(())
}

fn entangled(stages: &[&Stage]) -> Failure {
    let members: BTreeSet<usize> = stages.iter().flat_map(|stage| &stage.members).copied().collect();
    Failure::Entangled(members.into_iter().collect())
}
