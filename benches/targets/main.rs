//! What lathide is to reach, and what it reaches here: every row a ratio of two things measured in the same run.
//!
//! `cargo bench --bench targets` (about ten minutes). Most rows are what `lathide link` and `lathide gain` measure, on
//! loopback and on links that the kernel shapes in a namespace of its own ([`shaped`]); where that is not allowed,
//! on the emulated link, and the row says so. The rest are programs of this bench ([`programs`]). Without `--bench`
//! (under `cargo test --benches`) a little of everything only shows that it runs.

mod programs;
#[path = "../shape.rs"]
mod shape;
mod shaped;

use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

/// The command that measures.
const LATHIDE: &str = env!("CARGO_BIN_EXE_lathide");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(program) = std::env::var_os(programs::PROGRAM) {
        return programs::run(&program.to_string_lossy());
    }
    let effort = if arguments.iter().any(|argument| argument == "--bench") { FULL } else { SMOKE };
    println!("{:<78} {:>9} {:>9} {:>9}  min .. max", "what", "measured", "required", "aim");
    let rows = [crowd, idle, loopback, wide_area, fast_link, slow_link, gains];
    let failures: Vec<String> = rows.iter().filter_map(|row| row(&effort).err()).collect();
    for failure in &failures {
        eprintln!("targets: {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How much is measured.
struct Effort {
    is_full: bool,
    /// For each run of `lathide link`.
    link: &'static [&'static str],
    /// For the one over a slow link, on which 8 MiB take most of a second.
    slow_link: &'static [&'static str],
    /// For each run of `lathide gain`.
    gain: &'static [&'static str],
}

const FULL: Effort = Effort {
    is_full: true,
    link: &["--seconds", "40"],
    slow_link: &["--seconds", "100"],
    gain: &["--gamma", "0.8,0.9,1,1.1"],
};
const SMOKE: Effort = Effort {
    is_full: false,
    link: &["--seconds", "1", "--repeats", "1"],
    slow_link: &["--seconds", "1", "--repeats", "1"],
    gain: &["--gamma", "1", "--rows", "10000", "--repeats", "2"],
};

type Rows = Result<(), String>;

/// Whether more or less of something is better.
enum Goal {
    AtMost(f64, f64),
    AtLeast(f64, f64),
}
use Goal::{AtLeast, AtMost};

/// Prints a row: the measured value with its least and greatest, beside what is required and aimed at.
fn row(what: &str, measured: f64, spread: Option<(f64, f64)>, goal: &Goal) {
    let (sign, required, aim, is_met) = match *goal {
        AtMost(required, aim) => ("<=", required, aim, measured <= required),
        AtLeast(required, aim) => (">=", required, aim, measured >= required),
    };
    let spread = spread.map_or(String::new(), |(least, most)| format!("  {least:.3} .. {most:.3}"));
    let verdict = if is_met { "" } else { "  missed" };
    println!("{what:<78} {measured:>9.3} {sign:>3} {required:>5} {aim:>9}{spread}{verdict}");
}

/// Prints a row of a figure that a JSON object has, with its least and greatest beside it.
fn json_row(what: &str, object: &Value, key: &str, goal: &Goal) -> Rows {
    let number = |key: &str| object[key].as_f64();
    let measured = number(key).ok_or_else(|| format!("{what}: no {key} was measured"))?;
    row(what, measured, number(&format!("{key}_min")).zip(number(&format!("{key}_max"))), goal);
    Ok(())
}

/// The entry of a list that is about messages of `bytes`.
fn of_bytes(list: &Value, bytes: u64) -> Option<&Value> {
    list.as_array()?.iter().find(|entry| entry["bytes"] == bytes)
}

