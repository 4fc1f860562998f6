//! One-way time and bandwidth beside raw TCP, between two processes, in one run; 8 bytes when each process is bound to a
//! core, beside free ones; and many reads, completed by `wait_any` beside `wait`.
//!
//! `cargo bench --bench p2p`. Every figure is a ratio of two things measured in turn, A B A B, warm-up apart: the
//! median with minimum and maximum. Without `--bench` (under `cargo test --benches`) a few rounds only show that
//! it runs. The second process is this program again, told by the environment.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use lathide::{Config, Key, Node, wait_all, wait_any};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Tells the second process where the first one listens.
const PEER: &str = "LATHIDE_BENCH_PEER";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";
/// Bytes per raw write and per raw read: what an expert would use.
const RAW_CALL_BYTES: usize = 256 << 10;
/// Long messages under way at a time; both ways use as many buffers, and fill them before the clock runs.
const DEPTH: usize = 2;

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    match std::env::var(PEER) {
        Ok(address) => follow(&address, &effort),
        Err(_) => lead(&effort),
    }
}

/// How much is measured.
struct Effort {
    repeats: usize,
    round_trips: usize,
    bulk_messages: usize,
    many: [usize; 2],
}

const FULL: Effort = Effort { repeats: 15, round_trips: 4000, bulk_messages: 48, many: [100, 10_000] };
const SMOKE: Effort = Effort { repeats: 3, round_trips: 20, bulk_messages: 3, many: [3, 100] };

/// What is measured, in order. Both processes go through the same list.
const LATENCY_BYTES: [usize; 3] = [8, 1024, 16 << 10];
const BULK_BYTES: [usize; 3] = [64 << 10, 1 << 20, 4 << 20];

/// The ways between the processes.
struct Pair {
    raw: TcpStream,
    node: Node,
    /// A node that was started while this process was bound to one core, as `mpirun` and `srun` do.
    bound: Node,
    all: CpuSet,
    one: CpuSet,
    is_leader: bool,
}

fn config(rank: u32, root: String) -> Config {
    let mut config = Config::new(rank, 2, Some(root));
    config.key = Key::from_bytes(KEY);
    config
}

fn lead(effort: &Effort) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let root = free_address();
    let roots = format!("{root} {}", free_address());
    let address = format!("{} {roots}", listener.local_addr().expect("bound"));
    let mut child = second_process(&address);
    let (raw, _) = listener.accept().expect("the second process connects");
    let mut pair = Pair::new(raw, &roots, true);

    println!("one-way time, half the round trip, against blocking raw TCP");
    for bytes in LATENCY_BYTES {
        let count = effort.round_trips;
        let (raw, lathide) = interleave(effort, &mut pair, AGAINST_RAW, |pair, way| pair.ping_pong(way, bytes, count));
        let per_way = |times: &[f64]| times.iter().map(|time| time / (2 * count) as f64).collect::<Vec<_>>();
        row(&format!("{bytes} B"), ["raw", "lathide"], &per_way(&raw), &per_way(&lathide), 1e6, "us", true);
    }
    if pair.has_core_each() {
        println!("one-way time, processes bound to a core each, against the same not bound");
        let count = effort.round_trips;
        let ways = [Way::Lathide, Way::Bound];
        let (free, bound) = interleave(effort, &mut pair, ways, |pair, way| pair.ping_pong(way, 8, count));
        let per_way = |times: &[f64]| times.iter().map(|time| time / (2 * count) as f64).collect::<Vec<_>>();
        row("8 B", ["free", "bound"], &per_way(&free), &per_way(&bound), 1e6, "us", true);
    }
    println!("time per read, posted before the messages come, in the order posted against whichever is complete");
    for count in effort.many {
        let (wait, any) = interleave(effort, &mut pair, [Way::Lathide, Way::Any], |pair, way| pair.many(way, count));
        let per_read = |times: &[f64]| times.iter().map(|time| time / count as f64).collect::<Vec<_>>();
        row(&format!("{count} reads"), ["wait", "wait_any"], &per_read(&wait), &per_read(&any), 1e6, "us", true);
    }
    println!("one-way bandwidth, against raw TCP with {} KiB writes", RAW_CALL_BYTES >> 10);
    for bytes in BULK_BYTES {
        let count = (effort.bulk_messages * (4 << 20) / bytes).min(20 * effort.bulk_messages);
        let (raw, lathide) = interleave(effort, &mut pair, AGAINST_RAW, |pair, way| pair.stream(way, bytes, count));
        let rate = |times: &[f64]| times.iter().map(|time| (bytes * count) as f64 / time).collect::<Vec<_>>();
        row(&format!("{} KiB", bytes >> 10), ["raw", "lathide"], &rate(&raw), &rate(&lathide), 1e-9, "GB/s", false);
    }
    pair.bound.finalize().expect("the second process is there to the end");
    pair.node.finalize().expect("the second process is there to the end");
    assert!(child.wait().expect("a child of ours").success(), "the second process failed");
}

