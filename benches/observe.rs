//! What observing costs: the same messages with `Config::observe` on and off, in one run.
//!
//! `cargo bench --bench observe`. Two processes are joined by two jobs, one that observes and one that does not, and
//! use them in turn, A B B A, warm-up apart: the median of the ratios with its quartiles. Without `--bench` a few
//! rounds only show that it runs. The second process is this program again, told by the environment.

mod twice;

use std::time::Instant;

use lathide::{Config, Key, Node};
use twice::{free_root, second_process};

/// Tells the second process where both jobs meet.
const ROOTS: &str = "LATHIDE_BENCH_ROOTS";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";
/// Messages written before the reader says that it has them.
const BURST: usize = 64;

struct Effort {
    repeats: usize,
    round_trips: usize,
    bursts: usize,
    long_messages: usize,
}

const FULL: Effort = Effort { repeats: 101, round_trips: 2000, bursts: 40, long_messages: 200 };
const SMOKE: Effort = Effort { repeats: 3, round_trips: 20, bursts: 2, long_messages: 3 };

/// What is done with a job, by both of its ranks. Returns the messages of one direction.
type Exchange = fn(&Node, &Effort) -> usize;

const EXCHANGES: [(&str, Exchange); 3] = [
    ("8 B, one way, half the round trip", ping_pong),
    ("8 B, one of 64 in a row", bursts),
    ("64 KiB, one way, half the round trip", long_ping_pong),
];

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    match std::env::var(ROOTS) {
        Ok(roots) => {
            let (on, off) = roots.split_once(' ').expect("two addresses");
            let nodes = join(1, on, off);
            EXCHANGES.iter().for_each(|(_, exchange)| drop(measure(&nodes, *exchange, &effort)));
        }
        Err(_) => lead(&effort),
    }
}

fn lead(effort: &Effort) {
    let (on, off) = (free_root(), free_root());
    let mut child = second_process(ROOTS, &format!("{on} {off}"));
    let nodes = join(0, &on, &off);
    println!("observing, against not observing (LATHIDE_OBSERVE=off)");
    for (name, exchange) in EXCHANGES {
        let pairs = measure(&nodes, exchange, effort);
        let each = |of: fn(&(f64, f64)) -> f64| quartiles(pairs.iter().map(of).collect());
        let ([_, on_us, _], [_, off_us, _]) = (each(|pair| pair.0 * 1e6), each(|pair| pair.1 * 1e6));
        let [low, middle, high] = each(|pair| pair.0 / pair.1);
        println!("  {name}: on {on_us:.3} us, off {off_us:.3} us, ratio {middle:.4} (quartiles {low:.4} .. {high:.4})");
    }
    drop(nodes);
    assert!(child.wait().expect("a child of ours").success(), "the second process failed");
}

/// The node that observes, and the one that does not.
fn join(rank: u32, on: &str, off: &str) -> (Node, Node) {
    let node = |root: &str, observe: bool| {
        let mut config = Config::new(rank, 2, Some(root.to_owned()));
        config.key = Key::from_bytes(KEY);
        config.observe = observe;
        lathide::init_with(config).expect("both processes join")
    };
    (node(on, true), node(off, false))
}

/// Seconds per message with and without, of each repeat.
fn measure((on, off): &(Node, Node), exchange: Exchange, effort: &Effort) -> Vec<(f64, f64)> {
    let timed = |node: &Node| {
        let began = Instant::now();
        let messages = exchange(node, effort);
        began.elapsed().as_secs_f64() / messages as f64
    };
    let mut pairs = Vec::new();
    for turn in 0..=effort.repeats {
        // Neither is always the first.
        let pair = if turn % 2 == 0 {
            (timed(on), timed(off))
        } else {
            let off = timed(off);
            (timed(on), off)
        };
        // The first warms up.
        if turn > 0 {
            pairs.push(pair);
        }
    }
    pairs
}

fn ping_pong(node: &Node, effort: &Effort) -> usize {
    round_trips(node, 8, effort.round_trips)
}

fn long_ping_pong(node: &Node, effort: &Effort) -> usize {
    round_trips(node, 64 << 10, effort.long_messages)
}

fn round_trips(node: &Node, bytes: usize, count: usize) -> usize {
    let (peer, mut buffer) = (1 - node.rank().0, vec![1u8; bytes]);
    for turn in 0..2 * count {
        let sends = (turn % 2 == 0) == (node.rank() == 0);
        let handle = if sends { node.initwrite(peer, 1, buffer) } else { node.initread(peer, 1, buffer) };
        buffer = handle.expect("two ranks").wait().expect("the other rank is there");
    }
    2 * count
}

fn bursts(node: &Node, effort: &Effort) -> usize {
    let peer = 1 - node.rank().0;
    for _ in 0..effort.bursts {
        if node.rank() == 0 {
            for _ in 0..BURST {
                let write = node.initwrite(peer, 2, vec![1u8; 8]).expect("two ranks");
                write.wait().expect("the other rank reads");
            }
            node.initread(peer, 3, vec![0u8; 8]).expect("two ranks").wait().expect("the other rank writes");
        } else {
            for _ in 0..BURST {
                node.initread(peer, 2, vec![0u8; 8]).expect("two ranks").wait().expect("the other rank writes");
            }
            node.initwrite(peer, 3, vec![1u8; 8]).expect("two ranks").wait().expect("the other rank reads");
        }
    }
    effort.bursts * BURST
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values.len() / 4, values.len() / 2, values.len() * 3 / 4].map(|at| values[at])
}
