//! What calls cost beside the plain ones: wait sets, `wait_any`, reads of any origin, reads that are cancelled, groups, windows.
//!
//! `cargo bench --bench calls`. Two processes share a job; each figure stands beside the plain call's, both taken in turn in
//! one run, as medians with quartiles. Without `--bench` a few rounds only show that it runs. The second process is this
//! program again, told by the environment. One part is measured on a link that the kernel shapes in a network namespace of
//! our own, where that is allowed.

mod groups;
mod reads;
#[path = "../shape.rs"]
mod shape;
#[path = "../twice.rs"]
mod twice;
mod windows;

use lathide::{Config, Key, Node, Result};
use twice::{free_root, second_process};

/// Tells the second process where the job meets.
const ROOT: &str = "LATHIDE_BENCH_ROOT";
/// This process is within the shaped network.
const SHAPED: &str = "LATHIDE_BENCH_SHAPED";
/// That of its link.
pub(crate) const RATE: &str = "100mbit";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";

/// How much is measured.
pub(crate) struct Effort {
    pub(crate) repeats: usize,
    pub(crate) reads: u32,
    pub(crate) round_trips: usize,
    pub(crate) gets: usize,
    pub(crate) puts: usize,
}

const FULL: Effort = Effort { repeats: 11, reads: 100_000, round_trips: 2000, gets: 301, puts: 21 };
const SMOKE: Effort = Effort { repeats: 2, reads: 200, round_trips: 20, gets: 5, puts: 1 };

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    let is_shaped = std::env::var_os(SHAPED).is_some();
    if let Ok(root) = std::env::var(ROOT) {
        return measure(join(1, &root), is_shaped, &effort).expect("rank 1 goes on");
    }
    let root = free_root();
    let mut child = second_process(ROOT, &root);
    measure(join(0, &root), is_shaped, &effort).expect("rank 0 goes on");
    assert!(child.wait().expect("a child of ours").success(), "the second process failed");
    if is_shaped {
        return;
    }
    if !shape::is_allowed(RATE) {
        return println!("put over {RATE}: no link of our own is allowed here");
    }
    let this = std::env::current_exe().expect("this program has a path");
    let status = shape::within(RATE).arg(this).args(std::env::args().skip(1)).env(SHAPED, "1").status();
    assert!(status.expect("it starts").success(), "the part on the shaped link failed");
}

fn measure(node: Node, is_shaped: bool, effort: &Effort) -> Result<()> {
    if is_shaped {
        windows::measure_shaped(&node, effort)?;
    } else {
        reads::measure(&node, effort);
        groups::measure(&node, effort)?;
        windows::measure(&node, effort)?;
    }
    node.finalize()
}

fn join(rank: u32, root: &str) -> Node {
    let mut config = Config::new(rank, 2, Some(root.to_owned()));
    config.key = Key::from_bytes(KEY);
    lathide::init_with(config).expect("both processes join")
}

/// One row: the median with its quartiles.
pub(crate) fn row(name: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let [low, middle, high] = [values.len() / 4, values.len() / 2, values.len() * 3 / 4].map(|at| values[at]);
    println!("  {name}: {middle:.3} {unit} (quartiles {low:.3} .. {high:.3})");
}