fn follow(address: &str, effort: &Effort) {
    let (raw, roots) = address.split_once(' ').expect("three addresses");
    let raw = TcpStream::connect(raw).expect("the first process listens");
    let mut pair = Pair::new(raw, roots, false);
    for bytes in LATENCY_BYTES {
        interleave(effort, &mut pair, AGAINST_RAW, |pair, way| pair.ping_pong(way, bytes, effort.round_trips));
    }
    if pair.has_core_each() {
        interleave(effort, &mut pair, [Way::Lathide, Way::Bound], |pair, way| {
            pair.ping_pong(way, 8, effort.round_trips)
        });
    }
    for count in effort.many {
        interleave(effort, &mut pair, [Way::Lathide, Way::Any], |pair, way| pair.many(way, count));
    }
    for bytes in BULK_BYTES {
        let count = (effort.bulk_messages * (4 << 20) / bytes).min(20 * effort.bulk_messages);
        interleave(effort, &mut pair, AGAINST_RAW, |pair, way| pair.stream(way, bytes, count));
    }
    pair.bound.finalize().expect("the first process is there to the end");
    pair.node.finalize().expect("the first process is there to the end");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Raw,
    Lathide,
    Bound,
    Any,
}

const AGAINST_RAW: [Way; 2] = [Way::Raw, Way::Lathide];

/// Measures both ways in turn; the first turn of each warms up.
fn interleave(
    effort: &Effort,
    pair: &mut Pair,
    ways: [Way; 2],
    measure: impl Fn(&mut Pair, Way) -> Duration,
) -> (Vec<f64>, Vec<f64>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for turn in 0..=effort.repeats {
        let times = ways.map(|way| measure(pair, way));
        if turn > 0 {
            first.push(times[0].as_secs_f64());
            second.push(times[1].as_secs_f64());
        }
    }
    (first, second)
}

impl Pair {
    fn new(raw: TcpStream, roots: &str, is_leader: bool) -> Self {
        raw.set_nodelay(true).expect("a TCP socket");
        let (root, bound_root) = roots.split_once(' ').expect("two addresses");
        let rank = u32::from(!is_leader);
        let join = |root: &str| lathide::init_with(config(rank, root.to_owned())).expect("both processes join");
        let node = join(root);
        let all = sched_getaffinity(None).expect("this process may run somewhere");
        let mut processors = (0..CpuSet::MAX_CPU).filter(|&processor| all.is_set(processor));
        let processor = processors.nth(usize::from(!is_leader)).unwrap_or(0);
        let mut one = CpuSet::new();
        one.set(processor);
        bind(if all.count() < 2 { &all } else { &one });
        let bound = join(bound_root);
        bind(&all);
        Pair { raw, node, bound, all, one, is_leader }
    }

    fn has_core_each(&self) -> bool {
        self.all.count() > 1
    }

    fn peer(&self) -> u32 {
        u32::from(self.is_leader)
    }

    fn ping_pong(&mut self, way: Way, bytes: usize, count: usize) -> Duration {
        let mut buffer = vec![1u8; bytes];
        bind(if way == Way::Bound { &self.one } else { &self.all });
        let node = if way == Way::Bound { &self.bound } else { &self.node };
        let began = Instant::now();
        for turn in 0..2 * count {
            let sends = (turn % 2 == 0) == self.is_leader;
            match (way, sends) {
                (Way::Raw, true) => self.raw.write_all(&buffer).expect("the other process reads"),
                (Way::Raw, false) => self.raw.read_exact(&mut buffer).expect("the other process writes"),
                (_, true) => {
                    let write = node.initwrite(self.peer(), 1, buffer).expect("two ranks");
                    buffer = write.wait().expect("the other rank reads");
                }
                (_, false) => {
                    let read = node.initread(self.peer(), 1, buffer).expect("two ranks");
                    buffer = read.wait().expect("the other rank writes");
                }
            }
        }
        let took = began.elapsed();
        bind(&self.all);
        took
    }

