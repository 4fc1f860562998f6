//! What a job takes from start to finish when its ranks do nothing: 2, 16 and 64 of them, beside what is required.
//!
//! `cargo bench --bench start`. In turns `lathide run` starts `true`, and this program again, told by the environment,
//! which only calls init and finalize: all connections are made and closed. Median, least and most. Without `--bench` one
//! round of two ranks only shows that it runs.

use std::process::{Command, Stdio};
use std::time::Instant;

/// Makes this program a rank.
const IS_RANK: &str = "LATHIDE_BENCH_RANK";
/// Ranks, and the seconds that an empty program may take on them.
const SIZES: [(u32, f64); 3] = [(2, 0.05), (16, 0.3), (64, 1.5)];
const REPEATS: usize = 21;

fn main() {
    if std::env::var_os(IS_RANK).is_some() {
        lathide::init().expect("every rank joins").finalize().expect("every rank leaves");
        return;
    }
    let is_full = std::env::args().any(|arg| arg == "--bench");
    let (sizes, repeats) = if is_full { (&SIZES[..], REPEATS) } else { (&SIZES[..1], 1) };
    println!("seconds from start to finish: median (min .. max) of {repeats}");
    for &(ranks, required_s) in sizes {
        // Neither is always the first.
        let (mut empty, mut joining) = (Vec::new(), Vec::new());
        for turn in 0..=repeats {
            let pair = if turn % 2 == 0 {
                (run_empty(ranks), run_joining(ranks))
            } else {
                let joining = run_joining(ranks);
                (run_empty(ranks), joining)
            };
            // The first warms up.
            if turn > 0 {
                empty.push(pair.0);
                joining.push(pair.1);
            }
        }
        for (name, times) in [("true", empty), ("init and finalize", joining)] {
            let [middle, low, high] = summary(times);
            let verdict = if middle <= required_s { "" } else { ": missed" };
            println!(
                "  {ranks:>2} ranks, {name:<17} {middle:.3} ({low:.3} .. {high:.3}), required {required_s}{verdict}"
            );
        }
    }
}

fn run_empty(ranks: u32) -> f64 {
    timed(launcher(ranks).arg("true"))
}

fn run_joining(ranks: u32) -> f64 {
    let own = std::env::current_exe().expect("this program has a path");
    timed(launcher(ranks).arg(own).env(IS_RANK, "1"))
}

fn launcher(ranks: u32) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(["run", "-n", &ranks.to_string()]).stdin(Stdio::null());
    command
}

fn timed(command: &mut Command) -> f64 {
    let began = Instant::now();
    let status = command.status().expect("lathide starts");
    assert!(status.success(), "{command:?}: {status}");
    began.elapsed().as_secs_f64()
}

/// Median, least, most.
fn summary(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0], times[times.len() - 1]]
}
