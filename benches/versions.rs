//! Two builds of lathide, measured in turn: one-way time, message rate, bandwidth, processor time and memory.
//!
//! `cargo bench --bench versions -- --against PATH`, where PATH is this bench's program of another build
//! (`target/release/deps/versions-...` there). Each build runs in processes of its own, A B A B; the first turn of each warms
//! up. A figure is the ratio of both builds' medians, with the least and the greatest ratio of a turn. Without `--against` the build
//! is compared with itself: that shows what no difference looks like; with `--checksum` instead, links with checksums (now) with
//! links without (before): what these cost. Under `cargo test --benches` a few rounds only show
//! that it runs.

#[path = "twice.rs"]
mod twice;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use lathide::{Bytes, Config, Key, Node};
use rustix::time::{ClockId, clock_gettime};
use twice::{free_root, second_process};

/// Tells the second process of a measurement where the first one is.
const ROOT: &str = "LATHIDE_BENCH_ROOT";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";
/// Ranks of one process whose links are counted in its memory.
const CROWD: u32 = 24;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if let Ok(root) = std::env::var(ROOT) {
        return measure(&join(1, 2, root), has("--short"));
    }
    if has("--measure") {
        let root = free_root();
        let mut second = second_process(ROOT, &root);
        measure(&join(0, 2, root), has("--short"));
        assert!(second.wait().expect("a child of ours").success(), "the second process failed");
        return memory_per_link();
    }
    let other = args.iter().position(|arg| arg == "--against").and_then(|at| args.get(at + 1));
    compare(other.map(String::as_str), has("--checksum"), has("--bench"));
}

fn join(rank: u32, size: u32, root: String) -> Node {
    let mut config = Config::new(rank, size, Some(root));
    config.key = Key::from_bytes(KEY);
    config.checksum = std::env::args().any(|arg| arg == "--checksum");
    lathide::init_with(config).expect("all join")
}

/// Prints the figures of one turn: a name and a number a line, by the first process.
fn measure(node: &Node, is_short: bool) {
    let scale = if is_short { 1 } else { 100 };
    for bytes in [8, 1024] {
        say(node, &format!("one way {bytes} B, us"), ping_pong(node, bytes, 200 * scale) * 1e6);
    }
    say(node, "write and wait 8 B, us", rate(node, true, 1000 * scale) * 1e6);
    say(node, "write 8 B, wait for all, us", rate(node, false, 1000 * scale) * 1e6);
    for (name, bytes, count, is_shared) in [
        ("64 KiB", 64 << 10, 20 * scale, false),
        ("1 MiB", 1 << 20, 3 * scale, false),
        ("1 MiB Bytes", 1 << 20, 3 * scale, true),
        ("16 MiB", 16 << 20, 1 + scale / 6, false),
    ] {
        let (took, processor) = stream(node, bytes, count, is_shared);
        let mib = (bytes * count) as f64 / (1 << 20) as f64;
        say(node, &format!("{name}: us per MiB"), took / mib * 1e6);
        say(node, &format!("{name}: processor us per MiB"), processor / mib * 1e6);
    }
}

fn say(node: &Node, name: &str, value: f64) {
    if node.rank() == 0 {
        println!("{name}\t{value}");
    }
}

fn peer(node: &Node) -> u32 {
    u32::from(node.rank() == 0)
}

fn write(node: &Node, buffer: Vec<u8>) -> Vec<u8> {
    node.initwrite(peer(node), 1, buffer).expect("two ranks").wait().expect("the other rank reads")
}

fn read(node: &Node, buffer: Vec<u8>) -> Vec<u8> {
    node.initread(peer(node), 1, buffer).expect("two ranks").wait().expect("the other rank writes")
}

/// Seconds one way.
fn ping_pong(node: &Node, bytes: usize, count: usize) -> f64 {
    let mut buffer = vec![1u8; bytes];
    let mut took = 0.0;
    for turns in [count / 10 + 1, count] {
        let began = Instant::now();
        for _ in 0..turns {
            let first = node.rank() == 0;
            buffer = if first { write(node, buffer) } else { read(node, buffer) };
            buffer = if first { read(node, buffer) } else { write(node, buffer) };
        }
        took = began.elapsed().as_secs_f64() / (2 * turns) as f64;
    }
    took
}

