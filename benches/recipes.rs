//! What groups and reads of any origin are worth in whole programs: SUMMA with broadcasts in rows and columns of ranks beside
//! the same with loops of writes and reads; and a task farm beside one that has a list of reads and of whose they are.
//!
//! `cargo bench --bench recipes`. Four processes over the loopback do both in turn, A B B A, warm-up apart: the median of the
//! ratios of the slowest rank's times, with its quartiles; and the lines of both programs. Without `--bench` a few rounds only
//! show that it runs. The other processes are this program again, told by the environment.

use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Instant;

use lathide::{Config, Grid, Group, Handle, Key, Node, Operator, Rank, ReadHandle, Result, Tag, wait_all, wait_any};

/// Tells the other processes their rank, and where the job meets.
const PLACE: &str = "LATHIDE_BENCH_PLACE";
/// Not secret: all processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";
const RANKS: u32 = 4;
const LEFT: Tag = Tag(1);
const UPPER: Tag = Tag(2);
const TASK: Tag = Tag(3);
const RESULT: Tag = Tag(4);
const TASKS: u64 = 200;

struct Effort {
    repeats: usize,
    /// Rows of a rank's block, and the width of a panel.
    sizes: &'static [(usize, usize)],
}

const FULL: Effort = Effort { repeats: 21, sizes: &[(64, 8), (256, 32), (512, 64)] };
const SMOKE: Effort = Effort { repeats: 2, sizes: &[(16, 8)] };

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    if let Ok(place) = std::env::var(PLACE) {
        let (rank, root) = place.split_once(' ').expect("a rank and a root");
        return run(rank.parse().expect("a rank"), root, &effort).expect("no rank fails");
    }
    let root = TcpListener::bind("127.0.0.1:0").and_then(|root| root.local_addr()).expect("a free port").to_string();
    let children: Vec<Child> = (1..RANKS).map(|rank| process(rank, &root)).collect();
    run(0, &root, &effort).expect("no rank fails");
    for mut child in children {
        assert!(child.wait().expect("a child of ours").success(), "a rank failed");
    }
}

fn process(rank: u32, root: &str) -> Child {
    let this = std::env::current_exe().expect("this program has a path");
    let place = format!("{rank} {root}");
    Command::new(this).args(std::env::args().skip(1)).env(PLACE, place).spawn().expect("this program starts again")
}

fn run(rank: u32, root: &str, effort: &Effort) -> Result<()> {
    let mut config = Config::new(rank, RANKS, Some(root.to_owned()));
    config.key = Key::from_bytes(KEY);
    let node = lathide::init_with(config)?;
    for &(block, width) in effort.sizes {
        let summa = Summa::new(&node, block, width)?;
        let ratios = compare(&node, effort.repeats, || summa.by_groups(), || summa.by_hand(&node))?;
        show(
            rank,
            &format!("SUMMA, blocks of {block} x {block}, panels of {width}, by groups against by hand"),
            ratios,
        );
    }
    let ratios = compare(&node, effort.repeats, || farm(&node, farm_of_any), || farm(&node, farm_of_list))?;
    show(rank, &format!("farm of {TASKS} tasks, initread_any against a list of reads"), ratios);
    if rank == 0 {
        let (any, list) = (lines_of("fn farm_of_any"), lines_of("fn farm_of_list"));
        println!("lines of the farm's rank 0: {any} with initread_any, {list} without");
        let (groups, hand) = (lines_of("    fn by_groups"), lines_of("    fn by_hand") + lines_of("fn start_by_hand"));
        println!("lines of SUMMA's steps: {groups} with groups, {hand} by hand");
    }
    node.finalize()
}

fn show(rank: u32, name: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    let [low, middle, high] = [ratios.len() / 4, ratios.len() / 2, ratios.len() * 3 / 4].map(|at| ratios[at]);
    if rank == 0 {
        println!("{name}: ratio {middle:.3} (quartiles {low:.3} .. {high:.3})");
    }
}

