//! A task farm: rank 0 hands out tasks of unequal length; whoever returns a result gets another task. A worker has its
//! next task while it works on one. Rank 0 works as the others do, on a second thread.

use std::error::Error;
use std::thread;

use lathide::{Node, Rank, Tag};

const TASK: Tag = Tag(1);
const RESULT: Tag = Tag(2);
const TASKS: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let worker = scope.spawn(|| work(&node));
        if node.rank() == 0 {
            let results = farm(&node)?;
            if let Some(task) = (0..TASKS).find(|&task| results[task as usize] != solve(task)) {
                return Err(format!("task {task}: {} is not the sequential result", results[task as usize]).into());
            }
            println!("farm: {TASKS} tasks on {} ranks, all as on one", node.size());
        }
        Ok(worker.join().expect("a worker does not panic")?)
    })?;
    Ok(node.finalize()?)
}

fn farm(node: &Node) -> lathide::Result<Vec<u64>> {
    let (mut tasks, mut results) = (0..TASKS, vec![0; TASKS as usize]);
    let workers = || (0..node.size()).map(Rank);
    for (worker, task) in workers().chain(workers()).zip(tasks.by_ref()) {
        node.initwrite(worker, TASK, vec![task])?.wait()?;
    }
    for _ in 0..TASKS {
        let (worker, result) = node.initread_any(RESULT, vec![0; 2])?.wait()?;
        results[result[0] as usize] = result[1];
        if let Some(task) = tasks.next() {
            node.initwrite(worker, TASK, vec![task])?.wait()?;
        }
    }
    workers().try_for_each(|worker| node.initwrite(worker, TASK, Vec::<u64>::new())?.wait().map(drop))?;
    Ok(results)
}

fn work(node: &Node) -> lathide::Result<()> {
    let mut task = node.initread(0, TASK, vec![0; 1])?;
    while let [now] = task.wait()?[..] {
        task = node.initread(0, TASK, vec![0; 1])?;
        node.initwrite(0, RESULT, vec![now, solve(now)])?.wait()?;
    }
    Ok(()) // an empty message is the end
}

/// The steps of all Collatz sequences from below `task * task / 8`.
fn solve(task: u64) -> u64 {
    let next = |n: &u64| (*n > 1).then(|| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    (1..task * task / 8).map(|first| std::iter::successors(Some(first), next).count() as u64).sum()
}
