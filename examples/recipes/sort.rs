//! Sample sort: splitters from samples of all ranks, then each key to the rank whose interval it is in. How many those are
//! is known to the sender only, and no rank asks beforehand.

use std::error::Error;
use std::sync::Arc;

use lathide::{Operator, Part, Tag, WaitSet};

const KEYS: usize = 5000; // of each rank
const PART: Tag = Tag(1);

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let size = node.size() as usize;
    let mut own = keys(node.rank().index());
    let mut parts = WaitSet::new();
    for from in 0..size {
        parts.insert((), node.initread_vec::<u64>(from, PART, KEYS)?);
    }

    own.sort_unstable();
    let samples = (0..size).map(|at| own[at * KEYS / size]).collect();
    let mut samples = node.allgather(samples)?;
    samples.sort_unstable();

    let own: Arc<[u64]> = own.into();
    let mut start = 0;
    for to in 0..size {
        let end = samples.get((to + 1) * size).map_or(KEYS, |splitter| own.partition_point(|key| key < splitter));
        drop(node.initwrite(to, PART, Part::new(own.clone(), start..end))?);
        start = end;
    }
    let mut sorted = Vec::new();
    while let Some(((), part)) = parts.wait() {
        sorted.extend(part.into::<Vec<u64>>()?);
        sorted.sort(); // runs: it merges
    }

    let before = node.exscan(&Operator::sum(), vec![sorted.len() as u64])?.map_or(0, |keys| keys[0] as usize);
    let mut all: Vec<u64> = (0..size).flat_map(keys).collect(); // the same on one rank
    all.sort_unstable();
    let is_wrong = all.get(before..before + sorted.len()) != Some(&sorted);
    let most = node.allreduce(&Operator::max(), vec![sorted.len() as u64])?[0];
    match node.allreduce(&Operator::sum(), vec![u32::from(is_wrong)])?[0] {
        0 if node.rank() == 0 => {
            println!("sort: {KEYS} keys on each of {size} ranks, at most {most} afterwards, correct")
        }
        0 => {}
        wrong => return Err(format!("{wrong} ranks differ from the sequential result").into()),
    }
    Ok(node.finalize()?)
}

/// The keys that a rank has at first; few keys are there twice.
fn keys(rank: usize) -> Vec<u64> {
    let next = |key: &u64| Some(key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(rank as u64 + 1), next).map(|key| key >> 40).take(KEYS).collect()
}