/// The lines of a function of this file.
fn lines_of(head: &str) -> usize {
    let indent = head.len() - head.trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let body = include_str!("recipes.rs").lines().skip_while(|line| !line.starts_with(head));
    body.take_while(|line| *line != end).count() + 1
}

/// Ratios of the slowest rank's times.
fn compare(
    node: &Node,
    repeats: usize,
    one: impl Fn() -> Result<()>,
    other: impl Fn() -> Result<()>,
) -> Result<Vec<f64>> {
    let timed = |way: &dyn Fn() -> Result<()>| -> Result<f64> {
        node.barrier()?;
        let began = Instant::now();
        way()?;
        Ok(node.allreduce(&Operator::max(), vec![began.elapsed().as_secs_f64()])?[0])
    };
    timed(&one)?;
    timed(&other)?;
    let mut ratios = Vec::new();
    for turn in 0..repeats {
        let (first, second): (&dyn Fn() -> Result<()>, _) =
            if turn % 2 == 0 { (&one, &other as _) } else { (&other, &one as _) };
        let (first, second) = (timed(first)?, timed(second)?);
        ratios.push(if turn % 2 == 0 { first / second } else { second / first });
    }
    Ok(ratios)
}

/// A product of matrices in blocks on a grid of ranks.
struct Summa {
    row: Group,
    column: Group,
    coordinates: [usize; 2],
    dims: [usize; 2],
    block: usize,
    width: usize,
    /// A panel of A and of B, as every owner has.
    panel: Arc<[f64]>,
}

impl Summa {
    fn new(node: &Node, block: usize, width: usize) -> Result<Self> {
        let grid = Grid::new(node, Grid::balanced(node.size() as usize), [false, false])?;
        let panel = (0..block * width).map(|at| (at % 11) as f64).collect();
        let (row, column) = (grid.line(1)?, grid.line(0)?);
        Ok(Summa { row, column, coordinates: grid.coordinates(), dims: grid.dims(), block, width, panel })
    }

    /// Panels of the whole product.
    fn panels(&self) -> usize {
        self.block / self.width * self.dims[0]
    }

    /// Who owns a panel: of those in a row, and of those in a column.
    fn owners(&self, panel: usize) -> (usize, usize) {
        (panel * self.dims[1] / self.panels(), panel * self.dims[0] / self.panels())
    }

    fn by_groups(&self) -> Result<()> {
        let start = |panel: usize| -> Result<[Handle<Vec<f64>>; 2]> {
            let (left, upper) = self.owners(panel);
            let part = || self.panel.to_vec();
            Ok([self.row.initbroadcast(left, part())?, self.column.initbroadcast(upper, part())?])
        };
        let (mut product, mut next) = (vec![0.0; self.block * self.block], start(0)?);
        for panel in 1..=self.panels() {
            let after = if panel < self.panels() { Some(start(panel)?) } else { None };
            let [left, upper] = next;
            self.multiply(&left.wait()?, &upper.wait()?, &mut product);
            let Some(after) = after else { break };
            next = after;
        }
        Ok(())
    }

    fn by_hand(&self, node: &Node) -> Result<()> {
        let start = |panel: usize| -> Result<(Panel, Panel)> {
            let (left, upper) = self.owners(panel);
            let [i, j] = self.coordinates;
            let left = start_by_hand(node, &self.row, LEFT, (left, j == left), &self.panel)?;
            let upper = start_by_hand(node, &self.column, UPPER, (upper, i == upper), &self.panel)?;
            Ok((left, upper))
        };
        let (mut product, mut next) = (vec![0.0; self.block * self.block], start(0)?);
        for panel in 1..=self.panels() {
            let after = if panel < self.panels() { Some(start(panel)?) } else { None };
            let (left, upper) = next;
            self.multiply(&left.wait()?, &upper.wait()?, &mut product);
            let Some(after) = after else { break };
            next = after;
        }
        Ok(())
    }

