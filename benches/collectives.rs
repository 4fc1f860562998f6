//! What collectives cost against the same messages written and read by hand, in one run; and what it costs that ranks
//! exchange what they observe (`LATHIDE_CALIBRATE`): calls of 8 bytes with and without it.
//!
//! `cargo bench --bench collectives`. Processes over the loopback, two, four and eight of them, do both in turn, A B B A, warm-up
//! apart: the median of the ratios of the slowest rank's times, with its quartiles. Without `--bench` a few rounds
//! only show that it runs. The other processes are this program again, told by the environment.

use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::Instant;

use lathide::Shift;
use lathide::{Config, Key, Node, Operator, PersistentExchange, Result, WriteHandle};

/// Tells the other processes their rank, their number, and where the job meets.
const PLACE: &str = "LATHIDE_BENCH_PLACE";

struct Effort {
    repeats: usize,
    bytes: &'static [usize],
    /// Calls of a block, of which one is with calibration and one without.
    calls: usize,
}

const FULL: Effort = Effort { repeats: 21, bytes: &[8, 64 << 10, 1 << 20, 16 << 20], calls: 2000 };
const SMOKE: Effort = Effort { repeats: 3, bytes: &[8, 100_000], calls: 50 };

/// What all ranks do with blocks of so many bytes.
type Way = fn(&Node, &mut Vec<u8>) -> Result<()>;

const WAYS: [(&str, Way, Way); 6] = [
    ("broadcast", broadcast, written_broadcast),
    ("exchange", exchange, written_exchange),
    ("allgather", allgather, written_allgather),
    ("allgather_counts", allgather_counts, written_allgather_counts),
    ("alltoall_counts", alltoall_counts, written_alltoall_counts),
    ("reduce_scatter", reduce_scatter, written_reduce_scatter),
];

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    if let Ok(place) = std::env::var(PLACE) {
        let words: Vec<&str> = place.split(' ').collect();
        let [rank, size, root] = words[..] else { panic!("{PLACE}={place}") };
        return run(rank.parse().expect("a rank"), size.parse().expect("a size"), root, &effort);
    }
    for size in [2, 4, 8] {
        let root = free_root();
        let children: Vec<Child> = (1..size).map(|rank| process(rank, size, &root)).collect();
        run(0, size, &root, &effort);
        for mut child in children {
            assert!(child.wait().expect("a child of ours").success(), "a rank failed");
        }
    }
}

/// One rank's part.
fn run(rank: u32, size: u32, root: &str, effort: &Effort) {
    let node = join(root, rank, size);
    for (name, collective, written) in WAYS {
        for &bytes in effort.bytes {
            let pairs = measure(&node, collective, written, bytes, effort.repeats).expect("no rank fails");
            if rank == 0 {
                let each = |of: fn(&(f64, f64)) -> f64| quartiles(pairs.iter().map(of).collect());
                let [_, ours_us, _] = each(|pair| pair.0 * 1e6);
                let [_, written_us, _] = each(|pair| pair.1 * 1e6);
                let [low, middle, high] = each(|pair| pair.0 / pair.1);
                println!(
                    "{size} ranks, {name} of {bytes} B: {ours_us:.1} us, by hand {written_us:.1} us, ratio {middle:.3} \
                     (quartiles {low:.3} .. {high:.3})"
                );
            }
        }
    }
    for &bytes in effort.bytes {
        let pairs = persistent(&node, bytes, effort.repeats).expect("no rank fails");
        if rank == 0 {
            let [low, middle, high] = quartiles(pairs.iter().map(|pair| pair.0 / pair.1).collect());
            println!(
                "{size} ranks, persistent exchange of {bytes} B: {middle:.3} of the time of one that is planned anew \
                 (quartiles {low:.3} .. {high:.3})"
            );
        }
    }
    let (with, without) = (node, join(&format!("{root} off"), rank, size));
    exchanges(&with, &without, effort).expect("no rank fails");
    with.finalize().expect("all agree");
    without.finalize().expect("all agree");
}

/// What it costs that ranks exchange what they observe. Both nodes call the same algorithm.
fn exchanges(with: &Node, without: &Node, effort: &Effort) -> Result<()> {
    let forced = lathide::Overrides::parse("allreduce:doubling").expect("it has this algorithm");
    for node in [with, without] {
        node.override_algorithms(forced.clone());
    }
    let block = |node: &Node| -> Result<f64> {
        node.barrier()?;
        let (began, mut sum) = (Instant::now(), vec![1.0]);
        for _ in 0..effort.calls {
            sum = node.allreduce(&Operator::max(), sum)?;
        }
        Ok(node.allreduce(&Operator::max(), vec![began.elapsed().as_secs_f64()])?[0])
    };
    let mut ratios = Vec::new();
    for turn in 0..=effort.repeats {
        let (on_s, off_s) = if turn % 2 == 0 {
            (block(with)?, block(without)?)
        } else {
            let off_s = block(without)?;
            (block(with)?, off_s)
        };
        if turn > 0 {
            ratios.push(on_s / off_s);
        }
    }
    if with.rank() == 0 {
        let [low, middle, high] = quartiles(ratios);
        println!(
            "{} ranks, allreduce of 8 B, {} calls: with calibration {middle:.3} of the time without (quartiles {low:.3} .. \
             {high:.3})",
            with.size(),
            effort.calls
        );
    }
    Ok(())
}

