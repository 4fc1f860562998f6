//! Windows: `get` of 8 B and of 1 MiB from a rank that computes without a call, beside a plain message of the same length;
//! and how much of a `put` of 1 MiB a computation hides on a link of 100 Mbit/s.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lathide::{Node, Result, Window};

use crate::{Effort, RATE};

const MIB: usize = 1 << 20;

/// What is measured on loopback.
pub(crate) fn measure(node: &Node, effort: &Effort) -> Result<()> {
    let window = node.window(vec![1u8; MIB])?;
    for (bytes, name) in [(8, "8 B"), (MIB, "1 MiB")] {
        gets(node, &window, (bytes, name), effort)?;
    }
    window.into_inner().map(drop)
}

/// What is measured on a link of a known rate.
pub(crate) fn measure_shaped(node: &Node, effort: &Effort) -> Result<()> {
    let window = node.window(vec![1u8; MIB])?;
    puts(node, &window, effort)?;
    window.into_inner().map(drop)
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
            compute(Duration::from_millis(20));
            continue;
        }
        // The other has begun its computation by now, and its kernel has the links: it leaves them to the program's threads
        // for a millisecond or two after the last wait.
        compute(Duration::from_millis(6));
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

/// Rank 0 puts 1 MiB to rank 1, which computes, and computes as long as that takes until it is there, which a flush tells: the
/// part of it that is hidden.
fn puts(node: &Node, window: &Window<u8>, effort: &Effort) -> Result<()> {
    let mut found = Vec::new();
    for turn in 0..=effort.puts {
        node.barrier()?;
        if node.rank() == 1 {
            // Longer than both.
            compute(Duration::from_millis(300));
            continue;
        }
        let alone = put(window, Duration::ZERO)?;
        let both = put(window, alone)?;
        if turn > 0 {
            found.push(1.0 - (both.as_secs_f64() - alone.as_secs_f64()) / alone.as_secs_f64());
        }
    }
    if node.rank() == 0 {
        let [low, middle, high] = quartiles(found);
        println!(
            "put of 1 MiB and its flush over {RATE}: overlap {middle:.3} (quartiles {low:.3} .. {high:.3}); at least 0.95"
        );
    }
    Ok(())
}

/// How long a put takes, beside a computation that takes so long.
fn put(window: &Window<u8>, computing: Duration) -> Result<Duration> {
    let began = Instant::now();
    let (put, flushed) = (window.put(1, 0, vec![1u8; MIB])?, window.initflush(1)?);
    compute(computing);
    put.wait()?;
    flushed.wait()?;
    Ok(began.elapsed())
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