    /// `count` short reads of the leader that are posted before the follower writes, completed one by one.
    fn many(&mut self, way: Way, count: usize) -> Duration {
        let (peer, node) = (self.peer(), &self.node);
        let go = |sends: bool| {
            let ready = vec![0u8; 1];
            let started = if sends { node.initwrite(peer, 5, ready) } else { node.initread(peer, 5, ready) };
            started.expect("two ranks").wait().expect("the other rank is there");
        };
        if !self.is_leader {
            go(false);
            let writes: Vec<_> =
                (0..count).map(|_| node.initwrite(peer, 4, vec![1u8; 8]).expect("two ranks")).collect();
            wait_all(writes).expect("the other rank reads");
            return Duration::ZERO;
        }
        let mut reads: Vec<_> = (0..count).map(|_| node.initread(peer, 4, vec![0u8; 8]).expect("two ranks")).collect();
        go(true);
        let began = Instant::now();
        match way {
            Way::Any => {
                while !reads.is_empty() {
                    wait_any(&mut reads).expect("the other rank writes");
                }
            }
            _ => drop(wait_all(reads).expect("the other rank writes")),
        }
        began.elapsed()
    }

    /// `count` messages from the leader to the follower, and one back when all are there.
    fn stream(&mut self, way: Way, bytes: usize, count: usize) -> Duration {
        let (mut ack, mut buffers) = (vec![0u8; 8], vec![vec![1u8; bytes]; DEPTH]);
        let began = Instant::now();
        match way {
            Way::Raw => {
                for turn in 0..count {
                    let buffer = &mut buffers[turn % DEPTH];
                    for part in buffer.chunks_mut(RAW_CALL_BYTES) {
                        if self.is_leader {
                            self.raw.write_all(part).expect("the other process reads");
                        } else {
                            self.raw.read_exact(part).expect("the other process writes");
                        }
                    }
                }
                if self.is_leader {
                    self.raw.read_exact(&mut ack).expect("the other process acknowledges");
                } else {
                    self.raw.write_all(&ack).expect("the other process reads");
                }
            }
            _ => {
                let (peer, mut free) = (self.peer(), buffers);
                let mut under_way = std::collections::VecDeque::new();
                for _ in 0..count {
                    if free.is_empty() {
                        let oldest: lathide::Handle<Vec<u8>> = under_way.pop_front().expect("all are under way");
                        free.push(oldest.wait().expect("the other rank is there"));
                    }
                    let buffer = free.pop().expect("one is free");
                    let started = match self.is_leader {
                        true => self.node.initwrite(peer, 2, buffer),
                        false => self.node.initread(peer, 2, buffer),
                    };
                    under_way.push_back(started.expect("two ranks"));
                }
                wait_all(under_way).expect("the other rank is there");
                let started = match self.is_leader {
                    true => self.node.initread(peer, 3, ack),
                    false => self.node.initwrite(peer, 3, ack),
                };
                started.expect("two ranks").wait().expect("the other rank acknowledges");
            }
        }
        began.elapsed()
    }
}

/// Where the calling thread may run from now on, and the threads that it starts.
fn bind(processors: &CpuSet) {
    sched_setaffinity(None, processors).expect("processors this process may run on");
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    listener.local_addr().expect("bound").to_string()
}

fn second_process(address: &str) -> Child {
    let this = std::env::current_exe().expect("this program has a path");
    Command::new(this).args(std::env::args().skip(1)).env(PEER, address).spawn().expect("this program starts again")
}

/// Prints both and their ratio, pair by pair: the median with minimum and maximum.
fn row(name: &str, ways: [&str; 2], first: &[f64], second: &[f64], scale: f64, unit: &str, less_is_better: bool) {
    let ratios: Vec<f64> = second.iter().zip(first).map(|(second, first)| second / first).collect();
    let show = |values: &[f64], scale: f64| {
        let mut sorted: Vec<f64> = values.iter().map(|value| value * scale).collect();
        sorted.sort_by(f64::total_cmp);
        format!("{:8.2} ({:.2} .. {:.2})", sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
    };
    let better = if less_is_better { "less is better" } else { "more is better" };
    println!(
        "  {name:>9}: {} {} {unit}, {} {} {unit}, ratio {} ({better})",
        ways[0],
        show(first, scale),
        ways[1],
        show(second, scale),
        show(&ratios, 1.0)
    );
}
