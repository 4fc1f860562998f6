//! Groups: what it costs to make one, and what its collectives cost beside those of the job.

use std::time::Instant;

use lathide::{Group, Node, Operator, Rank, Result};

use crate::{Effort, row};

/// Measures on both ranks, of which the first prints.
pub(crate) fn measure(node: &Node, effort: &Effort) -> Result<()> {
    making(node, effort)?;
    calls(node, effort, 1)?;
    calls(node, effort, 8192)
}

/// A barrier beside the making, and dropping, of a group.
fn making(node: &Node, effort: &Effort) -> Result<()> {
    let all: Vec<Rank> = (0..node.size()).map(Rank).collect();
    let ways: [(&str, &dyn Fn() -> Result<()>); 3] = [
        ("barrier", &|| node.barrier()),
        ("group of all ranks, made and dropped", &|| node.group(&all).map(drop)),
        ("split into one, made and dropped", &|| node.split(0, 0).map(drop)),
    ];
    compare(node, effort, "groups", &ways)
}

/// The same collective of the job and of a group with the same ranks.
fn calls(node: &Node, effort: &Effort, elements: usize) -> Result<()> {
    let group = node.split(0, 0)?;
    let allreduce = |of: &Group| of.allreduce(&Operator::sum(), vec![1.0f64; elements]).map(drop);
    let ways: [(&str, &dyn Fn() -> Result<()>); 2] =
        [("allreduce of the job", &|| allreduce(node)), ("allreduce of a group", &|| allreduce(&group))];
    compare(node, effort, &format!("{} bytes", 8 * elements), &ways)
}

/// All ways in turn, a block of each.
fn compare(node: &Node, effort: &Effort, title: &str, ways: &[(&str, &dyn Fn() -> Result<()>)]) -> Result<()> {
    let rounds = effort.round_trips / 4;
    let mut found = vec![Vec::new(); ways.len()];
    for _ in 0..effort.repeats {
        for (times, (_, call)) in found.iter_mut().zip(ways) {
            node.barrier()?;
            let began = Instant::now();
            (0..rounds).try_for_each(|_| call())?;
            times.push(began.elapsed().as_secs_f64() / rounds as f64 * 1e6);
        }
    }
    if node.rank() == 0 {
        println!("{title}");
        ways.iter().zip(found).for_each(|((name, _), times)| row(name, "us", times));
    }
    Ok(())
}
