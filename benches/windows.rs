//! What a window costs: `get` of 8 B and of 1 MiB from a rank that computes without a call, beside a plain message of the same
//! length; and how much of a `put` of 1 MiB a computation hides on a link of 100 Mbit/s.
//!
//! `cargo bench --bench windows`. Two processes; what is compared is done in turn, warm-up apart: medians with quartiles. The
//! link is shaped by the kernel in a network namespace of our own; where that is not allowed, that part is left out. Without
//! `--bench` a few rounds only show that it runs. The second process is this program again, told by the environment.

mod shape;
mod twice;

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use lathide::{Config, Key, Node, Result, Window};
use twice::{free_root, second_process};

/// Tells the second process where the job meets.
const ROOT: &str = "LATHIDE_BENCH_ROOT";
/// This process is within the shaped network.
const SHAPED: &str = "LATHIDE_BENCH_SHAPED";
const RATE: &str = "100mbit";
const MIB: usize = 1 << 20;
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";

struct Effort {
    gets: usize,
    puts: usize,
}

const FULL: Effort = Effort { gets: 301, puts: 21 };
const SMOKE: Effort = Effort { gets: 5, puts: 1 };

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let effort = if is_full { FULL } else { SMOKE };
    let is_shaped = std::env::var_os(SHAPED).is_some();
    if let Ok(root) = std::env::var(ROOT) {
        return run(1, &root, is_shaped, &effort).expect("rank 1 goes on");
    }
    let root = free_root();
    let mut child = second_process(ROOT, &root);
    run(0, &root, is_shaped, &effort).expect("rank 0 goes on");
    assert!(child.wait().expect("a child of ours").success(), "the second process failed");
    if is_shaped {
        return;
    }
    if !shape::is_allowed(RATE) {
        return println!("put over {RATE}: no link of our own is allowed here");
    }
    let this = std::env::current_exe().expect("this program has a path");
    let mut within: Command = shape::within(RATE);
    let status = within.arg(this).args(std::env::args().skip(1)).env(SHAPED, "1").status();
    assert!(status.expect("it starts").success(), "the part on the shaped link failed");
}

fn run(rank: u32, root: &str, is_shaped: bool, effort: &Effort) -> Result<()> {
    let mut config = Config::new(rank, 2, Some(root.to_owned()));
    config.key = Key::from_bytes(KEY);
    let node = lathide::init_with(config)?;
    let window = node.window(vec![1u8; MIB])?;
    if is_shaped {
        puts(&node, &window, effort)?;
    } else {
        for (bytes, name) in [(8, "8 B"), (MIB, "1 MiB")] {
            gets(&node, &window, (bytes, name), effort)?;
        }
    }
    window.into_inner()?;
    node.finalize()
}

/// Rank 0 gets from rank 1, which computes; and both exchange plain messages, of which each takes as long as the get.
fn gets(node: &Node, window: &Window<u8>, (bytes, name): (usize, &str), effort: &Effort) -> Result<()> {
    let (mut plain, mut got) = (Vec::new(), Vec::new());
    let is_first = node.rank() == 0;
    for turn in 0..=effort.gets {
        // There and back, both waiting: half of it is a message.
        node.barrier()?;
        let (began, mut buffer) = (Instant::now(), vec![0u8; bytes]);
        for sends in [is_first, !is_first] {
            buffer = if sends {
                node.initwrite(1 - node.rank().0, 1, buffer)
            } else {
                node.initread(1 - node.rank().0, 1, buffer)
            }?
            .wait()?;
        }
        let message_s = began.elapsed().as_secs_f64() / 2.0;
        node.barrier()?;
        if !is_first {
            // Longer than the get takes.
            compute(Duration::from_millis(12));
            continue;
        }
        // The other is in its computation by now.
        compute(Duration::from_millis(2));
        let began = Instant::now();
        black_box(window.get(1, 0..bytes)?.wait()?);
        let get_s = began.elapsed().as_secs_f64();
        if turn > 0 {
            plain.push(message_s);
            got.push(get_s);
        }
    }
    if is_first {
        let ([low, middle, high], [_, message, _]) = (quartiles(got), quartiles(plain));
        println!(
            "get of {name} from a rank that computes: {:.1} us (quartiles {:.1} .. {:.1}); a plain message {:.1} us; at most 2 \
             x that + 1 ms = {:.1} us",
            middle * 1e6,
            low * 1e6,
            high * 1e6,
            message * 1e6,
            (2.0 * message + 1e-3) * 1e6
        );
    }
    Ok(())
}

/// Rank 0 puts 1 MiB to rank 1, which computes, and computes as long as that takes: the part of it that is hidden.
fn puts(node: &Node, window: &Window<u8>, effort: &Effort) -> Result<()> {
    let (mut overlaps, mut alone) = (Vec::new(), Vec::new());
    for turn in 0..=effort.puts {
        node.barrier()?;
        if node.rank() == 1 {
            compute(Duration::from_millis(300));
            continue;
        }
        let mut buffer = vec![turn as u8; MIB];
        let began = Instant::now();
        buffer = window.put(1, 0, buffer)?.wait()?;
        window.flush(1)?;
        let put = began.elapsed();
        let began = Instant::now();
        let (handle, flushed) = (window.put(1, 0, buffer)?, window.initflush(1)?);
        compute(put);
        handle.wait()?;
        flushed.wait()?;
        let both = began.elapsed();
        if turn > 0 {
            alone.push(put.as_secs_f64());
            overlaps.push(1.0 - (both.as_secs_f64() - put.as_secs_f64()) / put.as_secs_f64());
        }
    }
    if node.rank() == 0 {
        let ([low, middle, high], [_, put, _]) = (quartiles(overlaps), quartiles(alone));
        println!(
            "put of 1 MiB and its flush over {RATE}, {:.1} ms alone: overlap {middle:.3} (quartiles {low:.3} .. {high:.3}), \
             needed 0.95",
            put * 1e3
        );
    }
    Ok(())
}

/// Computes for so long, and calls nothing.
fn compute(length: Duration) {
    let (began, mut state) = (Instant::now(), 1u64);
    while began.elapsed() < length {
        for _ in 0..2000 {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    [at(1), at(2), at(3)]
}