/// Seconds per message of many in a row, of which the reader knows when all have come.
fn rate(node: &Node, waits: bool, count: usize) -> f64 {
    let mut reads = Vec::new();
    if node.rank() == 1 {
        reads.extend((0..count).map(|_| node.initread(0, 2, vec![0u8; 8]).expect("two ranks")));
        write(node, vec![0; 1]);
    } else {
        read(node, vec![0; 1]);
    }
    let began = Instant::now();
    if node.rank() == 0 {
        let mut writes = Vec::new();
        for _ in 0..count {
            let posted = node.initwrite(1, 2, vec![7u8; 8]).expect("two ranks");
            if waits { drop(posted.wait().expect("rank 1 reads")) } else { writes.push(posted) }
        }
        lathide::wait_all(writes).expect("rank 1 reads");
        read(node, vec![0; 1]);
    } else {
        lathide::wait_all(reads).expect("rank 0 writes");
        write(node, vec![0; 1]);
    }
    began.elapsed().as_secs_f64() / count as f64
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Seconds of `count` long messages in a row, and of both processes' processors.
fn stream(node: &Node, bytes: usize, count: usize, is_shared: bool) -> (f64, f64) {
    let mut buffers = [vec![1u8; bytes], vec![2u8; bytes]];
    let shared = Bytes::from(vec![3u8; if is_shared { bytes } else { 0 }]);
    let mut result = (0.0, 0.0);
    for turns in [2, count] {
        node.barrier().expect("two ranks");
        let (began, before) = (Instant::now(), processor_time());
        for turn in 0..turns {
            let buffer = &mut buffers[turn % 2];
            if node.rank() == 1 {
                *buffer = read(node, std::mem::take(buffer));
            } else if is_shared {
                drop(node.initwrite(1, 1, shared.clone()).expect("two ranks").wait().expect("rank 1 reads"));
            } else {
                *buffer = write(node, std::mem::take(buffer));
            }
        }
        let own = (processor_time() - before).as_secs_f64();
        let theirs = if node.rank() == 1 { write(node, own.to_le_bytes().to_vec()) } else { read(node, vec![0; 8]) };
        let theirs = f64::from_le_bytes(theirs.try_into().expect("8 bytes"));
        result = (began.elapsed().as_secs_f64(), own + theirs);
    }
    result
}

/// What a link takes of its process's memory, once a message has passed each way and all is quiet.
fn memory_per_link() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").expect("Linux");
        status.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("a number of pages") * 4096.0
    };
    let (root, before) = (free_root(), resident());
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..CROWD)
            .map(|rank| {
                let root = root.clone();
                scope.spawn(move || {
                    let node = join(rank, CROWD, root);
                    node.alltoall(vec![1u64; CROWD as usize]).expect("all call it");
                    node
                })
            })
            .collect();
        let nodes: Vec<Node> = ranks.into_iter().map(|rank| rank.join().expect("it joins")).collect();
        std::thread::sleep(Duration::from_millis(100));
        println!("memory per link and end, B\t{}", (resident() - before) / f64::from(CROWD * (CROWD - 1)));
        let all = nodes.into_iter().map(|node| scope.spawn(move || node.finalize()));
        all.collect::<Vec<_>>().into_iter().for_each(|one| one.join().expect("it ends").expect("all finalize"));
    });
}

type Figures = BTreeMap<String, Vec<f64>>;

fn compare(other: Option<&str>, checks: bool, is_full: bool) {
    let this = std::env::current_exe().expect("this program has a path").display().to_string();
    let builds = [(other.unwrap_or(&this), None), (&this, checks.then_some("--checksum"))];
    let (turns, short) = if is_full { (11, None) } else { (2, Some("--short")) };
    let mut figures = [Figures::new(), Figures::new()];
    for turn in 0..=turns {
        for ((build, checksum), figures) in builds.iter().zip(&mut figures) {
            let mut bench = Command::new(build);
            let output = bench.arg("--measure").args(short).args(checksum).output().expect("a bench of this project");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{build} failed: {said}");
            for line in String::from_utf8_lossy(&output.stdout).lines().filter(|_| turn > 0) {
                let (name, value) = line.split_once('\t').expect("a name and a number");
                figures.entry(name.to_owned()).or_default().push(value.parse().expect("a number"));
            }
        }
    }
    println!("{} against {}, {turns} turns each, in turn", this, other.unwrap_or("itself"));
    println!("{:<32} {:>12} {:>12} {:>8} {:>8} {:>8}", "", "before", "now", "ratio", "least", "greatest");
    for (name, now) in &figures[1] {
        let Some(before) = figures[0].get(name) else { continue };
        let mut ratios: Vec<f64> = now.iter().zip(before).map(|(now, before)| now / before).collect();
        ratios.sort_by(f64::total_cmp);
        let (before, now) = (median(before), median(now));
        let (least, greatest) = (ratios[0], ratios[ratios.len() - 1]);
        println!("{name:<32} {before:>12.3} {now:>12.3} {:>8.3} {least:>8.3} {greatest:>8.3}", now / before);
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
