//! The processes of lathide and of raw TCP: each is this program again, and goes through the plan as `plan.h` does.

mod lathide;
mod raw;

use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Tells a process of this program what it is: `lathide RANK SIZE ADDRESS`, `raw …` or `polled …`. Its arguments are seconds
/// that it may take, and the plan.
pub(crate) const PLACE: &str = "LATHIDE_BENCH_PLACE";
/// A list of processors, one per rank, on which each stays; as `plan.h` reads it.
pub(crate) const CORES: &str = "PEERS_CORES";
/// Messages of a row that the reader answers at its end; as in `plan.h`.
const ROW: u64 = 1000;

/// What a cell took.
#[derive(Default)]
struct Took {
    total_s: f64,
    /// In seconds per unit; what each is depends on the cell.
    values: [f64; 4],
}

impl Took {
    /// `units` of something since `began`.
    fn since(began: Instant, units: u64) -> Took {
        let total_s = began.elapsed().as_secs_f64();
        Took { total_s, values: [total_s / units as f64, 0.0, 0.0, 0.0] }
    }
}

trait Rank {
    /// A count of rank 0 for all ranks.
    fn agree(&mut self, count: u64) -> u64;
    /// Does a cell so many times.
    fn cell(&mut self, kind: &str, bytes: usize, count: u64) -> Took;
    /// Says goodbye.
    fn end(self: Box<Self>);
}

/// One process.
pub(crate) fn run(place: &str) {
    let words: Vec<&str> = place.split(' ').collect();
    let [program, rank, size, address] = words[..] else { panic!("{PLACE}={place}") };
    let rank: u32 = rank.parse().expect("a rank");
    let mut arguments = std::env::args().skip(1);
    begin(rank, arguments.next().and_then(|seconds| seconds.parse().ok()).expect("seconds"));
    let mut this: Box<dyn Rank> = match program {
        "lathide" => Box::new(lathide::Lathide::join(rank, size.parse().expect("a size"), address)),
        _ => Box::new(raw::Raw::connect(rank == 0, address, program == "polled")),
    };
    for cell in arguments {
        let (took, is_first) = (measure(&mut *this, rank == 0, &cell), rank == 0);
        if is_first {
            let values = took.values.map(|value| value.to_string()).join("\t");
            println!("{}\t{values}", cell.rsplit_once(':').expect("kind, bytes and milliseconds").0);
        }
    }
    this.end();
}

/// Ends with whoever started this process, and after `seconds` at the latest; stays on the core that is named for it.
fn begin(rank: u32, seconds: u64) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        eprintln!("rank {rank}: not done after {seconds} s");
        std::process::exit(1);
    });
    let cores = std::env::var(CORES).unwrap_or_default();
    if let Some(core) = cores.split(',').nth(rank as usize).and_then(|core| core.parse().ok()) {
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).expect("a core that is ours");
    }
}

/// Does a cell more and more often, until it takes as long as it should. What came before has warmed up.
fn measure(this: &mut dyn Rank, is_first: bool, cell: &str) -> Took {
    let words: Vec<&str> = cell.split(':').collect();
    let [kind, bytes, milliseconds] = words[..] else { panic!("{cell}: a plan is KIND:BYTES:MILLISECONDS") };
    let target_s = milliseconds.parse::<f64>().expect("milliseconds") * 1e-3;
    let (mut count, mut is_warm) = (1, false);
    loop {
        let took = this.cell(kind, bytes.parse().expect("bytes"), count);
        let next = match took.total_s < 0.6 * target_s {
            true => (count as f64 * (target_s / took.total_s).min(8.0)) as u64 + 1,
            false if is_warm => 0,
            false => count,
        };
        let next = this.agree(if is_first { next } else { 0 });
        if next == 0 {
            return took;
        }
        (count, is_warm) = (next, true);
    }
}

/// Seconds of processor that this process has had.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