/// Runs a command that prints one JSON object.
fn json_of(command: &mut Command) -> Result<Value, String> {
    let output = command.stderr(Stdio::piped()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

fn crowd(effort: &Effort) -> Rows {
    let [wait, hand_over] = programs::crowd(effort.is_full)?;
    let what = "8 B one way, more ranks than cores";
    row(&format!("{what}, against blocking raw TCP"), wait.median, Some(wait.spread), &AtMost(1.25, 1.05));
    row(&format!("{what}, against our own task"), hand_over.median, Some(hand_over.spread), &AtMost(0.6, 0.3));
    Ok(())
}

fn idle(effort: &Effort) -> Rows {
    let (slowed, waiting_s) = programs::idle(effort.is_full)?;
    let what = "a computation beside 8 idle links, against the same without lathide";
    row(what, slowed.median, Some(slowed.spread), &AtMost(1.005, 1.002));
    row("processor time of a rank that waits 10 s, seconds", waiting_s, None, &AtMost(0.1, 0.01));
    Ok(())
}

fn loopback(effort: &Effort) -> Rows {
    let sizes = "8,64KiB,1MiB,16MiB";
    let link = json_of(Command::new(LATHIDE).args(["link", "--json", "--bytes", sizes]).args(effort.link))?;
    let latency = of_bytes(&link["latency"], 8).ok_or("8 bytes were not measured")?;
    json_row("8 B one way, loopback, against blocking raw TCP", latency, "penalty", &AtMost(0.4, 0.2))?;
    json_row("8 B one way, loopback, against polled raw TCP", latency, "penalty_polled", &AtMost(1.6, 1.2))?;
    for (bytes, name) in [(64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (16 << 20, "16 MiB")] {
        if let Some(bandwidth) = of_bytes(&link["bandwidth"], bytes) {
            let what = format!("bandwidth of {name}, loopback, against the better of both raw ways");
            json_row(&what, bandwidth, "ratio", &AtLeast(0.9, 1.0))?;
        }
    }
    let what = "8 B messages per second, against one raw write each";
    json_row(what, &link["message_rate"], "ratio", &AtLeast(4.0, 10.0))?;
    let processor = &link["processor"];
    json_row("processor time per 8 B, against blocking raw TCP", &processor["message"], "ratio", &AtMost(1.2, 0.6))?;
    json_row("processor time per MiB, against blocking raw TCP", &processor["mib"], "ratio", &AtMost(1.15, 1.0))
}

fn wide_area(effort: &Effort) -> Rows {
    let link = ["link", "--json", "--link", "delay=25ms,rate=50mbit", "--bytes", "1MiB"];
    let link = json_of(Command::new(LATHIDE).args(link).args(effort.link))?;
    let exchange = of_bytes(&link["exchange"], 1 << 20).ok_or("1 MiB was not exchanged")?;
    let what = "1 MiB both ways at once, emulated 25 ms and 50 Mbit/s, against raw TCP";
    json_row(what, exchange, "penalty", &AtMost(1.05, 1.01))
}

/// Overlap, availability, exchange and what a small message waits for on a link of 1 Gbit/s.
fn fast_link(effort: &Effort) -> Rows {
    let rate = shaped::Rate { tbf: "1gbit", emulated: "delay=50us,rate=1000mbit" };
    let sizes = [&["--bytes", "8,64KiB,1MiB,8MiB"], effort.link].concat();
    let (link, how) = shaped::link(&rate, None, &sizes)?;
    let on = format!("1 Gbit/s ({how})");
    let exchange = of_bytes(&link["exchange"], 1 << 20).ok_or("1 MiB was not exchanged")?;
    json_row(&format!("1 MiB both ways at once against ping-pong, {on}"), exchange, "speedup", &AtLeast(1.9, 1.98))?;
    overlaps(&link, &on, &AtLeast(0.93, 0.97))?;
    let long = of_bytes(&link["overlap"], 8 << 20).ok_or("overlap was not measured")?;
    json_row(&format!("availability, 8 MiB, spare core, {on}"), long, "availability_spare", &AtLeast(0.95, 0.98))?;
    let what = format!("8 B during a long transfer to the same peer, p99 against idle p50, {on}");
    let (busy, alone) = (link["under_load"]["p99_s"].as_f64(), link["under_load"]["idle_p50_s"].as_f64());
    let (busy, alone) = busy.zip(alone).ok_or("no messages were measured under load")?;
    row(&what, busy / alone, None, &AtMost(5.0, 3.0));
    let (link, how) = shaped::link(&rate, Some("0"), &[&["--bytes", "8MiB"], effort.link].concat())?;
    let overlap = of_bytes(&link["overlap"], 8 << 20).ok_or("overlap was not measured")?;
    let what = format!("availability, 8 MiB, one core for everything, 1 Gbit/s ({how})");
    json_row(&what, overlap, "availability", &AtLeast(0.85, 0.9))
}

fn slow_link(effort: &Effort) -> Rows {
    let rate = shaped::Rate { tbf: "100mbit", emulated: "delay=200us,rate=100mbit" };
    let (link, how) = shaped::link(&rate, None, &[&["--bytes", "64KiB,1MiB,8MiB"], effort.slow_link].concat())?;
    overlaps(&link, &format!("100 Mbit/s ({how})"), &AtLeast(0.97, 0.99))?;
    let has_all = ["overlap", "exchange_overlap"].iter().all(|list| of_bytes(&link[*list], 8 << 20).is_some());
    // A short run shows only that it runs.
    if has_all || !effort.is_full { Ok(()) } else { Err("there was no time for overlap over 100 Mbit/s".to_owned()) }
}

fn overlaps(link: &Value, on: &str, goal: &Goal) -> Rows {
    for (bytes, name) in [(64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (8 << 20, "8 MiB")] {
        for (list, what) in [("overlap", name), ("exchange_overlap", &format!("{name} both ways"))] {
            let Some(overlap) = of_bytes(&link[list], bytes) else { continue };
            json_row(&format!("overlap of {what}, {on}"), overlap, "overlap", goal)?;
            json_row(&format!("effective overlap of {what}, {on}"), overlap, "effective_overlap", goal)?;
        }
    }
    Ok(())
}

/// The greatest gain of the stencil with halos of 800 KB.
fn gains(effort: &Effort) -> Rows {
    let slow = shaped::Rate { tbf: "100mbit", emulated: "delay=200us,rate=100mbit" };
    let (gain, how) = shaped::gain(&slow, effort.gain)?;
    json_row(&format!("max G, halos of 800 KB, 100 Mbit/s ({how})"), &gain, "max_gain", &AtLeast(1.92, 1.97))?;
    let fast = shaped::Rate { tbf: "1gbit", emulated: "delay=50us,rate=1000mbit" };
    let (gain, how) = shaped::gain(&fast, effort.gain)?;
    json_row(&format!("max G, halos of 800 KB, 1 Gbit/s ({how})"), &gain, "max_gain", &AtLeast(1.8, 1.9))
}
