//! What calls cost beside the plain ones: wait sets, `wait_any`, reads of any origin, reads that are cancelled.
//!
//! `cargo bench --bench calls`. Two processes share a job; each figure stands beside the plain call's, both taken in turn in
//! one run, as medians with quartiles. Without `--bench` a few rounds only show that it runs. The second process is this
//! program again, told by the environment.

mod reads;
#[path = "../twice.rs"]
mod twice;

use lathide::{Config, Key, Node};
use twice::{free_root, second_process};

/// Tells the second process where the job meets.
const ROOT: &str = "LATHIDE_BENCH_ROOT";
/// Not secret: both processes are of one user, on one machine, for some seconds.
const KEY: [u8; 32] = *b"of benches, where nobody attacks";

/// How much is measured.
pub(crate) struct Effort {
    pub(crate) repeats: usize,
    pub(crate) reads: u32,
    pub(crate) round_trips: usize,
}

const FULL: Effort = Effort { repeats: 11, reads: 100_000, round_trips: 2000 };
const SMOKE: Effort = Effort { repeats: 2, reads: 200, round_trips: 20 };

fn main() {
    let effort = if std::env::args().any(|arg| arg == "--bench") { FULL } else { SMOKE };
    match std::env::var(ROOT) {
        Ok(root) => reads::measure(&join(1, &root), &effort),
        Err(_) => {
            let root = free_root();
            let mut child = second_process(ROOT, &root);
            reads::measure(&join(0, &root), &effort);
            assert!(child.wait().expect("a child of ours").success(), "the second process failed");
        }
    }
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
