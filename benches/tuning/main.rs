//! What each controller gains: the same messages with it and without it, in one run, in the case for which it is there.
//!
//! `cargo bench --bench tuning`, or `cargo bench --bench tuning -- spin pacing` for some of them. For each case ([`cases`])
//! two processes are joined by two jobs, one with the controller and one without, and use them in turn, A B B A, warm-up
//! apart: the median of the ratios with minimum and maximum. Where a case needs a link that is slower than loopback, the
//! kernel shapes one ([`shape`]); where that is not allowed, it runs over loopback, and says so. Without `--bench` (under
//! `cargo test --benches`) a few rounds only show that it runs. The processes are this program again, told by the
//! environment.

mod cases;
#[path = "../shape.rs"]
mod shape;
#[path = "../twice.rs"]
mod twice;

use std::process::{Command, ExitCode, Stdio};

use lathide::{Config, Key, Node, launcher};

use cases::{CASES, Case, Place};
use twice::{free_root, second_process};

/// Tells the first process of a case which one it is.
const CASE: &str = "LATHIDE_BENCH_CASE";
/// Tells the second one where both jobs meet.
const ROOTS: &str = "LATHIDE_BENCH_ROOTS";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";

/// How much is measured.
struct Effort {
    repeats: usize,
    /// Of 8 bytes.
    round_trips: usize,
    /// Writes that are posted at once.
    writes: usize,
    /// Long messages in one direction.
    long_messages: usize,
    /// Transfers beside a computation.
    transfers: usize,
}

const FULL: Effort = Effort { repeats: 15, round_trips: 4000, writes: 10_000, long_messages: 64, transfers: 8 };
const SMOKE: Effort = Effort { repeats: 2, round_trips: 20, writes: 100, long_messages: 3, transfers: 1 };

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let effort = if arguments.iter().any(|argument| argument == "--bench") { FULL } else { SMOKE };
    if let Ok(name) = std::env::var(CASE) {
        let case = CASES.iter().find(|case| case.name == name).expect("a case of this bench");
        match std::env::var(ROOTS) {
            Ok(roots) => follow(case, &roots, &effort),
            Err(_) => lead(case, &effort),
        }
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    if let Some(unknown) = names.iter().find(|name| !CASES.iter().any(|case| case.is_called(name))) {
        eprintln!("tuning: there is no case {unknown}");
        return ExitCode::from(2);
    }
    let wanted = CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| case.is_called(name)));
    let failures: Vec<&str> = wanted.filter(|case| !run(case)).map(|case| case.name).collect();
    for name in &failures {
        eprintln!("tuning: {name} failed");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Has the case measured by processes of its own, where it belongs. Returns whether they could.
fn run(case: &Case) -> bool {
    let this = std::env::current_exe().expect("this program has a path");
    let Some((mut command, place)) = case.place.command() else {
        println!("{}: not measured: this system has no bbr for us", case.name);
        return true;
    };
    println!("{}: {}, {place}", case.name, case.what);
    let status = command.arg(this).args(std::env::args().skip(1)).env(CASE, case.name).status();
    status.is_ok_and(|status| status.success())
}

impl Place {
    /// What runs a program there, and what the place is; `None`: there is no such place here.
    fn command(self) -> Option<(Command, String)> {
        let here = || Command::new("env");
        match self {
            Place::Loopback => Some((here(), "loopback".to_owned())),
            Place::Shaped(rate) if shape::is_allowed(rate) => Some((shape::within(rate), format!("{rate} (tbf)"))),
            Place::Shaped(rate) => Some((here(), format!("loopback: {rate} cannot be shaped here"))),
            Place::Bbr if congestion_control().starts_with("bbr") => Some((here(), "loopback under bbr".to_owned())),
            Place::Bbr => {
                let tried = with_bbr().arg("true").stderr(Stdio::null()).status();
                let is_allowed = tried.is_ok_and(|status| status.success());
                is_allowed.then(|| (with_bbr(), "loopback under bbr, of a namespace".to_owned()))
            }
        }
    }
}

/// What connections of this system begin with.
fn congestion_control() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default()
}

/// Runs what is added to it where connections begin with bbr.
fn with_bbr() -> Command {
    let mut command = Command::new("unshare");
    let script = "set -e; ip link set lo up; echo bbr > /proc/sys/net/ipv4/tcp_congestion_control; exec \"$@\"";
    command.args(["--map-root-user", "--net", "sh", "-c", script, "sh"]);
    command
}

fn lead(case: &Case, effort: &Effort) {
    let (on, off) = (free_root(), free_root());
    let mut child = second_process(ROOTS, &format!("{on} {off}"));
    let nodes = [join(case, 0, &on, true), join(case, 0, &off, false)];
    let pairs = measure(case, &nodes, effort);
    for (at, figure) in case.figures.iter().enumerate() {
        let column = |value: &dyn Fn(&[Vec<f64>; 2]) -> f64| spread(pairs.iter().map(value).collect());
        let on = column(&|[on, _]| on[at] * figure.scale);
        let off = column(&|[_, off]| off[at] * figure.scale);
        let ratio = column(&|[on, off]| on[at] / off[at]);
        let better = if figure.is_less_better { "less" } else { "more" };
        println!(
            "  {}: on {on} {unit}, off {off} {unit}, ratio {ratio} ({better} is better)",
            figure.what,
            unit = figure.unit
        );
    }
    nodes.into_iter().for_each(|node| node.finalize().expect("the second process is there to the end"));
    assert!(child.wait().expect("a child of ours").success(), "the second process failed");
}

fn follow(case: &Case, roots: &str, effort: &Effort) {
    let (on, off) = roots.split_once(' ').expect("two addresses");
    let nodes = [join(case, 1, on, true), join(case, 1, off, false)];
    measure(case, &nodes, effort);
    nodes.into_iter().for_each(|node| node.finalize().expect("the first process is there to the end"));
}

/// A node of a job with the case's controller, or without.
fn join(case: &Case, rank: u32, root: &str, is_on: bool) -> Node {
    let mut config = Config::new(rank, 2, Some(root.to_owned()));
    config.key = Key::from_bytes(KEY);
    if !is_on {
        launcher::without(&mut config, case.controller);
    }
    lathide::init_with(config).expect("both processes join")
}

/// The case's figures with the controller and without, of each repeat.
fn measure(case: &Case, nodes: &[Node; 2], effort: &Effort) -> Vec<[Vec<f64>; 2]> {
    let [on, off] = nodes;
    let mut pairs = Vec::new();
    for turn in 0..=effort.repeats {
        // Neither is always the first.
        let pair = if turn % 2 == 0 {
            [(case.measure)(on, effort), (case.measure)(off, effort)]
        } else {
            let off = (case.measure)(off, effort);
            [(case.measure)(on, effort), off]
        };
        // The first warms up.
        if turn > 0 {
            pairs.push(pair);
        }
    }
    pairs
}

/// The median with minimum and maximum.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    format!("{:.3} ({:.3} .. {:.3})", values[values.len() / 2], values[0], values[values.len() - 1])
}