/// A node of the job that meets at the first word of `root`; `off` behind it: without calibration.
fn join(root: &str, rank: u32, size: u32) -> Node {
    let (root, calibrate) = match root.split_once(' ') {
        Some((root, _)) => (another(root), false),
        None => (root.to_owned(), true),
    };
    let mut config = Config::new(rank, size, Some(root));
    config.key = Key::from_bytes(std::array::from_fn(|at| at as u8 * 7 + 1));
    config.calibrate = calibrate;
    lathide::init_with(config).expect("all join")
}

/// Another port beside that of `root`.
fn another(root: &str) -> String {
    let (host, port) = root.rsplit_once(':').expect("a port");
    let port: u16 = port.parse().expect("a number");
    format!("{host}:{}", if port > 40_000 { port - 1000 } else { port + 1000 })
}

/// Seconds of blocks of exchanges, by one plan and planned each time, of each repeat.
fn persistent(node: &Node, bytes: usize, repeats: usize) -> Result<Vec<(f64, f64)>> {
    let steps = ((4 << 20) / bytes.max(1)).clamp(1, 200);
    let shifts = around(node, bytes / 2);
    let halo: PersistentExchange = node.persistent_exchange(&shifts)?;
    let (mut edges, mut ghosts) = (vec![1u8; halo.sent()], vec![0u8; halo.received()]);
    let mut timed = |is_persistent: bool| -> Result<f64> {
        node.barrier()?;
        let began = Instant::now();
        for _ in 0..steps {
            if is_persistent {
                (edges, ghosts) = halo.start(std::mem::take(&mut edges), std::mem::take(&mut ghosts))?.wait()?;
            } else {
                edges = node.exchange(&shifts, std::mem::take(&mut edges))?;
            }
        }
        let own_s = began.elapsed().as_secs_f64();
        Ok(node.allreduce(&Operator::max(), vec![own_s])?[0])
    };
    let mut pairs = Vec::new();
    for turn in 0..=repeats {
        let pair = if turn % 2 == 0 {
            (timed(true)?, timed(false)?)
        } else {
            let anew_s = timed(false)?;
            (timed(true)?, anew_s)
        };
        if turn > 0 {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// To both neighbours of a ring, `count` elements each.
fn around(node: &Node, count: usize) -> [Shift; 2] {
    let [left, right] = neighbours(node).map(lathide::Rank);
    [(right, left), (left, right)].map(|(to, from)| Shift { to: Some((to, count)), from: Some((from, count)) })
}

/// Seconds of both ways, of each repeat.
fn measure(node: &Node, ours: Way, written: Way, bytes: usize, repeats: usize) -> Result<Vec<(f64, f64)>> {
    let mut buffer = vec![1u8; bytes];
    let mut timed = |way: Way| -> Result<f64> {
        node.barrier()?;
        let began = Instant::now();
        way(node, &mut buffer)?;
        let own_s = began.elapsed().as_secs_f64();
        Ok(node.allreduce(&Operator::max(), vec![own_s])?[0])
    };
    let mut pairs = Vec::new();
    for turn in 0..=repeats {
        // Neither is always the first.
        let pair = if turn % 2 == 0 {
            (timed(ours)?, timed(written)?)
        } else {
            let written_s = timed(written)?;
            (timed(ours)?, written_s)
        };
        // The first warms up.
        if turn > 0 {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

fn others(node: &Node) -> impl Iterator<Item = u32> + use<> {
    let own = node.rank().0;
    (0..node.size()).filter(move |&rank| rank != own)
}

fn neighbours(node: &Node) -> [u32; 2] {
    [-1, 1].map(|by| node.rank().on_ring(by, node.size()).0)
}

fn broadcast(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    *buffer = node.broadcast(0, std::mem::take(buffer))?;
    Ok(())
}

/// The root shares its buffer with its writes.
fn written_broadcast(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    if node.rank() != 0 {
        *buffer = node.initread(0, 1, std::mem::take(buffer))?.wait()?;
        return Ok(());
    }
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let writes = others(node).map(|to| node.initwrite(to, 1, shared.clone())).collect::<Result<Vec<_>>>()?;
    lathide::wait_all(writes)?;
    *buffer = shared.into();
    Ok(())
}

fn exchange(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let shifts = around(node, buffer.len() / 2);
    *buffer = node.exchange(&shifts, std::mem::take(buffer))?;
    Ok(())
}

fn written_exchange(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let [left, right] = neighbours(node);
    let half = buffer.len() / 2;
    let reads = [(left, 1), (right, 2)].map(|(from, tag)| node.initread(from, tag, vec![0u8; half]));
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let parts = [(right, 1, shared.slice(..half)), (left, 2, shared.slice(half..))];
    let writes: Vec<WriteHandle<bytes::Bytes>> =
        parts.into_iter().map(|(to, tag, part)| node.initwrite(to, tag, part)).collect::<Result<_>>()?;
    lathide::wait_all(writes)?;
    reads.into_iter().try_for_each(|read| read?.wait().map(drop))?;
    *buffer = shared.into();
    Ok(())
}

fn allgather(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let mut all = node.allgather(std::mem::take(buffer))?;
    all.truncate(all.len() / node.size() as usize);
    *buffer = all;
    Ok(())
}

/// Each block in a buffer of its own, the own one where it is.
fn written_allgather(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let bytes = buffer.len();
    let reads = others(node).map(|from| node.initread(from, 1, vec![0u8; bytes])).collect::<Result<Vec<_>>>()?;
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let writes = others(node).map(|to| node.initwrite(to, 1, shared.clone())).collect::<Result<Vec<_>>>()?;
    lathide::wait_all(writes)?;
    lathide::wait_all(reads)?;
    *buffer = shared.into();
    Ok(())
}

/// Every second rank has half as much.
fn counts(node: &Node, bytes: usize) -> Vec<usize> {
    (0..node.size() as usize).map(|rank| bytes >> (rank % 2)).collect()
}

fn allgather_counts(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let (bytes, counts) = (buffer.len(), counts(node, buffer.len()));
    buffer.truncate(counts[node.rank().index()]);
    let mut all = node.allgather_counts(&counts, std::mem::take(buffer))?;
    all.truncate(bytes);
    *buffer = all;
    Ok(())
}

fn written_allgather_counts(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let counts = counts(node, buffer.len());
    let reads = others(node).map(|from| node.initread(from, 1, vec![0u8; counts[from as usize]]));
    let reads = reads.collect::<Result<Vec<_>>>()?;
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let own = shared.slice(..counts[node.rank().index()]);
    let writes = others(node).map(|to| node.initwrite(to, 1, own.clone())).collect::<Result<Vec<_>>>()?;
    drop(own);
    lathide::wait_all(writes)?;
    lathide::wait_all(reads)?;
    *buffer = shared.into();
    Ok(())
}

/// What a rank sends to, and receives from, each: a part of so many bytes, or half of it.
fn pairs(node: &Node, bytes: usize) -> Vec<usize> {
    let (own, size) = (node.rank().index(), node.size() as usize);
    (0..size).map(|other| (bytes / size) >> ((own + other) % 2)).collect()
}

fn alltoall_counts(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let (bytes, counts) = (buffer.len(), pairs(node, buffer.len()));
    buffer.truncate(counts.iter().sum());
    let mut all = node.alltoall_counts(&counts, &counts, std::mem::take(buffer))?;
    all.resize(bytes, 1);
    *buffer = all;
    Ok(())
}

fn written_alltoall_counts(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let counts = pairs(node, buffer.len());
    let reads = others(node).map(|from| node.initread(from, 1, vec![0u8; counts[from as usize]]));
    let reads = reads.collect::<Result<Vec<_>>>()?;
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let part = |to: u32| {
        let start: usize = counts[..to as usize].iter().sum();
        shared.slice(start..start + counts[to as usize])
    };
    let writes = others(node).map(|to| node.initwrite(to, 1, part(to))).collect::<Result<Vec<_>>>()?;
    lathide::wait_all(writes)?;
    lathide::wait_all(reads)?;
    *buffer = shared.into();
    Ok(())
}

fn reduce_scatter(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let (bytes, size) = (buffer.len(), node.size() as usize);
    buffer.truncate(bytes / size * size);
    node.reduce_scatter_into(&Operator::max(), buffer, &mut Vec::new())?;
    buffer.resize(bytes, 1);
    Ok(())
}

/// Each rank combines what comes for its block, in turn.
fn written_reduce_scatter(node: &Node, buffer: &mut Vec<u8>) -> Result<()> {
    let part = buffer.len() / node.size() as usize;
    let reads = others(node).map(|from| node.initread(from, 1, vec![0u8; part])).collect::<Result<Vec<_>>>()?;
    let shared = bytes::Bytes::from(std::mem::take(buffer));
    let of = |rank: u32| shared.slice(rank as usize * part..(rank as usize + 1) * part);
    let writes = others(node).map(|to| node.initwrite(to, 1, of(to))).collect::<Result<Vec<_>>>()?;
    let mut own = of(node.rank().0).to_vec();
    for read in reads {
        own.iter_mut().zip(read.wait()?).for_each(|(own, other)| *own = (*own).max(other));
    }
    lathide::wait_all(writes)?;
    *buffer = shared.into();
    Ok(())
}

fn process(rank: u32, size: u32, root: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(std::env::args().skip(1)).env(PLACE, format!("{rank} {size} {root}"));
    command.spawn().expect("this program once more")
}

fn free_root() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").to_string()
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}