    fn multiply(&self, left: &[f64], upper: &[f64], product: &mut [f64]) {
        for (left, product) in left.chunks(self.width).zip(product.chunks_mut(self.block)) {
            for (left, upper) in left.iter().zip(upper.chunks(self.block)) {
                product.iter_mut().zip(upper).for_each(|(product, upper)| *product += left * upper);
            }
        }
    }
}

/// A panel that is broadcast by hand.
enum Panel {
    Sent(Vec<lathide::WriteHandle<Vec<f64>>>, Vec<f64>),
    Received(ReadHandle<f64>),
}

impl Panel {
    fn wait(self) -> Result<Vec<f64>> {
        match self {
            Panel::Sent(writes, own) => wait_all(writes).map(|_| own),
            Panel::Received(read) => read.wait(),
        }
    }
}

/// Begins a broadcast within the ranks of `group` as writes of its owner, and a read of each other one.
fn start_by_hand(node: &Node, group: &Group, tag: Tag, owner: (usize, bool), panel: &Arc<[f64]>) -> Result<Panel> {
    let (owner, is_own) = owner;
    let owner = group.ranks()[owner];
    if !is_own {
        return Ok(Panel::Received(node.initread(owner, tag, vec![0.0; panel.len()])?));
    }
    let others = group.ranks().iter().filter(|rank| **rank != owner);
    let writes = others.map(|rank| node.initwrite(*rank, tag, panel.to_vec())).collect::<Result<Vec<_>>>()?;
    Ok(Panel::Sent(writes, panel.to_vec()))
}

/// Rank 0 farms the tasks out; the others work.
fn farm(node: &Node, master: fn(&Node) -> Result<Vec<u64>>) -> Result<()> {
    if node.rank() == 0 {
        let results = master(node)?;
        assert!((0..TASKS).all(|task| results[task as usize] == solve(task)), "all as on one rank");
        return Ok(());
    }
    let mut task = node.initread(0, TASK, vec![0; 1])?;
    while let [now] = task.wait()?[..] {
        task = node.initread(0, TASK, vec![0; 1])?;
        node.initwrite(0, RESULT, vec![now, solve(now)])?.wait()?;
    }
    Ok(())
}

fn farm_of_any(node: &Node) -> Result<Vec<u64>> {
    let (mut tasks, mut results) = (0..TASKS, vec![0; TASKS as usize]);
    let workers = || (1..node.size()).map(Rank);
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

fn farm_of_list(node: &Node) -> Result<Vec<u64>> {
    let (mut tasks, mut results) = (0..TASKS, vec![0; TASKS as usize]);
    let workers = || (1..node.size()).map(Rank);
    let mut under_way = vec![0; node.size() as usize];
    for (worker, task) in workers().chain(workers()).zip(tasks.by_ref()) {
        node.initwrite(worker, TASK, vec![task])?.wait()?;
        under_way[worker.index()] += 1;
    }
    let (mut reads, mut whose) = (Vec::new(), Vec::new());
    for worker in workers().filter(|worker| under_way[worker.index()] > 0) {
        reads.push(node.initread(worker, RESULT, vec![0; 2])?);
        whose.push(worker);
    }
    while !reads.is_empty() {
        let (at, result) = wait_any(&mut reads)?;
        let worker = whose.swap_remove(at);
        under_way[worker.index()] -= 1;
        results[result[0] as usize] = result[1];
        if let Some(task) = tasks.next() {
            node.initwrite(worker, TASK, vec![task])?.wait()?;
            under_way[worker.index()] += 1;
        }
        if under_way[worker.index()] > 0 {
            reads.push(node.initread(worker, RESULT, vec![0; 2])?);
            whose.push(worker);
        }
    }
    workers().try_for_each(|worker| node.initwrite(worker, TASK, Vec::<u64>::new())?.wait().map(drop))?;
    Ok(results)
}

/// The steps of all Collatz sequences from below `task * task / 8`.
fn solve(task: u64) -> u64 {
    let next = |n: &u64| (*n > 1).then(|| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    (1..task * task / 8).map(|first| std::iter::successors(Some(first), next).count() as u64).sum()
}
